#ifndef WHYWAIT_CORE_EVENT_POLICY_HPP
#define WHYWAIT_CORE_EVENT_POLICY_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// What an event_buffer does when it is full: no recycled chunk, no budget.
enum class when_full : uint8_t { fold, drop, overwrite, wait };

/// Hands each full chunk to folder(const Event* first, uint64_t count) on the recording thread and writes the
/// same chunk again: constant memory (one chunk), nothing is lost but the order. The folder must not throw.
template <class Folder>
struct fold {
  static constexpr when_full action = when_full::fold;
  using folder = Folder;
};

/// Keeps the beginning: after the first loss nothing is kept until a reader has drained all that was, so a
/// loss is one gap between two drains and what is kept is always a prefix.
struct drop_newest {
  static constexpr when_full action = when_full::drop;
  struct folder {};
};

/// Keeps the end: the oldest chunk without a reader is overwritten.
struct overwrite_oldest {
  static constexpr when_full action = when_full::overwrite;
  struct folder {};
};

/// Loses nothing: the recording thread waits, yielding, until the reader has drained a chunk. Only for
/// programs that have a reader on another thread; `reader_left` turns it into drop_newest.
struct block {
  static constexpr when_full action = when_full::wait;
  struct folder {};
};

/// What became of the events of a buffer. While no thread writes or drains:
/// recorded == kept + folded + drained + dropped + overwritten, exactly.
struct event_counts {
  uint64_t recorded;     ///< claims, successful or not
  uint64_t kept;         ///< still in the buffer
  uint64_t folded;       ///< handed to the folder
  uint64_t drained;      ///< handed to the reader
  uint64_t dropped;      ///< the newest, lost
  uint64_t overwritten;  ///< the oldest, lost
};

/// The atomic operations of an event_buffer: those of the machine. Tests put a scheduler in their place to
/// try every interleaving.
struct machine_atomics {
  template <class T>
  static T load(const T* from) noexcept {
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
  }
  template <class T>
  static void store(T* to, T value) noexcept {
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
  }
  template <class T>
  static bool exchange_if(T* at, T& expected, T value) noexcept {
    return __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
