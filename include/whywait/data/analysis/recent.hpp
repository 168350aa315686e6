#ifndef WHYWAIT_DATA_ANALYSIS_RECENT_HPP
#define WHYWAIT_DATA_ANALYSIS_RECENT_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/analysis/data_region.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace data {

/// Key of a region of an object, alone or together with a peer. Cheap to compute (two multiplications), good enough for a
/// table that checks all of it.
inline core::stable_key region_key(std::uint32_t object, const region& r) noexcept {
  const std::uint64_t shape = r.list != nullptr ? reinterpret_cast<std::uintptr_t>(r.list) : r.stride ^ (r.piece << 32);
  return core::combine(core::combine(r.begin, r.end ^ (static_cast<std::uint64_t>(object) << 40)), shape);
}

/// The stamp of a region of this rank, and what it belongs to on the other side: a stamp, or a hash of the place there.
struct paired_stamp {
  std::uint32_t own = 0, other = 0;
};

/// A cache of what happened last to a region: a table of fixed size in which a new entry replaces another one when all eight
/// slots that it may use are taken. So a lookup that fails does not prove that nothing happened.
template <class Value, std::size_t Slots>
class recent {
 public:
  static_assert((Slots & (Slots - 1)) == 0 && Slots >= 8, "a power of two");

  /// The value of `key`, which is not 0; a fresh one, if it was not known. Valid until the next call.
  Value& operator[](core::stable_key key) {
    if (slots_.empty()) slots_.resize(Slots);
    for (std::size_t i = 0; i != 8; ++i) {
      slot& s = slots_[(key + i) & (Slots - 1)];
      if (s.key == key) return s.value;
      if (s.key != 0) continue;
      s.key = key;
      return s.value;
    }
    slot& s = slots_[(key + (++victim_ & 7)) & (Slots - 1)];
    s = {key, {}};
    return s.value;
  }

 private:
  struct slot {
    core::stable_key key = 0;
    Value value{};
  };
  base::pod_vector<slot> slots_;
  std::size_t victim_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
