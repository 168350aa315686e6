#ifndef WHYWAIT_COVERAGE_COUNTERS_ARCS_HPP
#define WHYWAIT_COVERAGE_COUNTERS_ARCS_HPP

#include <whywait/core/code_source.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/coverage/counters/attributes.hpp>
#include <whywait/coverage/counters/source.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace coverage {
namespace detail {

/// Compares 16 words, 16 bytes at a time. This is the common case, because most code did not run.
WHYWAIT_NO_COVERAGE __attribute__((always_inline)) inline bool same_chunk(const uint64_t* a, const uint64_t* b) noexcept {
  typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
  const pair* const x = reinterpret_cast<const pair*>(a);
  const pair* const y = reinterpret_cast<const pair*>(b);
  const pair different = ((x[0] ^ y[0]) | (x[1] ^ y[1])) | ((x[2] ^ y[2]) | (x[3] ^ y[3])) | ((x[4] ^ y[4]) | (x[5] ^ y[5])) |
                         ((x[6] ^ y[6]) | (x[7] ^ y[7]));
  return (different[0] | different[1]) == 0;
}

/// Reports the changed words in the range `from` to `to` of a span. `f` is a function that does not begin after the
/// range. Returns the last such function.
WHYWAIT_NO_COVERAGE inline uint32_t collect_changed(const core::code_source& self, const core::counted_span& span, uint32_t f,
                                                    uint32_t from, uint32_t to, const core::step_sink& sink) noexcept {
  const uint64_t* const begin = span.counters + from;
  const uint64_t* const end = span.counters + to;
  const uint32_t behind_all = span.function + span.functions;
  uint32_t steps = 0;
  for (; f + 1 != behind_all && self.functions[f + 1].counters <= begin; ++f) {
    if (++steps < 8) continue;  // linear search first, because code that runs is usually adjacent
    for (uint32_t high = behind_all; high - f > 1;) {
      const uint32_t middle = f + (high - f) / 2;
      (self.functions[middle].counters <= begin ? f : high) = middle;
    }
    break;
  }
  const uint64_t* at = begin;
  for (;; ++f) {
    const bool last = f == behind_all;
    const uint64_t* const first = last ? end : self.functions[f].counters;
    // The word belongs to no function.
    for (; at < first && at != end; ++at) span.known[at - span.counters] = *at;
    if (at == end) break;
    const uint64_t* const behind = first + self.functions[f].count;
    for (; at < behind && at != end; ++at) {
      const uint64_t count = __atomic_load_n(at, __ATOMIC_RELAXED);
      uint64_t& known = span.known[at - span.counters];
      if (count == known) continue;
      const uint32_t number = self.first + self.functions[f].first + static_cast<uint32_t>(at - first);
      sink.take(sink.self, core::path_step{number, 0, count - known, 0, 0});
      known = count;
    }
    if (at == end) break;
  }
  return f;
}

/// Reports the increments of an object file's counters since the last call, on behalf of all threads.
WHYWAIT_NO_COVERAGE inline void collect_counters(core::code_source& self, const core::step_sink& sink) noexcept {
  if (__atomic_exchange_n(&self.busy, 1u, __ATOMIC_ACQUIRE) != 0) return;  // the other thread reports the increments
  for (uint32_t s = 0; s < self.span_count; ++s) {
    const core::counted_span& span = self.spans[s];
    uint32_t at = 0, f = span.function;
    for (; at + 16 <= span.words; at += 16)
      if (__builtin_expect(!same_chunk(span.counters + at, span.known + at), 0))
        f = collect_changed(self, span, f, at, at + 16, sink);
    uint64_t rest = 0;
    for (uint32_t i = at; i < span.words; ++i) rest |= span.counters[i] ^ span.known[i];
    if (__builtin_expect(rest != 0, 0)) collect_changed(self, span, f, at, span.words, sink);
  }
  __atomic_store_n(&self.busy, 0u, __ATOMIC_RELEASE);
}

/// Creates a source from the counters of one object file.
class arcs_of_object {
 public:
  /// `data_file` and `stamp` identify the notes file; the string must outlive the source. Returns false if nothing is
  /// recorded.
  WHYWAIT_NO_COVERAGE bool open(uint32_t functions, uint32_t counters, const char* data_file, uint32_t stamp) noexcept {
    if (counters == 0) return false;
    functions_ = static_cast<core::counted_function*>(core::map_pages(sizeof(core::counted_function) * functions, false));
    spans_ = static_cast<core::counted_span*>(core::map_pages(sizeof(core::counted_span) * functions, false));
    known_ = static_cast<uint64_t*>(core::map_pages(sizeof(uint64_t) * (counters + most_gap * functions), false));
    if (functions_ != nullptr && spans_ != nullptr && known_ != nullptr)
      source_ = make_source(core::code_source::kind::arcs, counters);
    if (source_ != nullptr) {
      source_->notes = data_file;
      source_->stamp = stamp;
      return true;
    }
    core::unmap_pages(functions_, sizeof(core::counted_function) * functions);
    core::unmap_pages(spans_, sizeof(core::counted_span) * functions);
    core::unmap_pages(known_, sizeof(uint64_t) * (counters + most_gap * functions));
    return false;
  }

