#ifndef WHYWAIT_CLOCKS_CLOCK_PASS_HPP
#define WHYWAIT_CLOCKS_CLOCK_PASS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_legs.hpp>
#include <whywait/clocks/clock_plan.hpp>
#include <whywait/clocks/clock_result.hpp>
#include <whywait/clocks/location_clocks.hpp>
#include <whywait/clocks/meetings.hpp>
#include <whywait/clocks/need_book.hpp>
#include <whywait/clocks/node_map.hpp>
#include <whywait/clocks/usual_tails.hpp>
#include <whywait/explain/active_time.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/message_schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// Buffers of the clock passes: received stamps that are not used yet, and scratch. All ranks of a process share one
/// instance.
struct clock_scratch {
  explicit clock_scratch(base::memory_pool& pool) : memory(&pool) {}

  base::memory_pool* memory;  ///< the pool of the run; borrowed
  base::pod_vector<clock_stamp> stamps;
  base::pod_vector<std::uint32_t> received;  ///< how many stamps are joined in each of `stamps`
  base::pod_vector<std::uint32_t> free;  ///< free stamps, last in, first out: the last one is still in the cache
  clock_stamp own, incoming;             ///< own: at the current record; incoming: in the current packet
  base::packet out;
};

/// The forward pass of the virtual clocks of one rank. At the beginning of each record the rank sends its stamp to the
/// records that need it; a record with needs waits for their stamps. Free of deadlock for the reason given in
/// forward.hpp: no record needs what comes after its own end. O(records + messages * log records); each stamp in
/// transit takes 24 bytes and 8 per clock.
class clock_pass {
 public:
  /// `notes`: by location; the first pass replaces the measured waits in them by the compensated ones.
  clock_pass(const explain::rank_history& rank, need_book& needs, meeting_book& meetings,
             base::vector<base::pod_vector<explain::wait_note>>& notes, clock_scratch& scratch)
      : rank_(&rank),
        own_rank_(rank.rank),
        book_(&needs),
        meetings_(&meetings),
        notes_(&notes),
        scratch_(&scratch),
        block_numbers_(*scratch.memory),
        replies_(*scratch.memory),
        classes_(*scratch.memory) {}

  /// Prepares a pass; call before each.
  /// `balanced`: of the rank, if the plan balances blocks. `joined`: its unmarked code.
  void begin(const clock_plan& plan, const node_map& nodes, balanced_time& balanced, const joined_code& joined) {
    plan_ = &plan;
    clocks_ = plan.clocks();
    meetings_->begin_pass();
    replies_.clear();
    result_ = {};
    classes_.clear();
    number_blocks(*rank_, plan, block_numbers_);
    leaving_ = plan.asks_nodes() ? nodes.leaving(*rank_) : base::vector<base::vector<bool>>();
    of_files_ = nodes.any_files() ? explain::calls_on_files(*rank_) : base::vector<base::vector<bool>>();
    if (plan.compensates()) {  // the first pass, which changes the notes
      usual_.resize(rank_->locations.size());
      for (std::size_t l = 0; l != usual_.size(); ++l) usual_[l].read(*rank_, rank_->locations[l], (*notes_)[l]);
    }
    lanes_.clear();
    lanes_.reserve(rank_->locations.size());
    for (std::size_t l = 0; l != rank_->locations.size(); ++l) {
      lanes_.emplace_back(plan, rank_->begin_ns,
                          clock_legs(*rank_, l, plan, block_numbers_, balanced, leaving_.empty() ? nullptr : &leaving_[l],
                                     of_files_.empty() ? nullptr : &of_files_[l], joined));
      lane& to = lanes_.back();
      to.needs = &book_->needs(l);
      if (!to.needs->empty()) to.stamps.resize(rank_->locations[l].records.size(), nothing);
      to.give = book_->gives(l);
      to.chosen = book_->chosen(l).begin();
      to.chosen_end = book_->chosen(l).end();
      to.note = (*notes_)[l].data();
      to.notes_end = to.note + (*notes_)[l].size();
    }
    open_ = lanes_.size();
  }

