#ifndef WHYWAIT_MPI_NODE_SHARING_HPP
#define WHYWAIT_MPI_NODE_SHARING_HPP

#include <whywait/comm/rank_data.hpp>
#include <whywait/comm/sharing_book.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/packet.hpp>
#include <whywait/explain/sorting.hpp>
#include <whywait/sync/mpi/mpi_header.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What the ranks of one machine did to arrays that they have in common, and how they synchronised: by marks, and by collective
/// operations that are over only when all have come. Ranks take the place of threads. Messages order nothing here.
class node_sharing {
 public:
  static constexpr std::uint64_t most_records = std::uint64_t{1} << 20;  ///< of one machine: 80 MB

  /// Who shares what, on the first rank of each machine; empty elsewhere, and where nothing is shared. `cut`: it is about the
  /// beginning of the run only. Collective over `comm`.
  [[gnu::cold]] static comm::sharing_report find(const comm::rank_data& own, const explain::rank_history& calls,
                                                 const comm::sharing_options& options, MPI_Comm comm, bool& cut) {
    cut = false;
    int any = std::any_of(own.objects.begin(), own.objects.end(), [](const core::data_object& o) { return o.shared; }) ? 1 : 0;
    PMPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any == 0) return {};
    MPI_Comm node = MPI_COMM_NULL;
    PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, own.rank, MPI_INFO_NULL, &node);
    comm::sharing_report found = of_node(own, calls, options, node, cut);
    PMPI_Comm_free(&node);
    return found;
  }

 private:
  struct event {
    core::data_record what;       // time: shared nanoseconds; object and site: see below
    core::stable_key site = 0;
    core::stable_key object = 0;  // array, or what is synchronised on
  };

  // The records of this rank in the order of their time, with keys for what has a number in this process only.
  static std::vector<event> events_of(const comm::rank_data& own, const explain::rank_history& calls) {
    std::vector<event> out;
    for (comm::record_cursor at(own); !at.done(); at.step()) {
      const core::data_record& r = at.record();
      if (r.site >= own.sites.size()) continue;
      event e{r, own.sites[r.site], 0};
      if (r.op == core::data_op::synchronise) {
        e.object = r.object < own.sites.size() ? own.sites[r.object] : 0;
      } else {
        if (r.op == core::data_op::iterations || r.object >= own.objects.size() || !own.objects[r.object].shared) continue;
        e.object = own.objects[r.object].key;
      }
      e.what.time = static_cast<std::uint64_t>(calls.clock(r.time));
      out.push_back(e);
    }
    std::vector<std::pair<std::uint32_t, event>> met;  // by order of posting, for threads may take turns
    for (const explain::location_history& l : calls.locations) {
      for (std::uint64_t i = 0; i != l.records.size(); ++i) {
        const core::sync_record& r = l.records[i];
        if (!meets_all(r, calls) || r.site >= l.call_sites.size()) continue;
        event e;
        e.what.op = core::data_op::synchronise;
        e.what.flags = core::data_flag::everyone;
        e.what.time = static_cast<std::uint64_t>(calls.clock(r.begin));
        e.site = l.call_sites[r.site];
        e.object = core::combine(calls.communicators[r.comm].id, 7);
        met.emplace_back(r.posting, e);
      }
    }
    explain::sort_rarely(met, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::pair<core::stable_key, std::uint32_t>> counts;
    for (auto& m : met) {
      auto count = std::find_if(counts.begin(), counts.end(), [&m](const auto& c) { return c.first == m.second.object; });
      if (count == counts.end()) count = counts.insert(counts.end(), {m.second.object, 0});
      m.second.what.order = ++count->second;
      out.push_back(m.second);
    }
    explain::sort_rarely(out, [](const event& a, const event& b) { return a.what.time < b.what.time; });
    return out;
  }

  static bool meets_all(const core::sync_record& r, const explain::rank_history& calls) noexcept {
    using core::mpi_call;
    const bool kind = r.call == mpi_call::Barrier || r.call == mpi_call::Allreduce || r.call == mpi_call::Allgather ||
                      r.call == mpi_call::Alltoall || r.call == mpi_call::Reduce_scatter_block;
    return kind && !r.has(core::sync_flag::failed) && r.comm < calls.communicators.size() && calls.communicators[r.comm].id != 0 &&
           !calls.communicators[r.comm].inter;
  }

  static comm::sharing_report of_node(const comm::rank_data& own, const explain::rank_history& calls,
                                      const comm::sharing_options& options, MPI_Comm node, bool& cut) {
    int rank = 0, ranks = 1;
    PMPI_Comm_rank(node, &rank);
    PMPI_Comm_size(node, &ranks);
    std::vector<event> events = events_of(own, calls);
    // All end at the same time, so that nobody waits at a barrier to which the others do not come.
    const std::size_t most = static_cast<std::size_t>(most_records / static_cast<std::uint64_t>(ranks));
    std::uint64_t until = events.size() > most ? events[most].what.time : UINT64_MAX;
    PMPI_Allreduce(MPI_IN_PLACE, &until, 1, MPI_UINT64_T, MPI_MIN, node);
    cut = until != UINT64_MAX;
    while (!events.empty() && events.back().what.time >= until) events.pop_back();

    explain::packet packed;
    const auto shared = static_cast<std::uint64_t>(
        std::count_if(own.objects.begin(), own.objects.end(), [](const core::data_object& o) { return o.shared; }));
    explain::put(packed, shared);
    for (const core::data_object& o : own.objects)
      if (o.shared) explain::put(packed, o);
    for (const event& e : events) explain::put(packed, e);
    constexpr int tag = 33;
    int size = static_cast<int>(packed.size());  // less than 2^31: 96 bytes for each of 2^20
    if (rank != 0) {
      PMPI_Send(&size, 1, MPI_INT, 0, tag, node);
      PMPI_Send(packed.data(), size, MPI_BYTE, 0, tag, node);
      return {};
    }
    joined all;
    all.add(packed);
    for (int from = 1; from < ranks; ++from) {
      PMPI_Recv(&size, 1, MPI_INT, from, tag, node, MPI_STATUS_IGNORE);
      packed.resize(static_cast<std::size_t>(size));
      PMPI_Recv(packed.data(), size, MPI_BYTE, from, tag, node, MPI_STATUS_IGNORE);
      all.add(packed);
    }
    comm::sharing_book book(all.finished(), options);
    book.take_all();
    return book.result();
  }

  // One process, as it were, whose threads are the ranks of the machine.
  class joined {
   public:
    joined() {
      data_.objects.emplace_back();
      data_.sites.push_back(0);
    }
    void add(const explain::packet& from) {
      explain::packet_reader in(from.data(), from.size());
      for (auto n = in.get<std::uint64_t>(); n != 0; --n) {
        const auto o = in.get<core::data_object>();
        if (object(o.key) == 0) data_.objects.push_back(o);
      }
      records_.emplace_back();
      while (!in.empty()) {
        event e = in.get<event>();
        e.what.site = number(e.site);
        e.what.object = e.what.op == core::data_op::synchronise ? number(e.object) : object(e.object);
        records_.back().push_back(e.what);
      }
    }
    const comm::rank_data& finished() {
      for (const std::vector<core::data_record>& r : records_) chunks_.push_back(r.data());
      for (std::size_t i = 0; i != records_.size(); ++i) {
        data_.locations.emplace_back();
        data_.locations.back().records = {&chunks_[i], 63, records_[i].size()};
      }
      return data_;
    }

   private:
    std::uint32_t object(core::stable_key key) const {
      for (std::size_t i = 1; i != data_.objects.size(); ++i)
        if (data_.objects[i].key == key) return static_cast<std::uint32_t>(i);
      return 0;
    }
    std::uint32_t number(core::stable_key key) {
      const auto fresh = static_cast<std::uint32_t>(data_.sites.size());
      const std::uint32_t known = numbers_.intern(core::combine(key, 0), fresh);
      if (known == fresh) data_.sites.push_back(key);
      return known;
    }

    comm::rank_data data_;
    explain::key_map numbers_;
    std::vector<std::vector<core::data_record>> records_;
    std::vector<const core::data_record*> chunks_;
  };
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
