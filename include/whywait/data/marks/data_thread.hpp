#ifndef WHYWAIT_DATA_MARKS_DATA_THREAD_HPP
#define WHYWAIT_DATA_MARKS_DATA_THREAD_HPP

#include <whywait/core/data_record.hpp>
#include <whywait/core/event_buffer.hpp>
#include <whywait/data/marks/data_state.hpp>
#include <whywait/data/marks/gathering.hpp>
#include <whywait/data/marks/sweep.hpp>
#include <whywait/data/marks/tiles.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/slow_path.hpp>

#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// The data records of one thread, in record::location::extension[1]. Single accesses set bits in tiles. When the
/// program or a message creates a record, the set bits become records first. Adjacent bytes, and equal pieces at a
/// constant stride, share one record. Per block, the touched bytes between two such flushes are exact. Within a flush,
/// the order is reads, updates, writes, then block, then address. Only the owning thread writes.
class data_thread {
 public:
  core::event_buffer<core::data_record> records;
  uint64_t taken = 0;  ///< the first record that the reader has not taken

  // Leaves the tables uninitialised, because they are large and their memory is already zero.
  data_thread() noexcept {}
  bool open(data_state& process, record::location& where) noexcept {
    process_ = &process;
    where_ = &where;
    if (!records.open(process.memory) || !tiles_.open(process.objects, process.memory)) return false;
    watcher_.top = &changed;
    process.objects.watch(watcher_);
    return true;
  }
  /// Releases the records before number `until`; called by the reader. `still` means that these are all records and
  /// that the thread does not record meanwhile.
  void forget(uint64_t until, bool still) noexcept {
    if (still) records.rewind();
    else records.drain([](const core::data_record*, uint64_t) noexcept {}, until);
    taken = still ? 0 : until;
  }
  data_state& process() const noexcept { return *process_; }
  record::location& where() const noexcept { return *where_; }

  /// Records one access to a T. Returns false if the caller must take the slow path.
  template <class T>
  __attribute__((always_inline)) bool touch_known(access how, const T* pointer) noexcept {
    constexpr uint32_t bytes = sizeof(T);
    constexpr bool in_a_byte = bytes <= 8 && (bytes & (bytes - 1)) == 0 && alignof(T) == bytes;
    constexpr bool of_bytes = bytes > 8 && bytes <= 64 && bytes % 8 == 0 && alignof(T) % 8 == 0;
    if constexpr (in_a_byte || of_bytes) {
      const uint64_t address = reinterpret_cast<uintptr_t>(pointer);
      record::path_frame* const* const top = __atomic_load_n(&watcher_.top, __ATOMIC_RELAXED);
      const uint64_t key = tile_table::key_of(address, (*top)->region);
      const uint64_t place = tile_table::place_of(key);
      if (__builtin_expect(!tiles_.shows(how, place, key), 0)) return false;
      if (!in_a_byte && __builtin_expect(address % tile::bytes > tile::bytes - bytes, 0)) return false;
      tiles_.mark<bytes>(how, place, address);
      return true;
    }
    return false;
  }
  /// Slow path for any number of bytes.
  void touch(access how, const void* pointer, uint64_t bytes) noexcept {
    record::path_frame* const* const top = &where_->path.head().top;
    if (__atomic_load_n(&watcher_.top, __ATOMIC_RELAXED) != top) {
      __atomic_store_n(&watcher_.top, top, __ATOMIC_RELAXED);
      __atomic_thread_fence(__ATOMIC_SEQ_CST);  // pairs with data_objects::publish
    }
    const record::path_entry* const by = where_->path.innermost_entry();
    const unsigned rank = how == access::read ? 0 : how == access::update ? 1 : 2;
    const uint32_t order = rank << 16 | where_->path.innermost();
    for (uint64_t address = reinterpret_cast<uintptr_t>(pointer); bytes != 0;) {
      const uint64_t room = tile::bytes - address % tile::bytes, here = bytes < room ? bytes : room;
      const uint64_t key = tile_table::key_of(address, by);
      const uint64_t place = tile_table::place_of(key);
      bool shown = (tiles_.shows(how, place, key) && tiles_.up_to_date()) || tiles_.enter(how, address, by, order);
      if (!shown) {
        flush();
        tiles_.drop();
        shown = tiles_.enter(how, address, by, order);
      }
      if (shown) tiles_.mark_some(how, place, address, here);
      address += here;
      bytes -= here;
    }
  }

  /// Converts all set bits into records. Called before every event that orders threads or moves data.
  void flush() noexcept {
    if (__builtin_expect(!tiles_.empty(), 0)) flush_all();
  }

  /// Appends a record. Its time is `time`, or the time of the previous record if that is later.
  void append(const core::data_record& what, uint64_t time) noexcept {
    flush();
    put(what, time);
  }