  /// Advances all locations until they are stuck. Returns true when all are finished and all stamps are sent.
  template <class Post>
  bool advance(Post&& post) {
    do {
      explain::run_all_until_stuck(lanes_.size(), [&](std::size_t l) {
        return explain::run_until_stuck(lanes_[l].at, lane_events<std::remove_reference_t<Post>>{*this, lanes_[l], l, post});
      });
    } while (send_replies(post));
    return open_ == 0 && meetings_->quiet();
  }

  /// Receives a stamp of another rank.
  void receive_stamp(base::packet_reader& in) {
    const auto slot = in.get<std::uint32_t>();
    const auto target = in.get<std::uint32_t>();
    clock_stamp* const place = (slot & clock_give::to_meeting) == 0 ? place_of(target, slot) : nullptr;
    clocks::get_stamp(in, clocks_, place != nullptr ? *place : scratch_->incoming);
    if (place == nullptr) deliver(target, slot, scratch_->incoming);
  }

  /// The result of this rank, after the pass.
  clock_result& result() noexcept { return result_; }
  /// Compensated waits, by number of the class.
  struct class_sum {
    std::int64_t ns = 0;
    explain::quality trust = explain::quality::exact;
  };
  const base::pod_vector<class_sum>& classes() const noexcept { return classes_; }

 private:
  static constexpr std::uint32_t nothing = 0xffffffffu;

  struct lane {
    lane(const clock_plan& plan, std::int64_t begin_ns, const clock_legs& legs) : clocks(plan, begin_ns, legs) {}

    const need_counts* needs = nullptr;
    base::pod_vector<std::uint32_t> stamps;  ///< by record: the join of the stamps that it needs, in clock_scratch
    give_list::reader give;
    const chosen_message *chosen = nullptr, *chosen_end = nullptr;  ///< the next one, and the end
    explain::wait_note *note = nullptr, *notes_end = nullptr;
    explain::progress at = explain::progress::between_events;
    location_clocks clocks;
    std::int64_t waiting_ns = 0, inversions = 0;
    std::int64_t wildcard_ns = INT64_MIN;  ///< the sender's time, under clock 0, of the last message of such a wildcard
    std::uint32_t wildcard_posting = 0, wildcard_comm = 0;
    std::int32_t wildcard_tag = 0;
    std::int64_t chosen_ns = INT64_MIN;  ///< the sender's time, under clock 0, of the latest message of MPI_Waitany
    std::uint32_t chooser = 0;  ///< its record
  };
  template <class Post>
  void send_stamp(std::int32_t rank, std::uint32_t target, std::uint32_t slot, const clock_stamp& stamp, Post&& post) {
    if (rank == own_rank_) return deliver(target, slot, stamp);
    base::packet& out = scratch_->out;
    out.resize(2 * sizeof(std::uint32_t) + stamp_bytes(clocks_));
    std::memcpy(out.data(), &slot, sizeof slot);
    std::memcpy(out.data() + sizeof slot, &target, sizeof target);
    put_stamp(out.data() + 2 * sizeof(std::uint32_t), stamp, clocks_);
    post(rank, out);
  }

  void deliver(std::uint32_t target, std::uint32_t slot, const clock_stamp& stamp) {
    if ((slot & clock_give::to_meeting) != 0) {
      return meetings_->receive_stamp(target, slot & ~clock_give::to_meeting, stamp, clocks_, replies_);
    }
    if (clock_stamp* const place = place_of(target, slot)) {
      place->set(stamp, clocks_);
      return;
    }
    const std::uint32_t at = lanes_[slot].stamps[target];
    ++scratch_->received[at];
    scratch_->stamps[at].join(stamp, clocks_);
  }

  // Where the first stamp that a record needs is kept. Null if it has one.
  clock_stamp* place_of(std::uint32_t target, std::uint32_t slot) {
    lane& l = lanes_[slot];
    if (target >= l.stamps.size()) base::truncated();
    std::uint32_t& at = l.stamps[target];
    if (at != nothing) return nullptr;
    base::pod_vector<std::uint32_t>& free = scratch_->free;
    if (free.empty()) {
      free.push_back(static_cast<std::uint32_t>(scratch_->stamps.size()));
      scratch_->stamps.emplace_back();
      scratch_->received.push_back(0);
    }
    at = free.back();
    free.pop_back();
    scratch_->received[at] = 1;
    return &scratch_->stamps[at];
  }

