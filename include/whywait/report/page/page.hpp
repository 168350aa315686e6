#ifndef WHYWAIT_REPORT_PAGE_PAGE_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/output_file.hpp>
#include <whywait/report/page/page_advice.hpp>
#include <whywait/report/page/page_ledger.hpp>
#include <whywait/report/page/page_maps.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/page/page_profile.hpp>
#include <whywait/report/page/page_template.hpp>
#include <whywait/report/page/page_top.hpp>
#include <whywait/report/page/page_trust.hpp>
#include <whywait/report/page/page_waits.hpp>
#include <whywait/report/page/source_book.hpp>
#include <whywait/report/printing.hpp>
#include <whywait/report/run_origin.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// The document as compact JSON in which no text can end the element around it.
inline void write_island(const result& r, html_writer& out) {
  auto write = [&out](const char* data, std::size_t size) {
    std::string_view left(data, size);
    for (std::size_t at = 0; (at = left.find('<')) != std::string_view::npos; left.remove_prefix(at + 1))
      out.raw(left.substr(0, at)).raw("\\u003c");  // inside of a text, because JSON has no such character elsewhere
    out.raw(left);
  };
  write_json(r, json_sink(write), true);
}

}  // namespace detail

/// Writes the page: one file without references to others. `program`: the file of the executable, beside which sources are
/// looked for. O(size of the result); reads the sources that the report names.
inline void write_page(const result& r, const json_sink& sink, const char* program = "/proc/self/exe") {
  const base::rank_noun_scope noun(r.run.threads_only);
  html_writer out{sink};
  source_book sources(program);
  const page_context p{r, out, sources};
  for (const char* piece : page_template::begin) out.raw(piece);
  const std::string name = program_name(r.run.origin);
  if (!name.empty()) out.put("$ \xc2\xb7 ", name);
  out.put("$",
          base::counted(r.run.ranks, base::rank_noun()) + " \xc2\xb7 " + base::duration(r.run.seconds) + " \xc2\xb7 whywait");
  for (const char* piece : page_template::style) out.raw(piece);
  page_top(p);
  page_advice(p);
  page_waits(p);
  page_time_map(p);
  page_matrix(p);
  page_critical_path(p);
  page_what_if(p);
  page_propagation(p);
  if (r.communication != nullptr) r.communication->page(p);
  page_locks(p);
  page_profile(p);
  page_trust(p);
  sources.write(out);
  for (const char* piece : page_template::data) out.raw(piece);
  detail::write_island(r, out);
  for (const char* piece : page_template::script) out.raw(piece);
}

/// The page as a string.
inline std::string page_of(const result& r, const char* program = "/proc/self/exe") {
  std::string text;
  auto append = [&text](const char* data, std::size_t size) { text.append(data, size); };
  write_page(r, json_sink(append), program);
  return text;
}

inline std::string write_page_file(const result& r, const std::string& path, const char* program) {
  output_file file(path);
  auto write = [&file](const char* data, std::size_t size) { file.write(data, size); };
  write_page(r, json_sink(write), program);
  return file.commit();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
