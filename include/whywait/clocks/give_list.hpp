#ifndef WHYWAIT_CLOCKS_GIVE_LIST_HPP
#define WHYWAIT_CLOCKS_GIVE_LIST_HPP

#include <whywait/base/packed_list.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stamp.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// Which stamps a location sends, and when. They are added in the order in which other ranks ask for them, each of which asks
/// mostly by record, and read by record. Memory: 1 to 17 bytes each in at most 65 ordered parts, at first 16 if they fit into none of
/// these. Not thread safe.
class give_list {
 public:
  /// `memory`: the pool of the run; borrowed.
  explicit give_list(base::memory_pool& memory) : memory_(&memory), rest_(memory) {}

  // Out of line: both exchanges that bring gives would contain it.
  [[gnu::noinline]] void add(const clock_give& g) {
    // The parts are ordered by their last records, so that the first one that fits leaves the others for earlier records.
    part* fits = parts_.begin();
    while (fits != parts_.end() && fits->last > g.record) ++fits;
    if (fits == parts_.end()) {
      if (parts_.size() == most_parts) return rest_.push_back(g);
      parts_.emplace_back(*memory_);
      fits = &parts_.back();
    }
    fits->gives.push_back(g);
    fits->last = g.record;
  }

  /// Call once, after the last `add`. O(n log n) for gives that fit into no part.
  void sort() {
    base::small_stable_sort(rest_, [](const clock_give& a, const clock_give& b) { return a.record < b.record; });
    parts_.emplace_back(*memory_);
    for (const clock_give& g : rest_) parts_.back().gives.push_back(g);
    rest_.release();
  }

  /// The gives by record, after `sort`. O(parts) for each.
  class reader {
   public:
    reader() = default;
    reader(reader&&) = default;
    reader& operator=(reader&&) = default;
    explicit reader(const give_list& list) {
      for (const part& p : list.parts_) parts_.emplace_back(p.gives);
      find_next();
    }

    bool empty() const noexcept { return next_ == nullptr; }
    clock_give front() const noexcept { return next_->front<clock_give>(); }
    void pop() noexcept {
      next_->pop();
      find_next();
    }

   private:
    [[gnu::noinline]] void find_next() noexcept {
      next_ = nullptr;
      for (base::packed_list::reader& p : parts_)
        if (!p.empty() && (next_ == nullptr || p.front<clock_give>().record < front().record)) next_ = &p;
    }

    base::pod_vector<base::packed_list::reader> parts_;
    base::packed_list::reader* next_ = nullptr;  ///< in parts_
  };

 private:
  static constexpr std::size_t most_parts = 64;

  struct part {
    explicit part(base::memory_pool& memory) : gives(memory) {}
    base::packed_list gives;
    std::uint32_t last = 0;
  };

  base::memory_pool* memory_;
  base::vector<part> parts_;
  base::pod_vector<clock_give> rest_;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
