#ifndef WHYWAIT_CORE_KEPT_FILE_HPP
#define WHYWAIT_CORE_KEPT_FILE_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/kept_layout.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/warning.hpp>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// A file mapped under some pages of the process. Their content outlives the process even after SIGKILL, because the
/// kernel writes shared file pages. Recording into them costs nothing extra; `keep` belongs to the slow paths that
/// allocate memory. Space is reserved before a page is used, so that a full file system causes one warning and
/// memory that is not kept, but never SIGBUS. The file is locked (flock) while its process runs, so that a reader
/// can distinguish the files of ended processes. Before `open` all functions do nothing. Threads may keep pages at
/// the same time. Not for signal handlers.
class kept_file {
  static size_t whole_pages(size_t bytes) noexcept { return (bytes + 4095) & ~size_t(4095); }

 public:
  /// Creates the file in `directory`. Returns false on failure, after a warning if `warns`.
  [[gnu::cold]] bool open(const char* directory, bool counter, bool warns) noexcept {
    char absolute[4096];  // the program may change its folder
    if (realpath(directory, absolute) == nullptr) return refuse(directory, warns);
    directory = absolute;
    make_name(directory, "new");
    char temporary[sizeof name_];
    memcpy(temporary, name_, sizeof name_);
    file_ = ::open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file_ < 0) return refuse(directory, warns);
    rlimit most;
    limit_ = getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY ? most.rlim_cur : ~uint64_t(0);
    const size_t head = whole_pages(sizeof(kept_header));
    if (flock(file_, LOCK_EX | LOCK_NB) == 0) header_ = static_cast<kept_header*>(map_shared(nullptr, reserve(head), head));
    arrays_ = header_ != nullptr ? static_cast<by_site*>(map_pages(sizeof(by_site) * most_arrays, false)) : nullptr;
    if (arrays_ == nullptr) return give_up(temporary, directory, warns);
    describe_process(counter);
    log_ = &header_->log;
    room_in_log_ = kept_header::extents;
    make_name(directory, "kept");
    if (rename(temporary, name_) != 0) return give_up(temporary, directory, warns);
    __atomic_store_n(&open_, true, __ATOMIC_RELEASE);
    return true;
  }

  bool is_open() const noexcept { return __atomic_load_n(&open_, __ATOMIC_ACQUIRE); }
  /// Facts for the reader; null if closed. They may be written at any time, each by one store.
  kept_header* header() const noexcept { return is_open() ? header_ : nullptr; }
  const char* name() const noexcept { return name_; }

  /// Replaces these unwritten pages by pages of the file: whole pages from map_pages (so that `bytes` may be rounded
  /// up), or a part that begins at a page. Without space the memory stays as it is, and no later pages are kept, so
  /// that the file holds a prefix.
  void keep(void* pages, size_t bytes) noexcept {
    if (!is_open() || pages == nullptr || bytes == 0) return;
    pthread_mutex_lock(&mutex_);
    keep_locked(static_cast<char*>(pages), whole_pages(bytes));
    pthread_mutex_unlock(&mutex_);
  }

  /// For memory that fills from its begin: keeps so much that `used` bytes are kept. `kept`: how much is, from 0; grows
  /// by at least `step`, never beyond `reserved`.
  void keep_up_to(void* begin, size_t used, size_t& kept, size_t step, size_t reserved) noexcept {
    if (__builtin_expect(used <= kept, 1) || !is_open()) return;
    size_t wanted = used > kept + step ? used : kept + step;
    wanted = whole_pages(wanted < reserved ? wanted : reserved);
    keep(static_cast<char*>(begin) + kept, wanted - kept);
    kept = wanted;
  }

  /// The same for an array of `stride` bytes for each site of the process, now and as sites are added; it begins `lead`
  /// bytes behind a page's begin.
  void keep_by_site(void* begin, size_t lead, size_t stride) noexcept {
    if (!is_open() || begin == nullptr) return;
    pthread_mutex_lock(&mutex_);
    if (array_count_ == most_arrays) {
      stop(EMFILE);
    } else {
      arrays_[array_count_++] = by_site{static_cast<char*>(begin), lead, stride};
      keep_locked(static_cast<char*>(begin), arrays_[array_count_ - 1].bytes(sites_));
    }
    pthread_mutex_unlock(&mutex_);
  }
  /// There will be `count` sites now. Before the first of the new ones is given out.
  void grow_sites(uint32_t count) noexcept {
    if (!is_open()) return;
    pthread_mutex_lock(&mutex_);
    while (sites_ < count) {
      for (uint32_t i = 0; i < array_count_; ++i) {
        const size_t kept = arrays_[i].bytes(sites_);
        keep_locked(arrays_[i].begin + kept, arrays_[i].bytes(sites_ * 2) - kept);
      }
      sites_ *= 2;
    }
    pthread_mutex_unlock(&mutex_);
  }

  /// Before unmap_pages: the file gives the space back and forgets the pages. All of what one `keep` kept.
  void forget(void* pages) noexcept {
    if (!is_open()) return;
    pthread_mutex_lock(&mutex_);
    for_each([&](kept_extent& e) {
      if (e.address != reinterpret_cast<uintptr_t>(pages)) return;
      __atomic_store_n(&e.address, uint64_t(0), __ATOMIC_RELEASE);
      fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(e.offset), static_cast<off_t>(e.bytes));
      ++free_;
    });
    pthread_mutex_unlock(&mutex_);
  }

  /// Renames the file after job and rank, once they are known.
  [[gnu::cold]] void rename_to(uint64_t job, int32_t rank) noexcept {
    if (!is_open()) return;
    char fresh[sizeof name_];
    const char* const slash = strrchr(name_, '/');
    const int folder = static_cast<int>(slash - name_);
    const int length = snprintf(fresh, sizeof fresh, "%.*s/whywait.job%016llx.rank%d.pid%u.%llx.kept", folder, name_,
                                static_cast<unsigned long long>(job), rank, header_->pid,
                                static_cast<unsigned long long>(header_->started_ns));
    if (length > 0 && static_cast<size_t>(length) < sizeof fresh && rename(name_, fresh) == 0)
      memcpy(name_, fresh, sizeof name_);
  }

  /// A normal end: nothing is left behind. What is recorded from now on is not kept.
  [[gnu::cold]] void remove() noexcept {
    if (!is_open()) return;
    pthread_mutex_lock(&mutex_);
    __atomic_store_n(&open_, false, __ATOMIC_RELEASE);
    unlink(name_);
    ::close(file_);
    pthread_mutex_unlock(&mutex_);
  }

  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  /// In a forked child: the same content under the same addresses, as its own. The parent's file stays the parent's.
  [[gnu::cold]] void leave_to_parent() noexcept {
    if (!is_open()) return;
    __atomic_store_n(&open_, false, __ATOMIC_RELEASE);
    for_each([&](kept_extent& e) {
      if (e.address == 0) return;
      void* const at = reinterpret_cast<void*>(static_cast<uintptr_t>(e.address));
      const int rights = PROT_READ | PROT_WRITE;
      if (mmap(at, e.bytes, rights, MAP_PRIVATE | MAP_FIXED, file_, static_cast<off_t>(e.offset)) == MAP_FAILED)
        mmap(at, e.bytes, rights, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    });
    ::close(file_);
  }

 private:
  struct by_site {
    char* begin;
    size_t lead;
    size_t stride;
    size_t bytes(uint32_t sites) const noexcept { return whole_pages(lead + stride * sites); }
  };
  static constexpr uint32_t most_arrays = 1u << 16;

  // Allocates space at the end of the file before it is used. 0: there is none (errno has the reason).
  uint64_t reserve(size_t bytes) noexcept {
    if (bytes > limit_ || end_ > limit_ - bytes) return errno = EFBIG, none;  // else the kernel sends SIGXFSZ
    int error;
    do error = posix_fallocate(file_, static_cast<off_t>(end_), static_cast<off_t>(bytes));
    while (error == EINTR);
    if (error != 0) return errno = error, none;
    const uint64_t offset = end_;
    end_ += bytes;
    return offset;
  }
  void* map_shared(void* at, uint64_t offset, size_t bytes) noexcept {
    if (offset == none) return nullptr;
    const int flags = MAP_SHARED | MAP_POPULATE | (at != nullptr ? MAP_FIXED : 0);
    void* const pages = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file_, static_cast<off_t>(offset));
    return pages == MAP_FAILED ? nullptr : pages;
  }

  __attribute__((noinline)) void keep_locked(char* pages, size_t bytes) noexcept {
    if (bytes == 0 || header_->stopped != 0 || !is_open()) return;
    kept_extent* entry = free_ != 0 ? free_extent(bytes) : nullptr;
    const bool again = entry != nullptr;
    if (!again) entry = next_extent();
    const uint64_t offset = entry == nullptr ? none : again ? refill(*entry) : reserve(bytes);
    if (map_shared(pages, offset, bytes) == nullptr) return stop(errno);
    if (again) --free_;
    else *entry = kept_extent{0, offset, bytes};
    __atomic_store_n(&entry->address, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pages)), __ATOMIC_RELEASE);
    if (!again) __atomic_store_n(&log_->count, log_->count + 1, __ATOMIC_RELEASE);
    header_->last = clock_anchor::take(4);
  }

  kept_extent* next_extent() noexcept {
    if (log_->count < room_in_log_) return log_->list() + log_->count;
    const uint64_t offset = reserve(more_log);
    void* const pages = map_shared(nullptr, offset, more_log);
    if (pages == nullptr) return nullptr;
    __atomic_store_n(&log_->next, offset, __ATOMIC_RELEASE);
    log_->next_here = pages;
    log_ = static_cast<kept_log*>(pages);
    room_in_log_ = static_cast<uint32_t>((more_log - sizeof(kept_log)) / sizeof(kept_extent));
    return log_->list();
  }

  kept_extent* free_extent(size_t bytes) noexcept {
    kept_extent* found = nullptr;
    for_each([&](kept_extent& e) {
      if (e.address == 0 && e.bytes == bytes) found = &e;
    });
    return found;
  }
  uint64_t refill(const kept_extent& e) noexcept {
    const int error = posix_fallocate(file_, static_cast<off_t>(e.offset), static_cast<off_t>(e.bytes));
    return error == 0 ? e.offset : (errno = error, none);
  }

  template <class Visit>
  void for_each(Visit&& visit) noexcept {
    for (kept_log* log = &header_->log; log != nullptr; log = static_cast<kept_log*>(log->next_here))
      for (uint32_t i = 0; i < log->count; ++i) visit(log->list()[i]);
  }

  [[gnu::cold]] void stop(int error) noexcept {
    if (header_->stopped != 0) return;
    __atomic_store_n(&header_->stopped, static_cast<uint32_t>(error != 0 ? error : ENOSPC), __ATOMIC_RELEASE);
    warn("cannot extend ", name_, ": ", strerror(error), "; later events are not kept for a crash report");
  }

  [[gnu::cold]] bool refuse(const char* directory, bool warns) noexcept {
    if (warns) warn("cannot write to WHYWAIT_CRASH=", directory, ": ", strerror(errno), "; nothing is kept for a crash report");
    return false;
  }
  [[gnu::cold]] bool give_up(const char* temporary, const char* directory, bool warns) noexcept {
    refuse(directory, warns);
    unlink(temporary);
    ::close(file_);
    return false;
  }

  [[gnu::cold]] void make_name(const char* directory, const char* kind) noexcept {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (started_ns_ == 0) started_ns_ = static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
    const int length = snprintf(name_, sizeof name_, "%s/whywait.pid%u.%llx.%s", directory, static_cast<unsigned>(getpid()),
                                static_cast<unsigned long long>(started_ns_), kind);
    if (length < 0 || static_cast<size_t>(length) >= sizeof name_) name_[0] = '\0';
  }

  [[gnu::cold]] void describe_process(bool counter) noexcept {
    memcpy(header_->magic, kept_magic, sizeof kept_magic);
    header_->pid = static_cast<uint32_t>(getpid());
    header_->started_ns = started_ns_;
    header_->boot = boot_key();
    header_->rank = -1;
    header_->counter = counter ? 1 : 0;
    gethostname(header_->host, sizeof header_->host - 1);
    const ssize_t length = readlink("/proc/self/exe", header_->program, sizeof header_->program - 1);
    header_->program[length > 0 ? length : 0] = '\0';
    header_->first = header_->last = clock_anchor::take();
  }

  static constexpr uint64_t none = ~uint64_t(0);
  static constexpr size_t more_log = size_t(1) << 16;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  bool open_ = false;
  int file_ = -1;
  kept_header* header_ = nullptr;
  kept_log* log_ = nullptr;
  uint32_t room_in_log_ = 0;
  uint32_t free_ = 0;  // extents that were forgotten and may be used again
  uint32_t sites_ = 1024;
  uint32_t array_count_ = 0;
  by_site* arrays_ = nullptr;
  uint64_t end_ = 0;
  uint64_t limit_ = 0;
  uint64_t started_ns_ = 0;
  char name_[1024] = "";
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
