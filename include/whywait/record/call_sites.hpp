#ifndef WHYWAIT_RECORD_CALL_SITES_HPP
#define WHYWAIT_RECORD_CALL_SITES_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/kept_modules.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/stable_key.hpp>

#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// A place in the program that makes an observed call, identified by return address, the caller of the function that contains it, and the
/// stack of open regions; and the total time of its calls (exact even if single records were lost). One cache line.
struct call_site {
  /// Where a call from `address` finds the return address of the function that contains it, or of one further out.
  struct return_slot {
    enum place : uint8_t { none, frame, saved_frame };
    static constexpr uint32_t farthest = 1u << 16;  ///< bytes above the frame of the wrapper

    uint16_t offset;  ///< bytes
    place base;

    bool operator==(const return_slot& o) const noexcept { return offset == o.offset && base == o.base; }
  };

  /// Whether sites with callers further out take the place of this one.
  enum outer_callers : uint8_t { undecided, complete, continued };

  const void* address;  ///< return address into the function that called
  const void* caller;  ///< return address of that function; null: not known
  core::stable_key path;  ///< path_recorder::path() at the call
  uint64_t count;  ///< calls
  uint64_t ticks;  ///< time inside the call
  uint32_t regions;  ///< where its stack of regions begins in call_site_table::region
  uint16_t depth;  ///< open regions kept, outermost first, at most 64
  core::mpi_call call;
  return_slot slot;  ///< of the first site of an address, path and call; else unused
  return_slot outer_slot;  ///< where a call finds the caller of `caller`'s function, if `outer` is `continued`
  uint32_t first;  ///< number of the first site; with a level that of the site with the caller further in
  uint16_t callers;  ///< sites that name this one in `first`
  uint8_t level;  ///< 0: `caller` called the function that contains `address`; 1: it called the function that did, and so on
  outer_callers outer;
};
static_assert(sizeof(call_site) == 64, "a call site is one cache line");

/// What an unwinder found. `address` null: nothing.
struct found_caller {
  const void* address = nullptr;
  call_site::return_slot where = {};
};

/// The call sites of one location: from (address, path, call, caller) to a small number. About 4 ns when known, no
/// lock, no allocation; a new one copies the stack of open regions. Number 0 stands for all sites beyond
/// `capacity`.
///
/// The first site of (address, path, call) records where the caller is found on the stack. A caller that is found there for the first
/// time is compared with the unwinder. If they differ, callers of later calls from there are not known. Callers further out are recorded
/// in the same way where the caller's own place would not help (`find_outer`).
class call_site_table {
 public:
  static constexpr uint32_t capacity = 1u << 16;
  static constexpr uint32_t most_depth = 64;
  static constexpr uint32_t most_callers = 64;  ///< of one address, path and call; further ones count as not known
  static constexpr uint8_t most_levels = 24;

  /// Reserves address space (about 21 MB, touched as it fills). False if there is none.
  /// `keeper`: keeps the sites for a reader after a crash, and in `modules` their modules; null: they are not kept.
  bool open(core::kept_file* keeper = nullptr, core::kept_modules* modules = nullptr) noexcept {
    keeper_ = keeper;
    modules_ = modules;
    slots_ = static_cast<uint32_t*>(core::map_pages(sizeof(uint32_t) * slot_count, false));
    sites_ = static_cast<call_site*>(core::map_pages(sizeof(call_site) * capacity, false));
    regions_ = static_cast<uint32_t*>(core::map_pages(sizeof(uint32_t) * region_count, false));
    if (slots_ == nullptr || sites_ == nullptr || regions_ == nullptr) return false;
    size_ = 1;
    return true;
  }
  void release() noexcept {
    core::unmap_pages(slots_, sizeof(uint32_t) * slot_count);
    core::unmap_pages(sites_, sizeof(call_site) * capacity);
    core::unmap_pages(regions_, sizeof(uint32_t) * region_count);
  }

  /// `from` is a caller, or what has address, read(slot) and find(0). `path` is a path_recorder, or what has path(), depth() and
  /// open_region(level).
  template <class Caller, class Path>
  uint32_t find_or_add(const Caller& from, core::mpi_call call, const Path& path) noexcept {
    const core::stable_key key = path.path();
    uint32_t slot = first_slot(from, key);
    for (;; slot = (slot + 1) & (slot_count - 1)) {
      const uint32_t number = slots_[slot];
      if (number == 0) return add_first(slot, from, call, path);
      const call_site& first = sites_[number];
      if (!is_first(first, from, call, key)) continue;
      const void* const caller = from.read(first.slot);
      if (caller == first.caller) return number;
      const uint32_t other = find_other(number, 0, caller);
      return other != 0 ? other : add_other(number, 0, caller, from, path);
    }
  }

