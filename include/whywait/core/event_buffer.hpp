#ifndef WHYWAIT_CORE_EVENT_BUFFER_HPP
#define WHYWAIT_CORE_EVENT_BUFFER_HPP

#include <whywait/core/chunked_view.hpp>
#include <whywait/core/event_policy.hpp>
#include <whywait/core/kept_file.hpp>
#include <whywait/core/pages.hpp>

#include <sched.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

namespace detail {
// What does not depend on the type of the events, once per chunk.

// Memory for a chunk, in the file of `budget` if it has one; null if the budget or the system has none left.
__attribute__((noinline)) inline void* take_chunk(memory_budget& budget, page_supply& supply, size_t bytes) noexcept {
  if (!budget.take(bytes)) return nullptr;
  kept_file* const keeper = budget.keeper();
  const bool kept = keeper != nullptr && keeper->is_open();
  void* const pages = kept ? map_pages(bytes, false) : supply.take(bytes, budget.left() >= page_supply::slab_bytes);
  if (pages == nullptr) budget.give_back(bytes);
  else if (kept) keeper->keep(pages, bytes);
  return pages;
}
// The table of chunks is kept as well, page by page, because readers start there.
__attribute__((noinline)) inline void keep_table(memory_budget& budget, void* table, size_t used, size_t& kept,
                                                 size_t reserved) noexcept {
  if (budget.keeper() != nullptr) budget.keeper()->keep_up_to(table, used, kept, 4096, reserved);
}
}  // namespace detail

/// Events of one thread in chunks, written without lock, allocation or system call in the common case (about
/// 1 ns: claim, fill, publish). One thread writes; any number may read undrained events by index (`view`), or
/// one thread drains, and its empty chunks are reused. `Policy` selects what happens when
/// memory is short: fold<Folder>, drop_newest, overwrite_oldest, block; all losses are counted.
/// Event: trivial. Nothing throws.
template <class Event, class Policy = drop_newest, uint32_t ChunkBytes = (1u << 16), class Atomics = machine_atomics>
class event_buffer {
 public:
  static constexpr uint32_t chunk_bytes = ChunkBytes;
  static constexpr unsigned shift = [] {
    unsigned s = 0;
    while ((uint64_t(sizeof(Event)) << (s + 1)) <= chunk_bytes) ++s;
    return s;
  }();
  static constexpr uint64_t chunk_events = uint64_t(1) << shift;
  static constexpr uint64_t max_chunks = uint64_t(1) << 18;  ///< at one time: 16 GiB with chunks of 64 KiB
  static_assert(sizeof(Event) <= chunk_bytes && chunk_bytes >= sizeof(void*), "a chunk holds an event and a link");
  using folder = typename Policy::folder;

  /// Reserves 2 MB of address space, touched as it fills; false if there is none (then all is dropped).
  /// `budget` must outlive the buffer.
  bool open(memory_budget& budget, folder fold_with = folder()) noexcept {
    budget_ = &budget;
    folder_ = fold_with;
    chunks_ = static_cast<Event**>(map_pages(sizeof(Event*) * max_chunks, false));
    return chunks_ != nullptr;
  }

  bool is_open() const noexcept { return chunks_ != nullptr; }

  /// Gives all memory back. No other thread may use the buffer any more.
  void release() noexcept {
    if (chunks_ == nullptr) return;
    for (Event* chunk = take_recycled(); chunk != nullptr; chunk = take_recycled()) free_chunk(chunk);
    if (Policy::action == when_full::fold) {
      if (end_ != nullptr) free_chunk(end_ - chunk_events);
    } else {
      const uint64_t used = chunks_in_use();
      for (uint64_t i = first_ >> 1 >> shift; i < used; ++i) free_chunk(chunk_at(i));
    }
    if (kept_table_ != 0) budget_->keeper()->forget(chunks_);
    unmap_pages(chunks_, sizeof(Event*) * max_chunks);
    supply_.release();
    *this = event_buffer();
  }