  // A location of message_schedule.hpp: it sends its stamp at the beginning of a record, and needs the stamps of
  // others.
  template <class Post>
  struct lane_events {
    clock_pass& pass;
    lane& l;
    std::size_t number;
    Post& post;

    bool begin_next() {
      if (l.clocks.begin_next()) return true;
      pass.end(l, number);
      return false;
    }
    bool send(bool&) {
      if (l.give.empty() || l.give.front().record > l.clocks.record()) return true;
      clock_stamp& own = pass.scratch_->own;
      l.clocks.stamp(own);
      for (; !l.give.empty(); l.give.pop()) {
        const clock_give g = l.give.front();
        if (g.record > l.clocks.record()) break;
        pass.send_stamp(g.rank, g.target, g.slot, own, post);
      }
      return true;
    }
    bool ready() {
      const std::uint32_t record = l.clocks.record(), needed = (*l.needs)[record];
      if (needed == 0 || (l.stamps[record] != nothing && pass.scratch_->received[l.stamps[record]] == needed)) return true;
      l.clocks.prepare();
      return false;
    }
    void finish() { pass.finish(l, number, (*l.needs)[l.clocks.record()]); }
  };

  // Sends the stamps that meetings have computed for their members. Returns false if there were none.
  template <class Post>
  bool send_replies(Post&& post) {
    if (replies_.empty()) return false;
    base::pod_vector<meeting_book::reply> replies = replies_.sibling();
    replies.swap(replies_);
    for (const meeting_book::reply& r : replies) send_stamp(r.rank, r.record, r.location, r.stamp, post);
    return true;
  }

  // `needed`: the number of stamps that the record needs, all received.
  void finish(lane& l, std::size_t number, std::uint32_t needed) {
    const explain::location_history& here = rank_->locations[number];
    const std::uint32_t record = l.clocks.record();
    explain::wait_note* const first = l.note;
    std::int64_t all_ns = 0;
    for (; l.note != l.notes_end && l.note->record == record; ++l.note) all_ns += l.note->wait_ns;
    std::int64_t measured_ns = std::max<std::int64_t>(0, all_ns - l.clocks.inside_ns());
    const clock_stamp* stamp = nullptr;
    bool inverted = false;
    if (needed != 0) {
      stamp = &scratch_->stamps[l.stamps[record]];
      while (l.chosen != l.chosen_end && l.chosen->record < record) ++l.chosen;
      if (plan_->compensates() && l.chosen != l.chosen_end && l.chosen->record == record) {
        const bool any = core::role_of(here.records[record]) == core::call_role::complete_any;
        inverted = (any || (l.chosen->wildcard != 0 && needed == 1)) && overtaken(l, here, *l.chosen, any, stamp->at[0]);
        l.inversions += inverted ? 1 : 0;
      }
      scratch_->free.push_back(l.stamps[record]);
    }
    const location_clocks::blocked waited = l.clocks.finish_record(
        stamp, measured_ns, [&](std::int64_t tail_ns) { return usual_[number].late_ns(here, here.records[record], tail_ns); });
    if (!plan_->compensates()) return;
    l.waiting_ns += waited.without_ns;
    // A call with a late sender may have been blocked longer, by a receiver.
    const std::int64_t longer_ns = std::max<std::int64_t>(0, waited.measured_ns - measured_ns);
    const std::int64_t waited_ns = std::max<std::int64_t>(0, waited.without_ns - longer_ns);
    std::int64_t left_ns = waited_ns;
    for (explain::wait_note* n = first; n != l.note; ++n) {
      // Several waits of one call are shortened by the same factor.
      const double share = all_ns > 0 ? static_cast<double>(n->wait_ns) / static_cast<double>(all_ns) : 1.0;
      n->wait_ns = n + 1 == l.note ? left_ns : std::min(left_ns, core::nearest(share * static_cast<double>(waited_ns)));
      left_ns -= n->wait_ns;
      n->record = static_cast<std::uint32_t>(inverted      ? explain::quality::order_suspect
                                             : needed == 0 ? explain::quality::bounded
                                                           : explain::quality::exact);
    }
  }