  /// For the site `number` of the call `from`: the site with the first caller further out at which from.goes_on(site) is false, or with
  /// the last one that can be found. About 1 ns, if callers further out matter 4 ns each.
  template <class Caller, class Path>
  uint32_t find_outer(uint32_t number, const Caller& from, const Path& path) noexcept {
    while (number != 0 && sites_[number].outer != call_site::complete) {
      call_site& inner = sites_[number];
      const auto level = static_cast<uint8_t>(inner.level + 1);
      if (inner.outer == call_site::undecided) {
        const bool goes_on = inner.caller != nullptr && level <= most_levels && from.goes_on(inner);
        inner.outer = goes_on ? call_site::continued : call_site::complete;
        if (!goes_on) break;
        const found_caller found = from.find(level);
        inner.outer_slot = found.where;
        if (found.address != nullptr) ++inner.callers;
        number = size_ == capacity ? 0 : add_behind(number, level, found.address, path);
        continue;
      }
      const void* const caller = from.read(inner.outer_slot);
      const uint32_t known = find_other(number, level, caller);
      number = known != 0 ? known : add_other(number, level, caller, from, path);
    }
    return number;
  }

  /// Counts a call that took `ticks` at its site, and returns the site's number.
  template <class Caller, class Path>
  __attribute__((noinline)) uint32_t count(const Caller& from, core::mpi_call call, const Path& path, uint64_t ticks) noexcept {
    if (__builtin_expect(path.knows_path(), 1)) {
      const core::stable_key key = path.path();
      const uint32_t number = slots_[first_slot(from, key)];
      call_site& site = sites_[number];
      if (__builtin_expect(is_first(site, from, call, key) && from.read(site.slot) == site.caller, 1)) {
        count_at(site, ticks);
        return number;
      }
    }
    return count_behind(from, call, path, ticks);
  }

  /// For a copy of the table of a process that is gone: reads its sites where `memory` has them from now on; all that
  /// is damaged is left out. `sites`: how many sites of regions there are.
  template <class Memory>
  void adopt(const Memory& memory, uint32_t sites) noexcept {
    const uint64_t known = memory.room(sites_), regions = memory.room(regions_);
    const call_site* const own = memory.find(sites_, known < size_ ? known : size_);
    const uint32_t* const regions_there = memory.find(regions_, regions);
    uint32_t good = 0;
    for (; own != nullptr && good < size_ && good < known; ++good) {
      const call_site& site = own[good];
      uint16_t call;
      memcpy(&call, &site.call, sizeof call);
      if (!core::is_known(static_cast<core::mpi_call>(call)) || site.depth > most_depth) break;
      if (site.level > most_levels || (site.level != 0 && (site.first >= good || own[site.first].level + 1 != site.level)))
        break;
      if (site.depth != 0 && (site.regions > regions || site.depth > regions - site.regions)) break;
      bool named = true;
      for (uint32_t level = 0; level < site.depth; ++level) named = named && regions_there[site.regions + level] < sites;
      if (!named) break;
    }
    slots_ = nullptr;
    sites_ = const_cast<call_site*>(own);
    regions_ = const_cast<uint32_t*>(regions_there);
    size_ = good;
  }

  /// Numbers in use; number 0 counts.
  uint32_t size() const noexcept { return __atomic_load_n(&size_, __ATOMIC_ACQUIRE); }
  call_site& operator[](uint32_t number) noexcept { return sites_[number]; }
  const call_site& operator[](uint32_t number) const noexcept { return sites_[number]; }
  /// Return addresses of a site from the inside to the outside; null: not known. Returns how many.
  uint32_t frames(uint32_t number, const void* (&all)[most_levels + 2]) const noexcept {
    const uint32_t count = sites_[number].level + 2u;
    for (uint32_t i = count; i-- != 1; number = sites_[number].first) all[i] = sites_[number].caller;
    all[0] = sites_[number].address;
    return count;
  }
  /// Site number (core::site_table) of the region at `level`, 0 the outermost.
  uint32_t region(const call_site& site, uint32_t level) const noexcept { return regions_[site.regions + level]; }

 private:
  static constexpr uint32_t slot_count = capacity * 2;
  static constexpr uint32_t region_count = capacity * 64;

  static uint32_t first_slot(uint64_t what) noexcept {
    return static_cast<uint32_t>((what * 0x9e3779b97f4a7c15u) >> 40) & (slot_count - 1);
  }
  template <class Caller>
  static __attribute__((always_inline)) uint32_t first_slot(const Caller& from, core::stable_key key) noexcept {
    return first_slot(reinterpret_cast<uintptr_t>(from.address) ^ key);
  }
  static uint32_t first_slot(uint32_t first, const void* caller) noexcept {
    return first_slot(reinterpret_cast<uintptr_t>(caller) ^ (uint64_t(first) << 40));
  }

