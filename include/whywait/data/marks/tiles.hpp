#ifndef WHYWAIT_DATA_MARKS_TILES_HPP
#define WHYWAIT_DATA_MARKS_TILES_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/marks/objects.hpp>
#include <whywait/record/path_head.hpp>

#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace data {

/// Kind of a tracked access.
enum class access : uint8_t { read, write, update };

/// One bit for each of 8 bytes. It is a distinct type, so that a store does not alias other types and the compiler need
/// not reload pointers in a loop of accesses. Read as words, which may alias anything.
enum shadow_byte : uint8_t {};
typedef uint64_t shadow_word __attribute__((may_alias));

/// The part of an array in a tile, with the address of the array at the time when the tile was entered.
struct tile_part {
  uint64_t begin;  ///< addresses that the array owns
  uint64_t end;
  uint64_t base;  ///< address of the first byte of the array
  const uint64_t* sample;  ///< sampled granules; null if all accesses are recorded
  uint32_t object;
};

/// The bytes of one 4 KiB page that one block accessed in one way.
struct tile {
  static constexpr unsigned shift = 12;
  static constexpr uint64_t bytes = uint64_t(1) << shift;
  static constexpr unsigned words = unsigned(bytes / 64);

  uint64_t key;
  uint64_t first;  ///< address of its first byte
  const tile_part* parts;  ///< sorted, disjoint
  uint32_t part_count;  ///< 0 if no array is recorded here
  uint32_t version;  ///< version of the registered arrays for which `parts` holds
  uint32_t next;  ///< next in its hash chain
  uint32_t place;  ///< slot in the table
  bool dirty;
  alignas(64) shadow_word bits[words];
};

/// The tiles of one thread. The fast path is a table lookup by address, innermost region and kind of access. On a miss
/// the tile is entered in about 30 ns, from a hash chain per slot or as a new one. Requires zeroed memory, which is
/// touched as it is used; trivial type.
class tile_table {
 public:
  static constexpr uint32_t capacity = 1u << 14;  ///< tiles; 9 MB, which cover 64 MB of arrays
  static constexpr uint32_t always = 64;  ///< tiles that do not count towards the budget

  /// Reserves 13 MB of address space; returns false if that fails.
  bool open(data_objects& objects, core::memory_budget& budget) noexcept {
    objects_ = &objects;
    budget_ = &budget;
    tiles_ = static_cast<tile*>(core::map_pages(sizeof(tile) * capacity, false));
    parts_ = static_cast<tile_part*>(core::map_pages(sizeof(tile_part) * part_capacity, false));
    dirty_ = static_cast<entry*>(core::map_pages(sizeof(entry) * 2 * capacity, false));
    limit_ = always;
    used_ = 1;
    return tiles_ != nullptr && parts_ != nullptr && dirty_ != nullptr;
  }

  /// A key that is unique per thread. It combines the address of the tile with the position of the region in the
  /// thread's profile.
  static uint64_t key_of(uint64_t address, const record::path_entry* region) noexcept {
    static_assert(sizeof(record::path_entry) == 32 && core::site_table::capacity == 1u << 16,
                  "bits 5 to 20 of the address identify the entry");
    return (address >> tile::shift) + (reinterpret_cast<uintptr_t>(region) << 43);
  }
  /// The table slot of a key, for each kind of access, and whether the slot holds its tile.
  __attribute__((always_inline)) static uint64_t place_of(uint64_t key) noexcept {
    // Fibonacci hashing spreads neighbours and avoids collisions between arrays at power-of-two distances.
    return core::spread(key) >> (64 - place_bits);
  }
  __attribute__((always_inline)) bool shows(access how, uint64_t place, uint64_t key) const noexcept {
    return keys_[static_cast<unsigned>(how)][place] == key;
  }
  /// Whether the table reflects the current registrations.
  bool up_to_date() const noexcept { return version_ == objects_->version(); }

