#ifndef WHYWAIT_MPI_COLLECTIVE_CALLS_HPP
#define WHYWAIT_MPI_COLLECTIVE_CALLS_HPP

#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/data_collectives.hpp>
#include <whywait/mpi/epoch_meeting.hpp>
#include <whywait/mpi/part.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Blocking collectives. Which rank needs which follows from what each
// rank sends and receives; arguments that MPI does not read on a rank are not read here either.

/// The argument of a collective that decides how its data flows; computed after the call.
struct flow {
  uint64_t sends = 0;     ///< bytes this rank contributes
  bool receives = false;  ///< whether it gets anything from others
  int root = -1;
};

// Each kind of facts has two functions: the flow in one group, and `between` for the two groups of an intercommunicator,
// where arguments are about the remote group (MPI 4.0, 6.2.2), and roots are MPI_ROOT and MPI_PROC_NULL in their own group.

namespace detail {

inline uint64_t bytes_for(thread_state& thread, const part& p, int rank) noexcept {
  const MPI_Count count = p.count_of(rank);
  return count > 0 ? bytes_of(thread, count, p.types != nullptr ? p.types[rank] : p.type) : 0;
}
__attribute__((noinline)) inline uint64_t bytes_for_all(thread_state& thread, const part& p, int size) noexcept {
  if (p.counts == nullptr) return bytes_of(thread, p.count, p.type) * static_cast<uint64_t>(size);
  uint64_t sum = 0;
  for (int i = 0; i < size; ++i) sum += bytes_for(thread, p, i);
  return sum;
}

/// Alltoallv/w with ranks that send nothing here: the list of those that do. False: needs all or there is no room.
__attribute__((noinline)) inline bool store_needs(thread_state& thread, const part& receive, int size, int rank,
                                                  core::sync_record* r) noexcept {
  bool all = true;
  for (int i = 0; i < size && all; ++i) all = i == rank || bytes_for(thread, receive, i) != 0;
  if (all) return false;
  auto& needs = thread.location->needs;
  const uint64_t first = needs.size();
  int32_t listed = 0;
  for (int i = 0; i < size; ++i) {
    if (i == rank || bytes_for(thread, receive, i) == 0) continue;
    int32_t* const place = needs.claim();
    if (place == nullptr) return false;
    *place = i;
    needs.publish();
    ++listed;
  }
  r->tag = static_cast<int32_t>(first);
  r->peer = listed;
  return true;
}

}  // namespace detail

namespace detail {

/// The facts of any collective, for functions that are compiled once. They must outlive it.
class any_facts {
 public:
  template <class Facts>
  explicit any_facts(const Facts& facts) noexcept
      : facts_(&facts),
        flow_([](const void* f, thread_state& t, int rank, int size) noexcept {
          return (*static_cast<const Facts*>(f))(t, rank, size);
        }),
        between_([](const void* f, thread_state& t, const known_communicator& groups) noexcept {
          return static_cast<const Facts*>(f)->between(t, groups);
        }),
        tell_([](const void* f, data_of_collective& out) noexcept { static_cast<const Facts*>(f)->tell(out); }) {}
  any_facts(const any_facts&) = default;
  flow operator()(thread_state& t, int rank, int size) const noexcept { return flow_(facts_, t, rank, size); }
  flow between(thread_state& t, const known_communicator& groups) const noexcept { return between_(facts_, t, groups); }
  void tell(data_of_collective& out) const noexcept { tell_(facts_, out); }

 private:
  const void* facts_;
  flow (*flow_)(const void*, thread_state&, int rank, int size) noexcept;
  flow (*between_)(const void*, thread_state&, const known_communicator&) noexcept;
  void (*tell_)(const void*, data_of_collective&) noexcept;
};

/// Which registered data it moved.
__attribute__((noinline, cold)) inline void tell_data(const call_summary& here, const core::sync_record& r,
                                                      const any_facts& facts) noexcept {
  if (r.comm == communicator_table::none || here.process().communicators[r.comm].inter ||
      here.process().communicators[r.comm].outside)
    return;
  const known_communicator& known = here.process().communicators[r.comm];
  data_of_collective out(here, r, known.rank, known.size);
  facts.tell(out);
  const core::call_role role = core::role_of(r.call);
  if (here.process().windows != nullptr && (role == core::call_role::barrier || role == core::call_role::all_to_all))
    out.synchronise();
}

}  // namespace detail

