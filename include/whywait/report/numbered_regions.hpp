#ifndef WHYWAIT_REPORT_NUMBERED_REGIONS_HPP
#define WHYWAIT_REPORT_NUMBERED_REGIONS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/utf8.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/report/model.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Whether two names differ, but only in their numbers: "solve rank 0" and "solve rank 12".
inline bool differ_in_numbers(std::string_view a, std::string_view b) noexcept {
  if (a == b) return false;
  const auto digits = [](std::string_view& s) {
    std::size_t n = 0;
    while (n != s.size() && s[n] >= '0' && s[n] <= '9') ++n;
    s.remove_prefix(n);
    return n != 0;
  };
  while (!a.empty() && !b.empty()) {
    const bool numbers = digits(a);
    if (digits(b) != numbers) return false;
    if (numbers) continue;
    if (a.front() != b.front()) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty();
}

/// A sentence about regions of one line whose names differ in a number, such as that of the rank or the step, so that the same code
/// counts as other code: one is only on the late side of a wait and another only on the waiting side, each with a sixth of its
/// time, or there are more than 10. Empty: there are none. Linear in the lines of the waits.
inline std::string numbered_regions(const base::vector<wait_entry>& waits) {
  struct place {
    const residual_entry* first;
    const wait_entry* of;  // the wait that was seen last
    const residual_entry *late, *waiting;  // regions that were on one side of it only; null: none
    std::uint32_t names;
  };
  base::key_map places, names;
  std::uint32_t number = 0;  // of names
  base::pod_vector<place> all;
  for (const wait_entry& w : waits)
    for (const residual_entry& r : w.residual) {
      if (r.kind != "region" || r.where.line <= 0) continue;
      const core::stable_key key = core::combine(core::key_of(r.where.file.c_str()), static_cast<std::uint64_t>(r.where.line));
      const std::uint32_t at = places.intern(key, static_cast<std::uint32_t>(all.size()));
      if (at == all.size()) all.push_back({&r, &w, nullptr, nullptr, 0});
      place& p = all[at];
      if (p.first->block != r.block && !differ_in_numbers(p.first->block, r.block)) continue;
      const core::stable_key name = core::combine(key, core::key_of(r.block.c_str()));
      if (names.intern(name, number) == number) ++number, ++p.names;
      if (p.of != &w) p.late = p.waiting = nullptr;
      p.of = &w;
      const bool matters = std::fabs(r.seconds()) >= w.seconds / 6;
      if (matters && r.waiter_visits <= 0) p.late = &r;
      if (matters && r.causer_visits <= 0) p.waiting = &r;
      const bool swapped = p.late != nullptr && p.waiting != nullptr && p.late->block != p.waiting->block;
      if (swapped || p.names > 10)
        return base::joined({"names of regions at ", code_text(r.where), " differ in a number, as ",
                             swapped ? p.late->block : p.first->block, " and ", swapped ? p.waiting->block : r.block,
                             " do: code is compared by name, so that the same code counts as other code"});
    }
  return {};
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
