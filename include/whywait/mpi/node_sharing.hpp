#ifndef WHYWAIT_MPI_NODE_SHARING_HPP
#define WHYWAIT_MPI_NODE_SHARING_HPP

#include <whywait/comm/rank_data.hpp>
#include <whywait/comm/sharing_book.hpp>
#include <whywait/core/site.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/packet.hpp>
#include <whywait/explain/sorting.hpp>
#include <whywait/sync/mpi/node.hpp>
#include <whywait/sync/mpi/team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What the ranks of one machine did to arrays in memory that they share (windows of MPI_Win_allocate_shared), and how they
/// synchronised: by marks, and by collective operations that are over only when all have come. Ranks take the place of
/// threads. Messages order nothing here.
class node_sharing {
 public:
  static constexpr std::uint64_t most_records = std::uint64_t{1} << 20;  ///< of one machine: 80 MB

  /// Who shares what, on the first rank of each machine; empty elsewhere, and where nothing is shared. `cut`: it is about the
  /// beginning of the run only. Collective.
  [[gnu::cold]] static comm::sharing_report find(const comm::rank_data& own, const explain::rank_history& calls,
                                                 const comm::sharing_options& options, const sync::team& all, bool& cut) {
    cut = false;
    const bool any = std::any_of(own.objects.begin(), own.objects.end(), [](const core::data_object& o) { return o.memory != 0; });
    if (all.lowest_of(any) < 0) return {};
    const sync::mpi::node_team node(all);
    comm::sharing_report found;
    if (node) node->together([&] { found = of_node(own, calls, options, *node, cut); });
    return found;
  }

 private:
  struct event {
    core::data_record what;       // time: shared nanoseconds; bytes from the begin of the memory
    core::stable_key site = 0;
    core::stable_key object = 0;  // name_of an array, or what is synchronised on
  };

  // Arrays of the same name in the same memory are one, wherever each rank's part is.
  static core::stable_key name_of(const core::data_object& o) noexcept { return core::combine(o.memory, o.key); }

  // The records of this rank in the order of their time, with keys for what has a number in this process only.
  static std::vector<event> events_of(const comm::rank_data& own, const explain::rank_history& calls) {
    std::vector<event> out;
    for (comm::record_cursor at(own); !at.done(); at.step()) {
      const core::data_record& r = at.record();
      if (r.site >= own.sites.size()) continue;
      event e{r, own.sites[r.site], 0};
      e.what.time = static_cast<std::uint64_t>(calls.clock(r.time));
      if (r.op == core::data_op::synchronise) {
        const std::uint32_t group = r.object - core::site_table::capacity;  // of a collective
        if (!r.has(core::data_flag::collective)) e.object = r.object < own.sites.size() ? own.sites[r.object] : 0;
        else if (group < own.groups.size() && own.groups[group].id != 0) e.object = core::combine(own.groups[group].id, 7);
        if (e.object == 0) continue;
      } else {
        if (r.op == core::data_op::iterations || r.object >= own.objects.size() || own.objects[r.object].memory == 0) continue;
        e.object = name_of(own.objects[r.object]);
        e.what.begin += own.objects[r.object].memory_offset;
        e.what.end += own.objects[r.object].memory_offset;
      }
      out.push_back(e);
    }
    explain::sort_rarely(out, [](const event& a, const event& b) { return a.what.time < b.what.time; });
    return out;
  }

  static comm::sharing_report of_node(const comm::rank_data& own, const explain::rank_history& calls,
                                      const comm::sharing_options& options, const sync::team& node, bool& cut) {
    std::vector<event> events = events_of(own, calls);
    // All end at the same time, so that nobody waits at a barrier to which the others do not come.
    const std::size_t most = static_cast<std::size_t>(most_records / static_cast<std::uint64_t>(node.size()));
    // (Signed: MPICH 4.0 takes unsigned numbers for signed ones here.)
    std::int64_t until = events.size() > most ? static_cast<std::int64_t>(events[most].what.time) : INT64_MAX;
    node.all_reduce(&until, 1, MPI_INT64_T, MPI_MIN);
    cut = until != INT64_MAX;
    while (!events.empty() && static_cast<std::int64_t>(events.back().what.time) >= until) events.pop_back();

    explain::packet packed;
    const auto shared = static_cast<std::uint64_t>(
        std::count_if(own.objects.begin(), own.objects.end(), [](const core::data_object& o) { return o.memory != 0; }));
    explain::put(packed, shared);
    for (const core::data_object& o : own.objects)
      if (o.memory != 0) explain::put(packed, o);
    for (const event& e : events) explain::put(packed, e);
    joined all;
    if (node.rank() == 0) all.add(packed.data(), packed.size());
    node.gather(packed.data(), packed.size(), [&](const unsigned char* data, std::size_t size) { all.add(data, size); });
    if (node.rank() != 0) return {};
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
      begins_.push_back(0);
      ends_.push_back(0);
    }
    void add(const unsigned char* data, std::size_t size) {
      explain::packet_reader in(data, size);
      for (auto n = in.get<std::uint64_t>(); n != 0; --n) {
        const auto o = in.get<core::data_object>();
        const std::uint64_t begin = o.memory_offset / 64 * 64, end = o.memory_offset + o.bytes();  // pieces are cache lines
        const std::uint32_t known = object(name_of(o));
        if (known != 0) {
          begins_[known] = std::min(begins_[known], begin);
          ends_[known] = std::max(ends_[known], end);
          continue;
        }
        data_.objects.push_back(o);
        begins_.push_back(begin);
        ends_.push_back(end);
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
      for (std::size_t i = 1; i != data_.objects.size(); ++i) {
        data_.objects[i].element_bytes = 1;
        data_.objects[i].dimensions = 1;
        data_.objects[i].extent[0] = ends_[i] - begins_[i];
      }
      for (std::vector<core::data_record>& list : records_) {
        for (core::data_record& r : list) {
          if (r.op == core::data_op::synchronise) continue;
          r.begin -= begins_[r.object];
          r.end -= begins_[r.object];
        }
        chunks_.push_back(list.data());
      }
      for (std::size_t i = 0; i != records_.size(); ++i) {
        data_.locations.emplace_back();
        data_.locations.back().records = {&chunks_[i], 63, records_[i].size()};
      }
      return data_;
    }

   private:
    std::uint32_t object(core::stable_key key) const {
      for (std::size_t i = 1; i != data_.objects.size(); ++i)
        if (name_of(data_.objects[i]) == key) return static_cast<std::uint32_t>(i);
      return 0;
    }
    std::uint32_t number(core::stable_key key) {
      const auto fresh = static_cast<std::uint32_t>(data_.sites.size());
      const std::uint32_t known = numbers_.intern(core::combine(key, 0), fresh);
      if (known == fresh) data_.sites.push_back(key);
      return known;
    }

    comm::rank_data data_;
    std::vector<std::uint64_t> begins_, ends_;  // of objects, in their memory
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
