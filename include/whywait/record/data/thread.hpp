#ifndef WHYWAIT_RECORD_DATA_THREAD_HPP
#define WHYWAIT_RECORD_DATA_THREAD_HPP

#include <whywait/core/data_record.hpp>
#include <whywait/core/event_buffer.hpp>
#include <whywait/record/data/gathering.hpp>
#include <whywait/record/data/state.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/slow_path.hpp>

#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {
namespace data {

/// How a tracked access touches its element.
enum class access : uint8_t { read, write, update };

/// The data records of one thread: record::location::extension[1]. Single accesses are gathered on line: neighbouring
/// ones make a run, runs that follow each other at one distance a record. What was touched is exact to the byte
/// for each block, between two records that the program or a message makes; within that, reads are told before writes
/// and in rising order of address. Written by its thread only.
class data_thread {
 public:
  core::event_buffer<core::data_record> records;
  uint64_t taken = 0;  ///< the reader's: the first record that it has not taken

  bool open(data_state& process, location& where) noexcept {
    process_ = &process;
    where_ = &where;
    return records.open(process.memory);
  }
  /// The reader's: the records before number `until` are over, their memory is used again. `still`: these are all, and
  /// the thread records nothing meanwhile.
  void forget(uint64_t until, bool still) noexcept {
    if (still) records.rewind();
    else records.drain([](const core::data_record*, uint64_t) noexcept {}, until);
    taken = still ? 0 : until;
  }
  data_state& process() const noexcept { return *process_; }
  location& where() const noexcept { return *where_; }

  /// One access to `bytes` bytes. About 3 ns beside others of its run, 65 ns at random places.
  __attribute__((always_inline)) void touch(access how, const void* pointer, uint32_t bytes) noexcept {
    const uint64_t address = reinterpret_cast<uintptr_t>(pointer);
    run& r = runs_[static_cast<unsigned>(how)][set_of(address)][0];
    const uint64_t end = address + bytes;
    if (__builtin_expect(r.takes(address, end, where_->path.innermost_entry()), 1)) {
      if (__builtin_expect(end > r.end, 1)) r.end = end;
      return;
    }
    touch_elsewhere(how, address, bytes);
  }

  /// Makes a record of all that is gathered. Before anything that orders threads or moves data.
  void flush() noexcept {
    if (__builtin_expect(busy_, 0)) flush_all();
  }

  /// A record made elsewhere; its time is `time`, or that of the record before if that is later.
  void append(const core::data_record& what, uint64_t time) noexcept {
    flush();
    put(what, time);
  }

  /// This thread synchronises on the thing of that name. `all`: with all that do so equally often, before they go on.
  __attribute__((noinline)) void synchronise(const char* name, const char* file, uint32_t line, bool all) noexcept {
    core::data_record r;
    r.op = core::data_op::synchronise;
    r.site = record::detail::number_of(*where_, core::site_kind::step, name, file, line);
    r.object = record::detail::number_of(*where_, core::site_kind::step, name, "", 0);
    if (all) {
      turn* t = turns_;
      while (t != turns_ + most_turns && t->thing != 0 && t->thing != r.object) ++t;
      if (t == turns_ + most_turns) return;  // more barriers than anybody has
      t->thing = r.object;
      r.order = ++t->count;
      r.flags = core::data_flag::everyone;
    }
    append(r, core::cycle_clock::now());
  }

 private:
  struct turn {
    uint32_t thing;
    uint32_t count;
  };
  static constexpr unsigned most_turns = 64;

  // Bytes touched one after the other, for one block. Free: begin > every address, so that nothing is in it.
  struct alignas(64) run {
    uint64_t begin = ~uint64_t(0);
    uint64_t end = ~uint64_t(0);
    uint64_t limit = 0;   // it may grow to here
    uint64_t floor = 0;   // and down to here
    uint64_t base = 0;    // where its object was
    const path_recorder::entry* by = nullptr;  // the innermost region
    uint32_t object = 0;  // 0: not recorded, for it is not in the sample
    uint32_t block = 0;   // number of that region

