#ifndef WHYWAIT_EXPLAIN_PROGRESS_BOOK_HPP
#define WHYWAIT_EXPLAIN_PROGRESS_BOOK_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/messages.hpp>
#include <whywait/explain/postings.hpp>
#include <whywait/explain/progress.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The calls of one rank that stayed blocked after their messages were posted on both sides, and what their partners did
/// meanwhile. Such a call may have waited until the partner entered MPI again. The rank asks each partner for its entries;
/// what the answers of all ranks have in common decides which messages depend on their partner (progress.hpp). The
/// resulting needs are added to the matches of the rank.
///
/// Memory: at first 8 bytes per record, then 24 per blocked call and 76 per message that it completed; 8 per message that is asked
/// for although it did not wait; on the partner, 8 per record once it is asked. Not thread safe.
class progress_book {
 public:
  /// A call that is blocked for less than `threshold_ns` is not examined.
  progress_book(const rank_history& rank, std::int64_t threshold_ns, base::memory_pool& pool)
      : rank_(&rank),
        threshold_ns_(std::max<std::int64_t>(threshold_ns, 1)),
        blocked_(pool),
        queries_(pool),
        others_(pool),
        answers_(pool),
        replies_(pool),
        entries_() {}

  /// Lists the blocked calls and the messages that they completed, after the exchange of postings.
  void find_blocked(message_book& messages) {
    posting_lists& posted = messages.postings();
    base::pod_vector<std::int64_t> of_records = last_postings(messages);  // each becomes the number of the blocked call
    std::int64_t* of_record = of_records.begin();
    for (std::uint16_t l = 0; l != rank_->locations.size(); ++l) {
      const location_history& here = rank_->locations[l];
      location_walk walk(*rank_);
      for (std::uint32_t i = 0; i != here.records.size(); ++i, ++of_record) {
        const core::sync_record& r = here.records[i];
        walk.step(r);
        const std::int64_t since_ns = std::max(walk.begin_ns(), *of_record);
        const std::int64_t asleep_ns = core::nearest(static_cast<double>(core::usual_sleep(r)) * rank_->clock.ns_per_tick);
        const bool blocked = completes_messages(core::role_of(r)) && walk.leave_ns() - since_ns - asleep_ns >= threshold_ns_;
        *of_record = blocked ? static_cast<std::int64_t>(blocked_.size()) : -1;
        if (blocked) blocked_.push_back({since_ns, walk.leave_ns(), i, l});
      }
    }
    posted_ = &posted;
    if (blocked_.empty()) return;
    each_message(posted, [&](const message& x) {
      const std::int64_t number = of_records[number_of(x.over)];
      if (number >= 0) queries_.push_back({x.channel, x.posting, static_cast<std::uint32_t>(number), x.number});
    });
  }

  /// Lists the messages that depend on their partner although they did not wait for it: under another hypothesis they
  /// might. Call after `add_waits`.
  void find_unblocked(const posting_lists& posted, const progress_votes& votes) {
    votes_ = &votes;
    if (!votes.any()) return;
    each_message(posted, [&](const message& x) {
      if (!votes.dependent(x.number) && !votes.dependent(progress_class::within(x.number))) return;
      if (completes_messages(core::role_of(posted.record(x.over)))) others_.push_back({x.channel, x.posting});
    });
  }

  /// Producer of the exchange: replies to received queries, then the rank's own. Fills no packet much beyond `room` bytes.
  template <class Outbox>
  void send(Outbox&& to, std::size_t room) {
    for (const reply& r : replies_) {
      base::packet& out = to(r.rank);
      put(out, base::packet_part::progress_answer);
      put(out, r.what);
    }
    replies_.clear();
    for (; sent_ != queries_.size(); ++sent_) {
      const query& q = queries_[sent_];
      const blocked_part& b = blocked_[q.number];
      if (!send_question(q.channel, q.posting, b.since_ns, b.leave_ns, q.number, q.kind, false, to, room)) return;
    }
    for (; others_sent_ != others_.size(); ++others_sent_) {
      const other& o = others_[others_sent_];
      message x;
      find_message(*posted_, o.channel, o.posting, x);
      const core::sync_record& call = posted_->record(x.over);
      const std::int64_t since_ns = rank_->clock(posted_->record(x.at).begin);
      const std::int64_t leave_ns = rank_->clock(call.begin + call.duration);
      if (!send_question(o.channel, o.posting, since_ns, leave_ns, number_of(x.over), x.number, true, to, room)) return;
    }
    queries_.clear();
    others_.clear();
    sent_ = others_sent_ = 0;
  }