  /// Marks the bytes [address, address + Bytes), which must lie in the tile. Sizes 1, 2, 4 and 8 must be naturally
  /// aligned; larger multiples of 8 must be aligned to 8.
  template <uint32_t Bytes>
  __attribute__((always_inline)) void mark(access how, uint64_t place, uint64_t address) noexcept {
    shadow_byte* const at = reinterpret_cast<shadow_byte*>(biases_[static_cast<unsigned>(how)][place] + (address >> 3));
    if constexpr (Bytes < 8) *at = static_cast<shadow_byte>(*at | ((1u << Bytes) - 1) << (address & 7));
    else
      for (uint32_t i = 0; i != Bytes / 8; ++i) at[i] = static_cast<shadow_byte>(0xff);
  }
  /// Marks any number of bytes at any address.
  void mark_some(access how, uint64_t place, uint64_t address, uint64_t bytes) noexcept {
    shadow_byte* at = reinterpret_cast<shadow_byte*>(biases_[static_cast<unsigned>(how)][place] + (address >> 3));
    for (uint64_t from = address & 7; bytes != 0; ++at, from = 0) {
      const uint64_t here = bytes < 8 - from ? bytes : 8 - from;
      *at = static_cast<shadow_byte>(*at | ((1u << here) - 1) << from);
      bytes -= here;
    }
  }

  /// Makes the table slot refer to the tile of an address. Returns false if tables are full; the caller must then flush
  /// all tiles and call `drop`. Tiles are flushed in rising `order`, and those of equal order by address.
  __attribute__((noinline)) bool enter(access how, uint64_t address, const record::path_entry* region,
                                       uint32_t order) noexcept {
    const uint64_t key = key_of(address, region);
    const auto place = static_cast<uint32_t>(place_of(key));
    const auto kind = static_cast<unsigned>(how);
    const uint64_t first = address & ~(tile::bytes - 1);
    for (;;) {
      const uint32_t version = objects_->version();
      if (version != version_) {
        hide();
        version_ = version;
      }
      uint32_t* from = &chains_[kind][place];
      while (*from != 0 && tiles_[*from].key != key) from = &tiles_[*from].next;
      tile* t = *from != 0 ? tiles_ + *from : nullptr;
      if (t == nullptr || t->version != version) {
        uint32_t count = 0;
        if (!find_parts(first, count)) return false;
        if (objects_->version() != version) continue;
        if (t == nullptr || !is_as_found(*t, count)) {
          if (t != nullptr && t->dirty) {  // bits of a dirty tile belong to the previous registrations
            *from = t->next;
            t = nullptr;
          }
          if (t == nullptr) {
            t = take_tile();
            if (t == nullptr) return false;
            t->key = key;
            t->first = first;
            t->place = kind << place_bits | place;
            t->next = chains_[kind][place];
            chains_[kind][place] = static_cast<uint32_t>(t - tiles_);
          }
          keep_parts(*t, count);
        }
        t->version = version;
      }
      if (t->part_count != 0 && !t->dirty) {
        t->dirty = true;
        dirty_[dirty_count_++] = {uint64_t(order) << 44 | first >> tile::shift, static_cast<uint32_t>(t - tiles_)};
      }
      if (keys_[kind][place] == 0) shown_[shown_count_++] = kind << place_bits | place;
      keys_[kind][place] = key;
      biases_[kind][place] = reinterpret_cast<uintptr_t>(t->part_count != 0 ? t->bits : nowhere_) - (first >> 3);
      return true;
    }
  }

  bool empty() const noexcept { return dirty_count_ == 0; }

  /// Calls sink(order, tile) for all dirty tiles in rising order; sink must clear their bits.
  template <class Sink>
  void take(Sink&& sink) noexcept {
    hide();
    const entry* const sorted = sort();
    for (uint32_t i = 0; i != dirty_count_; ++i) {
      tile& t = tiles_[sorted[i].number];
      t.dirty = false;
      sink(static_cast<uint32_t>(sorted[i].order >> 44), t);
    }
    dirty_count_ = 0;
  }

  /// Frees all tiles. Call it after `take`.
  void drop() noexcept {
    hide();
    for (uint32_t i = 1; i != used_; ++i) {
      chains_[tiles_[i].place >> place_bits][tiles_[i].place % places] = 0;
      tiles_[i].dirty = false;
    }
    used_ = 1;
    parts_used_ = 0;
  }

 private:
  static constexpr unsigned place_bits = 13;
  static constexpr uint32_t places = 1u << place_bits;
  static constexpr uint32_t part_capacity = address_index::capacity + capacity;
  static constexpr uint32_t more = 256;  // tiles per request to the budget

  struct entry {
    uint64_t order;
    uint32_t number;
  };

  void hide() noexcept {
    for (; shown_count_ != 0; --shown_count_) {
      const uint32_t place = shown_[shown_count_ - 1];
      keys_[place >> place_bits][place % places] = 0;
    }
  }

