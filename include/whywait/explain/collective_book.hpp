#ifndef WHYWAIT_EXPLAIN_COLLECTIVE_BOOK_HPP
#define WHYWAIT_EXPLAIN_COLLECTIVE_BOOK_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/collectives.hpp>
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
/// soon as all of them have arrived. Memory: 32 bytes per own call until it is sent, and the incomplete instances on
/// their home ranks. Not thread safe.
class collective_book {
 public:
  collective_book(const rank_history& rank, base::memory_pool& pool)
      : rank_(&rank), ordinals_(pool), own_(pool), here_(pool), needs_(pool), waiting_(pool), relays_(pool) {}

  /// `numbers`: buffer, empty before the first `add_call` and after `order_calls`.
  void add_call(base::key_map& numbers, record_place here, const core::sync_record& r, const location_walk& walk) {
    if (!is_ordered_collective(r) || r.comm >= rank_->communicators.size()) return;
    const communicator& comm = rank_->communicators[r.comm];
    if (comm.id == 0 || (comm.inter && comm.own_size == 0)) return;
    const auto fresh = static_cast<std::uint32_t>(ordinals_.size());
    const std::uint32_t number = numbers.intern(comm.id, fresh);
    if (number == fresh) ordinals_.push_back({comm.id, 0});
    own_.push_back({number, r.posting, here.location, here.record, walk.begin_ns(), walk.leave_ns()});
  }

  /// Reserves memory for a number of calls.
  void reserve_calls(std::size_t calls) { own_.reserve(calls); }

  /// The maximum number of answers for this location; valid before the calls are sent.
  std::size_t most_answers(std::size_t location) const noexcept {
    std::size_t count = 0;
    for (const call& c : own_) count += c.location == location ? 1 : 0;
    return count;
  }

  /// Orders the calls of several threads as the process called MPI. Call once, after the last `add_call`.
  void order_calls(base::key_map& numbers) {
    for (const ordinal& o : ordinals_) numbers.erase(o.comm);
    const auto before = [](const call& a, const call& b) { return a.posting < b.posting; };
    if (!std::is_sorted(own_.begin(), own_.end(), before)) small_stable_sort(own_, before);
  }

  /// Sends the rank's calls to the home ranks. Fills no packet much beyond `room` bytes; the next call sends the rest.
  template <class Outbox>
  void send_participants(Outbox&& to, std::size_t room) {
    for (; sent_ != own_.size(); ++sent_) {
      const call& c = own_[sent_];
      const location_history& location = rank_->locations[c.location];
      const core::sync_record& r = location.records[c.record];
      const communicator& comm = rank_->communicators[r.comm];
      participant p;
      p.comm = comm.id;
      p.site = site_of(location, r);
      p.enter_ns = c.enter_ns;
      p.leave_ns = c.leave_ns;
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
      const std::uint64_t any = p.comm + p.ordinal;
      const std::int32_t home =
          comm.inter ? static_cast<std::int32_t>(any % static_cast<std::uint64_t>(rank_->ranks))
                     : world_rank(comm, static_cast<std::int32_t>(any % static_cast<std::uint64_t>(std::max(comm.size, 1))));
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
      if (r.call == core::mpi_call::Comm_idup) put(out, completion_of(r));
    }
    own_.release();
    sent_ = 0;
  }

  /// On the home rank: reads one participant; `in` stands behind the kind of the part.
  void receive_participant(std::int32_t source, base::packet_reader& in) {
    auto p = in.get<participant>();
    p.world = source;
    p.needs_first = static_cast<std::uint32_t>(needs_.size());
    for (std::uint32_t k = 0; k != p.needs_count; ++k) needs_.push_back(in.get<std::int32_t>());
    if (p.call == core::mpi_call::Comm_idup) {
      p.needs_first = static_cast<std::uint32_t>(completions_.size());
      completions_.push_back(in.get<later_completion>());
    }
    here_.push_back(p);
  }