  /// Consumer of the exchange.
  void receive(std::int32_t source, const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    while (!in.empty()) {
      if (in.get<std::uint32_t>() == base::packet_part::progress_query) {
        const auto q = in.get<question>();
        answer a = look_up(source, q);
        if (a.entry.begin_ns != INT64_MIN || !q.first) replies_.push_back({source, a});
      } else {
        answers_.push_back(in.get<answer>());
        answers_.back().rank = source;
      }
    }
  }

  /// Counts what the blocked calls of this rank say.
  void count(progress_votes& votes) {
    small_stable_sort(answers_, [](const answer& a, const answer& b) {
      return a.number != b.number ? a.number < b.number : a.entry.begin_ns < b.entry.begin_ns;
    });
    votes.count_calls(
        answers_, threshold_ns_, [](const answer& a, const answer& b) { return a.number == b.number; },
        [this](const answer& a) {
          return progress_votes::message{observed(a), a.kind};
        });
  }

  /// Adds a need for each message that waited for an entry of its partner.
  void add_waits(const progress_votes& votes, message_book& messages) {
    for (const answer& a : answers_) {
      if (!votes.dependent(a.kind) || !observed(a).may_have_waited(threshold_ns_)) continue;
      add(a, {blocked_[a.number].record, blocked_[a.number].location}, votes.certain(a.kind), messages);
    }
    clear();
  }
  /// Adds a need for each message of `find_unblocked`.
  void add_others(message_book& messages) {
    for (const answer& a : answers_) add(a, place_of(a.number), true, messages);
    clear();
  }

  /// Frees the memory.
  void release() noexcept {
    clear();
    blocked_.release();
    queries_.release();
    others_.release();
    first_.release();
    answers_.release();
    replies_.release();
    entries_ = {};
  }

 private:
  struct blocked_part {
    std::int64_t since_ns, leave_ns;
    std::uint32_t record;
    std::uint16_t location;
  };
  struct query {
    std::uint32_t channel, posting;  ///< of the message, in the posting lists
    std::uint32_t number;  ///< in blocked_
    std::uint8_t kind;  ///< progress_class, without `within_node`
  };
  struct other {
    std::uint32_t channel, posting;
  };
  struct question {
    std::int64_t since_ns, leave_ns;
    core::stable_key comm;
    std::int32_t tag;
    std::uint32_t index;  ///< of the posting in its channel
    std::uint32_t number;  ///< in blocked_; with `first`: of the record that completed the message, among all of the rank
    std::int32_t node;
    std::uint32_t record;  ///< the send of the message, on either side
    std::uint16_t location;  ///< of that send
    std::uint8_t kind;
    bool first;  ///< asks for the first entry instead of the last one
  };
  struct answer {
    endpoint entry;
    std::int64_t inside_ns, outside_ns;
    std::uint32_t number;
    std::int32_t rank;
    std::uint8_t kind;
  };
  struct reply {
    std::int32_t rank;
    answer what;
  };
  struct message {
    std::uint32_t channel, posting;
    record_place at, over;  ///< its posting, and the call that completed it
    std::uint8_t number;
  };

  // For each record, when the last message that it completed was posted at the partner; INT64_MIN: none. A send whose receive
  // was posted after its end did not wait for it. Sets first_.
  base::pod_vector<std::int64_t> last_postings(const message_book& messages) {
    std::size_t records = 0;
    first_.clear();
    for (const location_history& here : rank_->locations) {
      first_.push_back(static_cast<std::uint32_t>(records));
      records += static_cast<std::size_t>(here.records.size());
    }
    base::pod_vector<std::int64_t> posted_ns(records, INT64_MIN);
    messages.each_match([&](const endpoint& partner, record_place over, std::int32_t, bool receiving, bool) {
      if (!receiving) {
        location_walk call(*rank_);
        call.step(rank_->locations[over.location].records[over.record]);
        if (partner.begin_ns >= call.leave_ns()) return;
      }
      std::int64_t& last_ns = posted_ns[number_of(over)];
      last_ns = std::max(last_ns, partner.begin_ns);
    });
    return posted_ns;
  }

