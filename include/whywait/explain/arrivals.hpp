#ifndef WHYWAIT_EXPLAIN_ARRIVALS_HPP
#define WHYWAIT_EXPLAIN_ARRIVALS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/epoch_postings.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/paused_time.hpp>
#include <whywait/explain/progress.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Decides for every record of one location whether it waited, for which record, and why (docs/method.md 1.1, 1.2).
/// Input are the matched messages and the answers for collectives, output are the arrivals by record.
class arrival_rule {
 public:
  /// Buffers whose content has no meaning between two locations.
  struct scratch {
    // A late sender, as Scalasca remembers it: it is in wrong order if a message sent before it is received later.
    struct remembered {
      std::int64_t sent_ns, half_ns;  // half_ns: the middle of the wait
      std::size_t at;
    };
    base::pod_vector<remembered> late;
    base::pod_vector<arrival> result;
  };

  arrival_rule(const rank_history& rank, std::uint16_t location, const options& settings, const paused_time& paused, scratch& s)
      : rank_(&rank), here_(location), settings_(&settings), paused_(&paused), late_(s.late), result_(s.result) {}

  /// `matches`: those completed at this location. Both inputs are sorted by record. The result is a buffer of the
  /// scratch. It takes the memory of `collectives` if there are no matches.
  base::pod_vector<arrival>& operator()(const message_match* matches, std::size_t match_count,
                                        base::pod_vector<arrival>& collectives) {
    forget();
    const location_history& location = rank_->locations[here_];
    const std::size_t collective_count = collectives.size();
    const arrival* const answers = collectives.data();
    if (match_count == 0) result_.swap(collectives);  // written behind what is read: a record has no more arrivals than answers
    result_.clear();
    location_walk walk(*rank_);
    std::size_t m = 0, c = 0;
    // Walks all records, because begin and leave depend on those before.
    for (std::uint64_t i = 0; m != match_count || c != collective_count; ++i) {
      std::uint64_t next = location.records.size();
      if (m != match_count) next = std::min<std::uint64_t>(next, matches[m].record);
      if (c != collective_count) next = std::min<std::uint64_t>(next, answers[c].record);
      for (; i < next; ++i) step(location.records[i], walk);
      if (i == location.records.size()) break;
      const core::sync_record& r = location.records[i];
      step(r, walk);
      std::size_t last = m;
      while (last != match_count && matches[last].record == i) ++last;
      if (last != m) {
        messages(r, static_cast<std::uint32_t>(i), matches + m, matches + last, walk);
        m = last;
      }
      if (c == collective_count || answers[c].record != i) continue;
      // Of several operations that the call completed the one counts that it needed last; what was over before the messages
      // held up nothing. Copies, because the result may take the place of the answers.
      struct {
        bool any = false;
        arrival last;
      } needed, relay;
      for (; c != collective_count && answers[c].record == i; ++c) {
        auto& best = answers[c].has(arrival_flag::relay) ? relay : needed;
        if (!best.any || answers[c].need_ns > best.last.need_ns) best = {true, answers[c]};
      }
      for (const auto* const each : {&needed, &relay}) {
        if (!each->any) continue;
        if (!result_.empty() && result_.back().record == i) {
          const std::int64_t more_ns = each->last.need_ns - result_.back().need_ns;
          if (more_ns <= 0 || (each == &relay && more_ns < settings_->threshold_ns)) continue;
          const bool replaced = each == &needed && result_.back().why != pattern::wait_for_progress;
          // Too short for an explanation: belongs to the longer wait.
          if (replaced || !result_.back().has(arrival_flag::adopt)) take_back();
        }
        result_.push_back(each->last);
        if (location.dropped > 0) result_.back().trust = std::max(result_.back().trust, quality::bounded);
        finish(walk);
      }
    }
    return result_;
  }

 private:
  // From MPI's return to the end of the call.
  std::int64_t back_ns(core::mpi_call call) const noexcept {
    return std::max<std::int64_t>(0, core::nearest(overhead_of(rank_->locations[here_], call).back_ns));
  }

  static bool earlier_rank(const message_match& a, const message_match& b) noexcept {
    return a.rank != b.rank ? a.rank < b.rank : a.partner.location < b.partner.location;
  }

