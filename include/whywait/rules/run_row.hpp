#ifndef WHYWAIT_RULES_RUN_ROW_HPP
#define WHYWAIT_RULES_RUN_ROW_HPP

#include <whywait/core/code_count.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/program_facts.hpp>
#include <whywait/rules/saving_bounds.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Adds the event `run`. What the kernel did for the program is the mean of all ranks without the one that computes longest, because what
/// only that one has is uneven.
inline void add_run_row(event_store& store, const explain::outcome& found, std::int64_t ranks, const program_facts& program,
                        const saving_bounds& bounds) {
  const auto part =
      found.location_ns > 0 ? static_cast<double>(found.waiting_ns) / static_cast<double>(found.location_ns) : 0.0;
  row_writer run(store, "run");
  run.set("ranks", ranks).set("locations", found.locations).time("duration", found.longest_ns);
  run.time("location_time", found.location_ns).time("waiting", found.waiting_ns).set("waiting_share", part);
  run.set("unmatched", found.unmatched).set("clock_violations", found.clock_violations);
  if (program.code == nullptr) return;
  const code_use& whole = program.code->whole;
  const auto each = [&whole](core::code_count what) {
    return whole.ranks > 1 ? (whole.counts[what] - whole.most_counts[what]) / (whole.ranks - 1) : whole.counts[what];
  };
  // What was not read is like the rest, if that is at least half of the code.
  const std::int64_t read_ns = each(core::code_count::read_ns);
  const std::int64_t code_ns = whole.ranks > 1 ? (whole.ns - whole.most_ns) / (whole.ranks - 1) : whole.ns;
  const double up = read_ns > 0 && read_ns < code_ns && 2 * read_ns >= code_ns
                        ? static_cast<double>(code_ns) / static_cast<double>(read_ns)
                        : 1;
  const auto all_of = [&](core::code_count what) { return core::nearest(up * static_cast<double>(each(what))); };
  const std::int64_t faults = all_of(core::code_count::faults);
  run.time("kernel_duration", std::min(all_of(core::code_count::system_ns), found.longest_ns)).set("faults", faults);
  run.set("repeated_faults", program.most_pages > 0 ? std::max<std::int64_t>(0, faults - program.most_pages) : 0);
  run.time("own_processors", bounds.by_own_processors()).set("own_at_least", bounds.own_processors_save_more());
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
