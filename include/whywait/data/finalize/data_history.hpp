#ifndef WHYWAIT_DATA_FINALIZE_DATA_HISTORY_HPP
#define WHYWAIT_DATA_FINALIZE_DATA_HISTORY_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/rank_data.hpp>
#include <whywait/data/marks/reading.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/message_orders.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/mpi/windows.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// What was lost of a process's data records.
struct data_losses {
  std::uint64_t records = 0;         ///< had no memory
  std::uint64_t registrations = 0;   ///< had no number or no address space
  std::uint64_t unknown_ranges = 0;  ///< of marks, in no registered array
  std::uint64_t unordered = 0;  ///< messages whose place among the others is not known: memory for calls ran out
};

/// Whether this process ever registered an array: without one there is nothing to collect.
inline bool has_data(const mpi::state& process) noexcept { return data::state_of(*process.registry) != nullptr; }

/// What this process recorded about data, for the analysis of data/analysis/, part by part of a run. Numbers keep their
/// meaning from part to part. Not thread safe; other threads may go on recording.
class data_history {
 public:
  explicit data_history(const mpi::state& process) {
    all_.rank = process.rank;
    all_.ranks = process.size;
    all_.objects.emplace_back();
    all_.sites.push_back(0);
  }

  /// Takes the records since the last part; views of them, until `forget`. `part` must be what the same process gave
  /// to the explanation (process_records::history), which numbers communicators, blocks and call sites. Their `order`
  /// and `site` get their final meaning here. `calls` has durations of the calls; waits are 0. O(records of the part).
  const data::rank_data& take(mpi::state& process, const explain::rank_history& part) {
    all_.groups = part.communicators;
    all_.locations.resize(part.locations.size());
    for (data::location_data& l : all_.locations) l = data::location_data();
    orders_.take(part);
    if (!has_data(process)) return all_;
    take_objects(process);
    blocks_.resize(part.blocks.size(), 0);
    calls_.resize(part.locations.size());
    chunks_.resize(part.locations.size());
    ends_.resize(part.locations.size(), 0);
    for (std::size_t l = 0; l != part.locations.size(); ++l) {
      const explain::location_history& calls = part.locations[l];
      all_.locations[l].calls.resize(calls.records.size());
      for (std::uint64_t i = 0; i != calls.records.size(); ++i) {
        const core::sync_record& r = calls.records[i];
        all_.locations[l].calls[i].duration_ns = part.clock(r.begin + r.duration) - part.clock(r.begin);
      }
    }
    data::for_each_thread(*process.registry, [&](core::location_base& at, data::data_thread& thread) {
      if (at.index < part.locations.size()) take_thread(at, thread, part);
    });
    return all_;
  }

  /// The records that were taken are over: their memory is used again. What was recorded meanwhile is of the next part.
  void forget(mpi::state& process) noexcept {
    data::for_each_thread(*process.registry, [this](core::location_base& at, data::data_thread& thread) noexcept {
      if (at.index >= ends_.size()) return;
      const bool still = data::is_still(at) && ends_[at.index] == thread.records.size();
      if (still) lost_records_ += thread.records.dropped();
      thread.forget(ends_[at.index], still);
      ends_[at.index] = thread.taken;
    });
    for (data::location_data& l : all_.locations) l = data::location_data();
  }

  /// Called on all ranks between two parts: orders restart because a rank lost records of calls.
  void restart_orders() { orders_.restart(); }

  const data::rank_data& data() const noexcept { return all_; }
  data::rank_data& data() noexcept { return all_; }
  /// Of the run so far.
  data_losses losses(const mpi::state& process) const noexcept {
    data_losses all;
    const data::data_state* const data = data::state_of(*process.registry);
    if (data == nullptr) return all;
    all.registrations = data->objects.refused();
    all.unknown_ranges = data->unknown_ranges;
    all.unordered = unordered_;
    all.records = lost_records_;
    data::for_each_thread(*process.registry, [&all](const core::location_base&, const data::data_thread& thread) {
      all.records += thread.records.dropped();
    });
    return all;
  }

 private:
  using buffer = core::event_buffer<core::data_record>;

