#ifndef WHYWAIT_POSTMORTEM_DEAD_WAIT_HPP
#define WHYWAIT_POSTMORTEM_DEAD_WAIT_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/explain/collective_book.hpp>
#include <whywait/postmortem/dead_process.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace postmortem {

namespace detail {

inline std::int32_t world_rank(const core::communicator& comm, std::int32_t peer) noexcept {
  if (peer < 0 || peer >= comm.size) return -1;
  return comm.world.empty() ? peer : comm.world[static_cast<std::size_t>(peer)];
}

}  // namespace detail

/// Removes the collective operations that some member did not complete. The missing member may have been the last to
/// arrive, and then the explanation would blame another one. `processes` holds all ranks, by rank. Returns the number
/// of removed records.
inline std::uint64_t leave_out_unfinished_collectives(const base::vector<std::unique_ptr<dead_process>>& processes) {
  std::uint64_t out = 0;
  for (const auto& p : processes) {
    // Indexed by communicator. Ids are unique, except for 0, which matches nothing.
    const std::vector<core::communicator>& comms = p->records().history.communicators;
    base::pod_vector<std::uint64_t> complete, seen(comms.size());
    for (const core::communicator& c : comms) {
      std::uint64_t least = c.inter ? 0 : ~std::uint64_t(0);  // the own group is not known here
      for (std::int32_t i = 0; i < c.size; ++i) {
        const std::int32_t rank = detail::world_rank(c, i);
        if (rank >= 0 && !c.inter) least = std::min(least, processes[static_cast<std::size_t>(rank)]->collectives_left(c.id));
      }
      complete.push_back(least);
    }
    // Sort by the order in which the process called MPI, across threads.
    base::pod_vector<core::sync_record*> order;
    for (const auto& t : p->threads())
      for (std::uint64_t i = 0, n = p->records().history.locations[t->where.index].records.size(); i < n; ++i) {
        core::sync_record& r = t->where.syncs[i];
        if (explain::is_ordered_collective(r) && r.comm < p->records().history.communicators.size()) order.push_back(&r);
      }
    base::small_stable_sort(order, [](const auto* a, const auto* b) { return a->posting < b->posting; });
    for (core::sync_record* r : order) {
      if (seen[r->comm]++ < complete[r->comm]) continue;
      r->comm = mpi::communicator_table::none;
      ++out;
    }
  }
  return out;
}

/// Describes the peers that a thread was waiting for in the MPI call that did not return.
class dead_wait {
 public:
  dead_wait(const base::vector<std::unique_ptr<dead_process>>& all, const dead_process& process, std::size_t thread)
      : all_(all), process_(process), open_(process.threads()[thread]->calls.open), thread_(thread) {}

  std::string text() const {
    using core::call_role;
    switch (core::role_of(open_.call)) {
      case call_role::send: return "to " + peer(open_.comm, open_.peer, open_.tag);
      case call_role::receive:
        if (core::plain_form(open_.call) == core::mpi_call::Mrecv) return {};
        return "from " + peer(open_.comm, open_.peer, open_.tag);
      case call_role::probe:
      case call_role::exchange: return "from " + peer(open_.comm, open_.peer, open_.tag);
      case call_role::complete_all:
      case call_role::complete_any: return pending();
      default: return core::is_ordered_collective(open_.call) ? members() : std::string();
    }
  }

 private:
  std::string rank_text(const core::communicator* comm, std::int32_t peer) const {
    if (peer < 0) return "any rank";
    const std::int32_t world = comm != nullptr ? detail::world_rank(*comm, peer) : -1;
    if (world >= 0) return "rank " + std::to_string(world);
    return "peer " + std::to_string(peer) + " of an unknown communicator";
  }
  static std::string with_tag(std::string text, std::int32_t tag) {
    return tag >= 0 ? text + " (tag " + std::to_string(tag) + ")" : text;
  }
  const core::communicator* communicator(std::uint32_t number) const {
    const auto& known = process_.records().history.communicators;
    return number < known.size() ? &known[number] : nullptr;
  }
  std::string peer(std::uint64_t handle, std::int32_t peer, std::int32_t tag) const {
    return with_tag(rank_text(communicator(process_.communicator_of(handle)), peer), tag);
  }

  // Lists pending requests. The call may have waited for some of them only.
  std::string pending() const {
    const auto& records = process_.records().history.locations[thread_].records;
    std::string first;
    std::uint64_t more = 0;
    for (std::uint64_t i = 0; i < records.size(); ++i) {
      const core::sync_record& r = records[i];
      const bool sends = r.has(core::sync_flag::posts_send), receives = r.has(core::sync_flag::posts_receive);
      if ((!sends && !receives) || r.has(core::sync_flag::complete | core::sync_flag::failed)) continue;
      if (!first.empty()) {
        ++more;
        continue;
      }
      const std::int32_t peer = r.has(core::sync_flag::any_source) ? -1 : r.peer;
      first = with_tag(std::string(sends ? "for a send to " : "for a receive from ") + rank_text(communicator(r.comm), peer),
                       r.tag);
    }
    return more == 0 ? first : first + " and " + std::to_string(more) + " more";
  }

  // A member has arrived if it is inside the operation or has left it.
  std::string members() const {
    const core::communicator* const comm = communicator(process_.communicator_of(open_.comm));
    if (comm == nullptr) return {};
    const std::uint64_t ordinal = process_.collectives_left(comm->id);
    base::pod_vector<std::int32_t> missing;
    for (const auto& other : all_) {
      bool member = false;
      for (std::int32_t i = 0; i < comm->size && !member; ++i)
        member = detail::world_rank(*comm, i) == other->records().history.rank;
      if (!member || comm->inter || has_arrived(*other, comm->id, ordinal)) continue;
      missing.push_back(other->records().history.rank);
    }
    const std::string of = "with " + base::counted(comm->size, "rank");
    if (missing.empty()) return of;
    const std::string list = base::rank_list(missing);
    return of + "; " + list + (missing.size() == 1 ? " is missing" : " are missing");
  }
  static bool has_arrived(const dead_process& other, core::stable_key id, std::uint64_t ordinal) {
    if (other.collectives_left(id) != ordinal) return other.collectives_left(id) > ordinal;
    for (const auto& t : other.threads()) {
      if (!t->calls_mpi || t->calls.open.frame == nullptr) continue;
      core::sync_record probe{};
      probe.call = t->calls.open.call;
      const std::uint32_t number = other.communicator_of(t->calls.open.comm);
      if (explain::is_ordered_collective(probe) && number < other.records().history.communicators.size() &&
          other.records().history.communicators[number].id == id)
        return true;
    }
    return false;
  }

  const base::vector<std::unique_ptr<dead_process>>& all_;
  const dead_process& process_;
  const record::open_call& open_;
  const std::size_t thread_;
};

}  // namespace postmortem
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