  // Receives can be taken in another order up to the next call that sends or synchronises: what is received after it may
  // need what was received before, and belongs to the next step of an iteration.
  void step(const core::sync_record& r, location_walk& walk) {
    walk.step(r);
    const bool ends_order = core::sends_messages(core::role_of(r.call)) || core::is_ordered_collective(r.call);
    if (!late_.empty() && ends_order) forget();
  }
  void forget() {
    late_.clear();
    latest_ns_ = INT64_MIN;
  }

  void messages(const core::sync_record& r, std::uint32_t index, const message_match* first, const message_match* last,
                const location_walk& walk) {
    using core::call_role;
    const call_role role = core::role_of(r);
    if (role == call_role::thread_wait) return thread_wait(r, index, *first, walk);
    // A receive that was posted ahead is in no order, but its wait is among those of the same kind.
    const bool receives = role == call_role::receive;
    if (receives || (r.call == core::mpi_call::Wait && last - first == 1))
      check_order(first, last, code_after(index), receives);
    // A single test does not wait. Tests that were repeated until one succeeded have the role of the blocking call.
    const bool waits = completes_messages(role) || role == call_role::probe;
    if (!waits) return;
    const bool any = role == call_role::complete_any;
    const message_match* sender = nullptr;  // the latest late sender
    const message_match* receiver = nullptr;  // the latest late receiver
    const message_match* first_done = nullptr;
    const message_match* progress = nullptr;  // the entry of a partner that was needed last
    const bool of_window = is_end_of_epoch(r.call);
    bool at_once = false;
    int late = 0;
    for (const message_match* m = first; m != last; ++m) {
      const std::int64_t t = m->partner.begin_ns;
      if (m->progress) {
        if (progress == nullptr || t > progress->partner.begin_ns ||
            (t == progress->partner.begin_ns && earlier_rank(*m, *progress))) {
          progress = m;
        }
        continue;
      }
      if ((m->partner.flags & endpoint_flag::operation) != 0) continue;
      // A receive that was posted after MPI had sent did not block it: the message was buffered.
      const bool matters = m->receiving || t < walk.leave_ns() - back_ns(r.call);
      if (!matters || t <= walk.begin_ns()) {
        at_once = true;
        continue;
      }
      ++late;
      if (first_done == nullptr || t < first_done->partner.begin_ns ||
          (t == first_done->partner.begin_ns && earlier_rank(*m, *first_done))) {
        first_done = m;
      }
      const message_match*& best = m->receiving ? sender : receiver;
      if (best == nullptr || t > best->partner.begin_ns || (t == best->partner.begin_ns && earlier_rank(*m, *best))) {
        best = m;
      }
    }
    // Scalasca's rule: a call with a late sender has no late receiver. But one that stayed blocked after the message and returned
    // sooner after the receive was posted waited for that receive as well.
    const message_match* cause = any && at_once ? nullptr : any ? first_done : sender != nullptr ? sender : receiver;
    const message_match* second = nullptr;
    if (!any && sender != nullptr && receiver != nullptr && !of_window) {
      const std::int64_t sent_ns = sender->partner.begin_ns, posted_ns = receiver->partner.begin_ns;
      const std::int64_t blocked_ns = posted_ns - sent_ns;
      if (blocked_ns > 0 && blocked_ns >= settings_->threshold_ns &&
          blocked_ns >= walk.leave_ns() - back_ns(r.call) - posted_ns) {
        second = receiver;
        if (sent_ns - walk.begin_ns() < settings_->threshold_ns) cause = second;
        if (cause == second) second = nullptr;
      }
    }
    // What follows the last posting is a wait for progress, until the partner's last entry into MPI.
    const message_match* const last_posted = second != nullptr ? second : cause;
    const std::int64_t posted_ns =
        last_posted == nullptr ? walk.begin_ns() : std::max(walk.begin_ns(), last_posted->partner.begin_ns);
    if (progress != nullptr && progress->partner.begin_ns - posted_ns < settings_->threshold_ns) progress = nullptr;
    if (progress != nullptr && cause != nullptr && second == nullptr) {
      // Both waits for the same rank have one explanation: what it ran until it was needed last.
      const bool same = !earlier_rank(*cause, *progress) && !earlier_rank(*progress, *cause);
      const std::int64_t first_ns = posted_ns - walk.begin_ns(), second_ns = progress->partner.begin_ns - posted_ns;
      if (first_ns < settings_->threshold_ns || (same && first_ns <= second_ns)) cause = nullptr;
    }
    if (cause != nullptr && of_window) {
      epochs(*cause, r, index, first, last, walk);
    } else if (cause != nullptr) {
      add(*cause, index, cause->receiving ? pattern::late_sender : pattern::late_receiver);
      if (late > 1) result_.back().trust = std::max(result_.back().trust, quality::bounded);
      if (finish(walk) && cause->receiving) remember(result_.back(), result_.size() - 1, walk.begin_ns());
    }
    if (second != nullptr) {
      add(*second, index, pattern::late_receiver);
      result_.back().trust = std::max(result_.back().trust, quality::bounded);
      finish(walk);
    }
    if (progress == nullptr) return;
    add(*progress, index, pattern::wait_for_progress);
    finish(walk);
  }