  void take_objects(const mpi::state& process) {
    const data::data_objects& objects = data::state_of(*process.registry)->objects;
    for (std::uint32_t i = 1; i != objects.size(); ++i) {
      const data::known_object& o = objects[i];
      if (i == all_.objects.size()) all_.objects.push_back(o.shape);
      core::data_object& known = all_.objects[i];
      known.buffer = o.shape.buffer;
      const mpi::shared_memory* const memory =
          process.windows != nullptr ? process.windows->find(o.begin, o.end, o.active) : nullptr;
      if (memory == nullptr && !o.active) continue;  // where it was when it was known
      known.memory = memory != nullptr ? memory->key : 0;
      known.memory_offset = memory != nullptr ? o.begin - memory->begin : 0;
    }
  }

  void take_thread(const core::location_base& at, data::data_thread& thread, const explain::rank_history& part) {
    const explain::location_history& calls = part.locations[at.index];
    data::location_data& to = all_.locations[at.index];
    const bool still = data::is_still(at);
    if (still) thread.flush();
    buffer& records = thread.records;
    std::uint64_t& end = ends_[at.index];
    const std::uint64_t begin = thread.taken, before = begin >> buffer::shift << buffer::shift, size = records.size();
    // Of another thread: what names something newer than this part, or is the first half of a copy, is left for the
    // next.
    for (end = begin; end != size && (still || is_known(records[end], part, calls)); ++end) {
    }
    if (!still && end != begin && records[end - 1].op == core::data_op::copy_from) --end;
    calls_[at.index].resize(calls.call_sites.size(), 0);
    for (std::uint64_t i = begin; i != end; ++i) settle(records[i], calls_[at.index], calls.call_sites, part.blocks);
    chunks_[at.index].clear();
    for (std::uint64_t i = before; i < end; i += buffer::chunk_events) chunks_[at.index].push_back(&records[i]);
    to.records = {chunks_[at.index].data(), buffer::shift, end - before};
    to.first = begin - before;
  }

  bool is_known(const core::data_record& r, const explain::rank_history& part,
                const explain::location_history& calls) const noexcept {
    if (r.of_primitive()) return r.site < calls.call_sites.size();
    return (r.op == core::data_op::synchronise || r.object < all_.objects.size()) &&
           (is_of_call(r) || r.site < part.blocks.size());
  }
  static bool is_of_call(const core::data_record& r) noexcept {
    return r.op == core::data_op::send || r.op == core::data_op::receive || r.has(core::data_flag::collective) ||
           r.of_primitive();
  }
  void settle(core::data_record& r, base::pod_vector<std::uint32_t>& numbers, const std::vector<core::stable_key>& call_sites,
              const std::vector<core::stable_key>& blocks) {
    const bool copy = r.op == core::data_op::copy_from || r.op == core::data_op::copy_to, of_call = is_of_call(r);
    r.site = of_call ? number_of(numbers, call_sites, r.site) : number_of(blocks_, blocks, r.site);
    if (!of_call || copy || r.of_primitive() || (r.order = orders_[r.order]) != 0) return;
    r.site = ~std::uint32_t{0};  // names nothing: the analysis leaves it out
    ++unordered_;
  }
  // From a number in the process (or of the location) to that in `sites`; 0: not given yet.
  std::uint32_t number_of(base::pod_vector<std::uint32_t>& numbers, const std::vector<core::stable_key>& keys,
                          std::uint32_t site) {
    if (site >= numbers.size() || site >= keys.size()) return ~std::uint32_t{0};
    if (numbers[site] != 0) return numbers[site];
    const auto fresh = static_cast<std::uint32_t>(all_.sites.size());
    numbers[site] = site_numbers_.intern(core::combine(keys[site], 1), fresh);
    if (numbers[site] == fresh) all_.sites.push_back(keys[site]);
    return numbers[site];
  }

  data::rank_data all_;
  explain::message_orders orders_;
  base::key_map site_numbers_;
  base::pod_vector<std::uint32_t> blocks_;  // by number of the block
  base::vector<base::pod_vector<std::uint32_t>> calls_;  // by location, by number of the call site
  base::vector<base::pod_vector<const core::data_record*>> chunks_;  // by location: of the records at hand
  base::pod_vector<std::uint64_t> ends_;  // by location: what follows is of the next part
  std::uint64_t lost_records_ = 0, unordered_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
