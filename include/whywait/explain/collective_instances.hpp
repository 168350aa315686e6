#ifndef WHYWAIT_EXPLAIN_COLLECTIVE_INSTANCES_HPP
#define WHYWAIT_EXPLAIN_COLLECTIVE_INSTANCES_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/participant.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// An entry of a member into MPI after it had initiated a collective; the first one is the call that completed the operation,
/// whose location is record_place::nowhere if none did.
struct later_entry {
  core::stable_key site;
  std::int64_t enter_ns, leave_ns;
  std::uint32_t record;
  std::uint16_t location, unused;
};

/// The collective operations of which this rank is the home, and their participants as they arrive. Memory: 84 bytes per
/// participant and 32 per operation, needs and later entries beside; what is dropped keeps its memory until it is half of all.
/// Not thread safe.
class collective_instances {
 public:
  explicit collective_instances(base::memory_pool& pool) : pool_(&pool), open_(pool), now_(pool), complete_(pool) {}

  /// Reads one participant; `in` stands behind the kind of the part.
  void receive(std::int32_t source, base::packet_reader& in) {
    auto p = in.get<participant>();
    p.world = source;
    p.needs_first = static_cast<std::uint32_t>(now_.needs.size());
    for (std::uint32_t k = 0; k != p.needs_count; ++k) now_.needs.push_back(in.get<std::int32_t>());
    if (core::initiates(p.call)) {
      p.later_first = static_cast<std::uint32_t>(now_.entries.size());
      p.later_count = in.get<std::uint32_t>();
      for (std::uint32_t k = 0; k != p.later_count; ++k) now_.entries.push_back(in.get<later_entry>());
    }
    const core::stable_key key = core::combine(p.comm, p.ordinal);
    const auto fresh = static_cast<std::uint32_t>(now_.instances.size());
    const std::uint32_t number = open_.intern(key, fresh);
    if (number == fresh) now_.instances.push_back({p.comm, p.ordinal, 0, 0, nothing, nothing});
    instance& of = now_.instances[number];
    const auto at = static_cast<std::uint32_t>(now_.here.size());
    now_.here.push_back(p);
    now_.next.push_back(nothing);
    (of.first == nothing ? of.first : now_.next[of.last]) = at;
    of.last = at;
    if (of.count++ == 0) of.size = static_cast<std::uint32_t>(std::max(p.size, 0));
    if (of.count != of.size || core::is_of_files(p.call)) return;  // of files: all of them together
    complete_.push_back(number);
    open_.erase(key);
  }

  /// The numbers of those whose participants have all arrived, without those of files. Valid until `drop_complete`.
  const base::pod_vector<std::uint32_t>& complete() const noexcept { return complete_; }
  /// The others, by communicator and order; call after `drop_complete`.
  base::pod_vector<std::uint32_t> others() const {
    base::pod_vector<std::uint32_t> all = complete_.sibling();
    for (std::uint32_t i = 0; i != now_.instances.size(); ++i)
      if (now_.instances[i].first != nothing) all.push_back(i);
    small_stable_sort(all, [this](std::uint32_t a, std::uint32_t b) {
      const instance &x = now_.instances[a], &y = now_.instances[b];
      return x.comm != y.comm ? x.comm < y.comm : x.ordinal < y.ordinal;
    });
    return all;
  }

  /// Writes the participants of one to `all`, by rank.
  void list(std::uint32_t number, base::pod_vector<participant>& all) const {
    all.clear();
    for (std::uint32_t i = now_.instances[number].first; i != nothing; i = now_.next[i]) all.push_back(now_.here[i]);
    base::sort_short(all, [](const participant& a, const participant& b) { return a.rank < b.rank; });
  }
  /// The list to which participant::needs_first points, and that of participant::later_first.
  const base::pod_vector<std::int32_t>& needs() const noexcept { return now_.needs; }
  const base::pod_vector<later_entry>& entries() const noexcept { return now_.entries; }

  /// Drops those of `complete`. O(1) for each, amortised.
  void drop_complete() {
    for (const std::uint32_t number : complete_) now_.instances[number].first = nothing;
    answered_ += complete_.size();
    complete_.clear();
    if (answered_ == now_.instances.size()) clear();  // the usual case, because the members send in step
    else if (2 * answered_ >= now_.instances.size()) compact();
  }
  /// Drops all and frees the memory.
  void release() {
    for (const instance& of : now_.instances) open_.erase(core::combine(of.comm, of.ordinal));
    now_ = lists(*pool_);
    complete_.release();
    answered_ = 0;
  }

 private:
  static constexpr std::uint32_t nothing = 0xffffffffu;

  // Its participants are linked in the order in which they arrived.
  struct instance {
    core::stable_key comm;
    std::uint32_t ordinal;
    std::uint32_t count, size;  // participants that have arrived, and all
    std::uint32_t first, last;  // in lists::here; first: nothing once it is answered
  };
  struct lists {
    explicit lists(base::memory_pool& pool) : instances(pool), here(pool), next(pool), needs(pool), entries(pool) {}

    base::pod_vector<instance> instances;
    base::pod_vector<participant> here;
    base::pod_vector<std::uint32_t> next;  ///< the next participant of the same instance
    base::pod_vector<std::int32_t> needs;
    base::pod_vector<later_entry> entries;
  };

  // Keeps the memory.
  void clear() noexcept {
    now_.instances.clear();
    now_.here.clear();
    now_.next.clear();
    now_.needs.clear();
    now_.entries.clear();
    answered_ = 0;
  }
  // Keeps what is not answered.
  void compact() {
    lists to(*pool_);
    for (instance& of : now_.instances) {
      if (of.first == nothing) continue;
      const core::stable_key key = core::combine(of.comm, of.ordinal);
      open_.erase(key);
      open_.intern(key, static_cast<std::uint32_t>(to.instances.size()));
      const std::uint32_t first = of.first;
      of.first = static_cast<std::uint32_t>(to.here.size());
      for (std::uint32_t i = first; i != nothing; i = now_.next[i]) {
        participant p = now_.here[i];
        const later_entry* const later = now_.entries.data() + p.later_first;
        p.later_first = static_cast<std::uint32_t>(to.entries.size());
        to.entries.append(later, p.later_count);
        const std::int32_t* const needed = now_.needs.data() + p.needs_first;
        p.needs_first = static_cast<std::uint32_t>(to.needs.size());
        to.needs.append(needed, p.needs_count);
        to.here.push_back(p);
        to.next.push_back(static_cast<std::uint32_t>(to.here.size()));
      }
      to.next.back() = nothing;
      of.last = static_cast<std::uint32_t>(to.here.size()) - 1;
      to.instances.push_back(of);
    }
    now_ = std::move(to);
    answered_ = 0;
  }

  base::memory_pool* pool_;
  base::key_map open_;  ///< communicator and order -> number, of those that are not complete
  lists now_;
  std::size_t answered_ = 0;  ///< instances of now_ that are dropped
  base::pod_vector<std::uint32_t> complete_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