  template <class Caller>
  static __attribute__((always_inline)) bool is_first(const call_site& site, const Caller& from, core::mpi_call call,
                                                      core::stable_key key) noexcept {
    return site.address == from.address && site.path == key && site.call == call;
  }
  static __attribute__((always_inline)) void count_at(call_site& site, uint64_t ticks) noexcept {
    __atomic_store_n(&site.count, site.count + 1, __ATOMIC_RELAXED);  // else g++ first puts one and ticks together in a vector
    site.ticks += ticks;
  }

  // Out of line, and the last thing that `count` does, so that it needs no registers of its caller.
  template <class Caller, class Path>
  __attribute__((noinline)) uint32_t count_behind(const Caller& from, core::mpi_call call, const Path& path,
                                                  uint64_t ticks) noexcept {
    const uint32_t number = find_or_add(from, call, path);
    count_at(sites_[number], ticks);
    return number;
  }

  /// A site behind the site `first` by its caller; 0: there is none. Such sites come after the first one, so that the search for that
  /// never meets them.
  __attribute__((noinline)) uint32_t find_other(uint32_t first, uint8_t level, const void* caller) const noexcept {
    for (uint32_t slot = first_slot(first, caller);; slot = (slot + 1) & (slot_count - 1)) {
      const uint32_t number = slots_[slot];
      const call_site& site = sites_[number];
      if (number == 0 || (site.caller == caller && site.first == first && site.level == level)) return number;
    }
  }

  template <class Caller, class Path>
  __attribute__((noinline, cold)) uint32_t add_other(uint32_t number, uint8_t level, const void* caller, const Caller& from,
                                                     const Path& path) noexcept {
    call_site& first = sites_[number];
    call_site::return_slot& expected = level == 0 ? first.slot : first.outer_slot;
    if (size_ == capacity) return 0;
    const bool full = first.callers == most_callers;
    const found_caller found = full ? found_caller() : from.find(level);
    if (caller == nullptr || found.address != caller || !(found.where == expected)) {
      if (!full) expected = {};
      caller = nullptr;
      if (const uint32_t unknown = find_other(number, level, caller)) return unknown;
    } else {
      ++first.callers;
    }
    return add_behind(number, level, caller, path);
  }
  template <class Path>
  __attribute__((noinline, cold)) uint32_t add_behind(uint32_t number, uint8_t level, const void* caller,
                                                      const Path& path) noexcept {
    uint32_t slot = first_slot(number, caller);
    while (slots_[slot] != 0) slot = (slot + 1) & (slot_count - 1);
    const uint32_t other = add(slot, sites_[number].address, {caller, {}}, sites_[number].call, path);
    sites_[other].first = number;
    sites_[other].level = level;
    return other;
  }

  template <class Caller, class Path>
  __attribute__((noinline, cold)) uint32_t add_first(uint32_t slot, const Caller& from, core::mpi_call call,
                                                     const Path& path) noexcept {
    return size_ == capacity ? 0 : add(slot, from.address, from.find(0), call, path);
  }

  template <class Path>
  __attribute__((noinline, cold)) uint32_t add(uint32_t slot, const void* address, const found_caller& from,
                                               core::mpi_call call, const Path& path) noexcept {
    if (size_ == capacity) return 0;
    const uint32_t depth = path.depth() < most_depth ? path.depth() : most_depth;
    if (keeper_ != nullptr) {
      if (modules_ != nullptr) modules_->update(*keeper_);
      keeper_->keep_up_to(sites_, sizeof(call_site) * (size_ + 1), kept_sites_, 1u << 14, sizeof(call_site) * capacity);
      keeper_->keep_up_to(regions_, sizeof(uint32_t) * (regions_used_ + depth), kept_regions_, 1u << 12,
                          sizeof(uint32_t) * region_count);
    }
    for (uint32_t level = 0; level < depth; ++level) regions_[regions_used_ + level] = path.open_region(level);
    sites_[size_] =
        call_site{address, from.address, path.path(), 0, 0, regions_used_, static_cast<uint16_t>(depth), call, from.where,
                  {},      size_,        0,           0, {}};
    regions_used_ += depth;
    slots_[slot] = size_;
    __atomic_store_n(&size_, size_ + 1, __ATOMIC_RELEASE);
    return size_ - 1;
  }

  uint32_t* slots_ = nullptr;
  call_site* sites_ = nullptr;
  uint32_t* regions_ = nullptr;
  uint32_t regions_used_ = 0;
  core::kept_file* keeper_ = nullptr;
  core::kept_modules* modules_ = nullptr;
  size_t kept_sites_ = 0, kept_regions_ = 0;
  uint32_t size_ = 0;
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
