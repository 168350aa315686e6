#ifndef WHYWAIT_FINALIZE_SHARED_RINGS_HPP
#define WHYWAIT_FINALIZE_SHARED_RINGS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/kept_layout.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Packets between ranks of one machine through shared memory: a ring buffer for each sender in an anonymous file of the
/// receiver. A packet takes a third of the time of an MPI message between two ranks that wait for each other in turn. Ranks
/// that cannot open each other's file (another machine, another PID namespace, no /proc, over 64 ranks on the machine) have
/// no ring; then `reaches` is false. Each ring has one writer and one reader. The packets of a ring stay in order.
class shared_rings {
 public:
  using packet = team::packet;
  static constexpr std::uint64_t capacity = std::uint64_t{1} << 15;  ///< bytes of packets in one ring, with their lengths
  static constexpr std::uint64_t largest_packet = capacity / 2;

  /// Collective. `any`: false on all ranks makes none. Throws what team::agree throws.
  shared_rings(const team& all, bool any) {
    const auto n = static_cast<std::size_t>(all.size());
    to_.assign(n, {});
    if (!any || n == 1) return;
    base::pod_vector<card> cards;
    cards.resize(n);
    here_.reserve(most_ranks + 1);
    card own = {core::boot_key(), random_name(all), static_cast<std::int32_t>(getpid()), -1};
    char name[32];
    name_of(own, name, sizeof name);
#if defined(MFD_CLOEXEC)
    own.file = memfd_create(name, MFD_CLOEXEC);
#endif
    const closed_at_end closing{own.file};
    all.agree();
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Iallgather(&own, sizeof own, MPI_BYTE, cards.data(), sizeof own, MPI_BYTE, all.comm(), &request);
    complete(request);
    for (std::size_t i = 0; i != n; ++i)
      if (cards[i].machine == own.machine && here_.size() <= most_ranks) here_.push_back(static_cast<std::int32_t>(i));
    if (own.machine != 0 && own.file >= 0 && here_.size() > 1 && here_.size() <= most_ranks) inbox_ = map(own.file);
    all.agree();  // now all files have their size
    for (std::uint32_t i = 0; inbox_ != nullptr && i != here_.size(); ++i)
      if (here_[i] != all.rank())
        to_[static_cast<std::size_t>(here_[i])].to = open_ring(cards[static_cast<std::size_t>(here_[i])], all);
      else own_ = i;
    all.agree();  // no file is needed any more
  }
  shared_rings(const shared_rings&) = delete;
  shared_rings& operator=(const shared_rings&) = delete;
  ~shared_rings() {
    for (const writer& w : to_)
      if (w.to != nullptr) munmap(w.to, sizeof(ring));
    if (inbox_ != nullptr) munmap(inbox_, here_.size() * sizeof(ring));
  }

  /// Whether this rank has a ring to rank `to`.
  bool reaches(std::int32_t to) const noexcept { return to_[static_cast<std::size_t>(to)].to != nullptr; }
  /// Whether packets may come from here.
  explicit operator bool() const noexcept { return inbox_ != nullptr; }
  /// Whether all other ranks have a ring to this one.
  bool reaches_all() const noexcept { return inbox_ != nullptr && here_.size() == to_.size(); }

  /// Appends a packet of at most `largest_packet` bytes. Returns false if the ring is full.
  bool write(std::int32_t to, const unsigned char* data, std::size_t size) noexcept { return put(to, data, size, size); }
  /// Whether there is room for a notice. Only `write` and `write_notice` take room.
  bool has_room(std::int32_t to) noexcept { return has_room(to_[static_cast<std::size_t>(to)], sizeof notice); }
  /// Appends the notice that the next packet comes as an MPI message, where there is room.
  void write_notice(std::int32_t to) noexcept { put(to, nullptr, 0, notice); }

  /// Calls take(rank, data, size) for each packet that has arrived, and receive(rank, in) for each notice, which fetches the
  /// packet. One that wraps around the end of its ring is copied to `in`. Returns whether there were any. What `receive` or
  /// `take` throws propagates. A packet that could not be fetched then stays, for `drop`.
  template <class Take, class Receive>
  bool read(packet& in, Take&& take, Receive&& receive) {
    bool any = false;
    for (std::size_t i = 0; inbox_ != nullptr && i != here_.size(); ++i) {
      if (i == own_) continue;
      ring& r = inbox_[i];
      std::uint64_t at = r.read;
      while (at != __atomic_load_n(&r.written, __ATOMIC_ACQUIRE)) {
        any = true;
        std::uint64_t size = 0;
        std::memcpy(&size, r.bytes + (at & (capacity - 1)), sizeof size);
        at += sizeof size;
        if (size == notice) {
          receive(here_[i], in);
          __atomic_store_n(&r.read, at, __ATOMIC_RELEASE);
          take(here_[i], in.data(), in.size());
          continue;
        }
        const std::uint64_t from = at & (capacity - 1), first = std::min(size, capacity - from);
        const unsigned char* data = r.bytes + from;
        if (first != size) {
          in.resize(static_cast<std::size_t>(size));
          std::memcpy(in.data(), data, static_cast<std::size_t>(first));
          std::memcpy(in.data() + first, r.bytes, static_cast<std::size_t>(size - first));
          data = in.data();
        }
        take(here_[i], data, static_cast<std::size_t>(size));
        at += whole_words(size);
        __atomic_store_n(&r.read, at, __ATOMIC_RELEASE);
      }
    }
    return any;
  }
  /// Drops all packets, after a failure and when no rank writes any more. Calls notified(rank) for each notice.
  template <class Notified>
  void drop(Notified&& notified) noexcept {
    for (std::size_t i = 0; inbox_ != nullptr && i != here_.size(); ++i) {
      ring& r = inbox_[i];
      for (std::uint64_t at = r.read; at != __atomic_load_n(&r.written, __ATOMIC_ACQUIRE);) {
        std::uint64_t size = 0;
        std::memcpy(&size, r.bytes + (at & (capacity - 1)), sizeof size);
        at += sizeof size + (size != notice ? whole_words(size) : 0);
        __atomic_store_n(&r.read, at, __ATOMIC_RELEASE);
        if (size == notice) notified(here_[i]);
      }
    }
  }

