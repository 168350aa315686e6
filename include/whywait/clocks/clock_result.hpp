#ifndef WHYWAIT_CLOCKS_CLOCK_RESULT_HPP
#define WHYWAIT_CLOCKS_CLOCK_RESULT_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stamp.hpp>
#include <whywait/clocks/joining.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The combined results of the clocks of some ranks.
struct clock_result {
  clock_bank<most_clocks> ends = detail::all_clocks<most_clocks>(INT64_MIN);  ///< latest under each hypothesis
  std::int64_t measured_end_ns = INT64_MIN, bound_ns = 0, error_ns = 0;       ///< of the location that ended last
  std::int64_t executed_ns = 0, waiting_ns = 0, inversions = 0;
  std::int64_t useful_ns = 0, most_useful_ns = 0, locations = 0;
  std::int64_t further = 0, further_ns = 0;  ///< of the locations: further threads, and the time in which they count
  struct node_time {
    std::int32_t node;
    std::int64_t useful_ns, locations, further, further_ns;
  };
  base::pod_vector<node_time> nodes;               ///< by node
  base::pod_vector<explain::class_clock> classes;  ///< by key and slot

  void add_end(std::int64_t end_ns, std::int64_t bound) {
    if (end_ns > measured_end_ns || (end_ns == measured_end_ns && bound < bound_ns)) bound_ns = bound;
    measured_end_ns = std::max(measured_end_ns, end_ns);
  }

  /// Sorts and joins the lists; call after the results of one rank are added.
  void join() { base::sort_and_join(classes, before, add); }

  void write(base::packet& out) const {
    put(out, ends);
    for (const std::int64_t v : {measured_end_ns, bound_ns, error_ns, executed_ns, waiting_ns, inversions, useful_ns,
                                 most_useful_ns, locations, further, further_ns}) {
      put(out, v);
    }
    put_all(out, nodes);
    put_all(out, classes);
  }
  /// Merges what another rank's `write` wrote; both sides must be joined.
  void merge(base::packet_reader& in) {
    ends = most(ends, in.get<clock_bank<most_clocks>>());
    const auto end_ns = in.get<std::int64_t>();
    add_end(end_ns, in.get<std::int64_t>());
    error_ns = std::max(error_ns, in.get<std::int64_t>());
    for (std::int64_t* v : {&executed_ns, &waiting_ns, &inversions, &useful_ns}) *v += in.get<std::int64_t>();
    most_useful_ns = std::max(most_useful_ns, in.get<std::int64_t>());
    locations += in.get<std::int64_t>();
    further += in.get<std::int64_t>();
    further_ns += in.get<std::int64_t>();
    join_ascending(
        nodes, in, [](const node_time& a, const node_time& b) { return a.node < b.node; },
        [](node_time& a, const node_time& b) {
          a.useful_ns += b.useful_ns;
          a.locations += b.locations;
          a.further += b.further;
          a.further_ns += b.further_ns;
        });
    join_ascending(classes, in, before, add);
  }

  explain::efficiencies efficiency(std::int64_t earliest_ns, std::int64_t ideal_end_ns, std::int64_t ideal_in_nodes_end_ns,
                                   std::int64_t without_files_end_ns) const {
    explain::efficiencies e;
    const auto total = static_cast<double>(measured_end_ns - earliest_ns);
    if (locations == 0 || total <= 0 || ideal_end_ns <= earliest_ns || most_useful_ns <= 0) return e;
    // The mean over locations; a further thread has the weight of the time in which it counts (active_time.hpp).
    const auto mean_of = [total](std::int64_t useful, std::int64_t all, std::int64_t threads, std::int64_t threads_ns) {
      const double weight = static_cast<double>(all - threads) + static_cast<double>(threads_ns) / total;
      return weight > 0 ? std::min(static_cast<double>(useful) / weight, total) : 0;
    };
    const double mean = mean_of(useful_ns, locations, further, further_ns);
    const double most_useful = std::min(std::max(static_cast<double>(most_useful_ns), mean), total);
    // No network makes the run shorter than its longest useful time, which may include some time beyond the clocks'.
    const auto since = [&](std::int64_t end_ns) { return std::max(static_cast<double>(end_ns - earliest_ns), most_useful); };
    const double ideal = since(ideal_end_ns);
    e.parallel = mean / total;
    e.load_balance = mean / most_useful;
    e.communication = most_useful / total;
    const double without_files = since(without_files_end_ns);
    e.serialisation = most_useful / without_files;
    e.files = without_files / ideal;
    e.transfer = ideal / total;
    double busiest = 0;
    for (const node_time& n : nodes) {
      if (n.node < 0) return e;
      busiest = std::max(busiest, mean_of(n.useful_ns, n.locations, n.further, n.further_ns));
    }
    const double inside = since(ideal_in_nodes_end_ns);
    e.transfer_in_nodes = inside / total;
    e.transfer_between_nodes = ideal / inside;
    e.balance_in_nodes = busiest / most_useful;
    e.balance_between_nodes = busiest > 0 ? mean / busiest : 0;
    return e;
  }

 private:
  static bool before(const explain::class_clock& a, const explain::class_clock& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.slot < b.slot;
  }
  static void add(explain::class_clock& to, const explain::class_clock& c) noexcept {
    to.ns += c.ns;
    to.trust = std::max(to.trust, c.trust);
  }
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
