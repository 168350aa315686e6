#ifndef WHYWAIT_MPI_CALL_SITES_HPP
#define WHYWAIT_MPI_CALL_SITES_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/kept_modules.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/stable_key.hpp>

#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// A place in the program that calls MPI, identified by return address and stack of open regions, and the
/// total time of its calls (exact even if single records were lost).
struct call_site {
  const void* address;    ///< return address into the caller
  core::stable_key path;  ///< path_recorder::path() at the call
  uint64_t count;         ///< calls
  uint64_t ticks;         ///< time inside MPI
  uint32_t regions;       ///< where its stack of regions begins in call_site_table::region
  uint16_t depth;         ///< open regions kept, outermost first, at most 64
  core::mpi_call call;
};

/// The call sites of one location: from (address, path, call) to a small number. About 3 ns when known, no
/// lock, no allocation; a new one copies the stack of open regions. Number 0 stands for all sites beyond
/// `capacity`.
class call_site_table {
 public:
  static constexpr uint32_t capacity = 1u << 16;
  static constexpr uint32_t most_depth = 64;

  /// Reserves address space (about 20 MB, touched as it fills). False if there is none.
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

  /// `path` is a path_recorder, or what has path(), depth() and open_region(level).
  template <class Path>
  uint32_t find_or_add(const void* address, core::mpi_call call, const Path& path) noexcept {
    const core::stable_key key = path.path();
    uint32_t slot = first_slot(address, key);
    for (;; slot = (slot + 1) & (slot_count - 1)) {
      const uint32_t number = slots_[slot];
      if (number == 0) return add(slot, address, call, path);
      const call_site& known = sites_[number];
      if (known.address == address && known.path == key && known.call == call) return number;
    }
  }

  /// Counts a call that took `ticks` at its site, and returns the site's number.
  template <class Path>
  uint32_t count(const void* address, core::mpi_call call, const Path& path, uint64_t ticks) noexcept {
    const uint32_t number = find_or_add(address, call, path);
    call_site& site = sites_[number];
    ++site.count;
    site.ticks += ticks;
    return number;
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
      if (call >= static_cast<uint16_t>(core::mpi_call::count_) || site.depth > most_depth) break;
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
  /// Site number (core::site_table) of the region at `level`, 0 the outermost.
  uint32_t region(const call_site& site, uint32_t level) const noexcept { return regions_[site.regions + level]; }

 private:
  static constexpr uint32_t slot_count = capacity * 2;
  static constexpr uint32_t region_count = capacity * 64;

  static uint32_t first_slot(const void* address, core::stable_key path) noexcept {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(address) ^ path) * 0x9e3779b97f4a7c15u;
    return static_cast<uint32_t>(mixed >> 40) & (slot_count - 1);
  }

  template <class Path>
  __attribute__((noinline, cold)) uint32_t add(uint32_t slot, const void* address, core::mpi_call call,
                                               const Path& path) noexcept {
    if (size_ == capacity) return 0;
    const uint32_t depth = path.depth() < most_depth ? path.depth() : most_depth;
    if (keeper_ != nullptr) {
      if (modules_ != nullptr) modules_->update(*keeper_);
      keeper_->keep_up_to(sites_, sizeof(call_site) * (size_ + 1), kept_sites_, 1u << 14, sizeof(call_site) * capacity);
      keeper_->keep_up_to(regions_, sizeof(uint32_t) * (regions_used_ + depth), kept_regions_, 1u << 12,
                          sizeof(uint32_t) * region_count);
    }
    for (uint32_t level = 0; level < depth; ++level) regions_[regions_used_ + level] = path.open_region(level);
    sites_[size_] = call_site{address, path.path(), 0, 0, regions_used_, static_cast<uint16_t>(depth), call};
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

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
