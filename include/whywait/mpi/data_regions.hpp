#ifndef WHYWAIT_MPI_DATA_REGIONS_HPP
#define WHYWAIT_MPI_DATA_REGIONS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/data/marks/data_thread.hpp>
#include <whywait/data/marks/ranges.hpp>
#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/data_types.hpp>

#include <pthread.h>
#include <stdint.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What of registered arrays a posted operation will send or receive.
struct message_region {
  core::data_record what;  ///< object, begin, end, stride, piece, flags
  message_region* next;
};

/// What the wrappers keep once an array is registered: made when the first message looks for one.
struct message_data {
  pattern_cache patterns;
  spin_lock lock;
  message_region* free;
};

/// Whether the process registered an array: else messages cost one load and one branch more.
__attribute__((always_inline)) inline bool watches_data(const call& here) noexcept {
  return __builtin_expect(data::state_of(*here.thread().registry) != nullptr, 0);
}

namespace detail {

__attribute__((noinline, cold)) inline message_data* open_message_data(state& process) noexcept {
  pthread_mutex_lock(&process.registry->mutex);
  message_data* known = process.data;
  if (known == nullptr)
    if (void* const pages = core::map_pages(sizeof(message_data), false)) {
      known = new (pages) message_data();
      __atomic_store_n(&process.data, known, __ATOMIC_RELEASE);
    }
  pthread_mutex_unlock(&process.registry->mutex);
  return known;
}
inline message_data* message_data_of(state& process) noexcept {
  message_data* const known = __atomic_load_n(&process.data, __ATOMIC_ACQUIRE);
  return known != nullptr ? known : open_message_data(process);
}

/// What `count` elements at `buffer` are of a registered array. False if they lie in none. About 50 ns; types that are
/// not predefined 50 more once they are known.
__attribute__((noinline)) inline bool find_region(const call_summary& here, const void* buffer, MPI_Count count,
                                                  MPI_Datatype type, core::data_record& r) noexcept {
  if (count <= 0 || type == MPI_DATATYPE_NULL || buffer == MPI_IN_PLACE) return false;
  data::data_state* const arrays = data::state_of(*here.process().registry);
  message_data* const own = arrays != nullptr ? message_data_of(here.process()) : nullptr;
  if (own == nullptr) return false;
  const auto& slot = here.thread().types[(bits_of(type) * 0x9e3779b97f4a7c15u) >> 60];
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  const bool solid = slot.handle == bits_of(type) && slot.bytes >= 0 && slot.bytes == extent;  // predefined, no gap
  const type_pattern each = solid ? type_pattern::run(0, static_cast<uint64_t>(extent)) : own->patterns.find(type);
  pattern_builder builder(&own->patterns.lists);
  builder.add(each, 0, static_cast<uint64_t>(count), extent);
  const type_pattern all = builder.result();
  if (all.count == 0) return false;
  const uint64_t address = reinterpret_cast<uintptr_t>(buffer) + static_cast<uint64_t>(all.low);
  data::address_piece around;
  r = core::data_record();
  r.object = arrays->objects.find(reinterpret_cast<const void*>(address), around);
  if (r.object == 0) return false;
  const data::known_object& o = arrays->objects[r.object];
  const uint64_t begin = address - o.begin;
  if (all.regular) {
    data::detail::set_region(r, begin, all.count, all.stride, all.piece, o.shape.bytes());
  } else {
    r.flags = all.list != nullptr ? core::data_flag::listed : core::data_flag::bounds;
    data::detail::set_region(r, begin, 1, 0, static_cast<uint64_t>(all.high - all.low), o.shape.bytes());
    r.stride = reinterpret_cast<uintptr_t>(all.list);
  }
  return true;
}

// In the order of the list, which may not be that of the type; pieces that overlap count once.
__attribute__((noinline, cold)) inline void shorten_list(core::data_record& r, uint64_t bytes) noexcept {
  const core::byte_list& list = *reinterpret_cast<const core::byte_list*>(static_cast<uintptr_t>(r.stride));
  uint64_t i = 0;
  for (; i != list.count && bytes >= list.pieces[i].end - list.pieces[i].begin; ++i)
    bytes -= list.pieces[i].end - list.pieces[i].begin;
  const uint64_t end = i == list.count ? list.end()
                       : bytes != 0    ? list.pieces[i].begin + bytes
                       : i == 0        ? 0
                                       : list.pieces[i - 1].end;
  if (r.begin + end < r.end) r.end = r.begin + end;
}

/// Cuts a region of a message to the first `bytes` bytes of data.
inline void shorten(core::data_record& r, uint64_t bytes) noexcept {
  if (r.has(core::data_flag::listed)) return shorten_list(r, bytes);
  if (bytes >= data::detail::bytes_in(r) || (r.has(core::data_flag::bounds) && bytes != 0)) return;
  if (r.stride == 0) {
    r.end = r.begin + bytes;
    return;
  }
  const uint64_t whole = bytes / r.piece, rest = bytes % r.piece;
  r.end = r.begin + (rest != 0 ? whole * r.stride + rest : whole == 0 ? 0 : (whole - 1) * r.stride + r.piece);
}

/// Bytes that a receive got.
inline uint64_t bytes_received(const MPI_Status& status) noexcept {
  MPI_Count bytes = 0;
  return PMPI_Get_elements_x(&status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes >= 0 ? static_cast<uint64_t>(bytes)
                                                                                     : ~uint64_t(0);
}

/// Completes the record of a transfer and stores it. `order` is the posting; the reader makes an order of it.
inline void leave_transfer(const call_summary& here, core::data_record r, core::data_op op, const core::sync_record& posted,
                           uint32_t record, unsigned flags, int peer, uint64_t time) noexcept {
  data::data_thread* const thread = data::this_thread();
  if (thread == nullptr || posted.comm > 0xffff) return;
  r.op = op;
  r.flags = static_cast<uint8_t>(r.flags | flags);
  r.site = here.site();
  r.record = record;
  r.order = posted.posting;
  r.peer = peer;
  r.tag = posted.tag;
  r.group = static_cast<uint16_t>(posted.comm);
  thread->append(r, time);
}

inline bool reaches_somebody(const core::sync_record& r) noexcept {
  return !r.has(flag::proc_null | flag::failed) && r.peer >= 0;
}

inline void leave_sent(const call_summary& here, const core::sync_record& r, uint32_t record,
                       const core::data_record& region) noexcept {
  if (reaches_somebody(r)) leave_transfer(here, region, core::data_op::send, r, record, 0, r.peer, here.begun_at());
}
/// `index`: of the record that completed it; `known`: false if that is lost.
inline void leave_received(const call_summary& here, const core::sync_record& r, uint32_t index, bool known,
                           core::data_record region, const MPI_Status* status) noexcept {
  if (!reaches_somebody(r)) return;
  if (status != nullptr) shorten(region, bytes_received(*status));
  if (region.end <= region.begin) return;
  leave_transfer(here, region, core::data_op::receive, r, known ? index + 1 : 0, 0, r.peer, here.begun_at() + here.duration());
}

/// A blocking send, or one that is posted now, whose record was just finished.
__attribute__((noinline, cold)) inline void send_data(const call_summary& here, const core::sync_record& r, const void* buffer,
                                                      MPI_Count count, MPI_Datatype type) noexcept {
  core::data_record region;
  if (find_region(here, buffer, count, type, region)) leave_sent(here, r, here.next_index(), region);
}
/// A blocking receive whose record is number `index`.
__attribute__((noinline, cold)) inline void receive_data(const call_summary& here, const core::sync_record& r, uint32_t index,
                                                         const void* buffer, MPI_Count count, MPI_Datatype type,
                                                         const MPI_Status* status) noexcept {
  core::data_record region;
  if (find_region(here, buffer, count, type, region)) leave_received(here, r, index, true, region, status);
}

/// The region of an operation that is not complete yet; null if it lies in no array. Back to `drop_region`.
__attribute__((noinline, cold)) inline message_region* keep_region(const call_summary& here, const void* buffer,
                                                                   MPI_Count count, MPI_Datatype type) noexcept {
  core::data_record region;
  if (!find_region(here, buffer, count, type, region)) return nullptr;
  message_data& own = *here.process().data;
  own.lock.lock();
  if (own.free == nullptr)
    if (auto* const more = static_cast<message_region*>(core::map_pages(1u << 16, false)))
      for (size_t i = 0; i != (1u << 16) / sizeof(message_region); ++i) {
        more[i].next = own.free;
        own.free = more + i;
      }
  message_region* const taken = own.free;
  if (taken != nullptr) {
    own.free = taken->next;
    taken->what = region;
  }
  own.lock.unlock();
  return taken;
}
__attribute__((noinline, cold)) inline void drop_region(state& process, message_region*& region) noexcept {
  message_data& own = *process.data;
  own.lock.lock();
  region->next = own.free;
  own.free = region;
  own.lock.unlock();
  region = nullptr;
}

}  // namespace detail
}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
