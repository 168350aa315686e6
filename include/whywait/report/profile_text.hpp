#ifndef WHYWAIT_REPORT_PROFILE_TEXT_HPP
#define WHYWAIT_REPORT_PROFILE_TEXT_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/profile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// A table with a label, which has a line of its own where it does not fit, and right-aligned columns.
class column_table {
 public:
  struct column {
    const char* head;
    std::size_t width;
  };
  column_table(const char* title, std::initializer_list<column> columns, std::size_t room)
      : columns_(columns.begin(), columns.end()) {
    std::size_t wide = 0;
    for (const column& c : columns_) wide += c.width;
    label_ = std::max<std::size_t>(room > 6 + wide ? room - 6 - wide : 0, 14);
    label_ = std::min<std::size_t>(label_, 44);
    out_ = "\n" + line("    " + std::string(title), [](const column& c, std::size_t) { return std::string(c.head); });
  }
  void add(const std::string& label, const base::vector<std::string>& cells) {
    std::string begin = "      " + label;
    if (base::display_width(label) > label_) {
      out_ += begin + "\n";
      begin.clear();
    }
    out_ += line(begin, [&cells](const column&, std::size_t i) { return cells[i]; });
  }
  std::string text() const { return out_; }

 private:
  template <class Cell>
  std::string line(const std::string& begin, Cell&& cell) const {
    std::string out = base::pad_right(begin, 6 + label_);
    for (std::size_t i = 0; i != columns_.size(); ++i) out += base::pad_left(cell(columns_[i], i), columns_[i].width);
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
  }

  base::vector<column> columns_;
  std::size_t label_ = 0;
  std::string out_;
};

/// A share of 1 as a number in a column of percentages.
inline std::string in_percent(double share) {
  const double value = share * 100;
  return value > 0 && value < 0.5 ? "<1" : base::fixed(value, 0);
}

/// The table of regions: visits, time over the ranks, share of MPI, efficiencies. Empty without regions.
inline std::string regions_text(const profile& p, std::size_t columns, std::size_t most = 16) {
  if (p.regions.empty()) return {};
  column_table table(
      "regions",
      {{"visits", 9}, {"min", 9}, {"mean", 9}, {"max", 9}, {"rank", 6}, {"MPI %", 7}, {"eff %", 6}, {"bal", 4}, {"com", 4}},
      columns);
  std::size_t shown = 0;
  bool recursive = false;
  for (const region_entry& r : p.regions) {
    if (shown++ == most) break;
    const std::string code = code_text(r.where);
    const double mean = r.ranks > 0 ? r.seconds / static_cast<double>(r.ranks) : 0;
    base::vector<std::string> cells = {base::count(r.visits),
                                       base::duration(r.min_seconds),
                                       base::duration(mean),
                                       base::duration(r.max_seconds),
                                       std::to_string(r.max_rank),
                                       in_percent(r.seconds > 0 ? r.mpi_seconds / r.seconds : 0),
                                       "",
                                       "",
                                       ""};
    if (r.efficiency) {
      cells[6] = in_percent(r.efficiency->parallel);
      cells[7] = in_percent(r.efficiency->load_balance);
      cells[8] = in_percent(r.efficiency->communication);
    }
    recursive = recursive || r.recursive;
    table.add(base::shorten_middle(base::printable(r.where.name), 40) + (code.empty() ? "" : " (" + code + ")") +
                  (r.recursive ? " *" : ""),
              cells);
  }
  std::string out = table.text();
  const auto more = static_cast<std::int64_t>(p.regions.size()) - static_cast<std::int64_t>(most) + p.omitted_regions;
  if (p.regions.size() > most) out += "      " + base::counted(more, "more region") + " (the JSON file has them)\n";
  if (recursive) out += "      * inside itself: without other regions inside it\n";
  return out;
}

/// "its node", for a class of peers.
inline std::string peers_words(const std::string& peers) {
  if (peers == "self") return "itself";
  if (peers == "node") return "its node";
  if (peers == "network") return "other nodes";
  return "unknown ranks";
}

/// The table of messages by call site and class of peers. Empty without any.
inline std::string messages_text(const profile& p, std::size_t columns, std::size_t most = 16) {
  if (p.messages.empty()) return {};
  column_table table("messages", {{"count", 11}, {"bytes", 11}, {"smallest", 12}, {"largest", 12}, {"time", 9}}, columns);
  std::size_t shown = 0;
  for (const traffic_entry& t : p.messages) {
    if (shown++ == most) break;
    const std::string operation = t.operation, peers = t.peers;
    const bool sizes = operation != "receive";
    const std::string to = operation == "send" ? " to " : operation == "receive" ? " from " : ", ";
    table.add(call_text(t.where, "in", columns > 20 ? columns - 12 : 8) +
                  (operation == "collective" && peers != "network" ? "" : to + peers_words(peers)),
              {base::count(t.count), sizes ? base::memory(t.bytes) : "", sizes ? base::memory(t.least_bytes) : "",
               sizes ? base::memory(t.most_bytes) : "", base::duration(t.seconds)});
  }
  std::string out = table.text();
  const auto more = static_cast<std::int64_t>(p.messages.size()) - static_cast<std::int64_t>(most) + p.omitted_messages;
  if (p.messages.size() > most) out += "      " + base::counted(more, "more call site") + " (the JSON file has the largest)\n";
  return out;
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
