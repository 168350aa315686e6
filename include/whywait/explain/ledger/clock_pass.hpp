#ifndef WHYWAIT_EXPLAIN_LEDGER_CLOCK_PASS_HPP
#define WHYWAIT_EXPLAIN_LEDGER_CLOCK_PASS_HPP

#include <whywait/explain/clocks.hpp>
#include <whywait/explain/ledger/clock_result.hpp>
#include <whywait/explain/ledger/location_clocks.hpp>
#include <whywait/explain/ledger/meetings.hpp>
#include <whywait/explain/ledger/need_book.hpp>
#include <whywait/explain/ledger/node_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the passes of all ranks that a process hosts share: the stamps that somebody has not used yet, and room.
struct clock_scratch {
  std::vector<clock_stamp> stamps;
  std::vector<std::uint32_t> free;  ///< of stamps; what was used last comes first, as it is in the cache
  packet out;
};

/// The forward pass of the virtual clocks of one rank: at the beginning of each of its records it tells those who
/// needed that; a record that needed others waits for their stamps. Free of deadlock for the reason given in
/// forward.hpp: nobody needs what came after its own end. O(records + messages * log records); the stamps under
/// way take 24 bytes and 8 per clock each.
class clock_pass {
 public:
  clock_pass(const rank_history& rank, need_book& needs, meeting_book& meetings,
             const std::vector<std::vector<wait_note>>& notes, clock_scratch& scratch)
      : rank_(&rank), book_(&needs), meetings_(&meetings), notes_(&notes), scratch_(&scratch) {}

  /// Before every pass.
  void begin(const clock_plan& plan, const node_map& nodes) {
    plan_ = &plan;
    meetings_->rewind();
    lanes_.clear();
    replies_.clear();
    result_ = {};
    class_ns_.clear();
    class_trust_.clear();
    asked_.assign(rank_->blocks.size(), clock_plan::none);
    if (plan.asks()) {
      for (std::size_t b = 1; b < asked_.size(); ++b) asked_[b] = plan.number_of(rank_->blocks[b]);
    }
    leaving_ = plan.asks_nodes() ? nodes.leaving(*rank_) : std::vector<std::vector<bool>>();
    lanes_.reserve(rank_->locations.size());
    for (std::size_t l = 0; l != rank_->locations.size(); ++l) {
      lanes_.emplace_back(location_clocks(*rank_, static_cast<std::uint16_t>(l), plan, asked_,
                                          leaving_.empty() ? nullptr : &leaving_[l]));
      lanes_.back().waiting.resize(book_->needs(l).size());
    }
  }

