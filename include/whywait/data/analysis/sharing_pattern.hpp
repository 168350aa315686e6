#ifndef WHYWAIT_DATA_ANALYSIS_SHARING_PATTERN_HPP
#define WHYWAIT_DATA_ANALYSIS_SHARING_PATTERN_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// How threads use a piece of shared memory: the table of definitions 2.4 (after Munin; Weber and Gupta), first match.
enum class sharing_pattern : std::uint8_t {
  untouched,
  private_data,
  read_only,
  false_sharing,
  reduction,
  migratory,
  producer_consumer,
  producer_consumers,
  synchronisation,
  write_shared,
  read_mostly,
  mixed
};

inline const char* name_of(sharing_pattern p) noexcept {
  static const char* const names[] = {"untouched",
                                      "private",
                                      "read-only",
                                      "false sharing",
                                      "reduction",
                                      "migratory",
                                      "producer-consumer 1:1",
                                      "producer-consumer 1:n",
                                      "synchronisation",
                                      "write-shared",
                                      "read-mostly",
                                      "mixed"};
  return names[static_cast<unsigned>(p)];
}

inline const char* advice_for(sharing_pattern p) noexcept {
  static const char* const texts[] = {"",
                                      "make it thread-local",
                                      "replicate it",
                                      "pad and align what different threads write",
                                      "give each thread a partial result",
                                      "pass ownership with the lock, keep it with its data",
                                      "push it, or use two buffers",
                                      "push it, or use two buffers",
                                      "back off, or spread it over several",
                                      "order the writers: overlapping writes without synchronisation between them",
                                      "use read-copy-update or a sequence lock",
                                      ""};
  return texts[static_cast<unsigned>(p)];
}

/// One access to a granule. `bytes` has a bit for each 64th of the granule that it touches. At most 64 threads are
/// distinguished.
struct granule_access {
  std::uint32_t thread = 0;
  std::uint32_t epoch = 0;
  std::uint64_t bytes = 0;
  bool reads = false, writes = false;
  bool update = false;  ///< a read-modify-write that commutes
  bool atomic = false;
};

/// The history of one granule by epochs. Epochs that all threads have left are folded into a summary of constant size.
/// At most `most_open` epochs are open: then the oldest is folded, though a thread that lags behind might still be in
/// it. An access costs a few comparisons.
class sharing_history {
 public:
  static constexpr std::size_t most_open = 64;

  void add(const granule_access& a) {
    epoch& e = open(a.epoch);
    user* u = nullptr;
    for (user& known : e.users) {
      if (known.thread == a.thread) u = &known;
    }
    if (u == nullptr) {
      e.users.push_back({a.thread, 0, 0, false, false});
      u = &e.users.back();
    }
    const bool plain_read = a.reads && !a.update;
    if (plain_read && u->written == 0) u->read_first = true;
    if (a.reads || a.update) u->read |= a.bytes;
    if (a.writes || a.update) u->written |= a.bytes;
    if (a.writes && !a.update) u->plain_write = true;
    if (plain_read && !a.atomic) plain_readers_ |= bit(a.thread);
    if (!a.atomic) atomic_only_ = false;
    if (a.update) updaters_ |= bit(a.thread);
    if (a.writes && !a.update) plain_writes_ = true;
  }

  /// Folds the epochs before `least`.
  void close(std::uint32_t least) {
    while (!epochs_.empty()) {
      const std::size_t next = oldest();
      if (epochs_[next].number >= least) return;
      fold(epochs_[next]);
      epochs_[next] = std::move(epochs_.back());
      epochs_.pop_back();
    }
  }

