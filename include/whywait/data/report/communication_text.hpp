#ifndef WHYWAIT_DATA_REPORT_COMMUNICATION_TEXT_HPP
#define WHYWAIT_DATA_REPORT_COMMUNICATION_TEXT_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/data/report/communication_result.hpp>
#include <whywait/data/report/sharing_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace data {
namespace detail {

/// The part of the text report about data, piece by piece.
class communication_writer {
 public:
  communication_writer(const communication& c, std::size_t columns) : c_(c), columns_(columns) {}

  std::string operator()() {
    transfers();
    placements();
    if (!c_.sharing.empty()) out_ += sharing_text(c_.sharing, columns_);
    return std::move(out_);
  }

 private:
  static constexpr std::size_t most_classes = 6, most_uses = 6;

  void paragraph(const std::string& text, std::size_t margin, std::size_t deeper = 0) {
    out_ += base::wrap(text, columns_, std::string(margin, ' '), std::string(margin + deeper, ' '));
  }
  static std::int64_t count(std::size_t n) noexcept { return static_cast<std::int64_t>(n); }

  void transfers() {
    if (c_.classes.empty()) return;
    out_ += "\n    why data was sent\n";
    std::size_t number = 0, left = 0;
    std::int64_t left_bytes = 0;
    for (const communication_class& c : c_.classes) {
      // A class without problems and without waiting does not displace one that has either.
      const bool matters = !c.problems.empty() || number < most_classes / 2;
      if (number == most_classes || !matters) {
        ++left;
        left_bytes += c.bytes;
        continue;
      }
      one_class(c, ++number);
    }
    if (left != 0)
      paragraph(base::counted(count(left), "more class", "more classes") + " of transfers with " + base::memory(left_bytes) +
                    " (the JSON file has all)",
                8);
  }

  void one_class(const communication_class& c, std::size_t number) {
    std::string head = "`" + base::printable(c.data) + "`";
    if (!c.region.empty()) head += " (" + c.region + ")";
    head += ": " + base::memory(c.bytes) + " in " + base::counted(c.count, "message");
    if (c.seconds > 0) head += ", " + base::duration(c.seconds);
    if (c.wait_seconds > 0) head += ", " + base::duration(c.wait_seconds) + " of it waiting";
    out_ += base::wrap(head, columns_, base::pad_left(std::to_string(number), 6) + " ", "          ");
    const std::string from = call_text(c.from), to = call_text(c.to);
    if (from == to) {
      paragraph(from, 8);
    } else if (base::display_width(from) + base::display_width(to) + 14 <= columns_) {
      paragraph(from + "  ->  " + to, 8);
    } else {
      paragraph(from, 8);
      paragraph("->  " + to, 10);
    }
    std::string facts = base::printable(c.why);
    if (c.pairs > 0) facts += "; " + base::counted(c.pairs, "pair") + " of ranks";
    if (c.fan_out > 1) facts += ", the same data to " + base::count(c.fan_out) + " of them";
    if (c.watched_bytes == 0 && reads_are_marked()) facts += "; no read of it is recorded where it arrives";
    paragraph(facts, 8);
    for (const communication_problem_entry& p : c.problems) {
      paragraph(base::printable(p.text), 8);
      paragraph("try: " + base::printable(p.advice) +
                    (p.saving_seconds > 0 ? " (saves at most " + base::duration(p.saving_seconds) + " of rank time)" : ""),
                8, 5);
    }
  }

  bool reads_are_marked() const noexcept {
    return base::any_of(c_.classes, [](const communication_class& c) { return c.watched_bytes > 0; });
  }

  void placements() {
    std::size_t shown = 0, more = 0;
    const auto show = [&](const std::string& text) {
      if (shown++ == 0) out_ += "\n    where data is, and which ranks need it\n";
      if (shown > most_uses) ++more;
      else paragraph(text, 8);
    };
    for (const array_placement& a : c_.arrays) {
      for (const loop_use& u : a.uses) {
        if (!u.better) continue;
        show(base::printable(u.better->text) +
             (u.better->saving_seconds > 0 ? " (saves at most " + base::duration(u.better->saving_seconds) + ")" : ""));
      }
    }
    for (const rules::far_data& f : c_.facts.far)
      show("`" + base::printable(f.data) + "`: " + base::percent(f.share) + " of what " + base::rank_text(f.rank) +
           (f.thread != 0 ? " thread " + std::to_string(f.thread) : std::string()) + " uses in " + base::printable(f.code) +
           " is on NUMA node " + std::to_string(f.pages_node) + "; it runs on node " + std::to_string(f.node));
    if (more != 0) paragraph(base::counted(count(more), "more loop") + " (the JSON file has all)", 8);
  }

  const communication& c_;
  std::size_t columns_;
  std::string out_;
};

}  // namespace detail

/// The section of the text report; empty if there is nothing to report, else it begins with an empty line.
inline std::string communication_text(const communication& c, std::size_t columns) {
  return detail::communication_writer(c, columns)();
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
