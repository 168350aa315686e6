#ifndef WHYWAIT_POSTMORTEM_DEAD_MEMORY_HPP
#define WHYWAIT_POSTMORTEM_DEAD_MEMORY_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/kept_layout.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace postmortem {

/// Reads the memory of a killed process from its kept file (core::kept_file), by the addresses of that process. All
/// content is untrusted; an object that does not lie wholly in the file is not found. Returned pointers stay valid as
/// long as this object, which also holds the lock on the file. Use it from one thread at a time.
class dead_memory {
 public:
  enum class state : std::uint8_t { readable, alive, gone, damaged };

  explicit dead_memory(const std::string& path) : path_(path) { open(); }
  dead_memory(const dead_memory&) = delete;
  dead_memory& operator=(const dead_memory&) = delete;
  ~dead_memory() {
    for (const std::uint64_t* const each : joined_) delete[] each;
    if (content_ != nullptr) ::munmap(content_, bytes_);
    if (file_ >= 0) ::close(file_);
  }

  state readable() const noexcept { return state_; }
  /// The reason why it is not readable, such as "is too short".
  const char* problem() const noexcept { return problem_; }
  const std::string& path() const noexcept { return path_; }
  const core::kept_header& header() const noexcept { return header_; }

  /// Maximum number of elements that the file holds from `remote` on.
  template <class T>
  std::uint64_t room(const T* remote) const noexcept {
    const std::uint64_t from = address(remote);
    std::uint64_t end = from;
    for (std::size_t i = extent_of(from); i < extents_.size() && extents_[i].address <= end; ++i)
      end = extents_[i].address + extents_[i].bytes;
    return (end - from) / sizeof(T);
  }

