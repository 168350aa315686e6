#ifndef WHYWAIT_EXPLAIN_ENGINE_HPP
#define WHYWAIT_EXPLAIN_ENGINE_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/active_time.hpp>
#include <whywait/explain/arrivals.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/collective_book.hpp>
#include <whywait/explain/folding.hpp>
#include <whywait/explain/forward.hpp>
#include <whywait/explain/lock_book.hpp>
#include <whywait/explain/map_stage.hpp>
#include <whywait/explain/merging.hpp>
#include <whywait/explain/messages.hpp>
#include <whywait/explain/paused_time.hpp>
#include <whywait/explain/presentation.hpp>
#include <whywait/explain/progress_book.hpp>
#include <whywait/explain/thread_waits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The explanation of one rank; `explain` (explain.hpp) calls the stages in this order, each on all ranks before the
/// next. Every stage with an arrow is an exchange of the transport.
///
///  1. read_records: counts and lists the rank's own messages and collective calls.
///  2. send_postings -> receive_postings: senders send their postings to the receivers, which match them and reply when
///     and where late receives were posted. Members of a collective send their part to its home rank, one of the
///     members. Home ranks send the arrivals (the last to come) to the members, and the needs of the virtual clocks.
///     Origins send their locks of windows to the targets.
///  3. send_remaining_answers -> receive_postings: home ranks answer collectives of which some members are missing, and
///     targets answer calls on locked windows (lock_book.hpp).
///     find_blocked, then send_progress -> receive_progress: ranks whose calls stayed blocked ask their partners when these
///     were in MPI. The votes of all ranks decide which messages need that (progress.hpp). With the virtual clocks, a
///     second exchange asks for the entries that such messages needed without having waited.
///  4. decide_arrivals: for each record, whether it waited, for which record of which rank, and why (arrivals.hpp).
///  5. send_snapshot_requests -> receive_snapshot_requests: waiters request the causal paths of their causers.
///  6. send_base_records -> receive_base_records: causers send the records at which a waiter has to keep its own path,
///     so that a snapshot can be sent relative to it, without waiting (snapshot.hpp).
///  7. advance -> receive_snapshots: the forward pass (forward.hpp). Causers send snapshots of their paths as they pass
///     the requested records; waiters explain their waits by them and acknowledge them (flow control, links.hpp).
///  8. hand_over_classes, then rounds of propose_leaders -> join_leaders (merging.hpp): all ranks agree on classes.
///  9. pack_result -> merge_result: the sums of all classes are reduced to rank 0, which presents them.
///
/// The virtual clocks (clocks.hpp) run their passes after 9, and the delay costs with the first of them, or between 8 and the
/// rounds.
///
/// Memory: records are read in place; beside them 24 bytes per send and 48 per receive until stage 5, then 40 bytes per
/// wait and 24 per wait that this rank caused. Not thread safe.
class rank_engine {
 public:
  /// Buffers of stages 1 to 4. All ranks of a process share one instance.
  struct scratch {
    posting_lists::scratch postings;
    base::key_map communicators;
    base::pod_vector<std::uint32_t> places;
    arrival_rule::scratch rule;
  };

  /// `clocks`: the virtual clocks of this rank, or null. `memory`: kept from epoch to epoch. `forward`: the buffers of
  /// the process. All arguments are borrowed, including `settings`.
  rank_engine(const rank_history& rank, const options& settings, rank_clocks* clocks, epoch_memory& memory,
              forward_scratch& forward)
      : rank_(&rank),
        settings_(&settings),
        messages_(rank, clocks != nullptr, forward.merging.memory),
        collectives_(rank, forward.merging.memory),
        progress_(rank, std::max(settings.threshold_ns, settings.progress_ns), forward.merging.memory),
        locks_(rank, settings, forward.merging.memory),
        threads_(rank, forward.merging.memory),
        memory_(&memory),
        clocks_(clocks),
        scratch_(&forward),
        replies_(forward.merging.memory),
        reply_bytes_(forward.merging.memory) {
    memory_->classes.use(settings, forward.merging);
  }

