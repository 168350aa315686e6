#ifndef WHYWAIT_EXPLAIN_PATH_BETWEEN_HPP
#define WHYWAIT_EXPLAIN_PATH_BETWEEN_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/path_folder.hpp>
#include <whywait/core/path_order.hpp>
#include <whywait/core/site.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/picture.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>

namespace whywait {
inline namespace v0 {
namespace explain {
namespace detail {

/// Joins the order segments of one location and the MPI calls between them into one folded path.
class path_joiner {
 public:
  static constexpr std::uint32_t most_nodes = 1u << 16;
  static constexpr std::uint64_t most_records = 100000;

  path_joiner(const rank_history& rank, std::uint32_t location) : rank_(rank), here_(rank.locations[location]) {
    if (!folder_.open(most_nodes)) throw std::bad_alloc();
  }
  ~path_joiner() { folder_.release(); }
  path_joiner(const path_joiner&) = delete;
  path_joiner& operator=(const path_joiner&) = delete;

  picture_side operator()(std::int64_t since_ns, std::uint64_t last) {
    picture_side side;
    side.rank = rank_.rank;
    side.thread = here_.thread;
    if (last >= here_.records.size()) return side;
    std::uint64_t first = first_after(since_ns, last);
    side.cut = last - first > most_records;
    if (side.cut) first = last - most_records;
    std::uint64_t segment = 0;  // found by bisection: the first that does not end before record `first`
    for (std::uint64_t step = std::uint64_t(1) << 40; step != 0; step >>= 1)
      if (segment + step <= here_.order.size() && here_.order[segment + step - 1].record < first) segment += step;
    for (std::uint64_t k = first; k <= last; ++k) {
      for (; segment < here_.order.size() && here_.order[segment].record < k; ++segment) {
      }
      const bool ordered = segment < here_.order.size() && here_.order[segment].record == k;
      before_record(k, ordered ? &here_.order[segment] : nullptr);
      if (k != last) call(k);
    }
    side.cut = side.cut || folder_.lost() != 0;
    take(side.nodes);
    return side;
  }

 private:
  // Numbers above those of all blocks stand for everything else.
  static constexpr std::uint32_t unmarked = (core::order_node::number_mask + 1) / 2;
  static constexpr std::uint32_t unordered = unmarked + 1;
  static constexpr std::uint32_t calls = unmarked + 2;

  // Records that begin after that instant: what ran before a record that begins at it was common to both sides.
  std::uint64_t first_after(std::int64_t since_ns, std::uint64_t last) const {
    location_walk walk(rank_);
    for (std::uint64_t k = 0; k <= last; ++k) {
      walk.step(here_.records[k]);
      if (walk.begin_ns() > since_ns) return k;
    }
    return last;
  }

  void timed(std::uint32_t number, std::uint64_t ticks) {
    folder_.enter(number);
    folder_.spend(ticks);
    folder_.leave();
  }

  void before_record(std::uint64_t k, const core::order_segment* segment) {
    double inside = 0;
    std::uint64_t steps_begin = k != 0 ? here_.records[k - 1].steps : 0;
    std::uint64_t steps_end = std::min<std::uint64_t>(here_.records[k].steps, here_.steps.size());
    while (steps_begin < steps_end && core::counted_step::is(here_.steps[steps_begin])) ++steps_begin;
    while (steps_begin < steps_end && core::counted_step::is(here_.steps[steps_end - 1])) --steps_end;
    for (std::uint64_t s = steps_begin; s < steps_end; ++s) inside += static_cast<double>(here_.steps[s].ticks);
    if (segment != nullptr) {
      nodes_.clear();
      by_lines(segment->first, segment->first + segment->nodes);
      folder_.append(nodes_.data(), static_cast<std::uint32_t>(nodes_.size()));
      if (segment->lost != 0) without_order(steps_begin, steps_end, &nodes_);
    } else if (steps_begin < steps_end) {
      const core::path_step& only = here_.steps[steps_begin];
      if (steps_end - steps_begin != 1 || only.visits != 0) {
        without_order(steps_begin, steps_end, nullptr);
      } else if ((folder_.innermost() & core::order_node::number_mask) == only.block) {
        folder_.spend(only.ticks);  // no region began or ended
      } else {
        folder_.enter(only.block, core::order_flag::region | core::order_flag::continued);
        folder_.spend(only.ticks);
        folder_.leave(core::order_flag::unfinished);
      }
    }
    const double rest = gap_before(k) - inside;
    if (folder_.depth() == 0 && rest > 0) timed(unmarked, static_cast<std::uint64_t>(rest));
  }

  double gap_before(std::uint64_t k) const {
    const core::sync_record& r = here_.records[k];
    if (k == 0) return std::max(0.0, static_cast<double>(rank_.clock(r.begin) - rank_.begin_ns) / rank_.clock.ns_per_tick);
    const core::sync_record& before = here_.records[k - 1];
    return std::max(0.0, static_cast<double>(static_cast<std::int64_t>(r.begin - before.begin - before.duration)));
  }

  // Adds a segment, or its tail, of which only the counts were kept.
  void without_order(std::uint64_t steps_begin, std::uint64_t steps_end, const base::vector<core::order_node>* kept) {
    seen_.assign(rank_.blocks.size(), {});
    if (kept != nullptr) count(kept->data(), kept->size(), 1);
    folder_.enter(unordered);
    for (std::uint64_t s = steps_begin; s < steps_end; ++s) {
      const core::path_step& step = here_.steps[s];
      if (step.block >= seen_.size()) continue;
      const seen& known = seen_[step.block];
      const std::uint64_t visits = step.visits > known.visits ? step.visits - known.visits : 0;
      const double ticks = std::max(0.0, static_cast<double>(step.ticks) - known.ticks);
      if (visits == 0 && ticks <= 0.001 * static_cast<double>(step.ticks)) continue;
      const core::order_node node{
          step.block | (step.ticks != 0 ? std::uint32_t(core::order_flag::region) : 0u),
          static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(visits, 1), 0xffffffffu)), 0,
          static_cast<float>(ticks)};
      folder_.append(&node, 1);
    }
    folder_.leave();
  }
  void count(const core::order_node* nodes, std::size_t size, std::uint64_t rounds) {
    for (std::size_t i = 0; i < size; i += nodes[i].body + 1) {
      const core::order_node& n = nodes[i];
      if (!n.is_loop() && n.number() < seen_.size()) {
        if (!n.is(core::order_flag::continued)) seen_[n.number()].visits += rounds * n.count;
        seen_[n.number()].ticks += static_cast<double>(n.ticks);
      }
      count(nodes + i + 1, n.body, rounds * n.count);
    }
  }

  // Appends nodes to nodes_. Code that the compiler counts is shown by lines: consecutive blocks of one line are one
  // visit of it, or as many as the largest count in a row; code without a line is left out.
  void by_lines(std::uint64_t from, std::uint64_t to) {
    std::size_t last = none;  // the previous line, if it is on this level
    while (from != to) {
      core::order_node n = here_.order_nodes[from];
      const std::uint64_t body = from + 1, end = body + n.body;
      from = end;
      const std::size_t at = nodes_.size();
      if (!is_code(n)) {
        nodes_.push_back(n);
        by_lines(body, end);
        nodes_[at].body = static_cast<std::uint32_t>(nodes_.size() - at - 1);
        if (nodes_[at].body == n.body || !n.is_loop()) {
          last = none;
          continue;
        }
        if (nodes_[at].body == 0) {
          nodes_.pop_back();
          continue;
        }
        if (nodes_[at].body != 1 || !is_code(nodes_[at + 1])) {
          last = none;
          continue;
        }
        n.symbol = nodes_[at + 1].symbol;  // a loop of one line becomes that line with a count
        n.count = product(n.count, nodes_[at + 1].count);
        nodes_.resize(at);
      } else {
        n.symbol = rank_.code.line_of(n.number());
        if (n.symbol == 0) continue;
      }
      n.body = 0;
      n.ticks = 0;
      if (last != none && nodes_[last].symbol == n.symbol) {
        nodes_[last].count = std::max(nodes_[last].count, n.count);
        continue;
      }
      last = nodes_.size();
      nodes_.push_back(n);
    }
  }
  static bool is_code(const core::order_node& n) noexcept { return n.number() >= core::site_table::capacity; }
  static std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t(a) * b, 0xffffffffu));
  }
  static constexpr std::size_t none = ~std::size_t(0);

  // MPI_Sendrecv has two records without duration for its two halves, before its own.
  void call(std::uint64_t k) {
    const core::sync_record& r = here_.records[k];
    const core::sync_record& next = here_.records[k + 1];
    if (r.duration == 0 && next.begin == r.begin && next.call == r.call) return;
    timed(calls + r.site, r.duration);
  }

  void take(base::vector<picture_node>& out) {
    out.reserve(folder_.size());  // reserved first, so that nothing below can throw
    folder_.finish([&](const core::order_node& n) noexcept {
      picture_node p;
      const std::uint32_t number = n.number();
      p.count = n.count;
      p.body = n.body;
      p.ns = std::llround(static_cast<double>(n.ticks) * rank_.clock.ns_per_tick);
      p.continued = n.is(core::order_flag::continued);
      p.unfinished = n.is(core::order_flag::unfinished);
      if (n.is_loop()) p.what = ran::loop;
      else if (number == unmarked) p.what = ran::unmarked;
      else if (number == unordered) p.what = ran::unordered;
      else if (number >= calls) p.what = ran::call;
      else p.what = n.is(core::order_flag::region) ? ran::region : ran::step;
      if (p.what == ran::call && number - calls < here_.call_sites.size()) p.key = here_.call_sites[number - calls];
      if (number < rank_.blocks.size()) p.key = rank_.blocks[number];
      else if (p.what == ran::step && rank_.code.find(number).begin() != nullptr)
        p.key = rank_.code.find(number).begin()->block;
      out.push_back(p);
    });
    for (std::size_t i = out.size(); i-- != 0;)  // children come later, so their times are complete
      for (std::size_t child = i + 1; child <= i + out[i].body; child += out[child].body + 1) out[i].ns += out[child].ns;
  }

  struct seen {
    std::uint64_t visits = 0;
    double ticks = 0;
  };

  const rank_history& rank_;
  const location_history& here_;
  core::path_folder folder_;
  base::vector<core::order_node> nodes_;
  base::vector<seen> seen_;
};

}  // namespace detail

/// What a location ran from the instant `since_ns` (shared time, INT64_MIN: the beginning) to the beginning of its
/// record `last`, folded: its blocks in order where the order was kept, with the MPI calls between. Reads records,
/// steps and order of that location only. O(records before `last`); at most 100,000 records and 65,536 different nodes.
inline picture_side path_between(const rank_history& rank, std::uint32_t location, std::int64_t since_ns, std::uint64_t last) {
  if (location >= rank.locations.size()) return {};
  return detail::path_joiner(rank, location)(since_ns, last);
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
