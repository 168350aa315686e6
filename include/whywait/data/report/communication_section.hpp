#ifndef WHYWAIT_DATA_REPORT_COMMUNICATION_SECTION_HPP
#define WHYWAIT_DATA_REPORT_COMMUNICATION_SECTION_HPP

#include <whywait/data/report/communication_brief.hpp>
#include <whywait/data/report/communication_json.hpp>
#include <whywait/data/report/communication_page.hpp>
#include <whywait/data/report/communication_text.hpp>
#include <whywait/report/section.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// What result::communication points to.
class communication_section final : public reports::section {
 public:
  explicit communication_section(communication c) : all(std::move(c)) {}

  std::string text(std::size_t columns) const override { return communication_text(all, columns); }
  std::string brief(std::size_t columns) const override { return communication_brief(all, columns); }
  void write(reports::json_document& out) const override { write_communication(out, all); }
  void page(const reports::page_context& p) const override { communication_page(p, all); }

  const communication all;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
