#ifndef WHYWAIT_EXPLAIN_PROGRESS_HPP
#define WHYWAIT_EXPLAIN_PROGRESS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

// Whether messages make progress while their partner is outside MPI is not known in advance: it depends on the library,
// the network, the size and free buffers. It is measured in the run (docs/method.md 1.9).

/// Messages that behave alike: those of one direction and size class, within a node or between nodes.
class progress_class {
 public:
  static constexpr std::size_t count = 256;

  /// The class between nodes; `bytes` of a message are classed by their number of binary digits.
  static std::uint8_t number_of(bool sends, std::uint64_t bytes) noexcept {
    const unsigned digits = bytes == 0 ? 0 : std::min(most_digits, static_cast<unsigned>(64 - __builtin_clzll(bytes)));
    return static_cast<std::uint8_t>((sends ? sends_bit : 0u) | digits);
  }
  /// The class of the postings of windows (core::epoch_tag), which no size of a message has.
  static std::uint8_t of_epochs(bool sends) noexcept {
    return static_cast<std::uint8_t>((sends ? sends_bit : 0u) | epoch_digits);
  }
  /// The class of calls on locked windows.
  static std::uint8_t of_locks() noexcept { return static_cast<std::uint8_t>(sends_bit | lock_digits); }
  /// The same class within a node.
  static std::uint8_t within(std::uint8_t number) noexcept { return static_cast<std::uint8_t>(number | node_bit); }
  static bool sends(std::size_t number) noexcept { return (number & sends_bit) != 0; }
  static bool within_node(std::size_t number) noexcept { return (number & node_bit) != 0; }
  /// Whether it is a class of messages, not of windows.
  static bool of_messages(std::size_t number) noexcept { return (number & 63u) <= most_digits; }
  /// The smallest message of the class.
  static std::uint64_t least_bytes(std::size_t number) noexcept {
    const unsigned digits = number & 63u;
    return digits == 0 ? 0 : std::uint64_t{1} << (digits - 1);
  }

 private:
  static constexpr unsigned sends_bit = 128, node_bit = 64, most_digits = 59, epoch_digits = 60, lock_digits = 61;
};

/// Whether a call with this role returns only when the messages that it completes are complete.
inline bool completes_messages(core::call_role role) noexcept {
  using core::call_role;
  return role == call_role::send || role == call_role::receive || role == call_role::exchange ||
         role == call_role::complete_all || role == call_role::complete_any || role == call_role::epoch;
}

/// When one location was in MPI, by the index of its calls. Records of thread primitives are none. 8 bytes per call, and 16 for each
/// 4 seconds and for each call of more than 2 seconds. Not thread safe, questions neither.
class mpi_entries {
 public:
  struct entry {
    std::int64_t begin_ns, leave_ns;
  };
  static constexpr std::size_t none = ~std::size_t{0};  ///< the call before the first one

  void reserve(std::size_t calls) { all_.reserve(calls); }
  /// Calls must come in the order of their beginnings.
  void add(std::int64_t begin_ns, std::int64_t leave_ns, core::mpi_call call) {
    using core::call_role;
    const call_role role = core::role_of(call);
    const std::uint32_t record = records_++;
    if (role == call_role::thread_wait || role == call_role::thread_event) return;
    const auto number = static_cast<std::uint32_t>(all_.size());
    if (record != number) {
      while (numbers_.size() < number) numbers_.push_back(static_cast<std::uint32_t>(numbers_.size()));
      numbers_.push_back(record);
    } else if (!numbers_.empty()) {
      numbers_.push_back(record);
    }
    if (spans_.empty() || begin_ns - spans_.back().ns > std::int64_t{UINT32_MAX}) spans_.push_back({begin_ns, number});
    const bool is_long = leave_ns - begin_ns >= longest_ns;
    if (is_long) long_.push_back({leave_ns, number});
    const bool posts = role == call_role::post_send || role == call_role::post_receive || role == call_role::start;
    all_.push_back({static_cast<std::uint32_t>(begin_ns - spans_.back().ns),
                    (is_long ? longest_ns : static_cast<std::uint32_t>(leave_ns - begin_ns)) & longest_ns, posts ? 1u : 0u});
  }
  /// O(log (run time / 4 s + long calls)).
  [[gnu::noinline]] entry operator[](std::size_t i) const noexcept {
    const std::int64_t from_ns = begin_ns(i);
    return {from_ns, all_[i].stay_ns != longest_ns ? from_ns + all_[i].stay_ns : last_by(long_, i)};
  }
  /// The record of a call, and the call of a record.
  std::uint32_t record_of(std::size_t i) const noexcept {
    return numbers_.empty() ? static_cast<std::uint32_t>(i) : numbers_[i];
  }
  entry at_record(std::uint32_t record) const noexcept {
    if (numbers_.empty()) return (*this)[record];
    return (*this)[static_cast<std::size_t>(std::lower_bound(numbers_.begin(), numbers_.end(), record) - numbers_.begin())];
  }

