#ifndef WHYWAIT_COMPARISON_MATCHING_HPP
#define WHYWAIT_COMPARISON_MATCHING_HPP

#include <whywait/comparison/compared_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {

enum side_t : int { before_side, after_side };

namespace detail {

/// Numbers the lines of both sides, so that equal numbers mean the same place: the shift between both that maps most lines to
/// lines is that of the edit above them; what it does not map is paired in order between those. Lines without a partner get
/// numbers of their own. O(a^2 b log b) for up to 100,000 pairs; more are compared without a shift.
inline void align_lines(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::vector<int>& number_a,
                        std::vector<int>& number_b) {
  std::int64_t shift = 0;
  std::size_t most = 0;
  constexpr std::size_t most_pairs = 100000;
  for (const std::int64_t x : a.size() * b.size() <= most_pairs ? a : std::vector<std::int64_t>())
    for (const std::int64_t y : b) {
      std::size_t mapped = 0;
      for (const std::int64_t z : a) mapped += std::binary_search(b.begin(), b.end(), z + y - x) ? 1 : 0;
      const bool shorter = std::llabs(y - x) < std::llabs(shift);
      if (mapped > most || (mapped == most && shorter)) {
        most = mapped;
        shift = y - x;
      }
    }
  number_a.assign(a.size(), -1);
  number_b.assign(b.size(), -1);
  int next = 0;
  std::size_t i = 0, j = 0;
  while (i != a.size() || j != b.size()) {
    // the lines of both sides before the next pair that the shift maps
    std::size_t p = i, q = j;
    for (; p != a.size(); ++p) {
      q = static_cast<std::size_t>(std::lower_bound(b.begin(), b.end(), a[p] + shift) - b.begin());
      if (q != b.size() && q >= j && b[q] == a[p] + shift) break;
    }
    if (p == a.size()) q = b.size();
    for (; i != p && j != q; ++i, ++j) number_a[i] = number_b[j] = next++;
    for (; i != p; ++i) number_a[i] = next++;
    for (; j != q; ++j) number_b[j] = next++;
    if (p != a.size()) number_a[i++] = number_b[j++] = next++;
  }
}

}  // namespace detail

/// Recognises call sites and blocks of one side on the other, even if lines moved between two versions of the program: by
/// call, region, function, file name and caller, and by line only among places that are alike in all of these. A file of one side
/// that the other does not have is taken for its renamed file that has most of its places. First `add` all places of both
/// sides, then `align`, then ask for keys.
class place_matcher {
 public:
  void add(const base::place& p, side_t side) {
    places_[side].push_back(p);
    files_[side][file_of(p)].insert(plain(p));
  }
  void add(const timed_block& b, side_t side) {
    if (b.from) add(*b.from, side);
    add(b.where, side);
  }
  void add(const compared_run& run, side_t side) {
    for (const listed_wait& w : run.waits) {
      add(w.operation, side);
      add(w.cause, side);
      for (const timed_block& b : w.residual) add(b, side);
    }
    for (const timed_block& b : run.critical_path) add(b, side);
  }

  /// A sentence of the side after with the file names of the side before.
  std::string with_old_names(std::string text) const {
    for (const auto& [now, then] : renamed_)
      for (std::size_t at = 0; (at = text.find(now, at)) != std::string::npos; at += then.size())
        text.replace(at, now.size(), then);
    return text;
  }

  void align() {
    find_renamed();
    for (const side_t side : {before_side, after_side})
      for (const base::place& p : places_[side]) lines_[name_of(p, side)].of[side].insert(line_of(p));
    for (auto& [name, both] : lines_) {
      const std::vector<std::int64_t> a(both.of[0].begin(), both.of[0].end()), b(both.of[1].begin(), both.of[1].end());
      std::vector<int> numbers[2];
      detail::align_lines(a, b, numbers[0], numbers[1]);
      for (std::size_t i = 0; i != a.size(); ++i) both.number[0][a[i]] = numbers[0][i];
      for (std::size_t i = 0; i != b.size(); ++i) both.number[1][b[i]] = numbers[1][i];
    }
  }

  std::string key(const base::place& p, side_t side) const {
    const std::string name = name_of(p, side);
    const auto found = lines_.find(name);
    if (found == lines_.end()) return name;
    const auto number = found->second.number[side].find(line_of(p));
    return name + "#" + (number == found->second.number[side].end() ? "?" : std::to_string(number->second));
  }
  std::string key(const timed_block& b, side_t side) const {
    // the phrase of a derived block contains lines; its places identify it
    const bool derived = b.kind == "between" || b.kind == "call";
    return b.kind + "|" + (derived ? std::string() : b.block) + "|" + b.within + "|" + (b.from ? key(*b.from, side) : "") +
           "|" + key(b.where, side);
  }
  std::string key(const listed_wait& w, side_t side) const {
    return w.pattern + "|" + key(w.operation, side) + "|" + key(w.cause, side);
  }

 private:
  struct lines {
    std::set<std::int64_t> of[2];
    std::map<std::int64_t, int> number[2];
  };

  static std::string plain(const base::place& p) {
    const std::size_t line = p.caller.rfind(':');  // "step (halo.cpp:80)"
    return p.call + "|" + p.region + "|" + (p.region.empty() ? base::short_name(p.function) : std::string()) + "|" +
           p.caller.substr(0, p.caller.empty() ? 0 : std::min(line, p.caller.size()));
  }
  static std::string file_of(const base::place& p) { return std::string(base::last_of(p.file.empty() ? p.module : p.file)); }
  std::string name_of(const base::place& p, side_t side) const {
    const std::string file = file_of(p);
    const auto renamed = side == after_side ? renamed_.find(file) : renamed_.end();
    return plain(p) + "|" + (renamed == renamed_.end() ? file : renamed->second);
  }

  void find_renamed() {
    for (const auto& [now, places] : files_[after_side]) {
      if (now.empty() || files_[before_side].count(now) != 0) continue;
      std::size_t most = 0;
      for (const auto& [then, others] : files_[before_side]) {
        if (then.empty() || files_[after_side].count(then) != 0) continue;
        const auto shared = static_cast<std::size_t>(std::count_if(
            places.begin(), places.end(), [&others = others](const std::string& p) { return others.count(p) != 0; }));
        if (shared > most && 2 * shared >= places.size()) {
          most = shared;
          renamed_[now] = then;
        }
      }
    }
  }

  static std::int64_t line_of(const base::place& p) noexcept {
    return p.file.empty() ? static_cast<std::int64_t>(p.offset) : p.line;
  }

  std::vector<base::place> places_[2];
  std::map<std::string, std::set<std::string>> files_[2];  ///< what is in each file
  std::map<std::string, std::string> renamed_;  ///< file of the side after -> file of the side before
  std::map<std::string, lines> lines_;
};

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
