#ifndef WHYWAIT_EXPLAIN_WAIT_LIST_HPP
#define WHYWAIT_EXPLAIN_WAIT_LIST_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// How long each record of one rank waited, explained or not: for who asks what waited in a certain call (the transfers of a
/// communication class). Let `options::watch` point to it while that rank is explained; waits of other ranks in the same
/// process pass by. A wait belongs to the record whose call was kept waiting: that of an Irecv to its Waitall. 8 bytes a
/// record, O(1) a wait. Not thread safe; throws std::bad_alloc, when it is made only.
class wait_list final : public observer {
 public:
  explicit wait_list(const rank_history& rank) : rank_(rank.rank), waits_(rank.locations.size()) {
    for (std::size_t l = 0; l != waits_.size(); ++l) waits_[l].resize(rank.locations[l].records.size(), 0);
  }

  void wait(const wait_instance& w) override {
    if (w.rank == rank_) waits_[w.location][w.record] += w.wait_ns;
  }

  /// Nanoseconds that the calls of one location waited, by index of its sync record; those that did not have 0.
  const base::vector<std::int64_t>& of(std::size_t location) const { return waits_.at(location); }

 private:
  std::int32_t rank_;
  base::vector<base::vector<std::int64_t>> waits_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