  WHYWAIT_NO_COVERAGE void add(uint32_t ident, uint32_t checksum, uint32_t count, const void* counters) noexcept {
    if (count == 0) return;
    core::counted_function& to = functions_[size_++];
    to.ident = ident;
    to.checksum = checksum;
    to.first = first_;
    to.count = count;
    to.counters = static_cast<const uint64_t*>(counters);
    first_ += count;
  }

  WHYWAIT_NO_COVERAGE core::code_source* close() noexcept {
    for (uint32_t gap = size_ / 2; gap != 0; gap /= 2)  // Shell sort, because compilers emit functions nearly in order
      for (uint32_t i = gap; i < size_; ++i)
        for (uint32_t j = i; j >= gap && functions_[j].counters < functions_[j - gap].counters; j -= gap) {
          const core::counted_function swap = functions_[j];
          functions_[j] = functions_[j - gap];
          functions_[j - gap] = swap;
        }
    uint32_t spans = 0;
    for (uint32_t f = 0; f < size_; ++f) {
      const core::counted_function& function = functions_[f];
      core::counted_span* span = spans != 0 ? spans_ + spans - 1 : nullptr;
      if (span == nullptr || function.counters - (span->counters + span->words) > most_gap) {
        uint64_t* const known = span != nullptr ? span->known + span->words : known_;
        span = spans_ + spans++;
        *span = core::counted_span{function.counters, known, 0, f, 0};
      }
      span->words = static_cast<uint32_t>(function.counters - span->counters) + function.count;
      ++span->functions;
    }
    for (uint32_t s = 0; s < spans; ++s)  // copies the gaps between functions, so that they compare equal
      for (uint32_t f = spans_[s].function + 1; f < spans_[s].function + spans_[s].functions; ++f)
        for (const uint64_t* at = functions_[f - 1].counters + functions_[f - 1].count; at < functions_[f].counters; ++at)
          spans_[s].known[at - spans_[s].counters] = *at;
    source_->functions = functions_;
    source_->function_count = size_;
    source_->spans = spans_;
    source_->span_count = spans;
    source_->collect = &collect_counters;
    pin_module_of(source_->notes);
    publish(source_);
    return source_;
  }

 private:
  static constexpr uint32_t most_gap = 3;  // words; the counters of a function begin at multiples of 32 bytes

  core::code_source* source_ = nullptr;
  core::counted_function* functions_ = nullptr;
  core::counted_span* spans_ = nullptr;
  uint64_t* known_ = nullptr;
  uint32_t size_ = 0;
  uint32_t first_ = 0;
};

}  // namespace detail
}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
