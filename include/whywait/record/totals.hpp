#ifndef WHYWAIT_RECORD_TOTALS_HPP
#define WHYWAIT_RECORD_TOTALS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/record/ended_threads.hpp>
#include <whywait/record/location.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// What a place cost in total.
struct site_total {
  uint64_t visits;
  uint64_t ticks;  ///< exclusive
  uint64_t work;
};

/// Sums per site over everything that locations recorded: for the last words of a program that ends without
/// its report. No allocation and no lock, so a signal handler may use it; `open` is one mmap. The sums of
/// a thread that still runs may miss its newest events.
class totals {
 public:
  /// Room for every site (1.5 MB of address space, touched where there is something). False if there is none.
  bool open() noexcept {
    entries_ = static_cast<site_total*>(core::map_pages(sizeof(site_total) * core::site_table::capacity, false));
    size_ = entries_ != nullptr ? core::site_table::capacity : 0;
    mapped_ = true;
    return entries_ != nullptr;
  }
  /// Uses the caller's array instead, zeroed by the caller; sites from `size` on are left out.
  void use(site_total* entries, uint32_t size) noexcept {
    entries_ = entries;
    size_ = size;
    mapped_ = false;
  }
  void release() noexcept {
    if (mapped_) core::unmap_pages(entries_, sizeof(site_total) * core::site_table::capacity);
    *this = totals();
  }

  /// Adds all segments of `from` and the open one. `until`: up to when the innermost region of a running thread
  /// counts: now, or when the call it is inside of began; 0: what its last event closed. For a thread that
  /// has ended its end counts.
  void add(const location& from, uint64_t until) noexcept {
    const auto count = [this](const core::path_step& step) noexcept {
      if (step.block >= size_) return;
      site_total& total = entries_[step.block];
      total.visits += step.visits;
      total.ticks += step.ticks;
      total.work += step.work;
    };
    const core::chunked_view<const core::path_step> steps = from.steps.view();
    for (uint64_t i = 0; i < steps.size(); ++i) count(steps[i]);
    const bool ended = __atomic_load_n(&from.finished, __ATOMIC_ACQUIRE) != 0;
    from.path.peek(ended ? from.end_ticks : until, count);
  }

  /// Adds sums by site, `site_table::capacity` of them; null: nothing.
  void add(const core::path_step* sums) noexcept {
    for (uint32_t site = 0; sums != nullptr && site < size_; ++site) {
      entries_[site].visits += sums[site].visits;
      entries_[site].ticks += sums[site].ticks;
      entries_[site].work += sums[site].work;
    }
  }

  /// Adds what threads did that ended and whose locations serve others.
  void add_ended(const core::registry& registry) noexcept {
    if (const ended_threads* const ended = __atomic_load_n(&registry.ended, __ATOMIC_ACQUIRE)) add(ended->sums());
  }

  /// Adds all locations of a registry, each up to `until`.
  void add_all(const core::registry& registry, uint64_t until) noexcept {
    for (const core::location_base* each = __atomic_load_n(&registry.locations, __ATOMIC_ACQUIRE); each != nullptr;
         each = each->next)
      add(static_cast<const location&>(*each), until);
    add_ended(registry);
  }

  uint32_t size() const noexcept { return size_; }
  const site_total& operator[](uint32_t site) const noexcept { return entries_[site]; }

 private:
  site_total* entries_ = nullptr;
  uint32_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