  template <class Function>
  void each_message(const posting_lists& posted, Function&& function) const {
    for (std::size_t n = 0; n != posted.channels(); ++n) {
      const message_channel& c = posted.channel(n);
      if (c.peer == rank_->rank && rank_->locations.size() == 1) continue;
      for (std::uint32_t i = c.first; i != c.last; ++i) {
        message x;
        if (find_message(posted, static_cast<std::uint32_t>(n), i, x)) function(x);
      }
    }
  }
  // The message of a posting; false if it is none whose progress is asked for. Out of line like `send_question`: each loop over
  // messages would contain it.
  [[gnu::noinline]] static bool find_message(const posting_lists& posted, std::uint32_t channel, std::uint32_t posting,
                                             message& x) noexcept {
    const bool sends = channel < posted.send_channels();
    x.channel = channel;
    x.posting = posting;
    if (sends) {
      const endpoint& e = posted.sends()[posting];
      x.at = {e.record, e.location};
      x.over = posted.completion_of(x.at, posted.record(x.at));
    } else {
      const posted_receive& p = posted.receives()[posting];
      if (p.kind != posted_receive::receive) return false;
      x.at = {p.record, p.location};
      x.over = {p.completion, p.completed_by};
    }
    if (x.over.location == record_place::nowhere) return false;
    const bool of_epoch = is_posting_of_epoch(posted.record(x.at));
    if (of_epoch && posted.record(x.at).tag == core::epoch_tag::last_operation) return false;  // asked for with `done`
    x.number = of_epoch ? progress_class::of_epochs(sends) : progress_class::number_of(sends, posted.record(x.at).bytes);
    return true;
  }

  // The number of a record among all of the rank.
  std::uint32_t number_of(record_place p) const noexcept { return first_[p.location] + p.record; }
  record_place place_of(std::uint32_t number) const noexcept {
    std::size_t l = first_.size() - 1;
    while (first_[l] > number) --l;
    return {number - first_[l], static_cast<std::uint16_t>(l)};
  }

  // Returns false if the packet for the partner is full.
  template <class Outbox>
  [[gnu::noinline]] bool send_question(std::uint32_t channel, std::uint32_t posting, std::int64_t since_ns,
                                       std::int64_t leave_ns, std::uint32_t number, std::uint8_t kind, bool first, Outbox&& to,
                                       std::size_t room) const {
    const message_channel& c = posted_->channel(channel);
    base::packet& out = to(c.peer);
    if (out.size() >= room) return false;
    const bool sends = channel < posted_->send_channels();
    const endpoint& known = sends ? posted_->sends()[posting] : posted_->receives()[posting].partner;
    put(out, base::packet_part::progress_query);
    put(out, question{since_ns, leave_ns, c.comm, c.tag, posting - c.first, number, rank_->node, known.record, known.location,
                      kind, first});
    return true;
  }

  // This rank's own posting of the message that a question of `source` is about; its location is `nowhere` if unknown.
  record_place own_posting(std::int32_t source, const question& q) const noexcept {
    constexpr record_place unknown{0, record_place::nowhere};
    if (!progress_class::sends(q.kind)) {
      const bool known = q.location < rank_->locations.size() && q.record < rank_->locations[q.location].records.size();
      return known ? record_place{q.record, q.location} : unknown;
    }
    const message_channel* const c = posted_->find(false, source, q.comm, q.tag);
    if (c == nullptr) return unknown;
    for (std::uint32_t i = c->first + q.index; i < c->last; ++i) {  // probes may stand before the receive
      const posted_receive& p = posted_->receives()[i];
      if (p.kind != posted_receive::receive) continue;
      const bool same = p.partner.record == q.record && p.partner.location == q.location;
      return same ? record_place{p.record, p.location} : unknown;
    }
    return unknown;
  }

