#ifndef WHYWAIT_REPORT_WAITS_FOR_CODE_HPP
#define WHYWAIT_REPORT_WAITS_FOR_CODE_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/rules/finding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

// How the threads wait that wait because of a block. Each function walks through all explanations.

/// The block that explains most of the waits; 0: none does.
inline core::stable_key top_block(const explain::explanation& waits) noexcept {
  const explain::residual_term* top = nullptr;
  for (const explain::residual_term& t : waits.residual)
    if (top == nullptr || t.total_ns > top->total_ns) top = &t;
  return top != nullptr ? top->block : 0;
}
/// The same of the wait of a finding; 0 also if it is about no wait.
inline core::stable_key top_block(const rules::finding& f, const explain::outcome& found) noexcept {
  return f.wait >= 0 && static_cast<std::size_t>(f.wait) < found.waits.size()
             ? top_block(found.waits[static_cast<std::size_t>(f.wait)])
             : 0;
}

/// Whether other threads wait for a lock that a thread holds while it runs this code: divided, the parts wait for it in turn.
[[gnu::noinline]] inline bool runs_under_lock(core::stable_key piece, const explain::outcome& found) noexcept {
  std::int64_t locked_ns = 0, other_ns = 0;
  for (const explain::explanation& e : found.waits)
    if (e.why != explain::pattern::join && top_block(e) == piece)
      (explain::waits_for_lock(e.why) ? locked_ns : other_ns) += e.wait_ns;
  return locked_ns > other_ns;
}

/// Whether a wait of a finding is explained by a block, at least by a fifth.
inline bool explains(core::stable_key block, const rules::finding& f, const explain::outcome& found) noexcept {
  if (f.wait < 0 || static_cast<std::size_t>(f.wait) >= found.waits.size()) return false;
  const explain::explanation& e = found.waits[static_cast<std::size_t>(f.wait)];
  return base::any_of(e.residual,
                      [&](const explain::residual_term& t) { return t.block == block && 5 * t.total_ns >= e.wait_ns; });
}

/// Whether threads wait for single results of this code, such as items of a queue: more threads may then take items at the same time, but
/// each item takes as long as before, which the clocks do not know. `alone`: one thread runs the code. Then a wait in the kernel, of an
/// inlined primitive of C++20, is for an item as well, and not at a barrier.
[[gnu::noinline]] inline bool hands_over(core::stable_key piece, bool alone, const explain::outcome& found,
                                         const name_resolver& resolve) {
  std::int64_t handed_ns = 0, other_ns = 0;
  for (const explain::explanation& e : found.waits) {
    if (e.why == explain::pattern::join || top_block(e) != piece) continue;
    const bool by_item = e.why == explain::pattern::condition_variable || e.why == explain::pattern::semaphore ||
                         e.why == explain::pattern::future || (alone && e.why == explain::pattern::latch);
    (by_item && resolve.site(e.cause).call.compare(0, 3, "omp") != 0 ? handed_ns : other_ns) += e.wait_ns;
  }
  return handed_ns > other_ns;
}

/// Whether locks were waited for. The clocks keep the order in which they were taken, which a balanced run would not have.
[[gnu::noinline]] inline bool takes_locks(const explain::outcome& found) noexcept {
  std::int64_t ns = 0;
  for (const explain::explanation& e : found.waits) ns += explain::waits_for_lock(e.why) ? e.wait_ns : 0;
  return ns > 0 && 2000 * ns >= found.location_ns;
}

/// How long threads wait because of a block; for `whole`, all unmarked code, whatever the reason. A thread that waits in `join` to
/// the end of another one waits also for work that is even, and so does a rank for a message of one whose threads share the block, and
/// its threads with it (`by_threads`).
[[gnu::noinline]] inline std::int64_t waited_for(core::stable_key piece, bool whole, bool by_threads,
                                                 const explain::outcome& found) noexcept {
  std::int64_t ns = 0;
  for (const explain::explanation& e : found.waits) {
    const bool even = e.why == explain::pattern::join ||
                      (by_threads && (e.why < explain::pattern::mutex_contention || 2 * e.inherited_wait_ns() > e.wait_ns));
    if (!even && (whole ? !explain::waits_for_lock(e.why) : top_block(e) == piece)) ns += e.wait_ns;
  }
  return ns;
}

/// What the run saves if a block takes half the time; 0: it is not known.
inline std::int64_t saved_by_half(core::stable_key block, const explain::outcome& found) noexcept {
  for (const explain::what_if_answer& a : found.savings)
    if (a.question.changes.size() == 1 && a.question.changes[0].block == block) return a.saving_ns;
  return 0;
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