  /// The last call that began by an instant, or `none`. O(log calls).
  std::size_t last_until(std::int64_t ns) const noexcept { return after(ns) - 1; }
  /// The call that ended the time outside MPI before call `last`: calls that follow one another within a thirty-second of the
  /// time since `since_ns` are one visit to MPI, and its first call is the reason for the visit. O(log calls).
  std::size_t visit_of(std::size_t last, std::int64_t since_ns) const noexcept {
    const std::int64_t until_ns = (*this)[last].begin_ns;
    if (until_ns <= since_ns) return last;
    return after(until_ns - (until_ns - since_ns) / 32 - 1);
  }
  /// The first call that did more than post and that began in an interval or was not over when it began; or `none`.
  /// O(log calls + postings in between).
  std::size_t first_in(std::int64_t since_ns, std::int64_t until_ns) const noexcept {
    std::size_t i = after(since_ns - 1);
    if (i != 0 && (*this)[i - 1].leave_ns > since_ns && all_[i - 1].only_posts == 0) return i - 1;
    while (i != all_.size() && all_[i].only_posts != 0 && (*this)[i].begin_ns <= until_ns) ++i;
    return i == all_.size() || (*this)[i].begin_ns > until_ns ? none : i;
  }
  /// What this location did while a partner was blocked: its last visit to MPI that began by `until_ns`.
  struct visit {
    std::size_t first = none;  ///< the call that began the visit
    std::int64_t last_ns = INT64_MIN;  ///< when its last call began
    std::int64_t inside_ns = 0;  ///< time in MPI from the beginning of the block to the visit
    std::int64_t outside_ns = INT64_MIN;  ///< as in blocked_call; INT64_MIN: it was never in MPI
  };
  visit while_blocked(std::int64_t since_ns, std::int64_t leave_ns, std::int64_t until_ns) const noexcept {
    visit v;
    const std::size_t at_end = last_until(leave_ns - 1);
    if (at_end == none) return v;
    const std::int64_t left_ns = (*this)[at_end].leave_ns;
    v.outside_ns = left_ns <= leave_ns ? left_ns : INT64_MAX;
    const std::size_t last = last_until(std::min(leave_ns - 1, until_ns));
    if (last == none) return v;
    v.last_ns = (*this)[last].begin_ns;
    v.first = visit_of(last, since_ns);
    v.inside_ns = inside_ns(v.first, since_ns);
    return v;
  }
  /// Time in MPI from `since_ns` to the beginning of a call. Of very many calls the last ones stand for all.
  std::int64_t inside_ns(std::size_t last, std::int64_t since_ns) const noexcept {
    const std::int64_t until_ns = (*this)[last].begin_ns;
    std::int64_t sum_ns = 0;
    std::size_t i = last;
    for (std::size_t n = 0; i != 0 && n != most_visited; ++n) {
      const entry e = (*this)[--i];
      if (e.leave_ns <= since_ns) return sum_ns;
      sum_ns += std::max<std::int64_t>(0, std::min(e.leave_ns, until_ns) - std::max(e.begin_ns, since_ns));
    }
    const std::int64_t seen_ns = until_ns - std::max(since_ns, (*this)[i].begin_ns);
    if (i == 0 || seen_ns <= 0) return sum_ns;
    const double share = static_cast<double>(sum_ns) / static_cast<double>(seen_ns);
    return static_cast<std::int64_t>(share * static_cast<double>(until_ns - since_ns));
  }

