#ifndef WHYWAIT_DATA_FINALIZE_DATA_HISTORY_HPP
#define WHYWAIT_DATA_FINALIZE_DATA_HISTORY_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/data/analysis/rank_data.hpp>
#include <whywait/data/marks/reading.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/message_orders.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
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

/// Appends what the report states about losses. `ignored`: records that the analysis could not use. `pages_refused`: number of processes in
/// which the kernel refused to say where pages are.
inline void warn_of_losses(const data_losses& lost, std::uint64_t ignored, std::uint64_t pages_refused,
                           base::vector<std::string>& warnings) {
  const auto amount = [](std::uint64_t n, const char* one, const char* many) {
    return base::counted(static_cast<std::int64_t>(n), one, many);
  };
  if (lost.records != 0)
    warnings.push_back(amount(lost.records, "record", "records") +
                       " of data dropped because the record buffer was full; transfers and sharing are incomplete; "
                       "increase WHYWAIT_MEMORY");
  if (lost.registrations != 0)
    warnings.push_back(amount(lost.registrations, "array was", "arrays were") +
                       " not registered and not analysed: too many arrays");
  if (lost.unknown_ranges != 0)
    warnings.push_back(amount(lost.unknown_ranges, "accessed range was", "accessed ranges were") +
                       " ignored: in no registered array");
  if (ignored != 0)
    warnings.push_back(amount(ignored, "record", "records") + " of data ignored: unknown array, place or " + base::rank_noun());
  if (pages_refused != 0)
    warnings.push_back("on which NUMA nodes registered arrays are is not known: move_pages is not permitted" +
                       (base::ranks_are_threads() ? std::string() : " on " + amount(pages_refused, "rank", "ranks")));
}

/// Memory that other processes map as well, and where it begins here.
struct mapped_memory {
  core::stable_key key = 0;  ///< 0: there is none
  std::uint64_t begin = 0;
};
/// Finds it: the memory at these addresses, where an array is (`active`) or was. Null: no memory is shared with other processes.
using memory_finder = mapped_memory (*)(const void* of, std::uint64_t begin, std::uint64_t end, bool active);

/// What this process recorded about data, for the analysis of data/analysis/, part by part of a run. Numbers keep their
/// meaning from part to part. Not thread safe; other threads may go on recording.
class data_history {
 public:
  data_history(std::int32_t rank, std::int32_t ranks) {
    all_.rank = rank;
    all_.ranks = ranks;
    all_.objects.emplace_back();
    all_.sites.push_back(0);
  }

  /// Takes the records since the last part; views of them, until `forget`. `part` must be what the same process gave
  /// to the explanation (process_records::history), which numbers communicators, blocks and call sites. Their `order`
  /// and `site` get their final meaning here. `calls` has durations of the calls; waits are 0. `find` is called with `of`. O(records of the
  /// part).
  const data::rank_data& take(const core::registry& registry, const explain::rank_history& part, memory_finder find = nullptr,
                              const void* of = nullptr) {
    all_.groups = part.communicators;
    all_.locations.resize(part.locations.size());
    for (data::location_data& l : all_.locations) l = data::location_data();
    orders_.take(part);
    if (data::state_of(registry) == nullptr) return all_;
    take_objects(registry, find, of);
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
    data::for_each_thread(registry, [&](core::location_base& at, data::data_thread& thread) {
      if (at.index < part.locations.size()) take_thread(at, thread, part);
    });
    return all_;
  }

  /// The records that were taken are over: their memory is used again. What was recorded meanwhile is of the next part.
  void forget(const core::registry& registry) noexcept {
    data::for_each_thread(registry, [this](core::location_base& at, data::data_thread& thread) noexcept {
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
  data_losses losses(const core::registry& registry) const noexcept {
    data_losses all;
    const data::data_state* const data = data::state_of(registry);
    if (data == nullptr) return all;
    all.registrations = data->objects.refused();
    all.unknown_ranges = data->unknown_ranges;
    all.unordered = unordered_;
    all.records = lost_records_;
    data::for_each_thread(registry, [&all](const core::location_base&, const data::data_thread& thread) {
      all.records += thread.records.dropped();
    });
    return all;
  }

 private:
  using buffer = core::event_buffer<core::data_record>;

  void take_objects(const core::registry& registry, memory_finder find, const void* of) {
    const data::data_objects& objects = data::state_of(registry)->objects;
    for (std::uint32_t i = 1; i != objects.size(); ++i) {
      const data::known_object& o = objects[i];
      if (i == all_.objects.size()) all_.objects.push_back(o.shape);
      core::data_object& known = all_.objects[i];
      known.buffer = o.shape.buffer;
      const mapped_memory memory = find != nullptr ? find(of, o.begin, o.end, o.active) : mapped_memory();
      if (memory.key == 0 && !o.active) continue;  // where it was when it was known
      known.memory = memory.key;
      known.memory_offset = memory.key != 0 ? o.begin - memory.begin : 0;
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
