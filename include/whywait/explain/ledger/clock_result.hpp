#ifndef WHYWAIT_EXPLAIN_LEDGER_CLOCK_RESULT_HPP
#define WHYWAIT_EXPLAIN_LEDGER_CLOCK_RESULT_HPP

#include <whywait/explain/explanation.hpp>
#include <whywait/explain/ledger/clock_stamp.hpp>
#include <whywait/explain/merged_class.hpp>
#include <whywait/explain/sorting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the clocks of some ranks say together.
struct clock_result {
  clock_bank<most_clocks> ends = detail::all_clocks<most_clocks>(INT64_MIN);  ///< latest under each hypothesis
  std::int64_t measured_end_ns = INT64_MIN, bound_ns = 0, error_ns = 0;  ///< of the location that ended last
  std::int64_t executed_ns = 0, waiting_ns = 0, inversions = 0;
  std::int64_t useful_ns = 0, most_useful_ns = 0, locations = 0;
  struct node_time {
    std::int32_t node;
    std::int64_t useful_ns, locations;
  };
  std::vector<node_time> nodes;      ///< by node
  std::vector<class_clock> classes;  ///< by key and slot

  [[gnu::cold]] void add_end(std::int64_t end_ns, std::int64_t bound) {
    if (end_ns > measured_end_ns || (end_ns == measured_end_ns && bound < bound_ns)) bound_ns = bound;
    measured_end_ns = std::max(measured_end_ns, end_ns);
  }

  [[gnu::cold]] void merge(const clock_result& o) {
    ends = most(ends, o.ends);
    add_end(o.measured_end_ns, o.bound_ns);
    error_ns = std::max(error_ns, o.error_ns);
    executed_ns += o.executed_ns;
    waiting_ns += o.waiting_ns;
    inversions += o.inversions;
    useful_ns += o.useful_ns;
    most_useful_ns = std::max(most_useful_ns, o.most_useful_ns);
    locations += o.locations;
    nodes.insert(nodes.end(), o.nodes.begin(), o.nodes.end());
    classes.insert(classes.end(), o.classes.begin(), o.classes.end());
    join();
  }

  [[gnu::cold]] void join() {
    sort_rarely(nodes, [](const node_time& a, const node_time& b) { return a.node < b.node; });
    sum(nodes, [](const node_time& a, const node_time& b) { return a.node == b.node; },
        [](node_time& a, const node_time& b) {
          a.useful_ns += b.useful_ns;
          a.locations += b.locations;
        });
    sort_rarely(classes, [](const class_clock& a, const class_clock& b) {
      return a.key != b.key ? a.key < b.key : a.slot < b.slot;
    });
    sum(classes, [](const class_clock& a, const class_clock& b) { return a.key == b.key && a.slot == b.slot; },
        [](class_clock& a, const class_clock& b) {
          a.ns += b.ns;
          a.trust = std::max(a.trust, b.trust);
        });
  }

  [[gnu::cold]] packet pack() const {
    packet out;
    put(out, ends);
    for (const std::int64_t v : {measured_end_ns, bound_ns, error_ns, executed_ns, waiting_ns, inversions, useful_ns,
                                 most_useful_ns, locations}) {
      put(out, v);
    }
    put_all(out, nodes);
    put_all(out, classes);
    return out;
  }
  [[gnu::cold]] void merge(packet_reader& in) {
    clock_result o;
    o.ends = in.get<clock_bank<most_clocks>>();
    for (std::int64_t* v : {&o.measured_end_ns, &o.bound_ns, &o.error_ns, &o.executed_ns, &o.waiting_ns,
                            &o.inversions, &o.useful_ns, &o.most_useful_ns, &o.locations}) {
      *v = in.get<std::int64_t>();
    }
    get_all(in, o.nodes);
    get_all(in, o.classes);
    merge(o);
  }

  [[gnu::cold]] efficiencies efficiency(std::int64_t earliest_ns, std::int64_t ideal_end_ns,
                                         std::int64_t ideal_in_nodes_end_ns) const {
    efficiencies e;
    const auto total = static_cast<double>(measured_end_ns - earliest_ns);
    const auto ideal = static_cast<double>(ideal_end_ns - earliest_ns);
    const auto most_useful = static_cast<double>(most_useful_ns);
    if (locations == 0 || total <= 0 || ideal <= 0 || most_useful <= 0) return e;
    const double mean = static_cast<double>(useful_ns) / static_cast<double>(locations);
    e.parallel = mean / total;
    e.load_balance = mean / most_useful;
    e.communication = most_useful / total;
    e.serialisation = most_useful / ideal;
    e.transfer = ideal / total;
    double busiest = 0;
    for (const node_time& n : nodes) {
      if (n.node < 0) return e;
      busiest = std::max(busiest, static_cast<double>(n.useful_ns) / static_cast<double>(n.locations));
    }
    const auto inside = static_cast<double>(ideal_in_nodes_end_ns - earliest_ns);
    e.transfer_in_nodes = inside / total;
    e.transfer_between_nodes = inside > 0 ? ideal / inside : 0;
    e.balance_in_nodes = busiest / most_useful;
    e.balance_between_nodes = busiest > 0 ? mean / busiest : 0;
    return e;
  }

 private:
  template <class T, class Same, class Add>
  static void sum(std::vector<T>& list, Same same, Add add) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i != list.size(); ++i) {
      if (kept != 0 && same(list[kept - 1], list[i])) {
        add(list[kept - 1], list[i]);
      } else {
        list[kept++] = list[i];
      }
    }
    list.resize(kept);
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