    bool takes(uint64_t from, uint64_t to, const path_recorder::entry* region) const noexcept {
      return from - begin <= end - begin && to <= limit && region == by;
    }
  };
  // What has left the runs, for one array, kind of access and block. `what`: all but the region.
  struct gathered {
    core::data_record what;
    gathering bytes;
  };
  static constexpr unsigned sets = 16, ways = 4, most_gathered = 8;
  static_assert(sets == 1u << 4, "see set_of");

  // Streams through neighbouring rows, of any power of two in length, mostly get sets of their own.
  static unsigned set_of(uint64_t address) noexcept {
    return static_cast<unsigned>(((address >> 9) * 0x9e3779b97f4a7c15u) >> 60);
  }

  // In the first run of its set it is not: in another, or in a new one.
  __attribute__((noinline)) void touch_elsewhere(access how, uint64_t address, uint32_t bytes) noexcept {
    const path_recorder::entry* const by = where_->path.innermost_entry();
    run* const set = runs_[static_cast<unsigned>(how)][set_of(address)];
    unsigned way = 0;
    while (way != ways && !set[way].takes(address, address + bytes, by)) ++way;
    if (way != ways) {
      if (address + bytes > set[way].end) set[way].end = address + bytes;
      const run found = set[way];
      for (; way != 0; --way) set[way] = set[way - 1];
      set[0] = found;
      return;
    }
    if (address + bytes == set[0].begin && set[0].by == by && set[0].object != 0 && address >= set[0].floor) {
      set[0].begin = address;  // downwards
      return;
    }
    evict(how, set[ways - 1]);
    for (way = ways - 1; way != 0; --way) set[way] = set[way - 1];
    begin_run(how, set[0] = run(), address, bytes);
  }

  void begin_run(access how, run& r, uint64_t address, uint32_t bytes) noexcept {
    address_piece around;
    const uint32_t number = process_->objects.find(reinterpret_cast<const void*>(address), around);
    if (number == 0) return;
    busy_ = true;
    r.by = where_->path.innermost_entry();
    r.block = where_->path.innermost();
    r.object = number;
    r.begin = address;
    r.end = address + bytes;
    r.floor = around.begin;
    r.limit = around.end;
    const known_object& o = process_->objects[number];
    r.base = o.begin;
    dirty_[static_cast<unsigned>(how)] |= 1u << set_of(address);
    if (o.sample != nullptr) cut_to_sample(r, o);
    if (r.end <= r.limit) return;
    const uint64_t rest = r.end - r.limit;  // in the next granule, or in no array
    r.end = r.limit;
    if (r.limit != around.end) touch(how, reinterpret_cast<const void*>(r.limit), static_cast<uint32_t>(rest));
  }

  // What is in a granule of the sample is recorded up to the end of the granule, what is not up to the next that is.
  static void cut_to_sample(run& r, const known_object& o) noexcept {
    const uint64_t granule = (r.begin - r.base) / 64;
    const uint64_t last = (o.shape.bytes() + 63) / 64;
    r.floor = r.begin;  // downwards it begins a new run
    uint64_t next = granule + 1;
    if ((o.sample[granule / 64] >> (granule % 64) & 1) == 0) {
      r.object = 0;
      while (next < last && (o.sample[next / 64] >> (next % 64) & 1) == 0) {
        const uint64_t word = o.sample[next / 64] >> (next % 64);
        next = word == 0 ? (next / 64 + 1) * 64 : next + static_cast<unsigned>(__builtin_ctzll(word));
      }
    }
    const uint64_t end = r.base + next * 64;
    if (end < r.limit) r.limit = end;
    if (r.object == 0 && r.end < r.limit) r.end = r.limit;
  }

  void evict(access how, run& r) noexcept {
    if (r.object != 0) gather(how, r);
    r = run();
  }