/// A blocking collective. `facts(thread, rank, size)` gives its flow; `sparse` is the receive argument of
/// MPI_Alltoallv/w, else empty.
template <class What, class Pass, class Facts>
inline int collective(What what, caller from, Pass& pass, MPI_Comm comm, const Facts& facts, part sparse = part{}) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  here.about(bits_of(comm), -1, -1);
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (__builtin_expect(code != MPI_SUCCESS, 0)) {
    here.refuse();
    return code;
  }
  core::sync_record* const r = here.store(0, posting);
  if (r == nullptr && !meets_all(what)) return code;
  const uint32_t index = index_of(here.thread(), comm);
  bool met = false;
  if (r != nullptr) r->comm = index;
  if (index != communicator_table::none) {
    const known_communicator& known = here.process().communicators[index];
    const flow f =
        __builtin_expect(known.inter, 0) ? facts.between(here.thread(), known) : facts(here.thread(), known.rank, known.size);
    unsigned flags = 0;
    if (f.sends != 0 || what == core::mpi_call::Barrier) flags |= flag::contributes;
    if (f.receives) flags |= flag::consumes;
    if (r != nullptr) {
      r->bytes = f.sends;
      r->peer = f.root;
      if (sparse.counts != nullptr && detail::store_needs(here.thread(), sparse, known.size, known.inter ? -1 : known.rank, r))
        flags |= flag::sparse;
      r->flags = static_cast<uint16_t>(flags);
    }
    // Threads may use communicators in an order of their own: then only one of them is followed.
    met = meets_all(what) && flags == (flag::contributes | flag::consumes) && known.size == here.process().size &&
          !known.inter && !known.outside && known.id != 0 && (index == 0 || !here.process().any_multiple);
  }
  if (r != nullptr) {
    here.finish();
    if (watches_data(here)) detail::tell_data(here.summary(), *r, detail::any_facts(facts));
  }
  if (meets_all(what) && met && here.process().schedule.meet())
    detail::end_epoch(here.thread(), {here.begun_at(), here.begun_at() + here.duration(), here.site()});
  return code;
}

/// The collectives that are rarely called, all in one function.
template <class Facts>
inline int rare_collective(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm, const Facts& facts,
                           part sparse = part{}) {
  return collective(what, from, pass, comm, detail::any_facts(facts), sparse);
}

/// MPI_Barrier.
struct barrier_facts {
  flow operator()(thread_state&, int, int) const noexcept { return {0, true, -1}; }
  flow between(thread_state&, const known_communicator&) const noexcept { return {0, true, -1}; }
  void tell(data_of_collective&) const noexcept {}
};

/// MPI_Bcast.
struct broadcast_facts {
  part data;
  int root;
  flow operator()(thread_state& t, int rank, int) const noexcept {
    const uint64_t bytes = detail::bytes_for(t, data, 0);
    return {rank == root ? bytes : 0, rank != root && bytes != 0, root};
  }
  __attribute__((noinline)) flow between(thread_state& t, const known_communicator&) const noexcept {
    if (root == MPI_PROC_NULL) return {};
    const uint64_t bytes = detail::bytes_for(t, data, 0);
    return {root == MPI_ROOT ? bytes : 0, root != MPI_ROOT && bytes != 0, -1};
  }
  void tell(data_of_collective& out) const noexcept {
    if (out.rank == root) out.send_to_all(data);
    else out.receive_from(root, data);
  }
};

/// MPI_Scatter, MPI_Scatterv.
struct scatter_facts {
  part sent, received;
  int root;
  flow operator()(thread_state& t, int rank, int size) const noexcept {
    if (rank == root) return {detail::bytes_for_all(t, sent, size), false, root};
    return {0, detail::bytes_for(t, received, 0) != 0, root};
  }
  flow between(thread_state& t, const known_communicator& groups) const noexcept {
    if (root == MPI_PROC_NULL) return {};
    if (root == MPI_ROOT) return {detail::bytes_for_all(t, sent, groups.size), false, -1};
    return {0, detail::bytes_for(t, received, 0) != 0, -1};
  }
  void tell(data_of_collective& out) const noexcept {
    if (out.rank == root) {
      out.send_parts(sent);
      out.keep(sent, out.rank, received, 0);
    } else {
      out.receive_from(root, received);
    }
  }
};

