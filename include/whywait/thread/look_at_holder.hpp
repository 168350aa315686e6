#ifndef WHYWAIT_THREAD_LOOK_AT_HOLDER_HPP
#define WHYWAIT_THREAD_LOOK_AT_HOLDER_HPP

#include <whywait/core/registry.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/path_head.hpp>
#include <whywait/thread/sync_call.hpp>
#include <whywait/thread/watches.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// What the holder of a lock has done since its last record, seen by a thread that begins to wait for it. From the difference to
/// what the holder records when it gives the lock up, the explanation derives what it ran during the wait, although taking a free
/// lock leaves no trace. On the stack of the waiter, about 4 KiB.
class holder_view {
 public:
  static constexpr uint32_t room = 128;

  /// Looks at the thread that took the lock last. Without allocation, lock or system call; about 20 ns and 2 ns for each block of the
  /// holder's open segment.
  void look(const lock_watch& watch, uint64_t now) noexcept {
    const record::path_head* const holder = __atomic_load_n(&watch.holder, __ATOMIC_ACQUIRE);
    const record::location* const at = holder != nullptr ? __atomic_load_n(&holder->owner, __ATOMIC_RELAXED) : nullptr;
    if (at == nullptr) return;
    cut_.ticks = now;
    const uint64_t records = at->syncs.size(), segment = at->steps.size();
    cut_.record = static_cast<uint32_t>(records);
    cut_.segment = static_cast<uint32_t>(segment);
    cut_.location = static_cast<uint16_t>(__atomic_load_n(&at->index, __ATOMIC_RELAXED));
    cut_.steps = at->path.glimpse(now, steps_, room);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    cut_.whole = cut_.steps <= room && at->syncs.size() == records && at->steps.size() == segment ? 1 : 0;
    if (cut_.whole == 0) cut_.steps = 0;
    seen_ = true;
  }
  explicit operator bool() const noexcept { return seen_; }

  /// Keeps what was seen for the wait that the thread of `call` records next. What does not fit into memory is left out.
  void keep(const sync_call& call) noexcept {
    record::location& own = call.where();
    if (!seen_ || cut_.location == own.index) return;
    core::memory_budget& memory = const_cast<core::registry&>(call.registry()).memory;
    if (!opened(own.cuts, memory) || !opened(own.cut_steps, memory)) return;
    cut_.waiter = static_cast<uint32_t>(call.next_index());
    if (!own.cuts.push(cut_)) return;
    for (uint32_t i = 0; i < cut_.steps; ++i) {
      if (own.cut_steps.push(steps_[i])) continue;
      core::thread_cut& kept = own.cuts[own.cuts.size() - 1];
      kept.steps = i;
      kept.whole = 0;
      return;
    }
  }

 private:
  template <class Buffer>
  static bool opened(Buffer& buffer, core::memory_budget& memory) noexcept {
    return buffer.is_open() || buffer.open(memory);
  }

  core::thread_cut cut_;
  core::path_step steps_[room];
  bool seen_ = false;
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
