#ifndef WHYWAIT_DATA_MARKS_RANGES_HPP
#define WHYWAIT_DATA_MARKS_RANGES_HPP

#include <whywait/data/marks/data_thread.hpp>
#include <whywait/data/marks/range.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// Maximum number of records for one range. Equal pieces at a constant stride share a record.
inline constexpr unsigned most_pieces_of_range = 256;

namespace detail {

inline uint64_t bytes_in(const core::data_record& r) noexcept {
  return r.stride == 0 ? r.end - r.begin : ((r.end - r.begin - r.piece) / r.stride + 1) * r.piece;
}

/// Sets the strided interval of a record, clipped to the object.
inline void set_region(core::data_record& r, uint64_t begin, uint64_t count, uint64_t stride, uint64_t piece,
                       uint64_t object_bytes) noexcept {
  if (count == 1 || stride == piece) {
    piece += (count - 1) * stride;
    count = 1;
  }
  r.begin = begin;
  r.end = begin + (count - 1) * stride + piece;
  r.stride = count == 1 ? 0 : stride;
  r.piece = count == 1 ? 0 : static_cast<uint32_t>(piece);
  if (r.end <= object_bytes) return;
  r.end = object_bytes;
  if (r.stride == 0) return;
  const uint64_t last = r.begin + (object_bytes - 1 - r.begin) / r.stride * r.stride;
  if (last + r.piece < r.end) r.end = last + r.piece;  // clips an end that lies between two pieces
}

/// Calls `emit(record)` for the regions of a box in rising order. If there are too many, emits their bounds instead.
template <class Emit>
inline void each_of_box(const known_object& o, uint64_t origin, const box& b, core::data_record r, Emit&& emit) noexcept {
  const core::data_object& s = o.shape;
  if (b.dimensions != s.dimensions) {  // a box of the wrong dimension is recorded as an access to an unknown part
    r.flags = static_cast<uint8_t>(r.flags | core::data_flag::bounds);
    r.end = s.bytes();
    return emit(r);
  }
  uint64_t pitch[core::data_object::most_dimensions], low[core::data_object::most_dimensions],
      count[core::data_object::most_dimensions];
  uint64_t step = s.element_bytes;
  for (unsigned d = s.dimensions; d-- != 0;) {
    const uint64_t high = b.high[d] < s.extent[d] ? b.high[d] : s.extent[d];
    low[d] = b.low[d];
    if (high <= low[d]) return;
    count[d] = high - low[d];
    pitch[d] = step;
    origin += low[d] * step;
    step *= s.extent[d];
  }
  // Combine dimensions from the fastest on. The first ones form contiguous pieces and the next ones strided rows; the
  // remaining dimensions are enumerated.
  uint64_t piece = s.element_bytes, pieces = 1, stride = 0;
  unsigned d = s.dimensions;
  while (d != 0 && pitch[d - 1] == piece) piece *= count[--d];
  for (; d != 0 && (pieces == 1 || pitch[d - 1] == stride * pieces); --d) {
    if (pieces == 1) stride = pitch[d - 1];
    pieces *= count[d - 1];
  }
  uint64_t rest = 1;
  for (unsigned k = 0; k != d; ++k) rest *= count[k];
  if (rest > most_pieces_of_range) {
    uint64_t end = origin + (pieces - 1) * stride + piece;
    for (unsigned k = 0; k != d; ++k) end += (count[k] - 1) * pitch[k];
    r.flags = static_cast<uint8_t>(r.flags | core::data_flag::bounds);
    set_region(r, origin, 1, 0, end - origin, s.bytes());
    return emit(r);
  }
  for (uint64_t i = 0; i != rest; ++i) {
    uint64_t at = origin;
    for (uint64_t k = d, left = i; k-- != 0; left /= count[k]) at += left % count[k] * pitch[k];
    set_region(r, at, pieces, stride, piece, s.bytes());
    emit(r);
  }
}

/// Calls `emit` for each region of a range, with object, begin, end, stride, piece and flags set. Returns false if the
/// range is in no array.
template <class Emit>
inline bool each_region(data_state& process, const data_range& range, Emit&& emit) noexcept {
  address_piece around;
  const uint32_t number = process.objects.find(range.first, around);
  if (number == 0) {
    __atomic_fetch_add(&process.unknown_ranges, uint64_t(1), __ATOMIC_RELAXED);
    return false;
  }
  const known_object& o = process.objects[number];
  core::data_record r;
  r.object = number;
  r.flags = range.flags;
  const uint64_t begin = reinterpret_cast<uintptr_t>(range.first) - o.begin;
  if (range.boxed) {
    each_of_box(o, begin, range.within, r, emit);
  } else if (range.count != 0 && range.piece != 0) {
    set_region(r, begin, range.count, range.stride * range.element_bytes, range.piece * range.element_bytes, o.shape.bytes());
    emit(r);
  }
  return true;
}

}  // namespace detail

/// Appends one record for each region of `ranges`. About 65 ns each, with one clock reading for all.
__attribute__((noinline)) inline void record_ranges(data_thread& here, core::data_op op, uint32_t block,
                                                    const data_range* ranges, unsigned count) noexcept {
  here.flush();
  const uint64_t now = core::cycle_clock::now();
  for (unsigned i = 0; i != count; ++i)
    detail::each_region(here.process(), ranges[i], [&](core::data_record r) noexcept {
      r.op = op;
      r.site = block;
      r.tag = static_cast<int32_t>(here.where().node);
      here.append(r, now);
    });
}

/// Records a copy between the range and the contiguous bytes at `buffer`, as copy_from and copy_to for each region. The
/// array that contains `buffer` becomes a buffer.
__attribute__((noinline)) inline void record_copy(data_thread& here, uint32_t block, const void* buffer,
                                                  const data_range& range, bool packs) noexcept {
  here.flush();
  data_state& process = here.process();
  address_piece around;
  const uint32_t number = process.objects.find(buffer, around);
  if (number == 0) {
    __atomic_fetch_add(&process.unknown_ranges, uint64_t(1), __ATOMIC_RELAXED);
    return;
  }
  process.objects.mark_as_buffer(number);
  uint64_t at = reinterpret_cast<uintptr_t>(buffer) - process.objects[number].begin;
  const uint64_t now = core::cycle_clock::now();
  detail::each_region(process, range, [&](core::data_record r) noexcept {
    core::data_record b;
    b.object = number;
    const uint64_t bytes = detail::bytes_in(r);
    detail::set_region(b, at, 1, 0, bytes, process.objects[number].shape.bytes());
    at += bytes;
    r.site = b.site = block;
    r.op = packs ? core::data_op::copy_from : core::data_op::copy_to;
    b.op = packs ? core::data_op::copy_to : core::data_op::copy_from;
    here.append(packs ? r : b, now);
    here.append(packs ? b : r, now);
  });
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