  /// Writer: the place of the next event, to be filled and published; null if it is lost (counted).
  Event* claim() noexcept { return __builtin_expect(cursor_ != end_, 1) ? cursor_ : claim_in_next_chunk(); }

  /// Writer: the same if it takes no system call, else null: then `claim` will pause or drop.
  Event* claim_at_once() noexcept { return __builtin_expect(cursor_ != end_, 1) ? cursor_ : nullptr; }

  /// Writer: makes the claimed event visible to readers.
  void publish() noexcept {
    ++cursor_;
    __builtin_prefetch(cursor_ + 512 / sizeof(Event) + 1, 1);
    Atomics::store(&size_, size_ + 1);
  }

  /// Writer: claim, copy and publish in one; false if the event is lost.
  bool push(const Event& event) noexcept {
    Event* const place = claim();
    if (place == nullptr) return false;
    *place = event;
    publish();
    return true;
  }

  /// Writer, policy `fold` only: folds what is left of the last chunk.
  void fold_rest() noexcept {
    static_assert(Policy::action == when_full::fold, "only folding buffers fold");
    if (end_ == nullptr) return;
    fold_chunk(static_cast<uint64_t>(cursor_ - (end_ - chunk_events)));
  }
  folder& folded_into() noexcept { return folder_; }

  /// Number of events published so far; also the index of the next one.
  uint64_t size() const noexcept { return Atomics::load(&size_); }
  uint64_t dropped() const noexcept { return __atomic_load_n(&dropped_, __ATOMIC_RELAXED); }

  /// Event by index; only what is neither drained, overwritten nor folded.
  Event& operator[](uint64_t index) noexcept { return chunk_at(index >> shift)[index & (chunk_events - 1)]; }
  /// All events by index; for buffers that are never drained.
  chunked_view<const Event> view() const noexcept {
    static_assert(Policy::action == when_full::drop, "other policies write chunks again");
    return {const_cast<const Event* const*>(chunks_), shift, size()};
  }

  /// For a copy of the buffer of a process that is gone: reads its events where `memory` has them from now on.
  /// `table`: room for pointers, which the caller keeps; resized. Returns how many events cannot be found there;
  /// `torn`: whether one more had been begun.
  template <class Memory, class Table>
  uint64_t adopt(const Memory& memory, Table& table, bool& torn) {
    static_assert(Policy::action == when_full::drop, "other policies write chunks again");
    const uint64_t published = size_;
    const Event* const* const there = memory.find(const_cast<const Event* const*>(chunks_), 1);
    const uint64_t known = there != nullptr ? memory.room(const_cast<const Event* const*>(chunks_)) : 0;
    uint64_t found = 0;
    torn = false;
    for (uint64_t number = 0; number < known && number < max_chunks && found <= published; ++number) {
      Event* const* const remote = memory.find(chunks_ + number, 1);
      Event* const chunk = remote != nullptr ? const_cast<Event*>(memory.find(*remote, chunk_events)) : nullptr;
      if (chunk == nullptr) break;
      table.push_back(chunk);
      const uint64_t here = published - found < chunk_events ? published - found : chunk_events;
      for (uint64_t i = here; i < chunk_events && i == here; ++i)
        for (size_t b = 0; b < sizeof(Event); ++b) torn = torn || reinterpret_cast<const char*>(chunk + i)[b] != 0;
      found += here;
      if (here < chunk_events) break;
    }
    size_ = found;
    chunks_ = table.data();
    return published - found;
  }

