#ifndef WHYWAIT_CORE_KEPT_MODULES_HPP
#define WHYWAIT_CORE_KEPT_MODULES_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/pages.hpp>

#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// An executable or library, as the process had loaded it: from it a reader finds the names of code addresses.
struct kept_module {
  uint64_t base;        ///< what was added to the addresses in the file (dlpi_addr)
  uint64_t begin, end;  ///< its code
  uint64_t file_bytes;  ///< size of the file; with the time of its last change it detects a replaced file; 0: no file
  uint64_t file_time_ns;
  char path[216];  ///< empty: too long
};

/// The modules of the process, in the file that outlives it. Closed libraries stay listed, because their code has run.
class kept_modules {
 public:
  static constexpr uint32_t capacity = 1u << 12;

  /// Adds what was loaded since. Without change one walk of the loader's list (about 1 us); nothing if the file is
  /// closed. Takes the loader's lock.
  __attribute__((cold)) void update(kept_file& file) noexcept {
    if (!file.is_open()) return;
    pthread_mutex_lock(&mutex_);
    update_locked(file);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  [[gnu::cold]] void update_locked(kept_file& file) noexcept {
    if (modules_ == nullptr) modules_ = static_cast<kept_module*>(map_pages(sizeof(kept_module) * capacity, false));
    if (modules_ == nullptr) return;
    file_ = &file;
    seen_ = 0;
    dl_iterate_phdr(&visit, this);
    kept_header* const header = file.header();
    if (header == nullptr) return;
    header->modules = reinterpret_cast<uintptr_t>(modules_);
    __atomic_store_n(&header->module_count, count_, __ATOMIC_RELEASE);
  }

  [[gnu::cold]] static int visit(dl_phdr_info* info, size_t, void* self) noexcept {
    kept_modules& all = *static_cast<kept_modules*>(self);
    if (all.seen_++ == 0 && all.count_ != 0 && info->dlpi_adds == all.adds_) return 1;
    all.adds_ = info->dlpi_adds;
    all.add(*info, all.seen_ == 1);
    return 0;
  }

  [[gnu::cold]] void add(const dl_phdr_info& info, bool executable) noexcept {
    kept_module fresh{};
    fresh.base = info.dlpi_addr;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info.dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const uint64_t begin = info.dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
      if (fresh.end == 0 || begin < fresh.begin) fresh.begin = begin;
      if (end > fresh.end) fresh.end = end;
    }
    for (uint32_t i = 0; i < count_; ++i)
      if (modules_[i].begin == fresh.begin && modules_[i].end == fresh.end) return;
    if (fresh.end == 0 || count_ == capacity) return;
    if (executable) {
      const ssize_t length = readlink("/proc/self/exe", fresh.path, sizeof fresh.path - 1);
      fresh.path[length > 0 && static_cast<size_t>(length) < sizeof fresh.path - 1 ? length : 0] = '\0';
    } else if (info.dlpi_name != nullptr && strlen(info.dlpi_name) < sizeof fresh.path) {
      strcpy(fresh.path, info.dlpi_name);
    }
    struct stat file;
    if (fresh.path[0] != '\0' && stat(fresh.path, &file) == 0) {
      fresh.file_bytes = static_cast<uint64_t>(file.st_size);
      fresh.file_time_ns =
          static_cast<uint64_t>(file.st_mtim.tv_sec) * 1000000000u + static_cast<uint64_t>(file.st_mtim.tv_nsec);
    }
    file_->keep_up_to(modules_, sizeof(kept_module) * (count_ + 1), kept_, 1u << 14, sizeof(kept_module) * capacity);
    modules_[count_++] = fresh;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  kept_module* modules_ = nullptr;
  kept_file* file_ = nullptr;
  size_t kept_ = 0;
  uint32_t count_ = 0;
  uint32_t seen_ = 0;
  unsigned long long adds_ = 0;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
