#ifndef WHYWAIT_EXPLAIN_COLLECTIVE_BOOK_HPP
#define WHYWAIT_EXPLAIN_COLLECTIVE_BOOK_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/collective_instances.hpp>
#include <whywait/explain/collectives.hpp>
#include <whywait/explain/own_collectives.hpp>
#include <whywait/explain/postings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Matches the participants of collective operations: the k-th collective of each process in one communicator belongs
/// to the k-th of the others (MPI 4.0, 6.1: all members call in the same order). Each instance has one home rank among
/// the members, so that no rank receives all of them. Participants are sent in pieces, and an instance is answered as
/// soon as all of them have arrived. A member that only initiates brings the call that completes the operation, and its entries
/// into MPI until then. Memory: 1 to 17 bytes per own call until it is sent, and the incomplete instances on
/// their home ranks. Not thread safe.
class collective_book {
 public:
  collective_book(const rank_history& rank, base::memory_pool& pool)
      : rank_(&rank),
        ordinals_(pool),
        own_(rank, pool),
        instances_(pool),
        all_(pool),
        room_(pool),
        later_(pool),
        waiting_(pool),
        relays_(pool) {}

  /// `numbers`: buffer, empty before the first `add_call` and after `order_calls`.
  void add_call(base::key_map& numbers, record_place here, const core::sync_record& r, const location_walk& walk) {
    if (!is_ordered_collective(r) || r.comm >= rank_->communicators.size()) return;
    const communicator& comm = rank_->communicators[r.comm];
    if (comm.id == 0 || (comm.inter && comm.own_size == 0)) return;
    const auto fresh = static_cast<std::uint32_t>(ordinals_.size());
    const core::stable_key key = order_key(rank_->locations[here.location], comm, r);
    const std::uint32_t number = numbers.intern(key, fresh);
    if (number == fresh) ordinals_.push_back({key, 0});
    own_.add(number, here, r, walk);
  }

  /// The maximum number of answers for this location.
  std::size_t most_answers(std::size_t location) const noexcept { return own_.count(location); }

  /// Orders the calls of several threads as the process called MPI. Call once, after the last `add_call`. `earlier`: the
  /// collectives of earlier epochs; members may have initiated one in different epochs.
  void order_calls(base::key_map& numbers, const base::vector<collective_count>& earlier) {
    for (const collective_count& c : earlier) {
      const auto fresh = static_cast<std::uint32_t>(ordinals_.size());
      const std::uint32_t number = numbers.intern(c.key, fresh);
      if (number == fresh) ordinals_.push_back(c);
      else ordinals_[number].next = c.next;
    }
    for (const collective_count& o : ordinals_) numbers.erase(o.key);
    own_.sort();
    unsent_ = own_.begin();
  }

  /// The collectives of this epoch and earlier ones, once all are sent.
  base::vector<collective_count> counts() const { return {ordinals_.begin(), ordinals_.end()}; }