  /// Records a synchronisation on the object `name`. `all` means a barrier in which all threads take part equally
  /// often.
  __attribute__((noinline)) void synchronise(const char* name, const char* file, uint32_t line, bool all) noexcept {
    core::data_record r;
    r.op = core::data_op::synchronise;
    r.site = record::detail::number_of(*where_, core::site_kind::step, name, file, line);
    r.object = record::detail::number_of(*where_, core::site_kind::step, name, "", 0);
    if (all) {
      turn* t = turns_;
      while (t != turns_ + most_turns && t->thing != 0 && t->thing != r.object) ++t;
      if (t == turns_ + most_turns) return;  // too many different barriers
      t->thing = r.object;
      r.order = ++t->count;
      r.flags = core::data_flag::everyone;
    }
    append(r, core::cycle_clock::now());
  }
  /// Records a synchronisation on a primitive. `site` is the call, and `how` data_flag::acquires, releases or both. `phase` is that
  /// of a barrier, with data_flag::everyone.
  __attribute__((noinline)) void synchronise(const void* primitive, uint32_t site, unsigned how, uint32_t phase) noexcept {
    core::data_record r;
    r.op = core::data_op::synchronise;
    r.begin = reinterpret_cast<uintptr_t>(primitive);
    r.site = site;
    r.order = phase;
    r.flags = static_cast<uint8_t>(how);
    append(r, core::cycle_clock::now());
  }

 private:
  struct turn {
    uint32_t thing;
    uint32_t count;
  };
  static constexpr unsigned most_turns = 64;

  void put(const core::data_record& what, uint64_t time) noexcept {
    core::data_record* const r = records.claim();
    if (r == nullptr) return;
    if (time > last_time_) last_time_ = time;
    *r = what;
    r->time = last_time_;
    records.publish();
  }

  __attribute__((noinline)) void flush_all() noexcept {
    const uint64_t now = core::cycle_clock::now();
    core::data_record what;
    what.tag = static_cast<int32_t>(where_->node);
    uint32_t current_order = ~uint32_t(0);  // order of the tiles in `what`
    const auto emit = [&](uint64_t begin, uint64_t end, uint64_t stride, uint32_t piece) noexcept {
      what.begin = begin;
      what.end = end;
      what.stride = stride;
      what.piece = piece;
      put(what, now);
    };
    gathering bytes;
    tiles_.take([&](uint32_t order, tile& t) noexcept {
      sweep(t, [&](const tile_part& part, uint64_t begin, uint64_t end) noexcept {
        if (__builtin_expect(order != current_order || part.object != what.object, 0)) {
          bytes.take(emit);
          current_order = order;
          what.op = order >> 16 == 0 ? core::data_op::read : core::data_op::write;
          what.flags = static_cast<uint8_t>((order >> 16 == 1 ? unsigned(core::data_flag::update) : 0u) |
                                            (part.sample != nullptr ? unsigned(core::data_flag::sampled) : 0u));
          what.object = part.object;
          what.site = order & 0xffff;
        }
        bytes.add(begin - part.base, end - part.base, emit);
      });
    });
    bytes.take(emit);
  }

  data_state* process_ = nullptr;
  record::location* where_ = nullptr;
  object_watcher watcher_{};
  uint64_t last_time_ = 0;
  turn turns_[most_turns] = {};
  tile_table tiles_;
};

namespace detail {

__attribute__((noinline, cold)) inline data_thread* open_thread(record::location* at) noexcept {
  data_state* const process = known_state();
  if (process == nullptr || at == nullptr) return nullptr;
  void* const pages = core::map_pages(sizeof(data_thread), false);
  if (pages == nullptr) return nullptr;
  data_thread* const made = new (pages) data_thread();
  if (!made->open(*process, *at)) {
    made->records.release();
    core::unmap_pages(pages, sizeof(data_thread));
    return nullptr;
  }
  __atomic_store_n(&at->extension[thread_slot], static_cast<void*>(made), __ATOMIC_RELEASE);
  return made;
}

// Cached per module and thread. In the child of a fork it still refers to the state of the parent, which the child
// never reads.
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local data_thread* here = nullptr;

__attribute__((noinline)) inline data_thread* find_thread() noexcept {
  record::location* const at = record::this_location();
  if (at == nullptr) return nullptr;
  data_thread* const known = static_cast<data_thread*>(at->extension[thread_slot]);
  return here = known != nullptr ? known : open_thread(at);
}

__attribute__((noinline)) inline void touch_elsewhere(access how, const void* pointer, uint64_t bytes) noexcept {
  data_thread* const known = here != nullptr ? here : find_thread();
  if (known != nullptr) known->touch(how, pointer, bytes);
}

}  // namespace detail

/// The data records of the calling thread; null if recording is off or no array was ever registered. About 1 ns.
__attribute__((always_inline)) inline data_thread* this_thread() noexcept {
  data_thread* const known = detail::here;
  if (__builtin_expect(known != nullptr, 1)) return known;
  return record::detail::here_offset() == 0 ? nullptr : detail::find_thread();
}

/// Records one access to a T. About 1 ns for sizes of 1, 2, 4 or multiples of 8 bytes and 10 ns for others. The first
/// access to a 4 KiB tile after a flush takes 30 ns.
template <class T>
__attribute__((always_inline)) inline void touch(access how, const T* pointer) noexcept {
  data_thread* const known = detail::here;
  if (__builtin_expect(known == nullptr, 0)) {
    if (record::detail::here_offset() == 0) return;
  } else if (__builtin_expect(known->touch_known(how, pointer), 1)) {
    return;
  }
  detail::touch_elsewhere(how, pointer, sizeof(T));
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