  /// Reader (one thread at a time): calls sink(const Event* first, uint64_t count) for everything published,
  /// oldest first, in runs of at most a chunk, and lets the writer use the chunks again. Returns how many.
  /// Never waits for the writer. `until`: the first event by index that stays.
  template <class Sink>
  uint64_t drain(Sink&& sink, uint64_t until = ~uint64_t(0)) {
    static_assert(Policy::action != when_full::fold, "folding buffers have no reader");
    const uint64_t before = drained_;
    for (;;) {
      uint64_t first = Atomics::load(&first_);
      const uint64_t begin = first >> 1;
      const uint64_t size = Atomics::load(&size_);
      const uint64_t published = size < until ? size : until;
      if (begin >= published) return drained_ - before;
      const uint64_t chunk = begin >> shift;
      const uint64_t chunk_end = (chunk + 1) << shift;
      const bool whole = published >= chunk_end;
      const uint64_t end = whole ? chunk_end : published;
      // A full chunk is taken out, so the writer may overwrite the next meanwhile; the one that is being
      // written can only be marked: the writer goes on in it but must not overwrite it.
      if (!Atomics::exchange_if(&first_, first, whole ? end << 1 : first | 1)) continue;
      Event* const events = chunk_at(chunk);
      sink(static_cast<const Event*>(events + (begin & (chunk_events - 1))), end - begin);
      __atomic_store_n(&drained_, drained_ + (end - begin), __ATOMIC_RELAXED);
      if (whole) {
        recycle(events);
      } else {
        Atomics::store(&first_, end << 1);
      }
    }
  }

  /// Drops all events and restarts in the same chunks at index 0. No thread may write, read or drain meanwhile. Keeps no
  /// more chunks than these events needed, so that buffers of one budget do not take it from each other for good.
  void rewind() noexcept {
    static_assert(Policy::action == when_full::drop, "other policies write chunks again");
    if (chunks_ == nullptr) return;
    for (Event* chunk = take_recycled(); chunk != nullptr; chunk = take_recycled()) {
      free_chunk(chunk);
      --owned_;
    }
    for (uint64_t i = chunks_in_use(); i-- > first_ >> 1 >> shift;) {
      Event* const chunk = chunk_at(i);
      if (budget_->keeper() != nullptr && budget_->keeper()->is_open())  // its reader takes zero for unwritten
        __builtin_memset(static_cast<void*>(chunk), 0, chunk_bytes);
      recycle(chunk);
    }
    cursor_ = end_ = nullptr;
    __atomic_store_n(&dropped_, uint64_t(0), __ATOMIC_RELAXED);
    gap_ = false;
    first_ = drained_ = 0;
    Atomics::store(&size_, uint64_t(0));
  }

  /// Policy `block`: there is no reader any more, so that the writer drops instead of waiting. Any thread.
  void reader_left() noexcept { Atomics::store(&no_reader_, true); }

  /// What became of the events; exact while no thread writes or drains.
  event_counts counts() const noexcept {
    const uint64_t recorded = size();
    event_counts c{recorded + dropped(),
                   0,
                   __atomic_load_n(&folded_, __ATOMIC_RELAXED),
                   __atomic_load_n(&drained_, __ATOMIC_RELAXED),
                   dropped(),
                   __atomic_load_n(&overwritten_, __ATOMIC_RELAXED)};
    c.kept = recorded - c.folded - c.drained - c.overwritten;
    return c;
  }

 private:
  Event*& chunk_at(uint64_t chunk) const noexcept { return chunks_[chunk & (max_chunks - 1)]; }

  // By number; without those that were drained the first are not there any more.
  uint64_t chunks_in_use() const noexcept {
    const bool untouched = end_ != nullptr && cursor_ == end_ - chunk_events;  // claimed, nothing published
    return ((size_ + chunk_events - 1) >> shift) + (untouched ? 1 : 0);
  }

  __attribute__((noinline)) Event* claim_in_next_chunk() noexcept {
    if (Policy::action == when_full::fold && end_ != nullptr) {
      fold_chunk(chunk_events);
      return cursor_;
    }
    Event* const fresh = find_chunk();
    if (fresh == nullptr) {
      __atomic_store_n(&dropped_, dropped_ + 1, __ATOMIC_RELAXED);
      return nullptr;
    }
    note_chunk(size_ >> shift, fresh);
    cursor_ = fresh;
    end_ = fresh + chunk_events;
    return fresh;
  }

