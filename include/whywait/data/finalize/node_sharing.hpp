#ifndef WHYWAIT_DATA_FINALIZE_NODE_SHARING_HPP
#define WHYWAIT_DATA_FINALIZE_NODE_SHARING_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/site.hpp>
#include <whywait/data/analysis/data_region.hpp>
#include <whywait/data/analysis/rank_data.hpp>
#include <whywait/data/analysis/sharing_book.hpp>
#include <whywait/data/finalize/data_history.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/finalize/node.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/mpi/windows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// A memory_finder for windows of MPI_Win_allocate_shared; `of`: the mpi::state of the process.
inline mapped_memory memory_of_window(const void* of, std::uint64_t begin, std::uint64_t end, bool active) {
  const mpi::state& process = *static_cast<const mpi::state*>(of);
  const mpi::shared_memory* const memory = process.windows != nullptr ? process.windows->find(begin, end, active) : nullptr;
  return memory != nullptr ? mapped_memory{memory->key, memory->begin} : mapped_memory();
}

/// What the ranks of one machine did to arrays in memory that they share (windows of MPI_Win_allocate_shared), and how
/// they synchronised: by marks, and by collective operations that are over only when all have come. Ranks take the
/// place of threads. Messages order nothing here. Epoch by epoch; the first rank of each machine keeps a
/// data::sharing_book.
class node_sharing {
 public:
  static constexpr std::uint64_t most_records = std::uint64_t{1} << 20;  ///< of one machine and epoch: 80 MB

  explicit node_sharing(const data::sharing_options& options) : options_(options) {}

  /// Adds the records of an epoch, if anything is shared. Collective.
  void fold(const data::rank_data& own, const explain::rank_history& calls, const finalize::team& all) {
    const bool any = base::any_of(own.objects, [](const core::data_object& o) { return o.memory != 0; });
    if (all.lowest_of(any) < 0) return;
    const finalize::node_team node(all);
    if (node) node->together([&] { fold_node(own, calls, *node); });
  }
  /// The shared memory found so far, on the first rank of each machine; empty elsewhere, and where nothing is shared.
  data::sharing_report result() const { return book_ != nullptr ? book_->result() : data::sharing_report(); }
  /// Whether of some epoch there were too many records, so that it is about the beginning of that one only.
  bool cut() const noexcept { return cut_; }

 private:
  struct event {
    core::data_record what;       // time: shared nanoseconds; bytes from the begin of the memory
    core::stable_key site = 0;
    core::stable_key object = 0;  // name_of an array, or the synchronisation object
  };

  // Arrays of the same name in the same memory are one, wherever each rank's part is.
  static core::stable_key name_of(const core::data_object& o) noexcept { return core::combine(o.memory, o.key); }

  // The records of this rank in the order of their time, with keys for what has a number in this process only.
  static base::pod_vector<event> events_of(const data::rank_data& own, const explain::rank_history& calls) {
    base::pod_vector<event> out;
    for (data::record_cursor at(own); !at.done(); at.step()) {
      const core::data_record& r = at.record();
      if (r.site >= own.sites.size()) continue;
      event e{r, own.sites[r.site], 0};
      e.what.time = static_cast<std::uint64_t>(calls.clock(r.time));
      if (r.of_primitive()) continue;  // of the threads of one process
      if (r.op == core::data_op::synchronise) {
        const std::uint32_t group = r.object - core::site_table::capacity;  // of a collective
        if (!r.has(core::data_flag::collective)) e.object = r.object < calls.blocks.size() ? calls.blocks[r.object] : 0;
        else if (group < own.groups.size() && own.groups[group].id != 0) e.object = core::combine(own.groups[group].id, 7);
        if (e.object == 0) continue;
      } else {
        if (r.op == core::data_op::iterations || r.object >= own.objects.size() || own.objects[r.object].memory == 0) continue;
        e.object = name_of(own.objects[r.object]);
        const std::uint64_t before = own.objects[r.object].memory_offset;
        if (r.list() != nullptr) {  // an address of this process: its pieces instead
          e.what.flags = static_cast<std::uint8_t>(e.what.flags & ~unsigned(core::data_flag::listed));
          e.what.stride = e.what.piece = 0;
          data::for_each_piece(data::region_of(r, own.objects[r.object].bytes()), [&](std::uint64_t begin, std::uint64_t end) {
            e.what.begin = begin + before;
            e.what.end = end + before;
            out.push_back(e);
          });
          continue;
        }
        e.what.begin += before;
        e.what.end += before;
      }
      out.push_back(e);
    }
    base::small_stable_sort(out, [](const event& a, const event& b) { return a.what.time < b.what.time; });
    return out;
  }

