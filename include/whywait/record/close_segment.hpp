#ifndef WHYWAIT_RECORD_CLOSE_SEGMENT_HPP
#define WHYWAIT_RECORD_CLOSE_SEGMENT_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/code_source.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/location.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// Adds a path step to sums per block, which get their memory with the first step. Code that the compiler counts has none.
__attribute__((noinline, cold)) inline void add_step(core::path_step*& sums, const core::path_step& step,
                                                     core::registry& registry) noexcept {
  if (step.block >= core::site_table::capacity) return;
  if (sums == nullptr) {
    sums = static_cast<core::path_step*>(core::map_pages(sizeof(core::path_step) * core::site_table::capacity, false));
    registry.kept.keep_by_site(sums, 0, sizeof(core::path_step));
  }
  if (sums == nullptr) return;
  core::path_step& sum = sums[step.block];
  sum.block = step.block;
  sum.within = step.within;
  sum.visits += step.visits;
  sum.ticks += step.ticks;
  sum.work += step.work;
}

/// Reports the code that ran in all sources since the last synchronisation of the calling thread. No allocation.
inline void collect_code(core::registry& registry, const core::step_sink& sink) noexcept {
  for (core::code_source* source = __atomic_load_n(&registry.sources, __ATOMIC_ACQUIRE); source != nullptr;
       source = source->next)
    source->collect(*source, sink);
}

namespace detail {

// Without memory for order only sums are kept.
__attribute__((noinline, cold)) inline void fold_step(thread_facts& thread, const core::path_step& step,
                                                      core::registry& registry) noexcept {
  ++thread.lost_steps;
  add_step(thread.folded, step, registry);
}

template <class Keep>
__attribute__((noinline)) void keep_code(core::registry& registry, const Keep& keep) noexcept {
  collect_code(registry, {const_cast<void*>(static_cast<const void*>(&keep)),
                          [](void* self, const core::path_step& step) noexcept { (*static_cast<const Keep*>(self))(step); }});
}

// Maps memory, which is no part of the program's code.
template <class Buffer>
__attribute__((noinline, cold)) auto claim_uncounted(Buffer& buffer, thread_facts& thread) noexcept {
  const int64_t before = code_counter::instant();
  auto* const place = buffer.claim();
  thread.counter.leave_out(before, Buffer::chunk_bytes / 4096);
  return place;
}

}  // namespace detail

/// Ends the segment of the calling thread at `now` and keeps its steps. Returns the time if that took a fresh chunk or counters
/// of the compiler were read, else 0. Inline, for functions with fewer arguments.
__attribute__((always_inline)) inline uint64_t close_segment(location& here, thread_facts& thread, run_facts& run,
                                                             core::registry& registry, uint64_t now) noexcept {
  bool paused = false;
  if (__builtin_expect(run.closed, 0)) {
    here.path.close(now, [&](const core::path_step& step) { detail::fold_step(thread, step, registry); });
    return 0;
  }
  const auto keep = [&](const core::path_step& step) noexcept {
    core::path_step* place = here.steps.claim_at_once();
    if (__builtin_expect(place == nullptr, 0)) {
      place = detail::claim_uncounted(here.steps, thread);
      paused = true;
    }
    if (place != nullptr) {
      place->block = step.block;  // each alone: a copy of the whole would first be put together on the stack
      place->within = step.within;
      place->visits = step.visits;
      place->ticks = step.ticks;
      place->work = step.work;
      here.steps.publish();
    } else {
      detail::fold_step(thread, step, registry);
    }
  };
  here.path.close(now, keep);
  if (__builtin_expect(registry.sources != nullptr, 0)) {
    detail::keep_code(registry, keep);
    paused = true;
  }
  if (__builtin_expect(here.steps.dropped() != 0, 0)) run.close(now, run.posted());
  return paused ? core::cycle_clock::now() : 0;
}

/// A record of `here` where there was no room at once: in a fresh chunk, or null, and then the run is closed. `posting`: the
/// ordinal taken for it, or 0.
__attribute__((noinline, cold)) inline core::sync_record* claim_again(location& here, thread_facts& thread, run_facts& run,
                                                                      uint64_t begin, uint32_t posting) noexcept {
  if (!run.closed) {
    if (core::sync_record* const place = detail::claim_uncounted(here.syncs, thread)) return place;
    run.close(begin, posting != 0 ? posting - 1 : run.posted());
  } else if (__builtin_expect(posting != 0 && posting <= run.closed_posting, 0)) {
    run.close(begin, posting - 1);  // taken before another thread found the memory full
  }
  ++thread.lost_records;
  return nullptr;
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
