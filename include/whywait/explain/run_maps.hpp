#ifndef WHYWAIT_EXPLAIN_RUN_MAPS_HPP
#define WHYWAIT_EXPLAIN_RUN_MAPS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/rank_rows.hpp>
#include <whywait/explain/time_bins.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What one row of ranks has in common with another: messages and their bytes, or waits and their time.
struct row_pair {
  std::int32_t from, to;  ///< sender and receiver; waiting row and late row
  std::int64_t count, amount;

  static bool before(const row_pair& a, const row_pair& b) noexcept { return a.from != b.from ? a.from < b.from : a.to < b.to; }
  static void join(row_pair& to, const row_pair& p) noexcept {
    to.count += p.count;
    to.amount += p.amount;
  }
};

/// Waits of one class whose late side had itself waited, last in a wait of the class `through`, by wait_classes::key_of.
struct class_link {
  core::stable_key wait, through;
  std::int64_t count, ns;  ///< ns: the part of the waits that was inherited through it

  static bool before(const class_link& a, const class_link& b) noexcept {
    return a.wait != b.wait ? a.wait < b.wait : a.through < b.through;
  }
  static void join(class_link& to, const class_link& l) noexcept {
    to.count += l.count;
    to.ns += l.ns;
  }
};

/// Ranks by time, ranks by ranks, and how waits propagate: the pictures of a run, merged up the reduction tree. Bounded: 64
/// rows, 128 bins, 8 blocks, 256 links. Two invariants: the bins of `waiting` add up to all waits; the bins of all series of
/// all rows add up to outcome::location_ns.
struct run_maps {
  static constexpr std::size_t most_blocks = 8, most_links = 256;
  /// The series of a row; one for each of `blocks` follows.
  enum : std::size_t { waiting, calls, other, first_block };

  std::int32_t ranks = 0;      ///< 0: no maps were requested
  std::int64_t width_ns = 0;   ///< of all bins, once `align` was called
  base::pod_vector<core::stable_key> blocks;  ///< blocks with the most time; all other code is in `other`
  std::int32_t first_row = 0;
  base::vector<time_bins> bins;       ///< by row from `first_row` on, then by series
  base::pod_vector<row_pair> messages, waits;  ///< sorted
  base::pod_vector<class_link> links;          ///< sorted

  std::size_t series_count() const noexcept { return first_block + blocks.size(); }
  std::size_t rows() const noexcept { return bins.size() / series_count(); }
  time_bins& at(std::int32_t row, std::size_t series) {
    return bins[static_cast<std::size_t>(row - first_row) * series_count() + series];
  }
  const time_bins& at(std::int32_t row, std::size_t series) const {
    return bins[static_cast<std::size_t>(row - first_row) * series_count() + series];
  }

  /// Sorts and joins the lists. Of more than `most_links` links those of the longest inherited waits are kept.
  void join() {
    base::sort_and_join(messages, row_pair::before, row_pair::join);
    base::sort_and_join(waits, row_pair::before, row_pair::join);
    base::sort_and_join(links, class_link::before, class_link::join);
    if (links.size() <= most_links) return;
    small_stable_sort(links, [](const class_link& a, const class_link& b) { return a.ns > b.ns; });
    links.resize(most_links);
    small_stable_sort(links, class_link::before);
  }

  /// Adds the maps of other ranks or of a later epoch, whose blocks begin with the same ones.
  void merge(run_maps&& more) {
    if (more.ranks == 0) return;
    if (ranks == 0) {
      *this = std::move(more);
      return;
    }
    extend(more.blocks);
    more.extend(blocks);
    const std::int32_t first = std::min(first_row, more.first_row);
    const std::int32_t end =
        std::max(first_row + static_cast<std::int32_t>(rows()), more.first_row + static_cast<std::int32_t>(more.rows()));
    base::vector<time_bins> all(static_cast<std::size_t>(end - first) * series_count());
    for (run_maps* part : {this, &more}) {
      const std::size_t skipped = static_cast<std::size_t>(part->first_row - first) * series_count();
      for (std::size_t i = 0; i != part->bins.size(); ++i) all[skipped + i].add(part->bins[i]);
    }
    bins = std::move(all);
    first_row = first;
    messages.append(more.messages.data(), more.messages.size());
    waits.append(more.waits.data(), more.waits.size());
    links.append(more.links.data(), more.links.size());
    join();
  }

  /// Brings all bins to one width.
  void align() {
    for (const time_bins& b : bins) width_ns = std::max(width_ns, b.width_ns());
    for (time_bins& b : bins) b.widen(width_ns);
  }

  void write(base::packet& out) const {
    put(out, ranks);
    if (ranks == 0) return;
    put(out, first_row);
    put_all(out, blocks);
    put(out, static_cast<std::uint64_t>(bins.size()));
    for (const time_bins& b : bins) b.write(out);
    put_all(out, messages);
    put_all(out, waits);
    put_all(out, links);
  }
  void read(base::packet_reader& in) {
    ranks = in.get<std::int32_t>();
    if (ranks == 0) return;
    first_row = in.get<std::int32_t>();
    get_all(in, blocks);
    bins.resize(in.get_count(sizeof(std::int64_t)));
    for (time_bins& b : bins) b.read(in);
    get_all(in, messages);
    get_all(in, waits);
    get_all(in, links);
  }

 private:
  // Appends series for further blocks.
  void extend(const base::pod_vector<core::stable_key>& wanted) {
    if (wanted.size() <= blocks.size()) return;
    const std::size_t before = series_count(), after = first_block + wanted.size(), all = rows();
    base::vector<time_bins> wider(all * after);
    for (std::size_t r = 0; r != all; ++r)
      for (std::size_t s = 0; s != before; ++s) wider[r * after + s] = std::move(bins[r * before + s]);
    bins = std::move(wider);
    blocks = wanted;
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
