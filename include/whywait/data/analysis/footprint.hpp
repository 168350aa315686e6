#ifndef WHYWAIT_DATA_ANALYSIS_FOOTPRINT_HPP
#define WHYWAIT_DATA_ANALYSIS_FOOTPRINT_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/data_region.hpp>
#include <whywait/data/analysis/distribution.hpp>
#include <whywait/data/analysis/rank_data.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

enum class footprint_kind : std::uint8_t { read, write, update, iterations };

/// What one block of one rank touched of one array, in indices of the whole array; or which iterations it ran (then `array` is 0,
/// or the array whose elements the iterations are, and `space` is that of the iterations).
struct footprint {
  core::stable_key array = 0, block = 0;
  std::int32_t rank = 0;
  footprint_kind kind = footprint_kind::read;
  bool bounds = false;  ///< only bounds were recorded: irregular or indirect
  std::uint32_t element_bytes = 1;
  index_space space;
  index_set set;
};

/// The elements of a record's region, as runs of the whole array. `each(run)`.
template <class Each>
void for_each_run(const core::data_object& o, const region& r, Each&& each) {
  const std::uint64_t element = std::max<std::uint64_t>(1, o.element_bytes);
  const auto elements = [element](std::uint64_t begin, std::uint64_t end) {
    return std::make_pair(begin / element, (end + element - 1) / element);
  };
  const unsigned dims = std::min<unsigned>(std::max<unsigned>(o.dimensions, 1), core::data_object::most_dimensions);
  // Dimensions from `same` on are whole here: a row of them is also a run of the whole array.
  unsigned same = dims;
  while (o.global && same != 1 && o.extent[same - 1] == o.whole[same - 1]) --same;
  if (!o.global || same == 1) {
    std::uint64_t shift = o.global ? o.first[0] : 0;
    for (unsigned d = 1; d < dims; ++d) shift *= o.global ? o.whole[d] : 1;
    const bool strided = !r.contiguous() && r.list == nullptr && r.stride % element == 0;
    if (strided) {
      const auto piece = elements(r.begin, r.begin + r.piece);
      const std::uint64_t last = r.begin + (r.pieces() - 1) * r.stride,
                          whole = last + r.piece <= r.end ? r.pieces() : r.pieces() - 1;
      if (whole != 0) each(index_run{piece.first + shift, piece.second - piece.first, r.stride / element, whole});
      if (whole != r.pieces()) {
        const auto rest = elements(last, r.end);
        each(index_run{rest.first + shift, rest.second - rest.first, 0, 1});
      }
    } else {
      for_each_piece(r, [&](std::uint64_t begin, std::uint64_t end) {
        const auto piece = elements(begin, end);
        each(index_run{piece.first + shift, piece.second - piece.first, 0, 1});
      });
    }
    return;
  }
  std::uint64_t row = 1;  // elements that follow each other here and in the whole array
  for (unsigned d = same - 1; d != dims; ++d) row *= std::max<std::uint64_t>(1, o.extent[d]);
  for_each_piece(r, [&](std::uint64_t begin, std::uint64_t end) {
    auto piece = elements(begin, end);
    while (piece.first < piece.second) {
      const std::uint64_t stop = std::min(piece.second, (piece.first / row + 1) * row);
      std::uint64_t local = piece.first, global = 0, factor = 1;
      for (unsigned d = dims; d-- != 0;) {
        const std::uint64_t n = std::max<std::uint64_t>(1, o.extent[d]);
        global += (local % n + o.first[d]) * factor;
        local /= n;
        factor *= o.whole[d];
      }
      each(index_run{global, stop - piece.first, 0, 1});
      piece.first = stop;
    }
  });
}

/// Collects the footprints of one rank from its records, part by part of a run. A record that was seen lately costs a hash
/// look-up. Memory: of each block and array the runs that it consists of, 32 bytes each (index_set), and up to 4 MB to recognise
/// records; nothing for a loop that runs again. Not thread safe.
class footprint_book {
 public:
  /// `rank` must outlive it.
  explicit footprint_book(const rank_data& rank) : rank_(&rank) {}

  /// All records that the rank has by now.
  void take_all() {
    for (const location_data& l : rank_->locations) {
      for (std::uint64_t i = l.first; i != l.records.size(); ++i) take(l.records[i]);
    }
  }

