#ifndef WHYWAIT_CORE_EVENT_BUFFER_HPP
#define WHYWAIT_CORE_EVENT_BUFFER_HPP

#include <whywait/core/chunked_view.hpp>
#include <whywait/core/pages.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// What a full buffer does with the newest event. Each counts what it lost.
struct drop_newest {};       ///< keeps the beginning

/// Events of one thread, written without lock, allocation or system call in the common case; one release
/// store publishes. One writer; any number of readers of what is published.
template <class Event, class Policy = drop_newest>
class event_buffer {
 public:
  static constexpr uint32_t chunk_bytes = 1u << 16;
  static constexpr unsigned shift = [] {
    unsigned s = 0;
    while ((uint64_t(sizeof(Event)) << (s + 1)) <= chunk_bytes) ++s;
    return s;
  }();
  static constexpr uint64_t chunk_events = uint64_t(1) << shift;
  static constexpr uint64_t max_chunks = uint64_t(1) << 20;

  bool open(memory_budget& budget) noexcept {
    budget_ = &budget;
    chunks_ = static_cast<Event**>(map_pages(sizeof(Event*) * max_chunks, false));
    return chunks_ != nullptr;
  }

  /// The place of the next event, to be filled and published; null if it is lost (counted).
  Event* claim() noexcept {
    return __builtin_expect(cursor_ != end_, 1) ? cursor_ : claim_in_next_chunk();
  }
  void publish() noexcept {
    ++cursor_;
    __atomic_store_n(&size_, size_ + 1, __ATOMIC_RELEASE);
  }
  uint64_t size() const noexcept { return __atomic_load_n(&size_, __ATOMIC_ACQUIRE); }
  uint64_t dropped() const noexcept { return __atomic_load_n(&dropped_, __ATOMIC_RELAXED); }
  Event& operator[](uint64_t index) noexcept { return chunks_[index >> shift][index & (chunk_events - 1)]; }
  chunked_view<const Event> view() const noexcept { return {const_cast<const Event* const*>(chunks_), shift, size()}; }

 private:
  __attribute__((noinline)) Event* claim_in_next_chunk() noexcept {
    const uint64_t chunk = size_ >> shift;
    if (chunk < max_chunks && dropped_ == 0 && budget_->take(chunk_bytes)) {
      if (void* pages = map_pages(chunk_bytes, true)) {
        chunks_[chunk] = static_cast<Event*>(pages);
        cursor_ = chunks_[chunk];
        end_ = cursor_ + chunk_events;
        return cursor_;
      }
      budget_->give_back(chunk_bytes);
    }
    __atomic_store_n(&dropped_, dropped_ + 1, __ATOMIC_RELAXED);
    return nullptr;
  }

  Event* cursor_ = nullptr;
  Event* end_ = nullptr;
  uint64_t size_ = 0;
  uint64_t dropped_ = 0;
  Event** chunks_ = nullptr;
  memory_budget* budget_ = nullptr;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
