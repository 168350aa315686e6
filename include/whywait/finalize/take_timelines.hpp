#ifndef WHYWAIT_FINALIZE_TAKE_TIMELINES_HPP
#define WHYWAIT_FINALIZE_TAKE_TIMELINES_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/explain/timeline.hpp>
#include <whywait/record/kept_details.hpp>
#include <whywait/record/location.hpp>

#include <cstdint>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Drains the WHYWAIT_TIMELINE buffers of this process. Returns one timeline per thread, in the order of their
/// locations; empty without that setting. Local; one caller at a time, while threads may continue to record.
/// explain::marks_of converts the events to shared time. O(events), allocates.
inline base::vector<explain::location_timeline> take_timelines(const core::registry& registry) {
  base::vector<explain::location_timeline> all;
  for (core::location_base* l = __atomic_load_n(&registry.locations, __ATOMIC_ACQUIRE); l != nullptr; l = l->next) {
    record::kept_details* const more = record::kept_details::of(static_cast<const record::location&>(*l));
    if (more == nullptr || !more->timed) continue;
    explain::location_timeline one;
    one.thread = static_cast<std::int32_t>(l->index);
    std::uint64_t taken = 0;
    const std::uint64_t happened = more->line.happened();
    more->line.drain([&](const core::timeline_event* first, std::uint64_t count) {
      one.events.insert(one.events.end(), first, first + count);
      for (std::uint64_t i = 0; i < count; ++i) taken += first[i].kind() != core::timeline_event::clock ? 1 : 0;
    });
    const std::uint64_t before = more->taken_out;
    more->taken_out += taken;
    one.lost = happened > before + taken ? happened - before - taken : 0;
    one.lost_first = more->line.keeps_last();
    all.insert(all.begin(), std::move(one));
  }
  return all;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