  // Stage 1.
  void read_records(scratch& s) {
    posting_lists& postings = messages_.postings();
    const auto locations = static_cast<std::uint16_t>(rank_->locations.size());
    std::size_t locks = 0, waits = 0;
    bool collectives = false;
    base::pod_vector<active_time> active_times;
    for (std::uint16_t l = 0; l != locations; ++l) {
      postings.count_postings(s.postings, l, [&](const core::sync_record& r) {
        collectives = collectives || is_ordered_collective(r);
        locks += core::role_of(r.call) == core::call_role::lock ? 1 : 0;
        waits += core::role_of(r.call) == core::call_role::thread_wait ? 1 : 0;
      });
    }
    postings.allocate(s.postings);
    for (std::uint16_t l = 0; l != locations; ++l) {
      const location_walk walk =
          postings.add_postings(s.postings, l, [&](std::uint32_t i, const core::sync_record& r, const location_walk& at) {
            if (collectives) collectives_.add_call(s.communicators, {i, l}, r, at);
            if (r.call == core::mpi_call::Pcontrol) paused_.add(r, at.leave_ns());
          });
      const location_history& location = rank_->locations[l];
      const active_time active = active_time_of(*rank_, location, walk.leave_ns());
      totals_.records += static_cast<std::int64_t>(location.records.size() - location.carried);
      totals_.locations += active.takes_part ? 1 : 0;
      totals_.location_ns += active.ns();
      totals_.longest_ns = std::max(totals_.longest_ns, rank_->before_ns + active.ns());
      active_times.push_back(active);
    }
    const bool paused = paused_.close(memory_->paused);
    if (rank_->continues) memory_->paused = paused;
    for (const active_time& a : active_times) totals_.paused_ns += paused_.within(a.begin_ns, a.end_ns);
    messages_.sort_postings(s.postings);
    give_back(s);
    collectives_.order_calls(s.communicators, memory_->collectives);
    if (locks != 0) locks_.read_records();
    if (waits != 0) threads_.read_records();
    if (!collectives && locks == 0) return;
    make_answers();
    for (std::size_t l = 0; l != answers_.size(); ++l) answers_[l].reserve(collectives_.most_answers(l));
  }

  // Stage 2, producer: the rank's own collective calls, then replies to received postings, then its own postings.
  template <class Outbox>
  void send_postings(Outbox&& to, std::size_t room) {
    // First, so that members of a communicator send as many of its calls in a round, and few wait for the others.
    collectives_.send_participants(to, room - room / 2);
    std::size_t begin = 0;
    for (const reply& r : replies_) {
      base::put_bytes(to(r.rank), reply_bytes_.data() + begin, r.end - begin);
      begin = r.end;
    }
    replies_.clear();
    reply_bytes_.clear();
    collectives_.send_answers(*settings_, false, to, clocks_);
    messages_.send_postings(to, room);
    locks_.send(to, room);
    threads_.send(to, room);
  }

  // Stage 3, producer.
  template <class Outbox>
  void send_remaining_answers(Outbox&& to) {
    locks_.send_answers(to, clocks_);
    collectives_.send_answers(*settings_, true, to, clocks_);
  }

  // Stages 2 and 3, consumer.
  void receive_postings(std::int32_t source, const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    while (!in.empty()) {
      switch (const auto part = in.get<std::uint32_t>()) {
        case base::packet_part::sends: messages_.receive_sends(source, in, reply_bytes_); break;
        case base::packet_part::receives: messages_.receive_replies(source, in); break;
        case base::packet_part::unmet: messages_.receive_unmet(source, in); break;
        case base::packet_part::lock_held: locks_.receive_held(source, in); break;
        case base::packet_part::lock_blocked: locks_.receive_blocked(source, in); break;
        case base::packet_part::lock_answer: locks_.receive_answer(in); break;
        case base::packet_part::thread_wait: threads_.receive_wait(in, reply_bytes_); break;
        case base::packet_part::thread_cause: thread_waits::receive_cause(in, messages_); break;
        case base::packet_part::participation: collectives_.receive_participant(source, in); break;
        case base::packet_part::give:
        case base::packet_part::need: clocks_->receive_needs(part, in); break;
        default: {
          const auto location = in.get<std::uint16_t>();
          const auto a = in.get<arrival>();
          if (location < answers_.size()) answers_[location].push_back(a);
        }
      }
    }
    const std::size_t before = replies_.empty() ? 0 : replies_.back().end;
    if (reply_bytes_.size() != before) replies_.push_back({source, reply_bytes_.size()});
  }