/// MPI_Reduce, MPI_Gather, MPI_Gatherv.
struct gather_facts {
  part sent, received;
  int root;
  bool combines;
  flow operator()(thread_state& t, int rank, int size) const noexcept {
    const bool in_place = sent.buffer == MPI_IN_PLACE;
    if (rank != root) return {detail::bytes_for(t, sent, 0), false, root};
    return {in_place ? detail::bytes_for(t, received, rank) : detail::bytes_for(t, sent, 0),
            detail::bytes_for_all(t, received, size) != 0, root};
  }
  __attribute__((noinline)) flow between(thread_state& t, const known_communicator& groups) const noexcept {
    if (root == MPI_PROC_NULL) return {};
    if (root == MPI_ROOT) return {0, detail::bytes_for_all(t, received, groups.size) != 0, -1};
    return {detail::bytes_for(t, sent, 0), false, -1};
  }
  void tell(data_of_collective& out) const noexcept {
    if (combines) {
      if (out.rank == root) out.receive_combined(received);
      else out.send_to(root, sent);
    } else if (out.rank == root) {
      out.receive_parts(received);
      out.keep(sent, 0, received, out.rank);
    } else {
      out.send_to(root, sent);
    }
  }
};

/// MPI_Allgather(v), MPI_Allreduce: each rank sends one part to all.
struct all_facts {
  part sent, received;
  bool combines;
  flow operator()(thread_state& t, int rank, int size) const noexcept {
    const part& own = sent.buffer == MPI_IN_PLACE ? received : sent;
    return {detail::bytes_for(t, own, rank), detail::bytes_for_all(t, received, size) != 0, -1};
  }
  __attribute__((noinline)) flow between(thread_state& t, const known_communicator& groups) const noexcept {
    return {detail::bytes_for(t, sent, 0), detail::bytes_for_all(t, received, groups.size) != 0, -1};
  }
  void tell(data_of_collective& out) const noexcept {
    const bool in_place = sent.buffer == MPI_IN_PLACE;
    out.send_to_all(in_place ? received : sent, in_place && !combines ? out.rank : 0);
    if (combines) return out.receive_combined(received);
    out.receive_parts(received);
    if (!in_place) out.keep(sent, 0, received, out.rank);
  }
};

/// MPI_Alltoall(v, w): a part for each rank.
struct exchange_facts {
  part sent, received;
  flow operator()(thread_state& t, int, int size) const noexcept {
    const part& own = sent.buffer == MPI_IN_PLACE ? received : sent;
    return {detail::bytes_for_all(t, own, size), detail::bytes_for_all(t, received, size) != 0, -1};
  }
  flow between(thread_state& t, const known_communicator& groups) const noexcept {
    return (*this)(t, groups.rank, groups.size);
  }
  void tell(data_of_collective& out) const noexcept {
    const bool in_place = sent.buffer == MPI_IN_PLACE;
    out.send_parts(in_place ? received : sent);
    out.receive_parts(received);
    if (!in_place) out.keep(sent, out.rank, received, out.rank);
  }
};

/// MPI_Reduce_scatter(_block).
struct reduce_scatter_facts {
  part sent, received;
  flow operator()(thread_state& t, int rank, int size) const noexcept {
    return {detail::bytes_for_all(t, received, size), detail::bytes_for(t, received, rank) != 0, -1};
  }
  flow between(thread_state& t, const known_communicator& groups) const noexcept {
    return (*this)(t, groups.rank, groups.own_size);  // the counts are those of the own group
  }
  void tell(data_of_collective& out) const noexcept {
    out.send_parts(sent);
    out.receive_combined(received, received.counts != nullptr ? out.rank : 0);
  }
};

/// MPI_Scan, MPI_Exscan.
struct scan_facts {
  part sent, data;
  flow operator()(thread_state& t, int rank, int) const noexcept {
    const uint64_t bytes = detail::bytes_for(t, data, 0);
    return {bytes, bytes != 0 && rank != 0, -1};
  }
  flow between(thread_state&, const known_communicator&) const noexcept { return {}; }  // MPI has none
  void tell(data_of_collective& out) const noexcept {
    const part& own = sent.buffer == MPI_IN_PLACE ? data : sent;
    for (int i = out.rank + 1; i < out.size; ++i) out.send_to(i, own);
    for (int i = 0; i < out.rank; ++i) out.receive_from(i, data, core::data_flag::combines);
  }
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