  // A call that begins or ends an epoch of a window waits for postings of the other side. What an origin took from its last
  // operation to MPI_Win_complete is a wait of its own. A posting that returned only after the other side came had waited
  // for its progress, for it needs nothing else.
  void epochs(const message_match& cause, const core::sync_record& r, std::uint32_t index, const message_match* first,
              const message_match* last, const location_walk& walk) {
    const bool exposure = r.call == core::mpi_call::Win_wait || r.call == core::mpi_call::Win_test;
    if (!cause.receiving || !exposure) {
      add(cause, index, cause.receiving ? pattern::late_post : pattern::wait_for_progress);
      finish(walk);
      return;
    }
    const message_match* operation = nullptr;
    for (const message_match* m = first; m != last; ++m) {
      const bool same = m->rank == cause.rank && m->partner.location == cause.partner.location && !m->progress;
      if (same && (m->partner.flags & endpoint_flag::operation) != 0) operation = m;
    }
    const bool could_end = operation != nullptr && operation->partner.record != cause.partner.record;
    const std::int64_t since_ns = could_end ? std::max(operation->partner.begin_ns, walk.begin_ns()) : cause.partner.begin_ns;
    const bool split = could_end && cause.partner.begin_ns - since_ns >= settings_->threshold_ns;
    if (split && since_ns - walk.begin_ns() >= settings_->threshold_ns) {
      add(*operation, index, pattern::early_wait);
      finish(walk);
    }
    add(cause, index, split ? pattern::late_complete : pattern::early_wait);
    finish(walk);
  }

  // A part of a wait for a thread (thread_book.hpp).
  void thread_wait(const core::sync_record& r, std::uint32_t index, const message_match& cause, const location_walk& walk) {
    const core::thread_action& action = core::action_of(r.call);
    add(cause, index, pattern_of(action.object));
    arrival& a = result_.back();
    if (r.has(core::thread_flag::based)) {
      a.base_record = static_cast<std::uint32_t>(r.tag);
      a.flags |= arrival_flag::based;
    }
    if (r.has(core::thread_flag::merged)) a.trust = std::max(a.trust, quality::bounded);
    if (action.op == core::thread_op::begin) {
      a.flags |= arrival_flag::begins;
      if (a.need_ns > walk.leave_ns()) a.flags &= static_cast<std::uint16_t>(~unsigned{arrival_flag::adopt});
      return;
    }
    finish(walk);
  }
  static pattern pattern_of(core::thread_object object) noexcept {
    switch (object) {
      case core::thread_object::lock: return pattern::mutex_contention;
      case core::thread_object::condition:
      case core::thread_object::outside: return pattern::condition_variable;
      case core::thread_object::barrier: return pattern::thread_barrier;
      case core::thread_object::latch: return pattern::latch;
      case core::thread_object::semaphore: return pattern::semaphore;
      case core::thread_object::future: return pattern::future;
      default: return pattern::join;
    }
  }

  void add(const message_match& cause, std::uint32_t index, pattern why) {
    result_.emplace_back();  // written in place: copying a freshly written struct stalls on store forwarding
    arrival& a = result_.back();
    a.need_ns = cause.partner.begin_ns;
    a.site = cause.partner.site;
    a.record = index;
    a.causer_record = cause.partner.record;
    a.causer_rank = cause.rank;
    a.causer_location = cause.partner.location;
    a.why = why;
    a.flags = arrival_flag::adopt;
    if ((cause.partner.flags & endpoint_flag::partial) != 0) a.trust = quality::bounded;
    if ((cause.partner.flags & endpoint_flag::ambiguous) != 0) a.trust = quality::order_suspect;
  }