  // Between stages 3 and 4.
  void find_blocked(scratch& s) {
    progress_.find_blocked(messages_);
    give_back(s);
  }
  template <class Outbox>
  void send_progress(Outbox&& to, std::size_t room) {
    progress_.send(to, room);
  }
  void receive_progress(std::int32_t source, const unsigned char* data, std::size_t size) {
    progress_.receive(source, data, size);
  }
  void count_progress(progress_votes& votes) {
    progress_.count(votes);
    locks_.count(votes);
  }
  void add_progress_waits(const progress_votes& votes) {
    progress_.add_waits(votes, messages_);
    locks_.add_waits(votes, answers_);
    if (clocks_ != nullptr) progress_.find_unblocked(messages_.postings(), votes);
  }

  // Stage 4. Afterwards every wait is known.
  void decide_arrivals(std::int64_t earliest_ns, scratch& s) {
    progress_.add_others(messages_);
    progress_.release();
    if (rank_->continues) memory_->carried = messages_.carried();
    if (rank_->continues) memory_->collectives = collectives_.counts();
    totals_.unmatched = messages_.unmatched();
    const message_book::match_list matches = messages_.take_matches(s.places);
    give_back(s);
    make_answers();
    forward_.reset(new forward_pass(*rank_, *settings_, earliest_ns, memory_->blocks, memory_->classes, *scratch_));
    if (settings_->maps) {
      if (!rank_->continued) memory_->begin_ns = earliest_ns;
      forward_->set_maps(maps_.begin(*rank_, memory_->blocks, memory_->begin_ns));
    }
    std::size_t first = 0;
    for (std::size_t l = 0; l != rank_->locations.size(); ++l) {
      std::size_t last = first;
      while (last != matches.count && matches.first[last].location == l) ++last;
      base::pod_vector<arrival>& answers = answers_[l];
      base::sort_by_record(answers, static_cast<std::size_t>(rank_->locations[l].records.size()), s.places);
      arrival_rule rule(*rank_, static_cast<std::uint16_t>(l), *settings_, paused_, s.rule);
      base::pod_vector<arrival>& arrivals = rule(matches.first + first, last - first, answers);
      answers.release();
      for (const arrival& a : arrivals) totals_.clock_violations += a.has(arrival_flag::violation) ? 1 : 0;
      if (clocks_ != nullptr) {
        clocks_->add_messages(static_cast<std::uint16_t>(l), matches.first + first, last - first, arrivals);
      }
      forward_->set_arrivals(static_cast<std::uint16_t>(l), arrivals);
      first = last;
    }
    messages_.release();
    answers_ = {};
    reply_bytes_.release();
    replies_.release();
  }

  // Stages 5 to 7.
  forward_pass& forward() noexcept { return *forward_; }

  /// The maps, after the forward pass.
  map_stage& maps() noexcept { return maps_; }

  /// Stage 8. `merging` is borrowed; `number` is the index of this rank among those of the process.
  void hand_over_classes(class_merger& merging, std::size_t number) {
    if (clocks_ != nullptr) forward_->report(*clocks_);
    forward_.reset();
    merging_ = &merging;
    number_ = number;
    wait_classes& classes = memory_->classes;
    for (std::size_t c = 0; c != classes.size(); ++c) totals_.waiting_ns += classes.sums(c).wait_ns;
    merging.take_classes(number, *rank_, memory_->blocks, classes);
  }

  // Stage 9.
  base::packet pack_result() {
    collect_meanings();
    base::packet out;
    for (const std::int64_t v : {totals_.locations, totals_.records, totals_.waiting_ns, totals_.location_ns,
                                 totals_.longest_ns, totals_.clock_violations, totals_.unmatched, totals_.paused_ns}) {
      put(out, v);
    }
    put_all(out, meanings_);
    merging_->write_classes(number_, out);
    return out;
  }
  void merge_result(const unsigned char* data, std::size_t size) {
    collect_meanings();
    base::packet_reader in(data, size);
    totals_.locations += in.get<std::int64_t>();
    totals_.records += in.get<std::int64_t>();
    totals_.waiting_ns += in.get<std::int64_t>();
    totals_.location_ns += in.get<std::int64_t>();
    totals_.longest_ns = std::max(totals_.longest_ns, in.get<std::int64_t>());
    totals_.clock_violations += in.get<std::int64_t>();
    totals_.unmatched += in.get<std::int64_t>();
    totals_.paused_ns += in.get<std::int64_t>();
    const std::size_t known = meanings_.size();
    std::size_t at = 0;
    for (std::size_t n = in.get_count(sizeof(block_meaning)); n != 0; --n) {
      const auto m = in.get<block_meaning>();
      while (at != known && meanings_[at].key < m.key) ++at;
      if (at == known || meanings_[at].key != m.key) meanings_.push_back(m);
    }
    if (meanings_.size() != known) sort_meanings();
    merging_->merge_classes(number_, in.rest(), in.left());
  }
  /// On other ranks than 0, at the end: what is known there.
  outcome take_totals() noexcept { return std::move(totals_); }

