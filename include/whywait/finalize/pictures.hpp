#ifndef WHYWAIT_FINALIZE_PICTURES_HPP
#define WHYWAIT_FINALIZE_PICTURES_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/path_between.hpp>
#include <whywait/finalize/team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {
namespace detail {

inline void put_side(base::packet& out, std::uint32_t wait, bool waiter, const explain::picture_side& side) {
  base::put(out, wait);
  base::put(out, waiter);
  base::put(out, side.rank);
  base::put(out, side.thread);
  base::put(out, side.cut);
  base::put(out, static_cast<std::uint64_t>(side.nodes.size()));
  for (const explain::picture_node& n : side.nodes) base::put(out, n);
}

inline void take_sides(base::packet_reader in, base::vector<explain::explanation>& waits) {
  while (!in.empty()) {
    explain::explanation& e = waits.at(in.get<std::uint32_t>());
    explain::picture_side& side = in.get<bool>() ? e.picture.waiter : e.picture.causer;
    side.rank = in.get<std::int32_t>();
    side.thread = in.get<std::int32_t>();
    side.cut = in.get<bool>();
    side.nodes.resize(in.get<std::uint64_t>());
    for (explain::picture_node& n : side.nodes) n = in.get<explain::picture_node>();
  }
}

}  // namespace detail

/// Fills the pictures of the most costly waits with what both locations of the longest instance ran. Only these two
/// ranks send data. Complete on rank 0. Collective; `wanted` and `found` are read on rank 0 only. Costs one agreement
/// without `wanted`.
inline void gather_pictures(explain::outcome& found, const explain::rank_history& own, bool wanted, const finalize::team& all) {
  constexpr std::size_t most = 8;
  base::pod_vector<explain::wait_sample> samples;
  if (wanted)
    for (std::size_t i = 0; i < std::min(most, found.waits.size()); ++i) {
      samples.push_back(found.waits[i].longest);
      if (own.continued && samples.back().begin_ns < own.begin_ns) samples.back().wait_ns = 0;  // from an earlier epoch
    }
  all.share(samples);
  if (samples.empty()) return;
  base::packet mine;
  for (std::uint32_t i = 0; i != samples.size(); ++i) {
    const explain::wait_sample& s = samples[i];
    if (s.wait_ns <= 0) continue;
    if (s.rank == own.rank) detail::put_side(mine, i, true, explain::path_between(own, s.location, s.since_ns, s.record));
    if (s.causer_rank == own.rank)
      detail::put_side(mine, i, false, explain::path_between(own, s.causer_location, s.since_ns, s.causer_record));
  }
  if (own.rank == 0) detail::take_sides({mine.data(), mine.size()}, found.waits);
  all.gather(mine.data(), mine.size(), [&](const unsigned char* data, std::size_t size) {
    detail::take_sides({data, size}, found.waits);
  });
}

/// A picture of an earlier epoch, whose records have been released.
struct kept_picture {
  explain::wait_sample of;
  explain::wait_picture picture;
};

/// Restores the stored pictures of waits, then keeps only the pictures of this outcome.
inline void fold_pictures(base::vector<kept_picture>& kept, explain::outcome& found) {
  base::vector<kept_picture> now;
  for (explain::explanation& e : found.waits) {
    const auto same = [&e](const explain::wait_sample& s) { return !s.outweighs(e.longest) && !e.longest.outweighs(s); };
    for (const kept_picture& k : kept)
      if (e.picture.waiter.nodes.empty() && e.picture.causer.nodes.empty() && same(k.of)) e.picture = k.picture;
    if (!e.picture.waiter.nodes.empty() || !e.picture.causer.nodes.empty()) now.push_back({e.longest, e.picture});
  }
  kept = std::move(now);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