  // Clamps the last wait into its call and decides whether the causer's path is needed. Returns true for a wait.
  bool finish(const location_walk& walk) {
    arrival& a = result_.back();
    const std::int64_t wait_ns = std::min(a.need_ns, walk.leave_ns()) - walk.begin_ns();
    const bool suspect = a.trust == quality::order_suspect;
    if (a.need_ns > walk.leave_ns()) a.flags |= arrival_flag::violation;
    if (paused_->contains(walk.begin_ns())) a.flags |= arrival_flag::paused;
    if (a.has(arrival_flag::violation) || (suspect && a.need_ns == walk.leave_ns()) ||
        (wait_ns < settings_->threshold_ns && !a.has(arrival_flag::all))) {
      a.flags &= static_cast<std::uint16_t>(~unsigned{arrival_flag::adopt});
    }
    if (wait_ns <= 0 && !a.has(arrival_flag::adopt)) {
      result_.pop_back();
      return false;
    }
    if (wait_ns < 4 * settings_->clock_error_ns) a.trust = std::max(a.trust, quality::bounded);
    return wait_ns > 0;
  }

  // Removes the last result.
  void take_back() {
    if (!late_.empty() && late_.back().at + 1 == result_.size()) late_.pop_back();
    result_.pop_back();
  }

  void remember(const arrival& a, std::size_t at, std::int64_t begin_ns) {
    if (late_.size() == memory_limit) late_.erase(late_.begin());
    late_.emplace_back();
    late_.back().sent_ns = a.need_ns;
    late_.back().half_ns = begin_ns + (a.need_ns - begin_ns) / 2;
    late_.back().at = at;
    latest_ns_ = std::max(latest_ns_, a.need_ns);
  }

  // The code between a call and the next one.
  std::int64_t code_after(std::uint32_t index) const noexcept {
    const auto& records = rank_->locations[here_].records;
    if (index + 1 >= records.size()) return 0;
    const core::sync_record& r = records[index];
    return core::nearest(static_cast<double>(records[index + 1].begin - (r.begin + r.duration)) * rank_->clock.ns_per_tick);
  }

  // `code_ns`: after the receive. It could have run during waits for other messages since this one was ready. `ordered`: not posted
  // ahead.
  void check_order(const message_match* first, const message_match* last, std::int64_t code_ns, bool ordered) {
    for (const message_match* m = first; m != last; ++m) {
      if (!m->receiving || late_.empty() || m->partner.begin_ns >= latest_ns_) continue;
      std::int64_t latest = INT64_MIN;
      std::size_t kept = 0;
      for (const scratch::remembered late : late_) {
        const bool wrong = late.sent_ns > m->partner.begin_ns, ready = late.half_ns >= m->partner.begin_ns;
        if (wrong && ordered) result_[late.at].flags |= arrival_flag::wrong_order;
        if (wrong && ready) result_[late.at].flags |= arrival_flag::other_ready;
        if (wrong) {  // where no code follows the late message, what follows the other one needs both
          const std::int64_t wait_ns = 2 * (late.sent_ns - late.half_ns), since_ns = late.sent_ns - m->partner.begin_ns;
          const std::int64_t usable_ns = std::min(std::min(code_ns, code_after(result_[late.at].record)), since_ns);
          code_ns -= fill(result_[late.at].ready, usable_ns, wait_ns);
        }
        if (ready && result_[late.at].ready == all_of_wait) continue;  // nothing is left to find
        latest = std::max(latest, late.sent_ns);
        late_[kept++] = late;
      }
      late_.resize(kept);
      latest_ns_ = latest;
    }
  }

  // Adds to the part of a wait that code fills. Returns how much of the code fits in.
  static std::int64_t fill(std::uint16_t& part, std::int64_t code_ns, std::int64_t wait_ns) noexcept {
    const std::int64_t wait = std::min(wait_ns, std::int64_t{1} << 47);  // 39 hours: no product overflows
    const std::int64_t room_ns = wait * (all_of_wait - part) / all_of_wait, taken_ns = std::min(code_ns, room_ns);
    if (taken_ns <= 0) return 0;
    part = static_cast<std::uint16_t>(taken_ns == room_ns ? all_of_wait : part + taken_ns * all_of_wait / wait);
    return taken_ns;
  }

  static constexpr std::size_t memory_limit = 100;

  const rank_history* rank_;
  std::uint16_t here_;
  const options* settings_;
  const paused_time* paused_;
  base::pod_vector<scratch::remembered>& late_;
  base::pod_vector<arrival>& result_;
  std::int64_t latest_ns_ = INT64_MIN;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