 private:
  static constexpr std::size_t most_ranks = 64;
  static constexpr std::uint64_t notice = ~std::uint64_t{0};

  // Zeroed memory is an empty ring. The counters never wrap; writer and reader have cache lines of their own.
  struct ring {
    alignas(64) std::uint64_t written;
    alignas(64) std::uint64_t read;
    alignas(4096) unsigned char bytes[capacity];
  };
  // The writing end of a ring. A reader that polls takes the shared counters out of the writer's cache, which therefore has its
  // own copies.
  struct writer {
    ring* to = nullptr;
    std::uint64_t written = 0;
    std::uint64_t seen = 0;  ///< how much was read at the last look
  };
  // What a rank needs of another to open its file.
  struct card {
    std::uint64_t machine, random;
    std::int32_t process, file;
  };
  struct closed_at_end {
    int file;
    ~closed_at_end() {
      if (file >= 0) close(file);
    }
  };

  static std::uint64_t whole_words(std::uint64_t size) noexcept { return (size + 7) & ~std::uint64_t{7}; }

  static bool has_room(writer& w, std::uint64_t bytes) noexcept {
    if (w.written + bytes - w.seen <= capacity) return true;
    w.seen = __atomic_load_n(&w.to->read, __ATOMIC_ACQUIRE);
    return w.written + bytes - w.seen <= capacity;
  }
  bool put(std::int32_t to, const unsigned char* data, std::size_t size, std::uint64_t head) noexcept {
    writer& w = to_[static_cast<std::size_t>(to)];
    const std::uint64_t bytes = sizeof head + whole_words(size);
    if (!has_room(w, bytes)) return false;
    ring& r = *w.to;
    std::uint64_t at = w.written;
    const std::uint64_t end = at + bytes;
    std::memcpy(r.bytes + (at & (capacity - 1)), &head, sizeof head);
    at += sizeof head;
    const std::uint64_t from = at & (capacity - 1), first = std::min<std::uint64_t>(size, capacity - from);
    if (size != 0) {
      std::memcpy(r.bytes + from, data, static_cast<std::size_t>(first));
      std::memcpy(r.bytes, data + first, size - static_cast<std::size_t>(first));
    }
    w.written = end;
    __atomic_store_n(&r.written, end, __ATOMIC_RELEASE);
    return true;
  }

  // Tells the file from that of any other process.
  std::uint64_t random_name(const team& all) const noexcept {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const auto ns = static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
    return core::combine(core::combine(ns, static_cast<std::uint64_t>(getpid())),
                         reinterpret_cast<std::uintptr_t>(this) + static_cast<std::uint64_t>(all.rank()));
  }
  static void name_of(const card& c, char* name, std::size_t size) noexcept {
    snprintf(name, size, "whywait-%016llx", static_cast<unsigned long long>(c.random));
  }

  // All pages of the file exist afterwards, so that none can be missing later. Beyond RLIMIT_FSIZE the kernel would send
  // SIGXFSZ.
  ring* map(int file) const noexcept {
    const std::size_t bytes = here_.size() * sizeof(ring);
    rlimit most = {};
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < bytes) return nullptr;
    if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) return nullptr;
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return pages != MAP_FAILED ? static_cast<ring*>(pages) : nullptr;
  }
  // The ring of this rank in the file of another one; null if that is another file or not accessible.
  ring* open_ring(const card& other, const team& all) const noexcept {
    char path[64], name[32], expected[64], found[64] = {};
    name_of(other, name, sizeof name);
    snprintf(expected, sizeof expected, "/memfd:%s", name);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(other.process), static_cast<int>(other.file));
    if (other.file < 0 || readlink(path, found, sizeof found - 1) < 0) return nullptr;
    if (std::strncmp(found, expected, std::strlen(expected)) != 0) return nullptr;
    const closed_at_end file{open(path, O_RDWR | O_CLOEXEC)};
    struct stat facts = {};
    if (file.file < 0 || fstat(file.file, &facts) != 0 || facts.st_size != static_cast<off_t>(here_.size() * sizeof(ring)))
      return nullptr;
    const auto own = static_cast<off_t>(std::find(here_.begin(), here_.end(), all.rank()) - here_.begin());
    void* const pages =
        mmap(nullptr, sizeof(ring), PROT_READ | PROT_WRITE, MAP_SHARED, file.file, own * static_cast<off_t>(sizeof(ring)));
    return pages != MAP_FAILED ? static_cast<ring*>(pages) : nullptr;
  }

  base::pod_vector<writer> to_;  ///< by rank; null: no ring
  base::pod_vector<std::int32_t> here_;  ///< ranks of this machine in order; each has a ring in `inbox_`, this one included
  std::size_t own_ = 0;  ///< the place of this rank in `here_`
  ring* inbox_ = nullptr;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
