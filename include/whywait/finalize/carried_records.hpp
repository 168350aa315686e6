#ifndef WHYWAIT_FINALIZE_CARRIED_RECORDS_HPP
#define WHYWAIT_FINALIZE_CARRIED_RECORDS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/explain/folding.hpp>
#include <whywait/mpi/epoch_meeting.hpp>
#include <whywait/mpi/process_state.hpp>

#include <cstddef>
#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

namespace detail {

struct kept_record {
  std::uint32_t record;
  /// `explained` records are known to the explanation; the others are known only to MPI's request.
  bool met, explained;
  mpi::pending* request;
};

}  // namespace detail

/// Carries the records of one thread that a later epoch needs over into it: those of operations that are pending in MPI or in
/// the explanation (`carried`), and the last call, behind which the next interval begins. All others are forgotten. `end`: where
/// the epoch ended, of the thread that met the others there; `lossy`: some rank has no records of a part of the epoch.
inline void carry_over(mpi::state& process, mpi::thread_state& thread, const base::vector<explain::carried_posting>& carried,
                       const mpi::meeting_point* end, bool lossy) {
  // Limits the records of messages that are never received.
  constexpr std::size_t most_buffered = 4096;
  record::location& here = *thread.location;
  base::pod_vector<detail::kept_record> all;
  for (const explain::carried_posting& c : carried)
    if (c.location == here.index) all.push_back({c.record, c.met, true, nullptr});
  process.requests.each([&](mpi::pending& p) {
    if (p.record != nullptr && p.location == here.index) all.push_back({p.index, true, false, &p});
  });
  base::small_stable_sort(all, [](const detail::kept_record& a, const detail::kept_record& b) {
    return a.record != b.record ? a.record < b.record : a.explained && !b.explained;
  });
  base::pod_vector<core::sync_record> records;
  base::pod_vector<mpi::pending*> requests;
  std::size_t buffered = 0;
  for (std::size_t i = 0; i != all.size(); ++i) {
    detail::kept_record k = all[i];
    if (i + 1 != all.size() && all[i + 1].record == k.record) k.request = all[++i].request;
    core::sync_record r = here.syncs[k.record];
    const bool complete = r.has(core::sync_flag::complete);
    if (k.request == nullptr) {
      const bool unknown = !complete && r.has(core::sync_flag::any_source | core::sync_flag::any_tag);
      // Such a record is useless. Either a freed wildcard receive has an unknown source, or the record of the
      // matching receive may have been dropped.
      if ((unknown && !r.has(core::sync_flag::resolved)) || (lossy && complete)) continue;
      if (complete && ++buffered > most_buffered) {
        ++thread.lost_records;
        continue;
      }
    }
    r.duration = 0;
    r.overhead = 0;
    r.steps = 0;
    if (k.met) r.flags = static_cast<std::uint16_t>(r.flags | core::sync_flag::met);
    r.completion = static_cast<std::uint32_t>(records.size());
    r.completed_by = here.index;
    records.push_back(r);
    requests.push_back(k.request);
  }
  // Keep the call after which the next interval begins.
  if (end != nullptr || here.syncs.size() != 0) {
    core::sync_record last{};
    if (here.syncs.size() != 0) last = here.syncs[here.syncs.size() - 1];
    if (end != nullptr) {
      last.begin = end->begin;
      last.site = end->site;
    }
    last.call = core::mpi_call::none;
    last.flags = 0;
    last.posting = last.steps = last.overhead = 0;
    records.push_back(last);
  }
  mpi::detail::begin_records_anew(thread, records.data(), records.size());
  for (std::size_t i = 0; i != requests.size() && i < here.syncs.size(); ++i) {
    if (requests[i] == nullptr) continue;
    requests[i]->record = &here.syncs[i];
    requests[i]->index = static_cast<std::uint32_t>(i);
  }
}

/// Resolves wildcards that MPI has matched but the program has not completed yet, because the message order depends on
/// them.
inline void resolve_wildcards(mpi::state& process) {
  if (process.open_wildcards == 0) return;
  process.requests.each([&](mpi::pending& p) {
    if (p.record == nullptr || !p.wildcard || p.twin != nullptr || p.record->has(core::sync_flag::complete)) return;
    MPI_Request request;
    static_assert(sizeof request <= sizeof p.handle, "a handle fits");
    __builtin_memcpy(&request, &p.handle, sizeof request);
    MPI_Status status;
    int done = 0;
    if (PMPI_Request_get_status(request, &done, &status) != MPI_SUCCESS || done == 0) return;
    int cancelled = 0;
    PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled != 0) return;
    p.record->peer = status.MPI_SOURCE;
    p.record->tag = status.MPI_TAG;
    p.record->flags = static_cast<std::uint16_t>(p.record->flags | core::sync_flag::resolved);
  });
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