  void place_clock_classes() {
    if (clocks_ != nullptr) clocks_->set_classes(*merging_, number_);
  }

  outcome present_result() {
    if (clocks_ != nullptr) clocks_->report(totals_, merging_->merged_classes());
    if (memory_->progress != nullptr) totals_.progress = memory_->progress->facts();
    totals_.maps = maps_.result();
    detail::add_epoch(memory_->sums, totals_);
    base::vector<merged_class>& all = memory_->merged;
    class_merger::add_epoch(all, merging_->merged_classes());
    outcome result = memory_->sums;
    base::vector<merged_class> presented;
    if (rank_->continues) {
      presented = all;
    } else {
      presented.swap(all);
    }
    collect_meanings();
    result.waits = present(presented, meanings_, *settings_);
    base::pod_vector<core::stable_key> used;
    for (const explanation& e : result.waits) {
      for (const residual_term& t : e.residual) {
        used.push_back(t.block);
        used.push_back(t.within);
      }
    }
    for (const critical_block& c : result.critical_path) used.push_back(c.block);
    for (const delay_cost& c : result.costs.blocks) used.push_back(c.block);
    for (const balance_answer& b : result.balances) used.push_back(b.piece);
    for (const what_if_answer& a : result.savings) used.push_back(a.question.changes[0].block);
    for (const what_if_answer& a : result.factors) used.push_back(a.question.changes[0].block);
    for (const core::stable_key block : result.maps.blocks) used.push_back(block);
    result.maps.align();
    if (clocks_ != nullptr) clocks_->mark_savings(result);
    small_stable_sort(used);
    for (const block_meaning& m : meanings_) {
      if (std::binary_search(used.begin(), used.end(), m.key)) result.meanings.push_back(m);
    }
    return result;
  }

 private:
  struct reply {
    std::int32_t rank;
    std::size_t end;  ///< end of the reply in reply_bytes_
  };

  // Large buffers are not kept for the next rank of the process, while others need memory.
  [[gnu::noinline]] static void give_back(scratch& s) noexcept {
    static constexpr std::size_t most_kept = 1 << 16;
    for (auto* const buffer : {&s.places, &s.postings.of_records})
      if (buffer->capacity() > most_kept) buffer->release();
  }

  // Makes one list for each location.
  void make_answers() {
    answers_.reserve(rank_->locations.size());
    while (answers_.size() < rank_->locations.size()) answers_.emplace_back(scratch_->merging.memory);
  }

  // Collects the meanings of this rank's block keys, sorted by key. Those of other ranks are merged into them.
  void collect_meanings() {
    if (meanings_collected_) return;
    meanings_collected_ = true;
    meanings_ = memory_->blocks.meanings();
    sort_meanings();
  }
  void sort_meanings() {
    base::sort_short(meanings_, [](const block_meaning& a, const block_meaning& b) { return a.key < b.key; });
  }

  const rank_history* rank_;
  const options* settings_;
  message_book messages_;
  collective_book collectives_;
  progress_book progress_;
  lock_book locks_;
  thread_waits threads_;
  paused_time paused_;
  epoch_memory* memory_;
  rank_clocks* clocks_;
  forward_scratch* scratch_;
  std::unique_ptr<forward_pass> forward_;
  map_stage maps_;
  class_merger* merging_ = nullptr;
  std::size_t number_ = 0;  ///< index of this rank among those of the process
  base::pod_vector<reply> replies_;
  base::packet reply_bytes_;
  base::vector<base::pod_vector<arrival>> answers_;  ///< of home ranks, by location
  base::vector<block_meaning> meanings_;
  bool meanings_collected_ = false;
  outcome totals_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