  Event* find_chunk() noexcept {
    if (chunks_ == nullptr) return nullptr;
    if (gap_) {
      if (Atomics::load(&first_) != size_ << 1) return nullptr;
      gap_ = false;
    }
    for (;;) {
      if (Event* recycled = take_recycled()) return recycled;
      if (Event* fresh = new_chunk()) return fresh;
      if (Policy::action == when_full::overwrite) return take_oldest();
      if (Policy::action != when_full::wait || owned_ == 0 || Atomics::load(&no_reader_)) {
        gap_ = true;
        return nullptr;
      }
      sched_yield();
    }
  }

  Event* new_chunk() noexcept {
    void* const pages = owned_ != max_chunks ? detail::take_chunk(*budget_, supply_, chunk_bytes) : nullptr;
    if (pages != nullptr) ++owned_;
    return static_cast<Event*>(pages);
  }
  void note_chunk(uint64_t number, Event* chunk) noexcept {
    const uint64_t place = number & (max_chunks - 1);
    detail::keep_table(*budget_, chunks_, (place + 1) * sizeof(Event*), kept_table_, sizeof(Event*) * max_chunks);
    chunks_[place] = chunk;
  }
  void free_chunk(Event* chunk) noexcept {
    if (budget_->keeper() != nullptr) budget_->keeper()->forget(chunk);
    unmap_pages(chunk, chunk_bytes);
    budget_->give_back(chunk_bytes);
  }

  // Null if there is no chunk at all or the reader is in the oldest: then the newest event is dropped.
  Event* take_oldest() noexcept {
    uint64_t first = Atomics::load(&first_);
    while ((first & 1) == 0 && first >> 1 < size_) {
      const uint64_t chunk = first >> 1 >> shift;
      const uint64_t end = (chunk + 1) << shift;
      if (!Atomics::exchange_if(&first_, first, end << 1)) continue;
      __atomic_store_n(&overwritten_, overwritten_ + (end - (first >> 1)), __ATOMIC_RELAXED);
      return chunk_at(chunk);
    }
    return nullptr;
  }

  void fold_chunk(uint64_t count) noexcept {
    Event* const first = end_ - chunk_events;
    if constexpr (Policy::action == when_full::fold) folder_(static_cast<const Event*>(first), count);
    __atomic_store_n(&folded_, folded_ + count, __ATOMIC_RELAXED);
    cursor_ = first;
  }

  // A stack of empty chunks, linked through their first bytes. Only the reader pushes and only the writer
  // pops, so a chunk cannot come back between the two halves of a pop.
  void recycle(Event* chunk) noexcept {
    void* head = Atomics::load(&recycled_);
    do {
      __builtin_memcpy(static_cast<void*>(chunk), &head, sizeof head);
    } while (!Atomics::exchange_if(&recycled_, head, static_cast<void*>(chunk)));
  }
  Event* take_recycled() noexcept {
    void* head = Atomics::load(&recycled_);
    void* next = nullptr;
    do {
      if (head == nullptr) return nullptr;
      __builtin_memcpy(&next, head, sizeof next);
    } while (!Atomics::exchange_if(&recycled_, head, next));
    __builtin_memset(head, 0, sizeof(void*));
    return static_cast<Event*>(head);
  }

  // the writer's
  Event* cursor_ = nullptr;
  Event* end_ = nullptr;
  uint64_t size_ = 0;
  uint64_t dropped_ = 0;
  uint64_t folded_ = 0;
  uint64_t overwritten_ = 0;
  uint64_t owned_ = 0;
  Event** chunks_ = nullptr;
  memory_budget* budget_ = nullptr;
  page_supply supply_;
  size_t kept_table_ = 0;  // bytes of `chunks_` that are kept
  bool gap_ = false;
  folder folder_{};
  // the reader's, in a cache line of their own
  alignas(64) uint64_t first_ = 0;  // 2 * index of the oldest event in the buffer, + 1 while the reader is at it
  uint64_t drained_ = 0;
  void* recycled_ = nullptr;
  bool no_reader_ = false;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