  /// Translates an address to this process. Returns null if some of the memory is missing or `remote` is misaligned.
  template <class T>
  const T* find(const T* remote, std::uint64_t count) const {
    if (address(remote) % alignof(T) != 0 || count > bytes_ / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(find_bytes(address(remote), count * sizeof(T)));
  }
  template <class T>
  const T* find_at(std::uint64_t remote, std::uint64_t count = 1) const {
    return find(reinterpret_cast<const T*>(static_cast<std::uintptr_t>(remote)), count);
  }

  /// A string; empty if it is missing or unterminated.
  const char* text(const char* remote) const {
    const std::size_t i = extent_of(address(remote));
    if (i == extents_.size()) return "";
    const std::uint64_t into = address(remote) - extents_[i].address;
    const char* const here = content_ + extents_[i].offset + into;
    return std::memchr(here, '\0', extents_[i].bytes - into) != nullptr ? here : "";
  }

 private:
  template <class T>
  static std::uint64_t address(const T* remote) noexcept {
    return reinterpret_cast<std::uintptr_t>(remote);
  }

  void open() {
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat facts {};
    if (file_ < 0 && errno == ENOENT) return fail(state::gone, "does not exist any more");
    if (file_ < 0 || ::fstat(file_, &facts) != 0) return fail(state::damaged, "cannot be read");
    if (!S_ISREG(facts.st_mode)) return fail(state::damaged, "is not a regular file");
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) return fail(state::alive, "belongs to a running process");
    if (::fstat(file_, &facts) != 0 || facts.st_nlink == 0) return fail(state::gone, "does not exist any more");
    bytes_ = static_cast<std::uint64_t>(facts.st_size);
    if (bytes_ < sizeof(core::kept_header)) return fail(state::damaged, "is too short");
    // The mapping is private and writable, so that readers can mark records without changing the file.
    void* const all = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_, 0);
    if (all == MAP_FAILED) return fail(state::damaged, "cannot be mapped");
    content_ = static_cast<char*>(all);
    std::memcpy(static_cast<void*>(&header_), content_, sizeof header_);
    header_.host[sizeof header_.host - 1] = header_.program[sizeof header_.program - 1] = '\0';
    if (std::memcmp(header_.magic, core::kept_magic, sizeof header_.magic) != 0)
      return fail(state::damaged, "was not written by whywait");
    read_log();
    state_ = state::readable;
  }

  void fail(state s, const char* problem) noexcept {
    state_ = s;
    problem_ = problem;
  }

  void read_log() {
    const core::kept_log* log = reinterpret_cast<const core::kept_log*>(content_ + offsetof(core::kept_header, log));
    std::uint64_t room = core::kept_header::extents, sum = 0;
    for (std::size_t pieces = 0; log != nullptr && pieces < most_logs; ++pieces) {
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(log->count, room); ++i) {
        const core::kept_extent e = log->list()[i];
        if (e.address == 0 || e.bytes == 0 || e.offset % 4096 != 0 || e.address % 4096 != 0 || e.bytes % 4096 != 0) continue;
        if (e.offset > bytes_ || e.bytes > bytes_ - e.offset || e.address > ~std::uint64_t(0) - e.bytes) continue;
        if ((sum += e.bytes) > bytes_) break;  // the same pages are listed twice
        extents_.push_back(e);
      }
      const std::uint64_t next = log->next;
      room = (log_bytes - sizeof(core::kept_log)) / sizeof(core::kept_extent);
      log = next != 0 && next % 4096 == 0 && next < bytes_ && log_bytes <= bytes_ - next
                ? reinterpret_cast<const core::kept_log*>(content_ + next)
                : nullptr;
    }
    base::small_stable_sort(extents_, [](const auto& a, const auto& b) { return a.address < b.address; });
    std::size_t good = 0;
    for (const core::kept_extent& e : extents_)
      if (good == 0 || extents_[good - 1].address + extents_[good - 1].bytes <= e.address) extents_[good++] = e;
    extents_.resize(good);
  }

  // Index of the extent that contains `address`; extents_.size() if there is none.
  std::size_t extent_of(std::uint64_t address) const noexcept {
    const auto after = std::upper_bound(extents_.begin(), extents_.end(), address,
                                        [](std::uint64_t a, const core::kept_extent& e) { return a < e.address; });
    if (after == extents_.begin()) return extents_.size();
    const std::size_t i = static_cast<std::size_t>(after - extents_.begin()) - 1;
    return address - extents_[i].address < extents_[i].bytes ? i : extents_.size();
  }

  const char* find_bytes(std::uint64_t from, std::uint64_t bytes) const {
    const std::size_t i = extent_of(from);
    if (i == extents_.size() || bytes > room(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(from)))) return nullptr;
    const std::uint64_t into = from - extents_[i].address;
    if (bytes <= extents_[i].bytes - into) return content_ + extents_[i].offset + into;
    joined_.push_back(nullptr);
    joined_.back() = new std::uint64_t[(bytes + 7) / 8];  // joins parts that are adjacent only in the killed process
    char* const to = reinterpret_cast<char*>(joined_.back());
    for (std::uint64_t done = 0, k = i; done < bytes; ++k) {
      const core::kept_extent& e = extents_[k];
      const std::uint64_t skip = from + done - e.address, part = std::min(bytes - done, e.bytes - skip);
      std::memcpy(to + done, content_ + e.offset + skip, part);
      done += part;
    }
    return to;
  }

  static constexpr std::uint64_t log_bytes = std::uint64_t(1) << 16;
  static constexpr std::size_t most_logs = 1u << 12;
  std::string path_;
  int file_ = -1;
  char* content_ = nullptr;
  std::uint64_t bytes_ = 0;
  core::kept_header header_;
  base::pod_vector<core::kept_extent> extents_;  // sorted by address
  mutable base::pod_vector<std::uint64_t*> joined_;  // owned
  state state_ = state::damaged;
  const char* problem_ = "";
};

}  // namespace postmortem
}  // namespace v0
}  // namespace whywait

#endif
