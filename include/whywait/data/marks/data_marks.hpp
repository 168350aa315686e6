#ifndef WHYWAIT_DATA_MARKS_DATA_MARKS_HPP
#define WHYWAIT_DATA_MARKS_DATA_MARKS_HPP

#include <whywait/data/marks/range.hpp>
#include <whywait/data/marks/ranges.hpp>
#include <whywait/record/mark_site.hpp>
#include <whywait/record/slow_path.hpp>

#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {

/// Identifies a loop or block that accesses data. If the innermost region has this name, it is the one. Otherwise it is
/// the step of that name in this file, on any line, so that several marks can describe one loop.
struct loop {
  const char* name;
  const char* file;
  /// `called` must live as long as the call; if it is empty, the innermost region is used.
  loop(const char* called, const char* in = __builtin_FILE()) noexcept : name(called), file(in) {}
};

namespace data {

inline uint32_t number_of(record::location& at, const loop& l) noexcept {
  const uint32_t inside = at.path.innermost();
  if (l.name == nullptr || *l.name == '\0') return inside;
  const core::site_table& sites = core::the_registry()->sites;
  while (inside >= sites.size()) {
  }  // another thread may have numbered the region; once size() counts its entry, the entry is visible here
  if (inside != 0 && strcmp(sites[inside].name, l.name) == 0) return inside;
  return record::detail::number_of(at, site_kind::step, l.name, l.file, 0);
}

}  // namespace data

/// Registers an array while the object lives. Put it next to the array or into the same class. Name, file and line
/// identify the array and must be the same on all ranks. A later registration there with the same shape is the same
/// array, even at another address. Where arrays overlap, the newest one owns the bytes. Registration and its end cost 4
/// us together among 1000 arrays, less among fewer. Thread-safe.
class registered_array {
 public:
  registered_array() noexcept = default;
  template <class T>
  registered_array(const char* name, const T* pointer, const shape& extent, const char* file = __builtin_FILE(),
                   uint32_t line = __builtin_LINE()) noexcept
      : registered_array(name, pointer, data::size_of_element<T>::value, extent, false, file, line) {}
  registered_array(registered_array&& other) noexcept : pointer_(other.pointer_), number_(other.number_) { other.number_ = 0; }
  registered_array& operator=(registered_array&& other) noexcept {
    if (this == &other) return *this;
    end();
    pointer_ = other.pointer_;
    number_ = other.number_;
    other.number_ = 0;
    return *this;
  }
  ~registered_array() { end(); }

  /// Like the constructor, but accesses through `tracked` and `array_view` are recorded for a random sample of 4096
  /// cache lines only. For large arrays. Shares of cache lines have a standard error of at most 0.8 %, which the report
  /// prints.
  template <class T>
  static registered_array sampled(const char* name, const T* pointer, const shape& extent, const char* file = __builtin_FILE(),
                                  uint32_t line = __builtin_LINE()) noexcept {
    return registered_array(name, pointer, data::size_of_element<T>::value, extent, true, file, line);
  }

  /// Ends the registration. The destructor calls it.
  void end() noexcept {
    if (number_ == 0) return;
    if (data::data_state* const process = data::known_state()) {
      if (data::data_thread* const here = data::this_thread()) here->flush();
      process->objects.remove(number_, pointer_);
    }
    number_ = 0;
  }
  /// Returns 0 if the array is not registered, because recording is off, tables are full or the array has no bytes.
  uint32_t number() const noexcept { return number_; }

 private:
  __attribute__((noinline, cold)) registered_array(const char* name, const void* pointer, uint32_t element_bytes,
                                                   const shape& extent, bool sampled, const char* file, uint32_t line) noexcept
      : pointer_(pointer), number_(0) {
    core::registry* const registry = core::the_registry();
    if (registry == nullptr || !registry->config.enable) return;
    data::data_state* process = data::state_of(*registry);
    if (process == nullptr) process = data::detail::make_state(*registry);
    if (process == nullptr) return;
    if (data::data_thread* const here = data::this_thread()) here->flush();
    const uint32_t place = registry->sites.intern(site_kind::step, name, file, line);
    core::data_object object = extent.object(registry->sites[place].key, element_bytes);
    object.sampled = sampled;
    number_ = process->objects.add(place, pointer, object);
  }

  const void* pointer_ = nullptr;
  uint32_t number_ = 0;
};

/// Records that a loop read these ranges in total. One event of about 65 ns each. Ranges outside registered arrays are
/// counted only.
template <class... Ranges>
inline void reads(const loop& which, const Ranges&... ranges) noexcept {
  const data_range list[] = {ranges...};
  if (data::data_thread* const here = data::this_thread())
    data::record_ranges(*here, core::data_op::read, data::number_of(here->where(), which), list, sizeof...(ranges));
}
/// Records that a loop wrote these ranges in total.
template <class... Ranges>
inline void writes(const loop& which, const Ranges&... ranges) noexcept {
  const data_range list[] = {ranges...};
  if (data::data_thread* const here = data::this_thread())
    data::record_ranges(*here, core::data_op::write, data::number_of(here->where(), which), list, sizeof...(ranges));
}

/// Records that this thread ran the iterations [first, last) of a loop. With `step` it ran every `step`-th iteration;
/// with `chunk` it ran `chunk` iterations out of every `step`.
template <class A, class B, class C = uint64_t, class D = uint64_t>
inline void iterations(const loop& which, A first, B last, C step = 1, D chunk = 1) noexcept {
  data::data_thread* const here = data::this_thread();
  if (here == nullptr || !(first < last)) return;
  core::data_record r;
  r.op = core::data_op::iterations;
  r.site = data::number_of(here->where(), which);
  r.begin = static_cast<uint64_t>(first);
  r.end = static_cast<uint64_t>(last);
  r.stride = static_cast<uint64_t>(step) == static_cast<uint64_t>(chunk) ? 0 : static_cast<uint64_t>(step);
  r.piece = r.stride == 0 ? 0 : static_cast<uint32_t>(chunk);
  here->append(r, core::cycle_clock::now());
}
/// Records iterations over the elements of an array.
inline void iterations(const loop& which, const data_range& elements) noexcept {
  if (data::data_thread* const here = data::this_thread())
    data::record_ranges(*here, core::data_op::iterations, data::number_of(here->where(), which), &elements, 1);
}

/// Records that the innermost region packed the range into the bytes at `buffer`, or unpacked it from there. The buffer
/// must also be in a registered array. Two events for each region of the range.
inline void packs(const void* buffer, const data_range& from) noexcept {
  if (data::data_thread* const here = data::this_thread())
    data::record_copy(*here, here->where().path.innermost(), buffer, from, true);
}
inline void unpacks(const void* buffer, const data_range& to) noexcept {
  if (data::data_thread* const here = data::this_thread())
    data::record_copy(*here, here->where().path.innermost(), buffer, to, false);
}

/// Records that this thread synchronises on the object `name`. It then sees everything that other threads did before
/// their synchronisation on the same object. For a lock, call it after acquiring and before releasing. About 55 ns.
inline void synchronise(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (data::data_thread* const here = data::this_thread()) here->synchronise(name, file, line, false);
}
/// Records a barrier, in which all threads take part equally often. Call it before the barrier.
inline void synchronise_all(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (data::data_thread* const here = data::this_thread()) here->synchronise(name, file, line, true);
}

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
