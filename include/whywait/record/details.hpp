#ifndef WHYWAIT_RECORD_DETAILS_HPP
#define WHYWAIT_RECORD_DETAILS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/record/path_order.hpp>
#include <whywait/record/timeline.hpp>

#include <new>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// What a thread keeps beside its path profile if WHYWAIT_PATH or WHYWAIT_TIMELINE ask for it. Each function is called
/// before the path recorder is told the same. A mark in a signal handler that interrupts another one is left out
/// here (counted), never in the profile. Written by its thread only. Not inlined: the slow way of a mark is cold, and
/// what is inlined into cold code is made small, not fast.
struct details {
  bool ordered;
  bool timed;
  bool timed_steps;
  bool busy;
  uint64_t left_out;   ///< marks in signal handlers
  uint64_t taken_out;  ///< the reader's: events of the timeline it has taken
  path_order order;
  timeline line;

  /// Null if the settings ask for nothing, or if there is no address space.
  static details* make(core::registry& registry) noexcept {
    const core::settings& config = registry.config;
    if (!config.path_order && config.timeline == core::settings::timeline_choice::none) return nullptr;
    void* const pages = core::map_pages(sizeof(details), false);
    if (pages == nullptr) return nullptr;
    details* const made = new (pages) details();
    made->ordered = config.path_order && made->order.open(registry.order_memory);
    made->timed =
        config.timeline != core::settings::timeline_choice::none &&
        made->line.open(registry.timeline_memory, config.timeline == core::settings::timeline_choice::overwrite_oldest);
    made->timed_steps = made->timed && config.timeline_blocks;
    return made;
  }

  template <class Location>
  __attribute__((noinline)) void enter(const Location& here, uint32_t number, uint64_t now) noexcept {
    const alone guard(*this);
    if (!guard) return;
    if (ordered) order.enter(here, number, now);
    if (timed) line.enter(number, now);
  }
  template <class Location>
  __attribute__((noinline)) void leave(const Location& here, uint64_t now) noexcept {
    const alone guard(*this);
    if (!guard) return;
    if (ordered) order.leave(here, now);
    if (timed && here.path.depth() != 0) line.leave(here.path.innermost(), now);
  }
  template <class Location>
  __attribute__((noinline)) void next(const Location& here, uint32_t number, uint64_t now) noexcept {
    if (here.path.depth() == 0) return visit(here, number);  // then the path recorder only counts it
    leave(here, now);
    const alone guard(*this);
    if (!guard) return;
    if (ordered) order.enter(here, number, now);
    if (timed) line.enter(number, now);
  }
  template <class Location>
  __attribute__((noinline)) void visit(const Location& here, uint32_t number) noexcept {
    const alone guard(*this);
    if (!guard) return;
    if (ordered) order.visit(here, number);
    if (timed_steps) line.visit(number);
  }

 private:
  struct alone {
    details& of;
    const bool got;
    explicit alone(details& d) noexcept : of(d), got(!d.busy) {
      if (!got) {
        ++of.left_out;
        return;
      }
      of.busy = true;
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    ~alone() {
      if (!got) return;
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
      of.busy = false;
    }
    alone(const alone&) = delete;
    alone& operator=(const alone&) = delete;
    explicit operator bool() const noexcept { return got; }
  };
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
