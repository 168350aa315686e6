#ifndef WHYWAIT_MPI_DATA_HISTORY_HPP
#define WHYWAIT_MPI_DATA_HISTORY_HPP

#include <whywait/comm/rank_data.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/record/data/thread.hpp>
#include <whywait/sync/mpi/state.hpp>
#include <whywait/sync/mpi/windows.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What was lost of a process's data records.
struct data_losses {
  std::uint64_t records = 0;         ///< had no memory
  std::uint64_t registrations = 0;   ///< had no number or no address space
  std::uint64_t unknown_ranges = 0;  ///< of marks, in no registered array
  std::uint64_t unordered = 0;       ///< messages whose place among the others is not known: memory for calls ran out
};

namespace detail {

/// From posting (sync_record::posting) to `data_record::order`: the k-th of its channel. 4 bytes a posting, near-linear.
class message_orders {
 public:
  explicit message_orders(const explain::rank_history& rank) {
    std::uint32_t last = 0;
    for (const explain::location_history& l : rank.locations)
      for (std::uint64_t i = 0; i != l.records.size(); ++i) last = std::max(last, l.records[i].posting);
    channels_.resize(std::size_t{last} + 1, 0);
    for (const explain::location_history& l : rank.locations)
      for (std::uint64_t i = 0; i != l.records.size(); ++i) note(rank, l.records[i]);
    std::vector<std::uint32_t> counts(known_, 0);
    for (std::uint32_t& c : channels_)
      if (c != 0) c = ++counts[c - 1];
  }
  /// 0: not known.
  std::uint32_t operator[](std::uint32_t posting) const noexcept {
    return posting < channels_.size() ? channels_[posting] : 0;
  }

 private:
  // As explain::message_book pairs them: a matched probe takes the place of its receive.
  void note(const explain::rank_history& rank, const core::sync_record& r) {
    using core::call_role;
    namespace flag = core::sync_flag;
    if (r.posting == 0 || r.has(flag::cancelled | flag::proc_null | flag::failed) || r.comm >= rank.communicators.size()) return;
    const explain::communicator& comm = rank.communicators[r.comm];
    if (comm.id == 0) return;
    const call_role role = core::role_of(r.call);
    if (role == call_role::barrier || role == call_role::one_to_all || role == call_role::all_to_one ||
        role == call_role::all_to_all || role == call_role::scan) {
      if (!comm.inter) channels_[r.posting] = number(core::combine(comm.id, 3));
      return;
    }
    const bool matched_probe = role == call_role::probe && r.has(flag::matched);
    if (!matched_probe && !r.has(flag::posts_send | flag::posts_receive)) return;
    if (r.peer < 0) return;
    const bool wildcard = r.has(flag::any_source | flag::any_tag);
    if (!matched_probe && wildcard && !r.has(flag::complete)) return;
    const core::stable_key channel =
        core::combine(core::combine(comm.id, r.has(flag::posts_send) ? 1 : 2),
                      (std::uint64_t{static_cast<std::uint32_t>(r.peer)} << 32) | static_cast<std::uint32_t>(r.tag));
    channels_[r.posting] = number(channel);
  }
  std::uint32_t number(core::stable_key channel) {
    const std::uint32_t found = numbers_.intern(channel, known_);
    if (found == known_) ++known_;
    return found + 1;
  }

  explain::key_map numbers_;
  std::uint32_t known_ = 0;
  std::vector<std::uint32_t> channels_;  // by posting: channel + 1, then order; 0: none
};

}  // namespace detail

/// Whether this process ever registered an array: without one there is nothing to collect.
inline bool has_data(const sync::mpi::state& process) noexcept { return record::data::state_of(*process.registry) != nullptr; }

/// What this process recorded about data, for the analysis of comm/. `rank` must be what the same process told the
/// explanation (process_history::view()): communicators, blocks and call sites are numbered by it. Views of the records,
/// which live as long as the process; their `order` and `site` get their final meaning here, once. `calls` has durations
/// of the calls; waits are 0. Call when no other thread records. O(records of the process).
[[gnu::cold]] inline comm::rank_data collect_data(sync::mpi::state& process, const explain::rank_history& rank,
                                                  data_losses* lost = nullptr) {
  comm::rank_data all;
  data_losses losses;
  all.rank = rank.rank;
  all.ranks = rank.ranks;
  all.groups = rank.communicators;
  all.sites = rank.blocks;
  all.locations.resize(rank.locations.size());
  record::data::data_state* const data = record::data::state_of(*process.registry);
  if (data == nullptr) {
    all.objects.emplace_back();
    if (lost != nullptr) *lost = losses;
    return all;
  }
  for (std::uint32_t i = 0; i != data->objects.size(); ++i) {
    const record::data::known_object& o = data->objects[i];
    all.objects.push_back(o.shape);
    const sync::mpi::shared_memory* const memory =
        process.windows != nullptr && i != 0 ? process.windows->find(o.begin, o.end, o.active) : nullptr;
    if (memory == nullptr) continue;
    all.objects.back().memory = memory->key;
    all.objects.back().memory_offset = o.begin - memory->begin;
  }
  losses.registrations = data->objects.refused();
  losses.unknown_ranges = data->unknown_ranges;
  const detail::message_orders orders(rank);
  for (core::location_base* base = __atomic_load_n(&process.registry->locations, __ATOMIC_ACQUIRE); base != nullptr;
       base = base->next) {
    if (base->index >= rank.locations.size()) continue;
    auto& from = static_cast<record::location&>(*base);
    const explain::location_history& calls = rank.locations[base->index];
    const auto first_call = static_cast<std::uint32_t>(all.sites.size());
    all.sites.insert(all.sites.end(), calls.call_sites.begin(), calls.call_sites.end());
    auto* const thread = static_cast<record::data::data_thread*>(
        __atomic_load_n(&from.extension[record::data::detail::thread_slot], __ATOMIC_ACQUIRE));
    if (thread == nullptr) continue;
    if (base == record::this_location() || __atomic_load_n(&base->finished, __ATOMIC_ACQUIRE) != 0) thread->flush();
    for (; thread->numbered < thread->records.size(); ++thread->numbered) {
      core::data_record& r = thread->records[thread->numbered];
      const bool copy = r.op == core::data_op::copy_from || r.op == core::data_op::copy_to;
      const bool message = r.op == core::data_op::send || r.op == core::data_op::receive;
      if (!message && !r.has(core::data_flag::collective)) continue;
      r.site += first_call;
      if (copy || (r.order = orders[r.order]) != 0) continue;
      r.site = ~std::uint32_t{0};  // names nothing: the analysis leaves it out
      ++losses.unordered;
    }
    losses.records += thread->records.dropped();
    comm::location_data& to = all.locations[base->index];
    to.records = thread->records.view();
    to.calls.resize(calls.records.size());
    for (std::uint64_t i = 0; i != calls.records.size(); ++i) {
      const core::sync_record& r = calls.records[i];
      to.calls[i].duration_ns = rank.clock(r.begin + r.duration) - rank.clock(r.begin);
    }
  }
  if (lost != nullptr) *lost = losses;
  return all;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
