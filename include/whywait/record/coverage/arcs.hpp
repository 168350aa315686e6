#ifndef WHYWAIT_RECORD_COVERAGE_ARCS_HPP
#define WHYWAIT_RECORD_COVERAGE_ARCS_HPP

#include <whywait/core/code_source.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/record/coverage/attributes.hpp>
#include <whywait/record/coverage/source.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {
namespace coverage {
namespace detail {

/// Hands over what the counters of an object file have counted since they were last looked at, whoever counted.
WHYWAIT_NO_COVERAGE inline void collect_counters(core::code_source& self, const core::step_sink& sink) noexcept {
  if (__atomic_exchange_n(&self.busy, 1u, __ATOMIC_ACQUIRE) != 0) return;  // the other thread takes it all
  for (uint32_t f = 0; f < self.function_count; ++f) {
    const core::counted_function& function = self.functions[f];
    const uint64_t* const now = function.counters;
    uint64_t* const known = function.known;
    uint64_t changed = 0;
    for (uint32_t i = 0; i < function.count; ++i) changed |= now[i] ^ known[i];
    if (__builtin_expect(changed == 0, 1)) continue;
    for (uint32_t i = 0; i < function.count; ++i) {
      const uint64_t count = __atomic_load_n(now + i, __ATOMIC_RELAXED);
      if (count == known[i]) continue;
      sink.take(sink.self, core::path_step{self.first + function.first + i, 0, count - known[i], 0, 0});
      known[i] = count;
    }
  }
  __atomic_store_n(&self.busy, 0u, __ATOMIC_RELEASE);
}

/// Makes a source of the counters of one object file.
class arcs_of_object {
 public:
  /// `data_file` and `stamp` lead to the notes file; the text must stay. False if nothing is recorded.
  WHYWAIT_NO_COVERAGE bool open(uint32_t functions, uint32_t counters, const char* data_file, uint32_t stamp) noexcept {
    if (counters == 0) return false;
    void* const table = core::map_pages(sizeof(core::counted_function) * functions, false);
    known_ = static_cast<uint64_t*>(core::map_pages(sizeof(uint64_t) * counters, false));
    if (table == nullptr || known_ == nullptr) return false;
    source_ = make_source(core::code_source::kind::arcs, counters);
    if (source_ == nullptr) {
      core::unmap_pages(table, sizeof(core::counted_function) * functions);
      core::unmap_pages(known_, sizeof(uint64_t) * counters);
      return false;
    }
    source_->functions = static_cast<core::counted_function*>(table);
    source_->notes = data_file;
    source_->stamp = stamp;
    source_->collect = &collect_counters;
    return true;
  }

  WHYWAIT_NO_COVERAGE void add(uint32_t ident, uint32_t checksum, uint32_t count, const void* counters) noexcept {
    core::counted_function& to = source_->functions[source_->function_count++];
    to.ident = ident;
    to.checksum = checksum;
    to.first = first_;
    to.count = count;
    to.counters = static_cast<const uint64_t*>(counters);
    to.known = known_ + first_;
    first_ += count;
  }

  WHYWAIT_NO_COVERAGE void close() noexcept {
    pin_module_of(source_->notes);
    publish(source_);
  }

 private:
  core::code_source* source_ = nullptr;
  uint64_t* known_ = nullptr;
  uint32_t first_ = 0;
};

}  // namespace detail
}  // namespace coverage
}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
