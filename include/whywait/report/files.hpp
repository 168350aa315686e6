#ifndef WHYWAIT_REPORT_FILES_HPP
#define WHYWAIT_REPORT_FILES_HPP

#include <whywait/report/json.hpp>
#include <whywait/report/page/page.hpp>
#include <whywait/report/printing.hpp>
#include <whywait/report/text.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

// The page is the last one: it reads sources and takes the most memory.
inline std::string write_files(const result& r, const std::string& prefix, const char* lost, const char* program) {
  const std::string data = write_json_file(r, prefix + ".json"), text = write_text_file(r, prefix + ".txt"),
                    page = write_page_file(r, prefix + ".html", program);
  if (!data.empty()) return data + lost;
  return text.empty() ? page : text;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
