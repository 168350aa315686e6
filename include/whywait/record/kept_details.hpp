#ifndef WHYWAIT_RECORD_KEPT_DETAILS_HPP
#define WHYWAIT_RECORD_KEPT_DETAILS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/record/details.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/path_order_recorder.hpp>
#include <whywait/record/timeline_recorder.hpp>

#include <stdint.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// What a thread keeps beside its path profile because of WHYWAIT_PATH or WHYWAIT_TIMELINE. A mark in a signal
/// handler that interrupts another mark is missing here (counted), but not in the profile. Written by its thread only.
struct kept_details : details {
  bool timed = false;
  bool timed_steps = false;
  bool busy = false;
  uint64_t left_out = 0;   ///< marks in signal handlers
  uint64_t taken_out = 0;  ///< the reader's: events of the timeline it has taken
  path_order order;
  timeline line;

  static kept_details* of(const location& at) noexcept { return static_cast<kept_details*>(at.more); }

  /// For registry::make_details. Null if the settings request nothing, or if there is no address space.
  static void* make(core::registry& registry) noexcept {
    const core::settings& config = registry.config;
    if (!config.path_order && config.timeline == core::settings::timeline_choice::none) return nullptr;
    void* const pages = core::map_pages(sizeof(kept_details), false);
    if (pages == nullptr) return nullptr;
    kept_details* const made = new (pages) kept_details();
    made->enter = &entered;
    made->leave = &left;
    made->next = &followed;
    made->visit = &visited;
    made->append = &appended;
    made->ordered = config.path_order && made->order.open(registry.order_memory);
    made->timed =
        config.timeline != core::settings::timeline_choice::none &&
        made->line.open(registry.timeline_memory, config.timeline == core::settings::timeline_choice::overwrite_oldest);
    made->timed_steps = made->timed && config.timeline_blocks;
    return static_cast<details*>(made);
  }

 private:
  static void entered(location& at, uint32_t number, uint64_t now) noexcept {
    kept_details& d = *of(at);
    const alone guard(d);
    if (guard) d.begins(at, number, now);
  }
  static void left(location& at, uint64_t now) noexcept {
    kept_details& d = *of(at);
    const alone guard(d);
    if (guard) d.ends(at, now);
  }
  static void followed(location& at, uint32_t number, uint64_t now) noexcept {
    if (at.path.depth() == 0) return visited(at, number);  // then the path recorder only counts it
    kept_details& d = *of(at);
    const alone guard(d);
    if (!guard) return;
    d.ends(at, now);
    d.begins(at, number, now);
  }
  static void visited(location& at, uint32_t number) noexcept {
    kept_details& d = *of(at);
    const alone guard(d);
    if (!guard) return;
    if (d.ordered) d.order.visit(at, number);
    if (d.timed_steps) d.line.visit(number);
  }

  static void appended(location& at, uint32_t number) noexcept {
    kept_details& d = *of(at);
    const alone guard(d);
    if (guard && d.ordered) d.order.visit(at, number);
  }

  void begins(const location& at, uint32_t number, uint64_t now) noexcept {
    if (ordered) order.enter(at, number, now);
    if (timed) line.enter(number, now);
  }
  void ends(const location& at, uint64_t now) noexcept {
    if (ordered) order.leave(at, now);
    if (timed && at.path.depth() != 0) line.leave(at.path.innermost(), now);
  }

  struct alone {
    kept_details& of;
    const bool got;
    explicit alone(kept_details& d) noexcept : of(d), got(!d.busy) {
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

/// Makes threads that start recording from now on keep what the settings request. The reader calls it before
/// `listen`.
inline void keep_details() noexcept {
  if (core::registry* registry = core::the_registry())
    __atomic_store_n(&registry->make_details, &kept_details::make, __ATOMIC_RELEASE);
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