  // Whether another message would have been taken instead (docs/method.md 4.8). Of equal wildcards, the one
  // posted earlier takes the message that arrives earlier. MPI_Waitany takes the first message of those posted by then.
  static bool overtaken(lane& l, const explain::location_history& here, const chosen_message& need, bool any,
                        std::int64_t sent_ns) {
    if (any) {
      const bool earlier = sent_ns < l.chosen_ns && need.posting < l.chooser;
      if (sent_ns > l.chosen_ns) {
        l.chosen_ns = sent_ns;
        l.chooser = need.record;
      }
      return earlier;
    }
    if (need.posting == chosen_message::unknown) return false;
    const core::sync_record& r = here.records[need.posting];
    const auto tag = r.has(core::sync_flag::any_tag) ? -1 : r.tag;
    bool inverted = false;
    if (l.wildcard_ns != INT64_MIN && l.wildcard_comm == r.comm && l.wildcard_tag == tag) {
      inverted = need.posting < l.wildcard_posting ? sent_ns > l.wildcard_ns : sent_ns < l.wildcard_ns;
      if (inverted && need.posting > l.wildcard_posting) return true;  // the earlier posting stays the latest
    }
    l.wildcard_ns = sent_ns;
    l.wildcard_posting = need.posting;
    l.wildcard_comm = r.comm;
    l.wildcard_tag = tag;
    return inverted;
  }

  void end(lane& l, std::size_t number) {
    --open_;
    const location_clocks& c = l.clocks;
    const explain::location_history& here = rank_->locations[number];
    const explain::active_time active = explain::active_time_of(*rank_, here, c.last_leave_ns());
    if (active.takes_part) {
      // A further thread ends with its last call, and one without calls never holds the run up.
      const std::int64_t end_ns = here.whole ? c.now_ns() : c.last_leave_ns();
      const clock_bank<most_clocks>& delay = here.whole ? c.delay() : c.last_delay();
      for (std::size_t h = 0; h != clocks_; ++h) result_.ends[h] = std::max(result_.ends[h], without(end_ns, delay[h]));
      result_.add_end(end_ns, c.bound_ns());
    }
    result_.error_ns = std::max(result_.error_ns, c.error_ns());
    result_.executed_ns += c.executed_ns();
    result_.waiting_ns += l.waiting_ns;
    result_.inversions += l.inversions;
    result_.useful_ns += c.useful_ns();
    result_.most_useful_ns = std::max(result_.most_useful_ns, c.useful_ns());
    const std::int64_t counted = active.takes_part ? 1 : 0, further = here.whole && here.absent == 0 ? 0 : counted;
    result_.locations += counted;
    result_.further += further;
    result_.further_ns += further * active.ns();
    if (result_.nodes.empty()) result_.nodes.push_back({rank_->node, 0, 0, 0, 0});
    clock_result::node_time& node = result_.nodes[0];
    node.useful_ns += c.useful_ns();
    node.locations += counted;
    node.further += further;
    node.further_ns += further * active.ns();
    if (!plan_->compensates()) return;
    for (const explain::wait_note& n : (*notes_)[number]) {
      if (n.number == explain::wait_note::uncounted) {
        result_.waiting_ns -= n.wait_ns;
        continue;
      }
      if (n.number >= classes_.size()) classes_.resize(n.number + 1);
      classes_[n.number].ns += n.wait_ns;
      classes_[n.number].trust = std::max(classes_[n.number].trust, static_cast<explain::quality>(n.record));
    }
    (*notes_)[number].release();
  }

  const explain::rank_history* rank_;
  std::int32_t own_rank_;
  need_book* book_;
  meeting_book* meetings_;
  base::vector<base::pod_vector<explain::wait_note>>* notes_;
  clock_scratch* scratch_;
  const clock_plan* plan_ = nullptr;
  std::size_t clocks_ = 0, open_ = 0;
  base::vector<lane> lanes_;
  base::pod_vector<std::uint32_t> block_numbers_;  ///< clock_plan::number_of each block of the rank
  base::vector<base::vector<bool>> leaving_;  ///< node_map::leaving, if the plan distinguishes nodes
  base::vector<base::vector<bool>> of_files_;  ///< explain::calls_on_files, if there are any
  base::pod_vector<meeting_book::reply> replies_;
  base::pod_vector<class_sum> classes_;
  base::vector<usual_tails> usual_;  ///< by location
  clock_result result_;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
