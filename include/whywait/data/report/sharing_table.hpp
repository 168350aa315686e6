#ifndef WHYWAIT_DATA_REPORT_SHARING_TABLE_HPP
#define WHYWAIT_DATA_REPORT_SHARING_TABLE_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/report/communication_result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {
namespace detail {

/// "0-3 and 5" of {0, 1, 2, 3, 5}.
inline std::string number_ranges(const base::vector<std::int32_t>& numbers) {
  std::string out;
  for (std::size_t i = 0, j = 0; i < numbers.size(); i = j) {
    for (j = i + 1; j < numbers.size() && numbers[j] == numbers[j - 1] + 1;) ++j;
    if (j == i + 2) j = i + 1;  // "3, 4" reads better than "3-4"
    if (i != 0) out += j == numbers.size() ? " and " : ", ";
    out += std::to_string(numbers[i]) + (j > i + 1 ? "-" + std::to_string(numbers[j - 1]) : "");
  }
  return out;
}

/// "threads 0 and 1".
inline std::string who_text(const std::string& who, const base::vector<std::int32_t>& numbers) {
  return who + (numbers.size() == 1 ? " " : "s ") + number_ranges(numbers);
}

/// The `most` misses that occur most often, in their own order, without the begin.
inline base::pod_vector<std::size_t> frequent_misses(const sharing_entry& s, std::size_t most) {
  base::pod_vector<std::int64_t> into(s.nodes.size(), 0);
  for (const sharing_transition& t : s.transitions) into[static_cast<std::size_t>(t.to)] += t.count;
  base::pod_vector<std::size_t> shown;
  for (std::size_t n = 1; n < s.nodes.size(); ++n) {
    std::size_t before = 0;
    for (std::size_t o = 1; o < s.nodes.size(); ++o) before += into[o] > into[n] || (into[o] == into[n] && o < n) ? 1 : 0;
    if (before < most) shown.push_back(n);
  }
  return shown;
}

/// A table as figure 3 of the Carnival paper has it: the misses with R (where the data was asked for), I (where the copy became
/// invalid) and W (where the preceding writes were), then how often one follows on writes made at another.
inline std::string sharing_table(const sharing_entry& s, std::size_t columns) {
  constexpr std::size_t most = 8;
  const std::string margin(8, ' ');
  const base::pod_vector<std::size_t> shown = frequent_misses(s, most);
  std::string out;
  for (std::size_t k = 0; k != shown.size(); ++k) {
    const sharing_miss& n = s.nodes[shown[k]];
    std::string text = "R " + base::printable(n.request);
    if (!n.invalidation.empty()) text += " · I " + base::printable(n.invalidation);
    for (std::size_t w = 0; w != n.writes.size(); ++w) text += (w == 0 ? " · W " : ", ") + base::printable(n.writes[w]);
    text += " (";
    if (!n.readers.empty()) text += "read by " + who_text(s.who, n.readers);
    if (!n.writers.empty()) text += (n.readers.empty() ? "written by " : ", written by ") + who_text(s.who, n.writers);
    out += base::wrap(text + ")", columns, margin + base::pad_left(std::to_string(k + 1), 2) + " ", margin + "     ");
  }
  std::string head = margin + "after \\ next ";
  for (std::size_t k = 0; k != shown.size(); ++k) head += base::pad_left(std::to_string(k + 1), 6);
  out += head + "\n";
  for (std::size_t row = 0; row != shown.size() + 1; ++row) {
    const std::size_t from = row == 0 ? 0 : shown[row - 1];
    std::string line = margin + base::pad_right(row == 0 ? "first use" : std::to_string(row), 13);
    bool any = false;
    for (const std::size_t to : shown) {
      std::string cell;
      for (const sharing_transition& t : s.transitions) {
        if (t.from == static_cast<std::int64_t>(from) && t.to == static_cast<std::int64_t>(to) && t.count != 0)
          cell = base::fixed(t.share, 2);
      }
      any = any || !cell.empty();
      line += base::pad_left(cell, 6);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    if (any) out += line + "\n";
  }
  if (shown.size() + 1 < s.nodes.size())
    out += margin + base::counted(static_cast<std::int64_t>(s.nodes.size() - 1 - shown.size()), "rarer node") +
           " (the JSON file has all)\n";
  return out;
}

/// "`u`: private 96 %, producer-consumer 1:1 4 % of 16384 pieces of 64 bytes, 4096 of them watched: each +- 0.7 % (standard error)".
inline std::string sharing_summary(const base::vector<sharing_entry>& all, const std::string& data) {
  struct pattern_sum {
    const std::string* pattern;
    std::int64_t granules;
  };
  base::pod_vector<pattern_sum> patterns;
  std::int64_t sum = 0;
  const sharing_entry* any = nullptr;
  for (const sharing_entry& s : all) {
    if (s.data != data) continue;
    any = &s;
    sum += s.granules;
    std::size_t same = 0;
    while (same != patterns.size() && *patterns[same].pattern != s.pattern) ++same;
    if (same != patterns.size()) patterns[same].granules += s.granules;
    else patterns.push_back({&s.pattern, s.granules});
  }
  if (any == nullptr || sum == 0) return {};
  base::small_stable_sort(patterns, [](const pattern_sum& a, const pattern_sum& b) { return a.granules > b.granules; });
  std::string text = "`" + base::printable(data) + "`: ";
  for (std::size_t i = 0; i != patterns.size(); ++i)
    text += (i == 0 ? "" : ", ") + *patterns[i].pattern + " " +
            base::percent(static_cast<double>(patterns[i].granules) / static_cast<double>(sum));
  text += " of " + base::counted(sum, "piece") + " of " + std::to_string(any->granule_bytes) + " bytes";
  if (any->granules_watched < any->granules_of_array)
    text += " looked at, a sample of " + base::count(any->granules_of_array) + ": standard error at most " +
            base::percent(any->standard_error);
  return text;
}

/// The part of the text report about shared memory: how each array is shared, and of what is really shared the tables with the
/// most misses.
inline std::string sharing_text(const base::vector<sharing_entry>& all, std::size_t columns) {
  constexpr std::size_t most_tables = 4;
  const auto shared = [](const sharing_entry& s) { return s.pattern != "private" && s.pattern != "read-only"; };
  if (!base::any_of(all, shared)) return {};
  std::string out = "\n    shared memory\n";
  base::vector<std::string> told;
  for (const sharing_entry& s : all) {
    if (std::find(told.begin(), told.end(), s.data) != told.end()) continue;
    told.push_back(s.data);
    out += base::wrap(sharing_summary(all, s.data), columns, std::string(8, ' '), std::string(10, ' '));
  }
  std::size_t tables = 0, more = 0;
  for (const sharing_entry& s : all) {
    if (!shared(s)) continue;
    if (tables == most_tables) {
      ++more;
      continue;
    }
    const std::string head = "`" + base::printable(s.data) + "`: " + s.pattern + " in " + base::counted(s.granules, "piece") +
                             ", " + base::counted(s.misses, "miss", "misses");
    out += base::wrap(head, columns, base::pad_left(std::to_string(++tables), 6) + " ", std::string(10, ' ')) +
           sharing_table(s, columns);
    const bool inherent = s.pattern.compare(0, 17, "producer-consumer") == 0;  // they communicate by this memory
    if (!s.advice.empty() && !inherent)
      out += base::wrap("try: " + base::printable(s.advice), columns, std::string(8, ' '), std::string(13, ' '));
  }
  if (more != 0)
    out += std::string(8, ' ') + base::counted(static_cast<std::int64_t>(more), "more group") +
           " of pieces (the JSON file has all)\n";
  return out;
}

}  // namespace detail
}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