  /// Sends the rank's calls to the home ranks. Fills no packet much beyond `room` bytes; the next call sends the rest.
  template <class Outbox>
  void send_participants(Outbox&& to, std::size_t room) {
    for (; !unsent_.empty(); unsent_.pop()) {
      const own_collectives::call c = unsent_.front<own_collectives::call>();
      const location_history& location = rank_->locations[c.location];
      const core::sync_record& r = location.records[c.record];
      const communicator& comm = rank_->communicators[r.comm];
      participant p;
      p.comm = ordinals_[c.comm].key;
      p.site = site_of(location, r);
      const own_collectives::interval times = own_.times(c, r);
      p.enter_ns = times.enter_ns;
      p.leave_ns = times.leave_ns;
      p.ordinal = ordinals_[c.comm].next;
      p.record = c.record;
      p.rank = comm.rank;
      p.size = comm.size;
      p.root = r.peer;
      p.inter = comm.inter;
      const std::int32_t first = comm.first ? comm.own_size : comm.size;
      if (comm.inter) {
        p.rank += comm.first ? 0 : first;
        p.size += comm.own_size;
        p.root = first;
      }
      p.call = r.call;
      p.flags = r.flags;
      p.location = static_cast<std::uint16_t>(c.location);
      p.partial = location.dropped > 0;
      const bool sparse = r.has(core::sync_flag::sparse);
      p.needs_count = sparse ? static_cast<std::uint32_t>(std::max(r.peer, 0)) : 0;
      if (sparse && static_cast<std::uint64_t>(std::max(r.tag, 0)) + p.needs_count > location.needs.size()) {
        p.needs_count = 0;
      }
      // What a library does in calls on files shows in all of them together: rank 0 of a communicator has those of its files.
      const std::uint64_t any = core::is_of_files(p.call) ? 0 : p.comm + p.ordinal;
      std::int32_t home =
          comm.inter ? static_cast<std::int32_t>(any % static_cast<std::uint64_t>(rank_->ranks))
                     : world_rank(comm, static_cast<std::int32_t>(any % static_cast<std::uint64_t>(std::max(comm.size, 1))));
      for (std::int32_t i = 0; comm.outside && home < 0 && i < comm.size; ++i) home = world_rank(comm, i);
      if (home < 0 || home >= rank_->ranks) {
        ++ordinals_[c.comm].next;
        continue;
      }
      base::packet& out = to(home);
      if (out.size() >= room) return;
      ++ordinals_[c.comm].next;
      put(out, base::packet_part::participation);
      put(out, p);
      for (std::uint32_t k = 0; k != p.needs_count; ++k) {
        put(out, location.needs[static_cast<std::uint64_t>(r.tag) + k] + (comm.inter && comm.first ? first : 0));
      }
      if (core::initiates(r.call)) {
        find_later(c, r);
        put(out, static_cast<std::uint32_t>(later_.size()));
        for (const later_entry& e : later_) put(out, e);
        later_.clear();
      }
    }
    own_.release();
  }

  /// On the home rank: reads one participant; `in` stands behind the kind of the part.
  void receive_participant(std::int32_t source, base::packet_reader& in) { instances_.receive(source, in); }

  /// On the home rank: answers the instances whose participants have all arrived, or with `rest` all instances. Passes
  /// them to `clocks`, if not null. O(n log n) in the participants of each, plus those left over.
  template <class Outbox>
  void send_answers(const options& settings, bool rest, Outbox&& to, rank_clocks* clocks) {
    if (instances_.complete().empty() && !rest) return;
    for (const std::uint32_t number : instances_.complete()) answer(number, settings, to, clocks);
    instances_.drop_complete();
    if (rest) {
      const base::pod_vector<std::uint32_t> others = instances_.others();
      find_independent(others);
      for (const std::uint32_t number : others) answer(number, settings, to, clocks);
      instances_.release();
    }
    if (clocks != nullptr) clocks->send_needs(to);
  }

 private:
  later_entry entry(const record_place& at) const {
    const core::sync_record& r = rank_->locations[at.location].records[at.record];
    return {site_of(rank_->locations[at.location], r),
            rank_->clock(r.begin),
            rank_->clock(r.begin + r.duration),
            at.record,
            at.location,
            0};
  }

  // Lists the completion of the call `c`, and the entries of its thread until then; of many those after the longest times
  // outside MPI, of very many the first.
  void find_later(const own_collectives::call& c, const core::sync_record& r) {
    constexpr std::uint32_t most = 32, most_seen = 4096;
    const std::uint32_t l = r.completed_by;
    const bool complete =
        r.has(core::sync_flag::complete) && l < rank_->locations.size() && r.completion < rank_->locations[l].records.size();
    later_.push_back(complete ? entry({r.completion, static_cast<std::uint16_t>(l)})
                              : later_entry{0, 0, 0, 0, record_place::nowhere, 0});
    if (!complete || r.completion == c.record) return;
    const auto& records = rank_->locations[c.location].records;
    const auto outside = [&](std::uint32_t i) {
      const std::uint64_t left = records[i - 1].begin + records[i - 1].duration;
      return records[i].begin > left ? records[i].begin - left : 0;
    };
    const std::uint64_t end = records[c.record].begin + r.duration, until = rank_->locations[l].records[r.completion].begin;
    const std::uint64_t stop = std::min<std::uint64_t>(records.size(), std::uint64_t{c.record} + most_seen);
    for (std::uint32_t i = c.record + 1; i < stop && records[i].begin < until; ++i) {
      if (records[i].begin < end || outside(i) == 0) continue;
      const auto at = static_cast<std::uint16_t>(c.location);
      if (later_.size() <= most) {
        later_.push_back(entry({i, at}));
        continue;
      }
      std::uint32_t shortest = 1;
      for (std::uint32_t k = 2; k != later_.size(); ++k) {
        if (outside(later_[k].record) < outside(later_[shortest].record)) shortest = k;
      }
      if (outside(later_[shortest].record) < outside(i)) later_[shortest] = entry({i, at});
    }
  }