  // Collects the array parts of a tile after those in use. Returns false if tables are full.
  bool find_parts(uint64_t first, uint32_t& count) noexcept {
    address_piece piece;
    for (uint64_t at = first; at < first + tile::bytes && objects_->find_from(at, piece); at = piece.end) {
      if (piece.begin >= first + tile::bytes) break;
      if (parts_used_ + count == part_capacity) return false;
      const known_object& o = (*objects_)[piece.number];
      const uint64_t base = __atomic_load_n(&o.begin, __ATOMIC_RELAXED);
      if (o.sample != nullptr && !has_sample(o, first, piece, base)) continue;
      parts_[parts_used_ + count++] = {piece.begin, piece.end, base, o.sample, piece.number};
    }
    return true;
  }
  // Whether the sample contains any of these 4 KiB of an array. If the array has moved meanwhile, returns true, and the
  // version check repeats the lookup.
  static bool has_sample(const known_object& o, uint64_t first, const address_piece& piece, uint64_t base) noexcept {
    const uint64_t begin = piece.begin > first ? piece.begin : first;
    const uint64_t end = piece.end < first + tile::bytes ? piece.end : first + tile::bytes;
    if (begin < base || end - base > o.shape.bytes()) return true;
    for (uint64_t g = (begin - base) / 64, last = (end - 1 - base) / 64; g <= last;) {
      const uint64_t left = o.sample[g / 64] >> (g % 64);
      if (left != 0) return g + static_cast<unsigned>(__builtin_ctzll(left)) <= last;
      g = (g / 64 + 1) * 64;
    }
    return false;
  }
  bool is_as_found(const tile& t, uint32_t count) const noexcept { return t.part_count == count && same(t.parts, count); }
  bool same(const tile_part* known, uint32_t count) const noexcept {
    const tile_part* const found = parts_ + parts_used_;
    for (uint32_t i = 0; i != count; ++i)
      if (known[i].begin != found[i].begin || known[i].end != found[i].end || known[i].base != found[i].base ||
          known[i].object != found[i].object)
        return false;
    return true;
  }
  void keep_parts(tile& t, uint32_t count) noexcept {
    t.part_count = count;
    t.parts = parts_ + parts_used_;
    // usually identical to the parts of the previous tile
    if (count == 1 && parts_used_ != 0 && same(t.parts - 1, 1)) --t.parts;
    else parts_used_ += count;
  }

  tile* take_tile() noexcept {
    if (used_ == limit_) {
      // Tiles take at most half of the budget; the rest is for records.
      const uint64_t bytes = (sizeof(tile) + sizeof(tile_part) + 2 * sizeof(entry)) * more;
      if (limit_ + more > capacity || budget_->left() < budget_->limit() / 2 + bytes || !budget_->take(bytes)) return nullptr;
      limit_ += more;
    }
    return tiles_ + used_++;
  }

  // Sorts by rising order with a natural merge sort. Usually there is a single sorted run.
  const entry* sort() noexcept {
    entry *from = dirty_, *to = dirty_ + capacity;
    for (bool sorted = false;;) {
      uint32_t runs = 0, out = 0;
      for (uint32_t i = 0; i != dirty_count_; ++runs) {
        const uint32_t middle = end_of_run(from, i);
        if (i == 0 && middle == dirty_count_) sorted = true;
        if (sorted) return from;
        const uint32_t end = middle != dirty_count_ ? end_of_run(from, middle) : middle;
        uint32_t a = i, b = middle;
        while (a != middle || b != end)
          to[out++] = b == end || (a != middle && from[a].order <= from[b].order) ? from[a++] : from[b++];
        i = end;
      }
      entry* const other = from;
      from = to;
      to = other;
      if (runs == 0) return from;
    }
  }
  uint32_t end_of_run(const entry* list, uint32_t i) const noexcept {
    while (++i != dirty_count_ && list[i - 1].order <= list[i].order) {
    }
    return i;
  }

  data_objects* objects_ = nullptr;
  uint32_t version_ = 0;
  uint32_t used_ = 1;
  uint32_t limit_ = 0;
  uint32_t parts_used_ = 0;
  uint32_t dirty_count_ = 0;
  uint32_t shown_count_ = 0;
  tile* tiles_ = nullptr;
  tile_part* parts_ = nullptr;
  entry* dirty_ = nullptr;
  core::memory_budget* budget_ = nullptr;
  // uninitialised, because it is large
  alignas(64) shadow_word nowhere_[tile::words];
  uint64_t keys_[3][places];  // 0 if empty
  uint64_t biases_[3][places];  // address of the tile's bits minus the offset that the address adds
  uint32_t chains_[3][places];
  uint32_t shown_[3 * places];  // slots that refer to a tile
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
