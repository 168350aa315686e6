#ifndef WHYWAIT_CORE_KEPT_LAYOUT_HPP
#define WHYWAIT_CORE_KEPT_LAYOUT_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/version.hpp>

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace core {

// The layout of a kept_file: a header, pages of the process, and a log with the address of each page in the process,
// like the program headers of a core file. Pointers in the pages are those of the process.

__attribute__((visibility("hidden"))) inline constexpr char kept_magic[8] = {'w', 'h', 'y', 'w', 'a', 'i', 't', '1'};

/// Pages that lay side by side in the process and lie so in the file.
struct kept_extent {
  uint64_t address;  ///< 0: given back; published last
  uint64_t offset;
  uint64_t bytes;
};

/// A piece of the log; the next one lies at `next` of the file (0: none).
struct kept_log {
  uint64_t next;
  void* next_here;  ///< for the process itself
  uint32_t count;   ///< published after the extent
  uint32_t unused;
  kept_extent* list() noexcept { return reinterpret_cast<kept_extent*>(this + 1); }
  const kept_extent* list() const noexcept { return reinterpret_cast<const kept_extent*>(this + 1); }
};

/// Why a process ended, as far as it could record it itself.
enum class kept_end : uint32_t { unknown, abort, exit, signal };

/// The begin of the file.
struct kept_header {
  static constexpr uint32_t extents = 256;

  char magic[8];
  uint32_t pid;
  uint32_t counter;     ///< 1: ticks are those of the cycle counter; 0: nanoseconds of CLOCK_MONOTONIC
  uint64_t started_ns;  ///< CLOCK_REALTIME when the file was made
  stable_key boot;      ///< kernel instance; 0: not known
  uint64_t job;         ///< the same for all processes of a parallel program; 0: none
  int32_t rank;         ///< -1: none
  int32_t ranks;
  kept_end end;
  int32_t signal;
  uint32_t stopped;  ///< errno for which nothing more was kept; 0: all was
  uint32_t unused;
  clock_anchor first;
  clock_anchor last;     ///< as far from `first` as is known
  uint64_t registry;     ///< address; 0: there is none yet
  uint64_t room[4];      ///< addresses of what rooms keep for the process: [0] MPI
  stable_key layout[4];  ///< of registry, location, [2] MPI: a reader of another layout cannot read them; 0: not there
  uint64_t modules;  ///< address of the list of loaded modules; 0: not known
  uint32_t module_count;
  uint32_t unused_too;
  char host[64];
  char program[960];
  kept_log log;
  kept_extent first_extents[extents];
};
static_assert(offsetof(kept_header, first_extents) == offsetof(kept_header, log) + sizeof(kept_log), "list() finds them");

/// Layout of a type in this version of the toolkit.
template <class T>
[[gnu::cold]] inline stable_key layout_of() noexcept {
  constexpr version_number v = version();
  return combine(static_cast<uint64_t>((v.major_part * 1000 + v.minor_part) * 1000 + v.patch_part), sizeof(T));
}

/// Names the running kernel: clock readings of one boot can be compared. 0 if it cannot be known.
[[gnu::cold]] inline stable_key boot_key() noexcept {
  char text[64] = "";
  const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  for (char* c = text; *c != '\0'; ++c)
    if (*c == '\n') *c = '\0';
  return key_of(text);
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