  /// The pattern, after all epochs are closed.
  sharing_pattern pattern() const noexcept {
    if (threads_ == 0) return sharing_pattern::untouched;
    if (single(threads_)) return sharing_pattern::private_data;
    if (!written_later_) return sharing_pattern::read_only;
    if (contended_ != 0 && apart_ * 10 >= contended_ * 9) return sharing_pattern::false_sharing;
    if (updaters_ != 0 && !single(updaters_) && !plain_writes_ && single(plain_readers_)) return sharing_pattern::reduction;
    if (!single(writers_) && several_ * 10 <= count_ && handed_on_ != 0 && read_write_ * 10 >= write_epochs_ * 9) {
      return sharing_pattern::migratory;
    }
    if (single(writers_) && (consumers_ & ~writers_) != 0 && contended_ == 0) {
      return single(consumers_ & ~writers_) ? sharing_pattern::producer_consumer : sharing_pattern::producer_consumers;
    }
    if (atomic_only_) return sharing_pattern::synchronisation;
    if (overlapping_ != 0) return sharing_pattern::write_shared;
    if (write_epochs_ * 20 < count_) return sharing_pattern::read_mostly;
    return sharing_pattern::mixed;
  }

  std::uint64_t threads() const noexcept { return threads_; }
  std::uint64_t writers() const noexcept { return writers_; }
  std::size_t open_epochs() const noexcept { return epochs_.size(); }

 private:
  struct user {
    std::uint32_t thread;
    std::uint64_t read, written;
    bool read_first, plain_write;
  };
  struct epoch {
    std::uint32_t number = 0;
    base::pod_vector<user> users;
  };

  static std::uint64_t bit(std::uint32_t thread) noexcept { return std::uint64_t{1} << (thread < 63 ? thread : 63); }
  static bool single(std::uint64_t set) noexcept { return set != 0 && (set & (set - 1)) == 0; }

  epoch& open(std::uint32_t number) {
    for (epoch& e : epochs_) {
      if (e.number == number) return e;
    }
    if (epochs_.size() == most_open) close(epochs_[oldest()].number + 1);
    epochs_.push_back({number, {}});
    return epochs_.back();
  }
  std::size_t oldest() const noexcept {
    std::size_t found = 0;
    for (std::size_t i = 1; i < epochs_.size(); ++i) {
      if (epochs_[i].number < epochs_[found].number) found = i;
    }
    return found;
  }

  void fold(const epoch& e) noexcept {
    std::uint64_t writers = 0;
    bool disjoint = true, overlapping = false;
    for (const user& u : e.users) {
      threads_ |= bit(u.thread);
      if (u.written != 0) writers |= bit(u.thread);
      for (const user& o : e.users) {
        if (&o == &u || u.written == 0) continue;
        disjoint = disjoint && (u.written & (o.written | o.read)) == 0;
        overlapping = overlapping || ((u.written & o.written) != 0 && (u.plain_write || o.plain_write));
      }
    }
    const bool first = count_++ == 0;
    if (e.users.size() > 1) ++several_;
    if (e.users.size() > 1 && writers != 0) {
      ++contended_;
      if (disjoint) ++apart_;
    }
    if (overlapping) ++overlapping_;
    for (const user& u : e.users) {
      if (u.read != 0 && (writers_ & ~bit(u.thread)) != 0) consumers_ |= bit(u.thread);
    }
    if (writers == 0) return;
    ++write_epochs_;
    if (!first) written_later_ = true;
    if (e.users.size() == 1 && e.users[0].read_first) ++read_write_;
    if (last_writers_ != 0 && last_writers_ != writers) ++handed_on_;
    last_writers_ = writers;
    writers_ |= writers;
  }

  base::vector<epoch> epochs_;
  std::uint64_t threads_ = 0, writers_ = 0, consumers_ = 0, last_writers_ = 0, plain_readers_ = 0, updaters_ = 0;
  std::uint64_t count_ = 0, several_ = 0, contended_ = 0, apart_ = 0, overlapping_ = 0, write_epochs_ = 0, read_write_ = 0,
                handed_on_ = 0;
  bool written_later_ = false, atomic_only_ = true, plain_writes_ = false;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