  /// On the home rank: answers the instances whose participants have all arrived, or with `rest` all instances. Passes
  /// them to `clocks`, if not null. O(n log n) in the participants since the last call, plus those left over.
  template <class Outbox>
  void send_answers(const options& settings, bool rest, Outbox&& to, rank_clocks* clocks) {
    if (here_.size() == seen_ && !rest) return;
    small_stable_sort(here_, [](const participant& a, const participant& b) {
      if (a.comm != b.comm) return a.comm < b.comm;
      return a.ordinal != b.ordinal ? a.ordinal < b.ordinal : a.rank < b.rank;
    });
    std::size_t kept = 0;
    base::pod_vector<std::int32_t> needs = needs_.sibling();
    base::pod_vector<later_completion> completions;
    for (std::size_t i = 0; i != here_.size();) {
      std::size_t j = i + 1;
      while (j != here_.size() && here_[j].comm == here_[i].comm && here_[j].ordinal == here_[i].ordinal) ++j;
      if (rest || j - i >= static_cast<std::size_t>(std::max(here_[i].size, 0))) {
        const participant* const all = here_.data() + i;
        const bool later = all->call == core::mpi_call::Comm_idup;
        if (later) {
          waiting_.clear();
          for (std::size_t k = i; k != j; ++k) waiting_.push_back(completed(here_[k]));
        }
        const participant* const waiting = later ? waiting_.data() : all;
        collective_rule rule(all, waiting, j - i, needs_, settings);
        relays_.clear();
        rule([&](const participant& p, const arrival& a) {
          if (a.has(arrival_flag::relay)) {
            relays_.push_back({static_cast<std::uint32_t>(&p - waiting), a.causer_rank, a.causer_record});
          }
          base::packet& out = to(p.world);
          put(out, base::packet_part::answer);
          put(out, p.location);
          put(out, a);
        });
        if (clocks != nullptr) clocks->add_collective(all, waiting, j - i, needs_, relays_);
        i = j;
      }
      for (; i != j; ++i) {
        participant& p = here_[kept++];
        p = here_[i];
        if (p.call == core::mpi_call::Comm_idup) {
          completions.push_back(completions_[p.needs_first]);
          p.needs_first = static_cast<std::uint32_t>(completions.size() - 1);
          continue;
        }
        const std::int32_t* const first = needs_.data() + p.needs_first;
        p.needs_first = static_cast<std::uint32_t>(needs.size());
        needs.append(first, p.needs_count);
      }
    }
    if (clocks != nullptr) clocks->send_needs(to);
    here_.resize(kept);
    needs_.swap(needs);
    completions_.swap(completions);
    seen_ = kept;
  }

 private:
  struct call {
    std::uint32_t comm;
    std::uint32_t posting;
    std::uint32_t location;
    std::uint32_t record;
    std::int64_t enter_ns, leave_ns;
  };

  // The call that completed MPI_Comm_idup; its location is `nowhere` if none did.
  struct later_completion {
    core::stable_key site;
    std::int64_t enter_ns, leave_ns;
    std::uint32_t record;
    std::uint16_t location, unused;
  };
  later_completion completion_of(const core::sync_record& r) const noexcept {
    const std::uint32_t l = r.completed_by;
    if (!r.has(core::sync_flag::complete) || l >= rank_->locations.size() || r.completion >= rank_->locations[l].records.size())
      return {0, 0, 0, 0, record_place::nowhere, 0};
    const core::sync_record& over = rank_->locations[l].records[r.completion];
    return {site_of(rank_->locations[l], over),
            rank_->clock(over.begin),
            rank_->clock(over.begin + over.duration),
            r.completion,
            static_cast<std::uint16_t>(l),
            0};
  }
  // A participant of MPI_Comm_idup in the call in which it waited.
  participant completed(participant p) const noexcept {
    const later_completion& over = completions_[p.needs_first];
    p.site = over.site;
    p.record = over.record;
    p.location = over.location;
    p.enter_ns = over.enter_ns;
    p.leave_ns = over.leave_ns;
    return p;
  }

  struct ordinal {
    core::stable_key comm;
    std::uint32_t next;
  };

  const rank_history* rank_;
  base::pod_vector<ordinal> ordinals_;
  base::pod_vector<call> own_;
  std::size_t sent_ = 0;  ///< number of calls of own_ that are sent
  base::pod_vector<participant> here_;
  std::size_t seen_ = 0;  ///< sorted participants of incomplete instances in here_
  base::pod_vector<std::int32_t> needs_;
  base::pod_vector<later_completion> completions_;  ///< participant::needs_first of MPI_Comm_idup
  base::pod_vector<participant> waiting_;  ///< of the current instance
  base::pod_vector<relay_wait> relays_;  ///< of the current instance
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