  void gather(access how, const run& r) noexcept {
    const known_object& o = process_->objects[r.object];
    const uint64_t begin = r.begin - r.base, end = r.end - r.base;
    const auto op = how == access::read ? core::data_op::read : core::data_op::write;
    const auto flags = static_cast<uint8_t>((how == access::update ? unsigned(core::data_flag::update) : 0u) |
                                            (o.sample != nullptr ? unsigned(core::data_flag::sampled) : 0u));
    gathered& g = gathered_[(r.object * 3 + static_cast<unsigned>(how)) % most_gathered];
    const core::data_record& is = g.what;
    if (g.bytes.full() || is.object != r.object || is.op != op || is.flags != flags || is.site != r.block) emit(g);
    g.what.op = op;
    g.what.flags = flags;
    g.what.object = r.object;
    g.what.site = r.block;
    g.bytes.add(begin, end);
  }
  void emit(gathered& g) noexcept {
    if (g.bytes.empty()) return;
    const uint64_t now = core::cycle_clock::now();
    g.bytes.take(g.what, [&](const core::data_record& r) noexcept { put(r, now); });
  }
  void put(const core::data_record& what, uint64_t time) noexcept {
    core::data_record* const r = records.claim();
    if (r == nullptr) return;
    if (time > last_time_) last_time_ = time;
    *r = what;
    r->time = last_time_;
    records.publish();
  }

  __attribute__((noinline)) void flush_all() noexcept {
    const access kinds[] = {access::read, access::update, access::write};
    for (const access how : kinds) {
      uint32_t& dirty = dirty_[static_cast<unsigned>(how)];
      run* order[sets * ways];
      unsigned count = 0;
      for (; dirty != 0; dirty &= dirty - 1)
        for (run& r : runs_[static_cast<unsigned>(how)][__builtin_ctz(dirty)]) {
          unsigned at = count++;
          for (; at != 0 && order[at - 1]->begin > r.begin; --at) order[at] = order[at - 1];
          order[at] = &r;
        }
      for (unsigned i = 0; i != count; ++i) evict(how, *order[i]);
      for (unsigned i = 0; i != most_gathered; ++i)
        if ((gathered_[i].what.op == core::data_op::read) == (how == access::read)) emit(gathered_[i]);
    }
    busy_ = false;
  }

  data_state* process_ = nullptr;
  location* where_ = nullptr;
  uint64_t last_time_ = 0;
  uint32_t dirty_[3] = {};  // sets that are not empty
  bool busy_ = false;
  turn turns_[most_turns] = {};
  run runs_[3][sets][ways];
  gathered gathered_[most_gathered];
};

namespace detail {

__attribute__((noinline, cold)) inline data_thread* open_thread(location* at) noexcept {
  data_state* const process = known_state();
  if (process == nullptr || at == nullptr) return nullptr;
  void* const pages = core::map_pages(sizeof(data_thread), false);
  if (pages == nullptr) return nullptr;
  data_thread* const made = new (pages) data_thread();
  if (!made->open(*process, *at)) return nullptr;
  __atomic_store_n(&at->extension[thread_slot], static_cast<void*>(made), __ATOMIC_RELEASE);
  return made;
}

// Per module and thread, once it is known. In the child of a fork it still means what was the parent's, which nobody
// reads there.
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local data_thread* here = nullptr;

__attribute__((noinline)) inline data_thread* find_thread() noexcept {
  location* const at = this_location();
  if (at == nullptr) return nullptr;
  data_thread* const known = static_cast<data_thread*>(at->extension[thread_slot]);
  return here = known != nullptr ? known : open_thread(at);
}

}  // namespace detail

/// What the calling thread records about data; null if nothing is recorded or no array was ever registered. About 1 ns.
__attribute__((always_inline)) inline data_thread* this_thread() noexcept {
  data_thread* const known = detail::here;
  if (__builtin_expect(known != nullptr, 1)) return known;
  return record::detail::is_off(record::detail::here) ? nullptr : detail::find_thread();
}

}  // namespace data
}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