  // What this rank did while the questioner was blocked. Entries of all threads count. Once this rank has completed its
  // side of the message it is not needed any more. O(log records).
  answer look_up(std::int32_t source, const question& q) {
    if (entries_.empty()) list_entries();
    std::int64_t posted_ns = q.since_ns, until_ns = q.leave_ns - 1;
    const record_place own = own_posting(source, q);
    if (own.location != record_place::nowhere) {
      posted_ns = std::max(posted_ns, entries_[own.location].at_record(own.record).begin_ns);
      const record_place over = posted_->completion_of(own, posted_->record(own));
      if (over.location != record_place::nowhere)
        until_ns = std::min(until_ns, entries_[over.location].at_record(over.record).begin_ns);
    }
    answer a{};
    a.entry.begin_ns = INT64_MIN;
    a.number = q.number;
    a.outside_ns = INT64_MIN;
    a.kind = q.node >= 0 && q.node == rank_->node ? progress_class::within(q.kind) : q.kind;
    if (q.first && !votes_->dependent(a.kind)) return a;
    for (std::uint16_t l = 0; l != entries_.size(); ++l) {
      const mpi_entries& all = entries_[l];
      const location_history& here = rank_->locations[l];
      std::size_t at = mpi_entries::none;
      if (q.first) {
        at = all.first_in(posted_ns, until_ns);
        if (at == mpi_entries::none || (a.entry.begin_ns != INT64_MIN && a.entry.begin_ns <= all[at].begin_ns)) continue;
      } else {
        const mpi_entries::visit v = all.while_blocked(q.since_ns, q.leave_ns, until_ns);
        a.outside_ns = std::max(a.outside_ns, v.outside_ns);
        at = v.first;
        if (at == mpi_entries::none || a.entry.begin_ns >= v.last_ns) continue;
        a.inside_ns = v.inside_ns;
      }
      const std::uint32_t record = all.record_of(at);
      a.entry = {all[at].begin_ns, site_of(here, here.records[record]), record, l, 0};
      if (here.dropped > 0) a.entry.flags = endpoint_flag::partial;
    }
    if (a.outside_ns == INT64_MIN) a.outside_ns = rank_->begin_ns;
    return a;
  }

  void list_entries() {
    entries_.reserve(rank_->locations.size());
    for (const location_history& here : rank_->locations) {
      entries_.emplace_back();
      mpi_entries& all = entries_.back();
      all.reserve(static_cast<std::size_t>(here.records.size()));
      location_walk walk(*rank_);
      for (std::uint64_t i = 0; i != here.records.size(); ++i) {
        walk.step(here.records[i]);
        all.add(walk.begin_ns(), walk.leave_ns(), here.records[i].call);
      }
    }
  }

  blocked_call observed(const answer& a) const noexcept {
    const blocked_part& b = blocked_[a.number];
    return {b.since_ns, b.leave_ns, a.entry.begin_ns, a.inside_ns, a.outside_ns};
  }

  static void add(const answer& a, record_place over, bool certain, message_book& messages) {
    message_match m;
    m.partner = a.entry;
    if (!certain) m.partner.flags |= endpoint_flag::partial;
    m.record = over.record;
    m.location = over.location;
    m.rank = a.rank;
    m.receiving = false;
    m.progress = true;
    messages.add_match(m);
  }

  void clear() noexcept {
    blocked_.clear();
    answers_.clear();
  }

  const rank_history* rank_;
  posting_lists* posted_ = nullptr;  ///< borrowed from the message_book
  std::int64_t threshold_ns_;
  base::pod_vector<blocked_part> blocked_;
  base::pod_vector<query> queries_;
  base::pod_vector<other> others_;  ///< messages that are asked for although they did not wait
  std::size_t sent_ = 0, others_sent_ = 0;
  base::pod_vector<answer> answers_;
  base::pod_vector<reply> replies_;
  base::vector<mpi_entries> entries_;  ///< by location; empty until the rank is asked
  base::pod_vector<std::uint32_t> first_;  ///< number of each location's first record among all of the rank
  const progress_votes* votes_ = nullptr;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
