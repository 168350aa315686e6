#ifndef WHYWAIT_MPI_INITIATIONS_HPP
#define WHYWAIT_MPI_INITIATIONS_HPP

#include <whywait/mpi/collective_calls.hpp>
#include <whywait/mpi/neighbours.hpp>
#include <whywait/mpi/posting.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Nonblocking, persistent and neighbourhood collectives. The record of an initiation is the arrival of this rank; the call
// that completes its request is the one that waits.

/// The buffers of a neighbourhood collective.
struct neighbour_facts {
  part sent, received;
};

namespace detail {

/// A collective of any kind: its flow, and which members it needs if these are not all.
class collective_kind {
 public:
  /// `sparse`: the receive argument of MPI_Ialltoallv/w, else empty.
  explicit collective_kind(const any_facts& facts, part sparse = part{}) noexcept
      : facts_(&facts), neighbours_(nullptr), sparse_(sparse) {}
  explicit collective_kind(const neighbour_facts& facts) noexcept : facts_(nullptr), neighbours_(&facts), sparse_{} {}

  /// Fills in `r`, whose call is known.
  __attribute__((noinline)) void describe(call& here, core::sync_record& r, MPI_Comm comm) const noexcept {
    r.comm = index_of(here.thread(), comm);
    if (r.comm == communicator_table::none) return;
    const known_communicator& known = here.process().communicators[r.comm];
    if (neighbours_ != nullptr) return describe_neighbours(here.thread(), r, comm, known.rank);
    const flow f = known.inter ? facts_->between(here.thread(), known) : (*facts_)(here.thread(), known.rank, known.size);
    unsigned flags = r.flags;
    const core::call_role role = core::meeting_role_of(r.call);
    if (f.sends != 0 || role == core::call_role::barrier || role == core::call_role::create) flags |= flag::contributes;
    if (f.receives) flags |= flag::consumes;
    r.bytes = f.sends;
    r.peer = f.root;
    if (sparse_.counts != nullptr && store_needs(here.thread(), sparse_, known.size, known.inter ? -1 : known.rank, &r))
      flags |= flag::sparse;
    r.flags = static_cast<uint16_t>(flags);
  }

 private:
  // Needs the neighbours that send something.
  void describe_neighbours(thread_state& thread, core::sync_record& r, MPI_Comm comm, int rank) const noexcept {
    const neighbours all(comm);
    const part &sent = neighbours_->sent, &received = neighbours_->received;
    auto& needs = thread.location->needs;
    const uint64_t first = needs.size();
    int32_t listed = 0;
    for (int i = 0; i < all.sources(); ++i) {
      if (all[i] < 0 || all[i] == rank || bytes_for(thread, received, i) == 0) continue;
      int32_t* const place = needs.claim();
      if (place == nullptr) return;
      *place = all[i];
      needs.publish();
      ++listed;
    }
    r.bytes = bytes_for_all(thread, sent, all.destinations());
    r.tag = static_cast<int32_t>(first);
    r.peer = listed;
    r.flags = static_cast<uint16_t>(r.flags | flag::sparse | (r.bytes != 0 ? unsigned(flag::contributes) : 0u) |
                                    (listed != 0 ? unsigned(flag::consumes) : 0u));
  }

  const any_facts* facts_;
  const neighbour_facts* neighbours_;
  part sparse_;
};

/// A call that makes a request for a collective. `made`: where MPI_Comm_idup will put the handle.
__attribute__((noinline)) inline int begin_together(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm,
                                                    const collective_kind& kind, MPI_Request* request,
                                                    MPI_Comm* made = nullptr) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  here.about(bits_of(comm), -1, -1);
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const uint32_t place = here.next_index();
  core::sync_record* const r = here.store(0, posting);
  if (r != nullptr) kind.describe(here, *r, comm);
  const bool pending_still = made != nullptr || (r != nullptr && !complete_at_once(here, *request));
  if (pending_still) {
    guard_if guard(here.process().lock, here.process().multiple);
    // The number of a communicator is taken now, as all members do.
    const uint32_t index = made != nullptr ? learn_communicator(here.process(), comm) : 0;
    pending* const p = index != communicator_table::none ? add_request(here, *request) : nullptr;
    if (p != nullptr) {
      p->new_comm = made;
      p->comm = index;
      p->record = r;
      p->index = place;
      p->location = here.where().index;
    }
  }
  if (r == nullptr) return code;
  if (pending_still) here.finish();
  else here.finish_completed(r);
  return code;
}

}  // namespace detail