  /// Runs every location as far as it gets. True when all have come to their end and everybody else has been told.
  template <class Post>
  bool advance(Post&& post) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t l = 0; l != lanes_.size(); ++l) moved = run(l, post) || moved;
      std::vector<meeting_book::reply> replies;
      replies.swap(replies_);
      moved = moved || !replies.empty();
      for (const meeting_book::reply& r : replies) tell(r.rank, r.record, r.location, r.stamp, post);
    }
    for (const lane& l : lanes_) {
      if (l.at != done) return false;
    }
    return meetings_->quiet();
  }

  /// A packet of another rank.
  void receive(const unsigned char* data, std::size_t size) {
    packet_reader in(data, size);
    while (!in.empty()) {
      const auto target = in.get<std::uint32_t>();
      const auto slot = in.get<std::uint32_t>();
      deliver(target, slot, get_stamp(in, plan_->clocks()));
    }
  }

  /// What this rank's clocks say; compensated waits by number of their class.
  clock_result& result() noexcept { return result_; }
  const std::vector<std::int64_t>& class_ns() const noexcept { return class_ns_; }
  const std::vector<quality>& class_trust() const noexcept { return class_trust_; }

 private:
  enum state : std::uint8_t { between_records, at_record, done };
  static constexpr std::uint32_t nothing = 0xffffffffu;

  struct pending {
    std::uint32_t heard = 0, stamp = nothing;
  };
  struct lane {
    explicit lane(location_clocks c) : clocks(std::move(c)) {}
    location_clocks clocks;
    state at = between_records;
    std::size_t given = 0, need = 0, note = 0;
    std::vector<pending> waiting;  ///< per need
    std::int64_t wildcard_ns = INT64_MIN;  ///< when the message that such a wildcard took was sent, under clock 0
    std::uint32_t wildcard_posting = 0, wildcard_comm = 0;
    std::int32_t wildcard_tag = 0;
    std::int64_t chosen_ns = INT64_MIN;  ///< the same for the latest that MPI_Waitany took
    std::uint32_t chooser = 0;           ///< that record
  };
  template <class Post>
  void tell(std::int32_t rank, std::uint32_t target, std::uint32_t slot, const clock_stamp& stamp, Post&& post) {
    if (rank == rank_->rank) return deliver(target, slot, stamp);
    packet& out = scratch_->out;
    out.resize(2 * sizeof(std::uint32_t) + stamp_bytes(plan_->clocks()));
    std::memcpy(out.data(), &target, sizeof target);
    std::memcpy(out.data() + sizeof target, &slot, sizeof slot);
    put_stamp(out.data() + 2 * sizeof(std::uint32_t), stamp, plan_->clocks());
    post(rank, out);
  }

  void deliver(std::uint32_t target, std::uint32_t slot, const clock_stamp& stamp) {
    if ((slot & clock_give::to_meeting) != 0) {
      return meetings_->come(target, slot & ~clock_give::to_meeting, stamp, replies_);
    }
    const std::vector<clock_need>& needs = book_->needs(slot);
    lane& l = lanes_[slot];
    std::size_t at = l.need;  // mostly the next one
    if (at == needs.size() || needs[at].record != target) {
      const auto found = std::lower_bound(needs.begin(), needs.end(), target, [](const clock_need& n, std::uint32_t record) {
        return n.record < record;
      });
      at = static_cast<std::size_t>(found - needs.begin());
    }
    pending& p = l.waiting[at];
    std::vector<clock_stamp>& stamps = scratch_->stamps;
    if (p.stamp == nothing) {
      std::vector<std::uint32_t>& free = scratch_->free;
      if (free.empty()) {
        free.push_back(static_cast<std::uint32_t>(stamps.size()));
        stamps.emplace_back();
      }
      p.stamp = free.back();
      free.pop_back();
      stamps[p.stamp] = stamp;
    } else {
      stamps[p.stamp].join(stamp);
    }
    ++p.heard;
  }

  template <class Post>
  bool run(std::size_t number, Post&& post) {
    lane& l = lanes_[number];
    if (l.at == done) return false;
    bool moved = false;
    const std::vector<clock_give>& gives = book_->gives(number);
    const std::vector<clock_need>& needs = book_->needs(number);
    for (;;) {
      if (l.at == between_records) {
        moved = true;
        if (!l.clocks.begin_next()) {
          end(l);
          return true;
        }
        l.at = at_record;
        if (l.given != gives.size() && gives[l.given].record <= l.clocks.record()) {
          const clock_stamp stamp = l.clocks.stamp();
          for (; l.given != gives.size() && gives[l.given].record <= l.clocks.record(); ++l.given) {
            const clock_give& g = gives[l.given];
            tell(g.rank, g.target, g.slot, stamp, post);
          }
        }
      }
      const bool needy = l.need != needs.size() && needs[l.need].record == l.clocks.record();
      if (needy && l.waiting[l.need].heard != needs[l.need].count) return moved;
      finish(l, number, needy ? &needs[l.need] : nullptr);
      if (needy) ++l.need;
      l.at = between_records;
      moved = true;
    }
  }

  void finish(lane& l, std::size_t number, const clock_need* need) {
    const std::vector<wait_note>& notes = (*notes_)[number];
    const std::uint32_t record = l.clocks.record();
    std::int64_t measured_ns = 0;
    const std::size_t first = l.note;
    for (; l.note != notes.size() && notes[l.note].record == record; ++l.note) measured_ns += notes[l.note].wait_ns;
    measured_ns = std::max<std::int64_t>(0, measured_ns - l.clocks.inside_ns());
    const clock_stamp* stamp = nullptr;
    bool inverted = false;
    if (need != nullptr) {
      const std::uint32_t s = l.waiting[l.need].stamp;
      stamp = &scratch_->stamps[s];
      if (plan_->compensates()) {
        inverted = overtaken(l, rank_->locations[number], *need, stamp->at[0]);
        result_.inversions += inverted ? 1 : 0;
      }
      scratch_->free.push_back(s);
    }
    const location_clocks::blocked waited = l.clocks.finish_record(stamp, measured_ns);
    if (!plan_->compensates()) return;
    result_.waiting_ns += waited.without_ns;
    // A call that is said to have waited for its sender may have been blocked longer, by a receiver.
    const std::int64_t longer_ns = std::max<std::int64_t>(0, waited.measured_ns - measured_ns);
    const std::int64_t waited_ns = std::max<std::int64_t>(0, waited.without_ns - longer_ns);
    for (std::size_t i = first; i != l.note; ++i) {
      const wait_note& n = notes[i];
      if (n.number >= class_ns_.size()) {
        class_ns_.resize(n.number + 1, 0);
        class_trust_.resize(n.number + 1, quality::exact);
      }
      // one call has one wait; were there several, the first takes what is left
      class_ns_[n.number] += i == first ? waited_ns : 0;
      quality& trust = class_trust_[n.number];
      if (need == nullptr) trust = std::max(trust, quality::bounded);
      if (inverted) trust = std::max(trust, quality::order_suspect);
    }
  }

  // Would another message have been taken instead (overhead 3.3)? Of wildcards alike the one that was posted earlier
  // takes the message that comes earlier. MPI_Waitany takes the first that comes, of those that were posted by then.
  static bool overtaken(lane& l, const location_history& here, const clock_need& need, std::int64_t sent_ns) {
    const core::call_role role = core::role_of(here.records[need.record].call);
    if (role == core::call_role::complete_any) {
      const bool earlier = sent_ns < l.chosen_ns && need.posting < l.chooser;
      if (sent_ns > l.chosen_ns) {
        l.chosen_ns = sent_ns;
        l.chooser = need.record;
      }
      return earlier;
    }
    if (!need.wildcard || need.posting == clock_need::unknown) return false;
    const core::sync_record& r = here.records[need.posting];
    const auto tag = r.has(core::sync_flag::any_tag) ? -1 : r.tag;
    bool inverted = false;
    if (l.wildcard_ns != INT64_MIN && l.wildcard_comm == r.comm && l.wildcard_tag == tag) {
      inverted = need.posting < l.wildcard_posting ? sent_ns > l.wildcard_ns : sent_ns < l.wildcard_ns;
      if (inverted && need.posting > l.wildcard_posting) return true;  // the other one stays the latest
    }
    l.wildcard_ns = sent_ns;
    l.wildcard_posting = need.posting;
    l.wildcard_comm = r.comm;
    l.wildcard_tag = tag;
    return inverted;
  }

  void end(lane& l) {
    l.at = done;
    const location_clocks& c = l.clocks;
    result_.ends = most(result_.ends, without(c.now_ns(), c.delay()));
    result_.add_end(c.now_ns(), c.bound_ns());
    result_.error_ns = std::max(result_.error_ns, c.error_ns());
    result_.executed_ns += c.executed_ns();
    result_.useful_ns += c.useful_ns();
    result_.most_useful_ns = std::max(result_.most_useful_ns, c.useful_ns());
    ++result_.locations;
    result_.nodes.push_back({rank_->node, c.useful_ns(), 1});
    result_.join();
  }

  const rank_history* rank_;
  need_book* book_;
  meeting_book* meetings_;
  const std::vector<std::vector<wait_note>>* notes_;
  const clock_plan* plan_ = nullptr;
  std::vector<lane> lanes_;
  std::vector<std::uint32_t> asked_;  ///< clock_plan::number_of each block
  std::vector<std::vector<bool>> leaving_;  ///< node_map::leaving
  clock_scratch* scratch_;
  std::vector<meeting_book::reply> replies_;
  std::vector<std::int64_t> class_ns_;
  std::vector<quality> class_trust_;
  clock_result result_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
