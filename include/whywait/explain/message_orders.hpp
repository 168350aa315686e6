#ifndef WHYWAIT_EXPLAIN_MESSAGE_ORDERS_HPP
#define WHYWAIT_EXPLAIN_MESSAGE_ORDERS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/explain/history.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Maps postings (sync_record::posting) to `data_record::order`: the index of a message on its channel, counted over
/// all parts of a run that are explained one after the other. 4 bytes per posting of the current part; 24 bytes per
/// channel and 12 per message in transit are kept between parts. Near-linear. Throws std::bad_alloc.
class message_orders {
 public:
  /// Adds the records of the next part, including those carried over.
  void take(const explain::rank_history& rank) {
    // A request or probed message that is still pending has a record again; all others were given up.
    std::size_t kept = 0;
    for (const message& m : known_)
      if (!m.over) known_[kept++] = m;
    known_.resize(kept);
    for (message& m : known_) m.over = !m.probed;
    earlier_.clear();
    probed_.clear();
    base_ = rank.posted_before;
    std::uint32_t last = base_;
    for (const explain::location_history& l : rank.locations)
      for (std::uint64_t i = 0; i != l.records.size(); ++i) last = std::max(last, l.records[i].posting);
    fresh_.assign(std::size_t{last - base_} + 1, 0);
    for (const explain::location_history& l : rank.locations)
      for (std::uint64_t i = 0; i != l.records.size(); ++i) note(rank, l.records[i]);
    number();
    first_ = false;
  }

  /// 0: unknown.
  std::uint32_t operator[](std::uint32_t posting) const noexcept {
    if (posting > base_) return posting - base_ < fresh_.size() ? fresh_[posting - base_] : 0;
    const place at = find(posting);
    return at != known_.end() ? at->order : 0;
  }

  /// Call between two parts, on all ranks, after records were lost: the sides of a channel may count differently from
  /// now on.
  void restart() { *this = message_orders(); }

 private:
  // An entry is the number of a channel + 1, shifted, with these flags below.
  enum : std::uint32_t {
    settles = 1,  // complete; so is everything posted before it on its channel, because messages do not overtake each other
    awaited = 2,  // its receive completes later
    number_shift = 2
  };
  struct message {
    std::uint32_t posting;
    std::uint32_t order;  // an entry, until the orders are computed
    bool probed;  // by a matched probe: its receive may come later
    bool over;  // complete in the current part
    bool operator<(const message& o) const noexcept { return posting < o.posting; }
  };
  using place = const message*;

  place find(std::uint32_t posting) const noexcept {
    const place at = std::lower_bound(known_.begin(), known_.end(), message{posting, 0, false, false});
    return at != known_.end() && at->posting == posting ? at : known_.end();
  }

  // Pairs postings as explain::message_book does: a matched probe takes the place of its receive.
  void note(const explain::rank_history& rank, const core::sync_record& r) {
    using core::call_role;
    namespace flag = core::sync_flag;
    if (r.posting == 0 || r.has(flag::cancelled | flag::proc_null | flag::failed) || r.comm >= rank.communicators.size())
      return;
    const explain::communicator& comm = rank.communicators[r.comm];
    if (comm.id == 0) return;
    const call_role role = core::role_of(r);
    if (core::is_data_collective(role)) {
      if (!comm.inter && r.posting > base_) enter(r.posting, core::combine(comm.id, 3), settles, false);
      return;
    }
    const bool matched_probe = role == call_role::probe && r.has(flag::matched);
    if (!matched_probe && !r.has(flag::posts_send | flag::posts_receive)) return;
    if (r.peer < 0) return;
    const bool sends = r.has(flag::posts_send), complete = r.has(flag::complete) && !matched_probe;
    if (r.posting <= base_) {
      // A send got its order when it was posted; what was matched before the first part has none.
      if (sends ? !first_ || r.has(flag::met) : first_ && r.has(flag::met)) return;
      const place known = find(r.posting);
      if (known != known_.end()) {
        known_[static_cast<std::size_t>(known - known_.begin())].over = complete;
        return;
      }
    }
    const bool wildcard = r.has(flag::any_source | flag::any_tag);
    if (!matched_probe && wildcard && !r.has(flag::complete | flag::resolved)) return;
    const core::stable_key channel =
        core::combine(core::combine(comm.id, sends ? 1 : 2),
                      (std::uint64_t{static_cast<std::uint32_t>(r.peer)} << 32) | static_cast<std::uint32_t>(r.tag));
    enter(r.posting, channel,
          (sends || complete || r.has(flag::matched) ? std::uint32_t{settles} : 0u) |
              (sends || complete ? 0u : std::uint32_t{awaited}),
          matched_probe);
  }

  void enter(std::uint32_t posting, core::stable_key channel, std::uint32_t state, bool probed) {
    const std::uint32_t found = channels_.intern(channel, static_cast<std::uint32_t>(counts_.size()));
    if (found == counts_.size()) counts_.push_back(0);
    const std::uint32_t entry = ((found + 1) << number_shift) | state;
    if (posting <= base_) {
      earlier_.push_back({posting, entry, probed, false});
      return;
    }
    std::uint32_t& known = fresh_[posting - base_];
    if (known != 0 && (known & awaited) == 0) return;  // the probe of a completed receive
    known = entry;
    if (probed) probed_.push_back(posting);
  }

  // A message that is not settled may still follow a wildcard that was posted before it.
  void number() {
    const auto by_posting = [](const message& a, const message& b) { return a.posting < b.posting; };
    base::small_stable_sort(earlier_, by_posting);
    base::small_stable_sort(probed_);
    base::pod_vector<std::uint8_t> reached(counts_.size(), 0);
    const auto look_back = [&reached](std::uint32_t& entry) {
      if (entry == 0) return;
      std::uint8_t& later = reached[(entry >> number_shift) - 1];
      if ((entry & settles) != 0) later = 1;
      else if (later != 0) entry |= settles;
    };
    for (std::size_t i = fresh_.size(); i-- != 0;) look_back(fresh_[i]);
    for (std::size_t i = earlier_.size(); i-- != 0;) look_back(earlier_[i].order);

    const auto give_number = [this](std::uint32_t& entry) {
      const bool counts = (entry & settles) != 0;
      const bool stays = counts && (entry & awaited) != 0;
      entry = counts ? ++counts_[(entry >> number_shift) - 1] : 0;
      return stays;
    };
    const std::size_t before = known_.size();
    for (message& m : earlier_) {
      m.over = !give_number(m.order);
      if (m.order != 0) known_.push_back(m);
    }
    for (std::size_t i = 0; i != fresh_.size(); ++i) {
      if (!give_number(fresh_[i])) continue;
      const auto posting = static_cast<std::uint32_t>(base_ + i);
      known_.push_back({posting, fresh_[i], std::binary_search(probed_.begin(), probed_.end(), posting), false});
    }
    if (before != known_.size()) base::small_stable_sort(known_, by_posting);
  }

  base::key_map channels_;
  base::pod_vector<std::uint32_t> counts_;  // number of settled messages of each channel
  base::pod_vector<message> known_;  // messages of earlier parts, and pending ones of this part
  base::pod_vector<message> earlier_;  // posted in earlier parts, not settled there
  base::pod_vector<std::uint32_t> probed_;
  base::pod_vector<std::uint32_t> fresh_;  // by posting of this part: entry, then order
  std::uint32_t base_ = 0;
  bool first_ = true;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