 private:
  static constexpr std::size_t most_visited = 64;
  static constexpr std::uint32_t longest_ns = (1u << 31) - 1;

  // `after_ns`: since the beginning of its span. `stay_ns`: longest_ns if the call is in long_.
  struct visited {
    std::uint32_t after_ns;
    std::uint32_t stay_ns : 31;
    std::uint32_t only_posts : 1;  ///< it does not stay long enough to complete earlier messages
  };

  struct instant {
    std::int64_t ns;
    std::uint32_t call;
  };

  // The time of the last one whose call is not after `i`; the first one is not.
  static std::int64_t last_by(const base::pod_vector<instant>& all, std::size_t i) noexcept {
    std::size_t first = 0, last = all.back().call <= i ? 0 : all.size() - 1;  // mostly there is one
    if (last == 0) return all.back().ns;
    while (last - first > 1) {
      const std::size_t middle = (first + last) / 2;
      (all[middle].call <= i ? first : last) = middle;
    }
    return all[first].ns;
  }
  std::int64_t begin_ns(std::size_t i) const noexcept { return last_by(spans_, i) + all_[i].after_ns; }
  // The number of calls that began by an instant. The search begins at the answer before: most questions are about calls near it.
  [[gnu::noinline]] std::size_t after(std::int64_t ns) const noexcept {
    std::size_t first = 0, last = all_.size();
    for (std::size_t middle = near_, step = 1; first != last; step *= 2) {
      if (begin_ns(middle) <= ns) {
        first = middle + 1;
        middle = last - middle > step ? middle + step : (first + last) / 2;
      } else {
        last = middle;
        middle = middle - first > step ? middle - step : (first + last) / 2;
      }
    }
    near_ = std::min(first, all_.size() - 1);
    return first;
  }

  base::pod_vector<visited> all_;
  base::pod_vector<instant> spans_;  ///< each begins with a call and is shorter than 2^32 ns
  base::pod_vector<instant> long_;  ///< when the long calls ended
  base::pod_vector<std::uint32_t> numbers_;  ///< the records; empty: record i is call i
  std::uint32_t records_ = 0;
  mutable std::size_t near_ = 0;  ///< the last answer of `after`
};

/// A call that stayed blocked after all that it needed by definition had arrived, and what one partner did meanwhile.
struct blocked_call {
  std::int64_t since_ns;  ///< from here on nothing but progress or transfer was missing
  std::int64_t leave_ns;  ///< the call returned
  std::int64_t entry_ns;  ///< the partner's last entry into MPI before that, for the same message; INT64_MIN: none
  std::int64_t inside_ns;  ///< time that the partner spent in MPI from `since_ns` to that entry
  std::int64_t outside_ns;  ///< since when the partner was outside MPI at `leave_ns`; INT64_MAX: it was inside

  /// The call may have waited for the partner's entry: the partner was outside MPI for most of the time before it.
  bool may_have_waited(std::int64_t threshold_ns) const noexcept {
    if (entry_ns == INT64_MIN) return false;
    const std::int64_t wait_ns = entry_ns - since_ns;
    return wait_ns >= threshold_ns && 2 * inside_ns <= wait_ns;
  }
  /// The return followed soon after the entry, compared with the time that the call had been blocked.
  bool ended_by_entry(std::int64_t threshold_ns) const noexcept {
    return may_have_waited(threshold_ns) && entry_ns - since_ns >= leave_ns - entry_ns;
  }
  /// No chance: the partner came to MPI once after at least 1 ms, and the call returned within a thirty-second of that time.
  bool ended_at_once() const noexcept {
    const std::int64_t wait_ns = entry_ns - since_ns;
    return entry_ns != INT64_MIN && inside_ns == 0 && wait_ns >= 1000000 && leave_ns - entry_ns <= wait_ns / 32;
  }
  /// The call returned although the partner had been outside MPI for most of the blocked time.
  bool ended_without_partner() const noexcept {
    return outside_ns != INT64_MAX && 2 * (leave_ns - std::max(outside_ns, since_ns)) > leave_ns - since_ns;
  }
};