  void take(const core::data_record& r) {
    const bool iterates = r.op == core::data_op::iterations;
    if ((r.op != core::data_op::read && r.op != core::data_op::write && !iterates) || r.has(core::data_flag::sampled)) return;
    if (r.object >= rank_->objects.size() || r.site >= rank_->sites.size() || (r.object == 0 && !iterates)) return;
    const auto kind = iterates                         ? footprint_kind::iterations
                      : r.op == core::data_op::read    ? footprint_kind::read
                      : r.has(core::data_flag::update) ? footprint_kind::update
                                                       : footprint_kind::write;
    const core::stable_key who = core::combine(core::combine(r.site, r.object), static_cast<std::uint64_t>(kind));
    const core::stable_key what =
        core::combine(core::combine(r.begin, r.end),
                      core::combine(r.stride, r.piece | (r.has(core::data_flag::bounds) ? std::uint64_t{1} << 32 : 0)));
    if (seen_.size() >= most_seen) seen_ = {};
    ++next_;
    if (seen_.intern(core::combine(who, what), next_) != next_) return;
    const auto fresh = static_cast<std::uint32_t>(list_.size());
    const std::uint32_t number = numbers_.intern(who, fresh);
    const core::data_object& o = rank_->objects[r.object];
    if (number == fresh) {
      footprint f;
      f.array = r.object != 0 ? o.key : 0;
      f.block = rank_->sites[r.site];
      f.rank = rank_->rank;
      f.kind = kind;
      if (r.object != 0) {
        f.element_bytes = o.element_bytes;
        const unsigned dims = std::min<unsigned>(std::max<unsigned>(o.dimensions, 1), core::data_object::most_dimensions);
        for (unsigned d = 0; d != dims; ++d)
          f.space.extent.push_back(std::max<std::uint64_t>(1, o.global ? o.whole[d] : o.extent[d]));
      } else {
        f.space.extent.push_back(1);
      }
      list_.push_back(std::move(f));
    }
    footprint& f = list_[number];
    f.bounds = f.bounds || r.has(core::data_flag::bounds);
    if (r.object != 0) {
      for_each_run(o, region_of(r, o.bytes()), [&f](const index_run& run) { f.set.add(run); });
    } else if (r.begin < r.end) {
      const std::uint64_t step = r.stride == 0 ? 1 : r.stride,
                          piece = r.piece == 0 ? (r.stride == 0 ? r.end - r.begin : 1) : r.piece;
      f.set.add({r.begin, piece, step, r.stride == 0 ? 1 : (r.end - r.begin + step - 1) / step});
      f.space.extent[0] = std::max(f.space.extent[0], r.end);
    }
  }

  /// Those of all records so far.
  const base::vector<footprint>& result() {
    for (footprint& f : list_) f.set.settle();
    return list_;
  }

 private:
  static constexpr std::size_t most_seen = std::size_t{1} << 16;

  const rank_data* rank_;
  base::vector<footprint> list_;
  base::key_map numbers_, seen_;
  std::uint32_t next_ = 0;
};

inline void pack_footprints(const base::vector<footprint>& list, base::packet& out) {
  for (const footprint& f : list) {
    base::put(out, f.array);
    base::put(out, f.block);
    base::put(out, f.rank);
    base::put(out, static_cast<std::uint32_t>(f.kind) | (f.bounds ? 256u : 0u));
    base::put(out, f.element_bytes);
    base::put(out, static_cast<std::uint32_t>(f.space.extent.size()));
    for (const std::uint64_t e : f.space.extent) base::put(out, e);
    base::put(out, static_cast<std::uint64_t>(f.set.runs().size()));
    for (const index_run& r : f.set.runs()) base::put(out, r);
  }
}

/// Appends; throws std::out_of_range on a truncated packet.
inline void unpack_footprints(const unsigned char* data, std::size_t size, base::vector<footprint>& out) {
  base::packet_reader in(data, size);
  while (!in.empty()) {
    footprint f;
    f.array = in.get<core::stable_key>();
    f.block = in.get<core::stable_key>();
    f.rank = in.get<std::int32_t>();
    const auto kind = in.get<std::uint32_t>();
    f.kind = static_cast<footprint_kind>(kind & 0xff);
    f.bounds = (kind & 256u) != 0;
    f.element_bytes = in.get<std::uint32_t>();
    for (auto n = in.get<std::uint32_t>(); n != 0; --n) f.space.extent.push_back(in.get<std::uint64_t>());
    for (auto n = in.get<std::uint64_t>(); n != 0; --n) f.set.add(in.get<index_run>());
    f.set.settle();
    out.push_back(std::move(f));
  }
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