/// MPI_Ibarrier and its kin. `sparse` is the receive argument of MPI_Ialltoallv/w, else empty. About 35 ns; a list of needs takes
/// another 5 ns each.
template <class Facts>
inline int initiate(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm, const Facts& facts, part sparse,
                    MPI_Request* request) {
  const detail::any_facts any(facts);
  return detail::begin_together(what, from, pass, comm, detail::collective_kind(any, sparse), request);
}
inline int initiate(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm, const neighbour_facts& facts, part,
                    MPI_Request* request) {
  return detail::begin_together(what, from, pass, comm, detail::collective_kind(facts), request);
}

/// MPI_Comm_idup: the handle exists when the request is complete.
inline int create_later(core::mpi_call what, caller from, passed_call& pass, MPI_Comm parent, MPI_Comm* made,
                        MPI_Request* request) {
  const barrier_facts everybody{};
  const detail::any_facts any(everybody);
  return detail::begin_together(what, from, pass, parent, detail::collective_kind(any), request, made);
}

namespace detail {

/// A persistent collective: no record yet; what each start will leave is kept. Its arguments stay as they are (MPI 4.0, 6.13).
__attribute__((noinline, cold)) inline int prepare_collective(core::mpi_call what, caller from, passed_call& pass,
                                                              MPI_Comm comm, const collective_kind& kind,
                                                              MPI_Request* request) {
  call here(what, from);
  if (!here) return pass();
  const int code = pass();
  if (code != MPI_SUCCESS) return code;
  core::sync_record r{};
  r.call = what;
  kind.describe(here, r, comm);
  int32_t* needs = nullptr;
  if (r.has(flag::sparse)) {
    needs = static_cast<int32_t*>(core::map_pages(bytes_of_needs(r.peer), false));
    if (needs == nullptr) return code;
    needs[0] = r.peer;
    for (int32_t i = 0; i < r.peer; ++i) needs[i + 1] = here.where().needs[static_cast<uint64_t>(r.tag + i)];
  }
  guard_if guard(here.process().lock, here.process().multiple);
  const uint32_t instance = r.comm != communicator_table::none ? here.process().communicators.prepare(r.comm) : 0;
  pending* const p = add_request(here, *request);
  if (p == nullptr) return code;
  p->persistent = true;
  p->collective = what;
  p->instance = instance;
  p->needs = needs;
  p->flags = r.flags;
  p->bytes = r.bytes;
  p->comm = r.comm;
  p->peer = r.peer;
  p->tag = -1;
  return code;
}

}  // namespace detail

/// MPI_Barrier_init and its kin.
template <class Facts>
inline int prepare_together(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm, const Facts& facts, part sparse,
                            MPI_Request* request) {
  const detail::any_facts any(facts);
  return detail::prepare_collective(what, from, pass, comm, detail::collective_kind(any, sparse), request);
}
inline int prepare_together(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm, const neighbour_facts& facts,
                            part, MPI_Request* request) {
  return detail::prepare_collective(what, from, pass, comm, detail::collective_kind(facts), request);
}

/// Blocking neighbourhood collectives: each rank waits only for the neighbours that send it something.
__attribute__((noinline)) inline int neighbour_collective(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm,
                                                          const neighbour_facts& facts, part) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  here.about(bits_of(comm), -1, -1);
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  if (core::sync_record* const r = here.store(0, posting)) {
    detail::collective_kind(facts).describe(here, *r, comm);
    here.finish();
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
