#ifndef WHYWAIT_FINALIZE_SITE_TIMES_HPP
#define WHYWAIT_FINALIZE_SITE_TIMES_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/report/not_understood.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Time and number of calls, by call site.
class site_times {
 public:
  struct entry {
    core::stable_key key;
    std::int64_t ns, calls;
  };

  void add(core::stable_key key, std::int64_t ns, std::int64_t calls) {
    if (ns > 0) all_.push_back({key, ns, calls});
  }
  /// Leaves one entry per call site. O(n log n).
  void fold() {
    base::sort_and_join(
        all_, [](const entry& a, const entry& b) { return a.key < b.key; },
        [](entry& to, const entry& e) {
          to.ns += e.ns;
          to.calls += e.calls;
        });
  }
  /// After `fold`: keeps the 16 call sites with the most time, ordered by it.
  void keep_most() {
    base::small_stable_sort(all_, [](const entry& a, const entry& b) { return a.ns > b.ns; });
    all_.resize(std::min<std::size_t>(all_.size(), 16));
  }

  const base::pod_vector<entry>& entries() const noexcept { return all_; }
  base::pod_vector<entry>& entries() noexcept { return all_; }

  /// Appends the call sites that have a name.
  void name(base::vector<reports::place_total>& to, const base::names& names) const {
    for (const entry& e : all_)
      if (const base::place* const where = names.find(e.key))
        to.push_back({*where, e.calls, static_cast<double>(e.ns) * 1e-9, 0});
  }

 private:
  base::pod_vector<entry> all_;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
