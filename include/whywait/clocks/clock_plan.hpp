#ifndef WHYWAIT_CLOCKS_CLOCK_PLAN_HPP
#define WHYWAIT_CLOCKS_CLOCK_PLAN_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stamp.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The hypotheses of one pass, the same on all ranks. Clock 0 of the first pass is compensation (no measurement
/// overhead), clock 1 the ideal network; the others are questions.
class clock_plan {
 public:
  /// `first`: whether this is the first pass, which compensates. `questions`: at most most_clocks.
  clock_plan(const explain::what_if* questions, std::size_t count, bool first)
      : compensates_(first), clocks_(count + (first ? 1 : 0)), changes_calls_(first ? 1 : 0) {
    for (std::size_t q = 0; q != count; ++q) {
      const std::size_t clock = q + (first ? 1 : 0);
      for (const explain::change& c : questions[q].changes) {
        const bool network = c.block == explain::network_key();
        if (network || c.block == explain::node_network_key() || c.block == explain::files_key()) {
          base::vector<saving>& all = network ? network_ : c.block == explain::files_key() ? files_ : node_network_;
          if (!all.empty() && all.back().clock == clock) all.pop_back();
          changes_calls_ |= std::uint64_t{1} << clock;
          all.push_back({1 - c.factor, static_cast<std::uint32_t>(clock), none, -1});
          continue;
        }
        if (c.sends_first) add_once(moving_, static_cast<std::uint32_t>(clock));
        if (c.polls) add_once(polling_, static_cast<std::uint32_t>(clock));
        if (c.posts) add_once(posting_, static_cast<std::uint32_t>(clock));
        const auto fresh = static_cast<std::uint32_t>(asked_.size());
        const std::uint32_t number = numbers_.intern(c.block, fresh);
        const auto changed =
            static_cast<std::uint32_t>(clock) | (c.sends_first ? moves_bit : 0) | (c.removed ? removes_bit : 0);
        removes_ = removes_ || c.removed;
        asked_.push_back({c.sends_first ? 1 : 1 - c.factor, changed, none, c.balanced});
        balances_ = balances_ || c.balanced >= 0;
        if (number == fresh) continue;
        asked_[fresh].next = asked_[number].next;
        asked_[number].next = fresh;
      }
    }
  }

  /// The number under which `spend` finds a block, or `none` if no question changes it.
  std::uint32_t number_of(core::stable_key block) const noexcept { return numbers_.find(block); }
  static constexpr std::uint32_t none = base::key_map::none;

  /// Set in the clock that `spend` passes: the time is not saved, sends move before it.
  static constexpr std::uint32_t moves_bit = 0x80000000u;
  /// Set in the clock that `spend` passes for a call in which that clock does not wait.
  static constexpr std::uint32_t removes_bit = 0x40000000u;
  /// The clocks that move sends.
  const base::pod_vector<std::uint32_t>& moving() const noexcept { return moving_; }
  /// Those of them that also let others go on before a call that completes requests.
  const base::pod_vector<std::uint32_t>& polling() const noexcept { return polling_; }
  /// Those of them that also move the posting of receives.
  const base::pod_vector<std::uint32_t>& posting() const noexcept { return posting_; }

  std::size_t clocks() const noexcept { return clocks_; }
  /// Whether a clock is a question that leaves the network as it is.
  bool keeps_calls(std::size_t clock) const noexcept { return (changes_calls_ >> clock & 1) == 0; }
  bool compensates() const noexcept { return compensates_; }
  bool asks() const noexcept { return !asked_.empty(); }
  bool removes() const noexcept { return removes_; }
  bool asks_nodes() const noexcept { return !node_network_.empty(); }
  bool balances() const noexcept { return balances_; }

  /// Calls saved(clock, ns) with the part of the time in a block that each clock saves; balanced(question) returns that of a
  /// balanced block.
  template <class Saved, class Balanced>
  void spend(std::uint32_t number, std::int64_t ns, Saved&& saved, Balanced&& balanced) const {
    for (; number != none; number = asked_[number].next) {
      const saving& s = asked_[number];
      saved(s.clock, s.balanced >= 0 ? balanced(static_cast<std::size_t>(s.balanced)) : share(s.part, ns));
    }
  }
  /// The same for time inside a call, which is not balanced.
  template <class Saved>
  void spend(std::uint32_t number, std::int64_t ns, Saved&& saved) const {
    spend(number, ns, saved, [](std::size_t) { return std::int64_t{0}; });
  }
  /// `leaves`: the call communicates with another node. `of_files`: the time is input and output.
  void spend_network(std::int64_t ns, bool leaves, bool of_files, clock_bank<most_clocks>& x) const noexcept {
    if (ns == 0) return;
    if (of_files) {
      for (const saving& s : files_) x[s.clock] += share(s.part, ns);
      return;
    }
    for (const saving& s : network_) x[s.clock] += share(s.part, ns);
    if (leaves) return;
    for (const saving& s : node_network_) x[s.clock] += share(s.part, ns);
  }

 private:
  struct saving {
    double part;  ///< part of the time that is saved; negative: the time grows
    std::uint32_t clock;
    std::uint32_t next;  ///< the next saving of the same block
    std::int32_t balanced;  ///< as in explain::change
  };

  [[gnu::noinline]] static void add_once(base::pod_vector<std::uint32_t>& all, std::uint32_t clock) {
    if (all.empty() || all.back() != clock) all.push_back(clock);
  }
  static std::int64_t share(double part, std::int64_t ns) noexcept {
    return part == 0 ? 0 : core::nearest(part * static_cast<double>(ns));
  }

  bool compensates_, balances_ = false, removes_ = false;
  std::size_t clocks_;
  std::uint64_t changes_calls_;  ///< by clock: compensation, and questions about the network
  base::vector<saving> network_, node_network_, files_, asked_;
  base::pod_vector<std::uint32_t> moving_, polling_, posting_;
  base::key_map numbers_;  ///< the first saving in asked_ of each block
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