/// Evidence of the blocked calls of a run about each class of messages. Each call counts with the time that it was blocked:
/// short delays of a transfer are weak evidence. Plain sums that ranks add up.
struct progress_votes {
  static constexpr std::uint32_t least_calls = 3;  ///< fewer may be chance, unless they ended at once

  std::uint64_t by_entry_ns[progress_class::count] = {};
  std::uint64_t without_partner_ns[progress_class::count] = {};
  std::uint32_t by_entry[progress_class::count] = {};  ///< number of calls
  std::uint32_t at_once[progress_class::count] = {};  ///< of these, how many ended at once

  /// Whether messages of the class complete only when the partner is in MPI.
  bool dependent(std::size_t number) const noexcept {
    const bool chance = by_entry[number] < least_calls && at_once[number] == 0;
    return !chance && by_entry_ns[number] > 2 * without_partner_ns[number];
  }
  /// Whether nearly all observations agree.
  bool certain(std::size_t number) const noexcept {
    return dependent(number) && by_entry_ns[number] >= 8 * without_partner_ns[number];
  }
  bool any() const noexcept {
    for (std::size_t c = 0; c != progress_class::count; ++c) {
      if (dependent(c)) return true;
    }
    return false;
  }

  /// The classes that depend on their partners, joined by direction and distance.
  base::vector<progress_fact> facts() const {
    base::vector<progress_fact> found;
    for (std::size_t first = 0; first != progress_class::count; first += 64) {
      progress_fact f{progress_class::sends(first), progress_class::within_node(first), 0, 0};
      for (std::size_t c = first; c != first + 64; ++c) {
        if (!dependent(c) || !progress_class::of_messages(c)) continue;
        if (f.calls == 0) f.least_bytes = progress_class::least_bytes(c);
        f.calls += by_entry[c];
      }
      if (f.calls != 0) found.push_back(f);
    }
    return found;
  }

  /// Counts one blocked call, with all messages that it completed. A call that ended by an entry is evidence for the
  /// message of the partner that entered last, one that no partner can have ended is evidence against all. If it completed sends and
  /// receives, it counts for the sends, because receives of the same exchange arrive before.
  struct message {
    blocked_call call;
    std::uint8_t number;  ///< progress_class
  };
  void count(const message* all, std::size_t size, std::int64_t threshold_ns) noexcept {
    const message* last = nullptr;
    bool alone = size != 0, sends = false;
    for (const message* m = all; m != all + size; ++m) {
      sends = sends || progress_class::sends(m->number);
      alone = alone && m->call.ended_without_partner();
      if (!m->call.ended_by_entry(threshold_ns)) continue;
      const bool later = last == nullptr || m->call.entry_ns > last->call.entry_ns;
      const bool prefer = last != nullptr && m->call.entry_ns == last->call.entry_ns && progress_class::sends(m->number);
      if (later || prefer) last = m;
    }
    if (last != nullptr) {
      ++by_entry[last->number];
      if (last->call.ended_at_once()) ++at_once[last->number];
      by_entry_ns[last->number] += blocked_ns(*last);
    } else if (alone) {
      for (const message* m = all; m != all + size; ++m) {
        if (!sends || progress_class::sends(m->number)) without_partner_ns[m->number] += blocked_ns(*m);
      }
    }
  }
  /// Counts blocked calls: `all` is sorted by call, which `same(a, b)` compares, and `message_of` reads one message.
  template <class List, class Same, class Function>
  void count_calls(const List& all, std::int64_t threshold_ns, const Same& same, const Function& message_of) {
    base::pod_vector<message> messages;
    for (std::size_t i = 0; i != all.size();) {
      messages.clear();
      const std::size_t first = i;
      for (; i != all.size() && same(all[first], all[i]); ++i) messages.push_back(message_of(all[i]));
      count(messages.data(), messages.size(), threshold_ns);
    }
  }
  void add(const progress_votes& o) noexcept {
    for (std::size_t c = 0; c != progress_class::count; ++c) {
      by_entry[c] += o.by_entry[c];
      at_once[c] += o.at_once[c];
      by_entry_ns[c] += o.by_entry_ns[c];
      without_partner_ns[c] += o.without_partner_ns[c];
    }
  }

 private:
  static std::uint64_t blocked_ns(const message& m) noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, m.call.leave_ns - m.call.since_ns));
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