  template <class Outbox>
  void answer(std::uint32_t number, const options& settings, Outbox&& to, rank_clocks* clocks) {
    instances_.list(number, all_);
    if (core::is_of_files(all_[0].call) && is_independent(all_[0].call)) return;
    const bool later = core::initiates(all_[0].call);
    for (const participant& p : all_) {
      if (core::initiates(p.call) != later) return;  // these are not one operation
    }
    if (later) list_later();
    const participant* const waiting = later ? waiting_.data() : all_.data();
    collective_rule rule(all_.data(), waiting, all_.size(), waiting_.size(), instances_.needs(), settings, room_);
    relays_.clear();
    rule([&](const participant& p, const arrival& a) {
      if (a.has(arrival_flag::relay)) {
        relays_.push_back({static_cast<std::uint32_t>(&p - waiting), a.causer_rank, a.causer_record, a.causer_location});
      }
      base::packet& out = to(p.world);
      put(out, base::packet_part::answer);
      put(out, p.location);
      put(out, a);
    });
    if (clocks != nullptr) clocks->add_collective(all_.data(), waiting, all_.size(), instances_.needs(), relays_);
  }

  // Fills waiting_: the participants in the calls in which they waited, and behind them in their other entries.
  void list_later() {
    waiting_.clear();
    const auto add = [&](participant p, const later_entry& e) {
      p.site = e.site;
      p.record = e.record;
      p.location = e.location;
      p.enter_ns = e.enter_ns;
      p.leave_ns = e.leave_ns;
      waiting_.push_back(p);
    };
    for (const participant& p : all_) add(p, instances_.entries()[p.later_first]);
    for (const participant& p : all_) {
      for (std::uint32_t n = 1; n != p.later_count; ++n) add(p, instances_.entries()[p.later_first + n]);
    }
  }

  // A member that left a collective call on a file before another one came shows that the library does not synchronise them
  // there. Elsewhere they were inside at the same time by chance.
  void find_independent(const base::pod_vector<std::uint32_t>& numbers) {
    for (const std::uint32_t number : numbers) {
      instances_.list(number, all_);
      const core::mpi_call what = all_[0].call;
      if (!core::is_of_files(what) || core::initiates(what) || is_independent(what)) continue;
      std::int64_t earliest_ns = INT64_MAX, latest_ns = INT64_MIN;
      for (const participant& p : all_) {
        earliest_ns = std::min(earliest_ns, p.leave_ns);
        latest_ns = std::max(latest_ns, p.enter_ns);
      }
      if (earliest_ns >= latest_ns) continue;
      const bool in_turn = core::meeting_role_of(what) == core::call_role::file_in_turn;
      if (!in_turn || order_of_file(all_.data(), all_.data(), all_.size()) == file_order::none) independent_.push_back(what);
    }
  }
  bool is_independent(core::mpi_call what) const noexcept {
    return std::find(independent_.begin(), independent_.end(), what) != independent_.end();
  }

  const rank_history* rank_;
  base::pod_vector<core::mpi_call> independent_;  ///< calls on files that synchronise no ranks
  base::pod_vector<collective_count> ordinals_;
  own_collectives own_;
  own_collectives::reader unsent_;  ///< in own_
  collective_instances instances_;
  base::pod_vector<participant> all_;  ///< of the current instance, by rank
  collective_rule::entry_list room_;
  base::pod_vector<later_entry> later_;  ///< of the call that is being sent
  base::pod_vector<participant> waiting_;  ///< of the current instance
  base::pod_vector<relay_wait> relays_;  ///< of the current instance
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
