#ifndef WHYWAIT_DATA_ANALYSIS_DATA_REGION_HPP
#define WHYWAIT_DATA_ANALYSIS_DATA_REGION_HPP

#include <whywait/core/data_record.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace data {

/// Bytes of an object: [begin, end), of which every `stride` bytes only the first `piece` (stride 0: all), or only what is in
/// the list.
struct region {
  std::uint64_t begin = 0, end = 0, stride = 0, piece = 0;
  const core::byte_list* list = nullptr;

  bool contiguous() const noexcept { return list == nullptr && (stride == 0 || piece >= stride || end - begin <= piece); }
  std::uint64_t pieces() const noexcept {
    if (end <= begin) return 0;
    if (list != nullptr) {
      const std::uint64_t last = list->find(end - begin - 1);
      return last != list->count && list->pieces[last].begin < end - begin ? last + 1 : last;
    }
    return contiguous() ? 1 : (end - begin + stride - 1) / stride;
  }
  std::uint64_t bytes() const noexcept {
    if (end <= begin) return 0;
    if (list != nullptr) return list->bytes_before(end - begin);
    if (contiguous()) return end - begin;
    const std::uint64_t last = begin + (pieces() - 1) * stride;
    return (pieces() - 1) * piece + std::min(piece, end - last);
  }
};

/// The region of a record, cut to its object: a record can never reach beyond. A strided one without pieces is contiguous.
inline region region_of(const core::data_record& r, std::uint64_t object_bytes) noexcept {
  region out{std::min(r.begin, object_bytes), std::min(r.end, object_bytes), r.stride, r.piece, r.list()};
  if (out.end < out.begin) out.end = out.begin;
  if (out.list != nullptr) {
    out.stride = out.piece = 0;
    return out;
  }
  if (out.piece == 0 || out.contiguous()) out.stride = out.piece = 0;
  return out;
}

/// Calls `visit(begin, end)` for the pieces of a region, in rising order. O(pieces).
template <class Visit>
void for_each_piece(const region& r, Visit&& visit) {
  if (r.end <= r.begin) return;
  if (r.contiguous()) {
    visit(r.begin, r.end);
    return;
  }
  if (r.list != nullptr) {
    for (std::uint64_t i = 0; i != r.list->count && r.list->pieces[i].begin < r.end - r.begin; ++i)
      visit(r.begin + r.list->pieces[i].begin, std::min(r.begin + r.list->pieces[i].end, r.end));
    return;
  }
  for (std::uint64_t at = r.begin; at < r.end; at += r.stride) visit(at, std::min(at + r.piece, r.end));
}

/// What part of an array a region is: a word in the name of the data (definitions 2.1).
enum class region_kind : std::uint8_t { whole, low_side, high_side, slab, part };

struct kind_of_region {
  region_kind kind = region_kind::part;
  std::uint8_t dimension = 0;  ///< of a side or slab

  std::uint32_t code() const noexcept { return static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(dimension) << 8; }
  static kind_of_region from(std::uint32_t code) noexcept {
    return {static_cast<region_kind>(code & 0xff), static_cast<std::uint8_t>(code >> 8)};
  }
};

/// A region is *whole* if it holds the array; a *slab* of dimension d if it is thinner than the array in d alone and holds
/// at least half of it in every other one (halos leave out corners); a *side* if such a slab is no thicker than two elements
/// or a sixteenth, and at most its own thickness away from the border (the row beside the halo is also a side); else a
/// *part*. O(1).
inline kind_of_region kind_of(const core::data_object& object, const region& r) noexcept {
  constexpr unsigned most = core::data_object::most_dimensions;
  const unsigned dims = std::min<unsigned>(object.dimensions, most);
  if (r.bytes() == 0 || dims == 0 || object.element_bytes == 0) return {};
  if (r.bytes() >= object.bytes()) return {region_kind::whole, 0};
  // The bounding box: from the indices of the first element to those of the last, or all of a row where it runs over it.
  std::uint64_t low[most], high[most], size = 1;
  std::uint64_t first = r.begin / object.element_bytes, last = (r.end - 1) / object.element_bytes;
  const std::uint64_t run = std::max<std::uint64_t>(1, (r.stride == 0 ? r.end - r.begin : r.piece) / object.element_bytes);
  for (unsigned d = dims; d-- != 0;) {
    const std::uint64_t n = std::max<std::uint64_t>(1, object.extent[d]);
    low[d] = first % n;
    high[d] = last % n + 1;
    first /= n;
    last /= n;
    if (low[d] * size + run > n * size || low[d] >= high[d]) {  // goes on in the next row
      low[d] = 0;
      high[d] = n;
    }
    size *= n;
  }
  unsigned thin = most, thin_count = 0;
  for (unsigned d = 0; d != dims; ++d) {
    const std::uint64_t n = std::max<std::uint64_t>(1, object.extent[d]), width = high[d] - low[d];
    if (width * 2 < n || (dims == 1 && width < n)) {
      thin = d;
      ++thin_count;
    }
  }
  if (thin_count != 1) return {};
  const std::uint64_t n = object.extent[thin], width = high[thin] - low[thin], below = low[thin], above = n - high[thin];
  const auto dimension = static_cast<std::uint8_t>(thin);
  const bool thick = width > 2 && width * 16 > n;
  if (!thick && below <= width && above > width) return {region_kind::low_side, dimension};
  if (!thick && above <= width && below > width) return {region_kind::high_side, dimension};
  return {dims == 1 ? region_kind::part : region_kind::slab, dimension};
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