  void fold_node(const data::rank_data& own, const explain::rank_history& calls, const finalize::team& node) {
    base::pod_vector<event> events = events_of(own, calls);
    // All ranks finish together, so that no rank waits at a barrier that others do not reach.
    const std::size_t most = static_cast<std::size_t>(most_records / static_cast<std::uint64_t>(node.size()));
    // (Signed: MPICH 4.0 takes unsigned numbers for signed ones here.)
    std::int64_t until = events.size() > most ? static_cast<std::int64_t>(events[most].what.time) : INT64_MAX;
    node.all_reduce(&until, 1, MPI_INT64_T, MPI_MIN);
    cut_ = cut_ || until != INT64_MAX;
    while (!events.empty() && static_cast<std::int64_t>(events.back().what.time) >= until) events.pop_back();

    base::vector<base::packet> packed(1);
    const auto shared = static_cast<std::uint64_t>(
        std::count_if(own.objects.begin(), own.objects.end(), [](const core::data_object& o) { return o.memory != 0; }));
    base::put(packed[0], shared);
    for (const core::data_object& o : own.objects)
      if (o.memory != 0) base::put(packed[0], o);
    for (const event& e : events) base::put(packed[0], e);
    node.gather(packed[0].data(), packed[0].size(),
                [&](const unsigned char* data, std::size_t size) { packed.emplace_back(data, data + size); });
    if (node.rank() != 0) return;
    const data::rank_data& all = joined_.join(packed);
    if (book_ == nullptr) book_ = std::make_unique<data::sharing_book>(all, options_);
    book_->begin_part();
    book_->take_all();
    joined_.forget();
  }

  // One process, as it were, whose threads are the ranks of the machine.
  class joined {
   public:
    joined() {
      data_.objects.emplace_back();
      data_.sites.push_back(0);
      bounds_.emplace_back();
    }

    /// What all ranks did in an epoch; until `forget`.
    const data::rank_data& join(const base::vector<base::packet>& from) {
      base::pod_vector<base::packet_reader> in;
      for (const base::packet& p : from) in.emplace_back(p.data(), p.size());
      for (base::packet_reader& r : in)
        for (auto n = r.get<std::uint64_t>(); n != 0; --n) widen(r.get<core::data_object>());
      name_objects();
      records_.resize(from.size());
      data_.locations.resize(from.size());
      for (std::size_t i = 0; i != in.size(); ++i) {
        while (!in[i].empty()) {
          event e = in[i].get<event>();
          e.what.site = number(e.site);
          if (e.what.op == core::data_op::synchronise) {
            e.what.object = number(e.object);
          } else {
            const bound& b = bounds_[bound_numbers_.find(e.object)];  // the owning rank has sent it
            e.what.object = b.object;
            e.what.begin -= b.begin;
            e.what.end -= b.begin;
          }
          records_[i].push_back(e.what);
        }
        chunks_.push_back(records_[i].data());
      }
      for (std::size_t i = 0; i != records_.size(); ++i) data_.locations[i].records = {&chunks_[i], 63, records_[i].size()};
      return data_;
    }
    void forget() {
      for (data::location_data& l : data_.locations) l = data::location_data();
      records_.clear();
      chunks_.clear();
    }

   private:
    // Where an array is in its memory, over all ranks; its parts on other ranks may be registered later.
    struct bound {
      core::data_object shape;
      std::uint64_t begin = UINT64_MAX, end = 0;
      std::uint32_t object = 0;  // 0: grew since it was named
    };

    void widen(const core::data_object& o) {
      const auto fresh = static_cast<std::uint32_t>(bounds_.size());
      const std::uint32_t known = bound_numbers_.intern(name_of(o), fresh);
      if (known == fresh) bounds_.emplace_back();
      bound& b = bounds_[known];
      const std::uint64_t begin = o.memory_offset / 64 * 64,
                          end = o.memory_offset + o.bytes();  // pieces are cache lines
      if (begin >= b.begin && end <= b.end) return;
      b.shape = o;
      b.begin = std::min(begin, b.begin);
      b.end = std::max(end, b.end);
      b.object = 0;
    }
    // An array that grew restarts as another array of the same name.
    void name_objects() {
      for (bound& b : bounds_) {
        if (b.object != 0 || b.end == 0) continue;
        b.object = static_cast<std::uint32_t>(data_.objects.size());
        b.shape.element_bytes = 1;
        b.shape.dimensions = 1;
        b.shape.extent[0] = b.end - b.begin;
        data_.objects.push_back(b.shape);
      }
    }
    std::uint32_t number(core::stable_key key) {
      const auto fresh = static_cast<std::uint32_t>(data_.sites.size());
      const std::uint32_t known = numbers_.intern(core::combine(key, 0), fresh);
      if (known == fresh) data_.sites.push_back(key);
      return known;
    }

    data::rank_data data_;
    base::pod_vector<bound> bounds_;
    base::key_map bound_numbers_, numbers_;
    base::vector<base::pod_vector<core::data_record>> records_;
    base::pod_vector<const core::data_record*> chunks_;
  };

  const data::sharing_options options_;
  joined joined_;
  std::unique_ptr<data::sharing_book> book_;
  bool cut_ = false;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
