#ifndef WHYWAIT_RULES_WAIT_SHAPES_HPP
#define WHYWAIT_RULES_WAIT_SHAPES_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Waits of one kind, which for readers are the same: of one pattern, with one operation and one cause. Their explanations
/// differ in their shape, that is in the code that ran on both sides. O(1) per explanation and rank that waited.
class wait_shapes {
 public:
  void add(const explain::explanation& e) {
    const std::uint32_t kind = enter(kind_of(e), e.wait_ns);
    std::int64_t longest_ns = 0;
    for (const explain::location_share& s : e.waiters) {
      if (s.rank < 0) continue;
      longest_ns = std::max(longest_ns, s.ns);
      const std::uint32_t rank = enter(core::combine(core::combine(kind + 1, static_cast<std::uint64_t>(s.rank)), 1), s.ns);
      entries_[kind].longest_ns = std::max(entries_[kind].longest_ns, entries_[rank].ns);
    }
    entries_[enter(because_of(e), e.wait_ns)].longest_ns += longest_ns;
    enter(e.operation, e.wait_ns);
    for (const explain::location_share& s : e.causers) enter(thread_of(s, waits_for_it), s.ns);
    for (const explain::location_share& s : e.waiters) enter(thread_of(s, it_waits), s.ns);
  }

  /// Whether a wait is that of threads that work little and that hardly anything waits for, such as one that serves requests or writes
  /// logs: the run would not be shorter without it. `run_ns`: length of the run.
  bool of_service(const explain::explanation& e, std::int64_t run_ns) const noexcept {
    using explain::pattern;
    if (e.why != pattern::condition_variable && e.why != pattern::semaphore && e.why != pattern::latch) return false;
    const std::int64_t least = base::ranks_are_threads() ? 95 : 50;  // percent of the run; beside MPI others are known to work
    std::int64_t ns = 0;
    for (const explain::location_share& s : e.waiters) {
      const bool needed = 100 * ns_of(thread_of(s, waits_for_it)) >= run_ns;
      if (s.rank >= 0 && !needed && 100 * ns_of(thread_of(s, it_waits)) >= least * run_ns) ns += s.ns;
    }
    return 10 * ns >= 9 * e.wait_ns;
  }

  /// Duration of all waits of the kind of `e`, which was added.
  std::int64_t all_ns(const explain::explanation& e) const noexcept { return entries_[numbers_.find(kind_of(e))].ns; }
  /// Of all with the operation of `e`.
  std::int64_t operation_ns(const explain::explanation& e) const noexcept { return ns_of(e.operation); }
  /// Of those that the same block explains most of.
  std::int64_t because_ns(const explain::explanation& e) const noexcept { return entries_[numbers_.find(because_of(e))].ns; }
  /// How long the thread that waited most in each explanation of those waited; 0: it is not known.
  std::int64_t because_longest_ns(const explain::explanation& e) const noexcept {
    return entries_[numbers_.find(because_of(e))].longest_ns;
  }
  /// How long the rank that waited most, with all its threads, waited in waits of this kind; 0: it is not known.
  std::int64_t longest_waiter_ns(const explain::explanation& e) const noexcept {
    return entries_[numbers_.find(kind_of(e))].longest_ns;
  }

 private:
  struct entry {
    std::int64_t ns = 0, longest_ns = 0;
  };
  enum role : std::uint64_t { waits_for_it = 3, it_waits = 4 };

  static core::stable_key thread_of(const explain::location_share& s, role what) noexcept {
    return core::combine(static_cast<std::uint64_t>(explain::thread_of_rank{s.rank, s.thread}.number()), what);
  }
  std::int64_t ns_of(core::stable_key key) const noexcept {
    const std::uint32_t number = numbers_.find(key);
    return number != base::key_map::none ? entries_[number].ns : 0;
  }

  static core::stable_key kind_of(const explain::explanation& e) noexcept {
    return core::combine(core::combine(e.operation, e.cause), static_cast<std::uint64_t>(e.why));
  }
  static core::stable_key because_of(const explain::explanation& e) noexcept {
    const explain::residual_term* most = nullptr;
    for (const explain::residual_term& t : e.residual)
      if (most == nullptr || t.total_ns > most->total_ns) most = &t;
    return core::combine(core::combine(kind_of(e), most != nullptr ? most->block : 0), 2);
  }
  std::uint32_t enter(core::stable_key key, std::int64_t ns) {
    const std::uint32_t number = numbers_.intern(key, static_cast<std::uint32_t>(entries_.size()));
    if (number == entries_.size()) entries_.push_back({});
    entries_[number].ns += ns;
    return number;
  }

  base::key_map numbers_;  ///< indices in entries_
  base::pod_vector<entry> entries_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
