// ranks: 2 4
// with: observer late_snapshot.cpp comes_last.cpp
// environment: WHYWAIT_TIMELINE=drop_newest:1M:blocks WHYWAIT_REPORT=none
//
// The timeline of a program with known marks, drained by the program itself while it runs.
#include "parts/late_snapshot.hpp"

#include <whywait/core/registry.hpp>
#include <whywait/finalize/take_timelines.hpp>

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

int failures = 0;

void expect(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  late_snapshot();

  namespace core = whywait::core;
  const core::registry& registry = *core::the_registry();
  const whywait::base::vector<whywait::explain::location_timeline> threads = whywait::finalize::take_timelines(registry);
  MPI_Finalize();
  expect(threads.size() == 1, "one thread recorded");
  if (threads.size() != 1) return 1;
  expect(threads[0].lost == 0 && !threads[0].lost_first, "nothing was lost");

  std::string expected, found;
  for (int round = 0; round < late_rounds; ++round) {
    const bool late = round == late_rounds - 1 && rank == 0;
    expected += "<round>";
    for (int k = 0; k < 3; ++k) {
      expected += "<smooth>";
      for (int cell = 0; cell < (late ? 12 : 4); ++cell) expected += "cell ";
      expected += "</smooth><pack></pack>";
    }
    if (late) expected += "<snapshot><write></write><write></write><write></write></snapshot>";
    expected += "</round>";
  }
  whywait::core::shared_clock clock;  // in ticks
  std::int64_t before = INT64_MIN;
  for (const whywait::explain::timeline_mark& m : whywait::explain::marks_of(threads[0], clock)) {
    const std::string name = registry.sites[m.block].name;
    found += m.kind == core::timeline_event::enter   ? "<" + name + ">"
             : m.kind == core::timeline_event::leave ? "</" + name + ">"
                                                     : name + " ";
    expect(m.at_ns >= before, "times do not run backwards");
    before = m.at_ns;
  }
  expect(found == expected, "the events are those of the program");
  if (failures != 0) std::fprintf(stderr, "found %s\n", found.c_str());
  expect(whywait::finalize::take_timelines(registry)[0].events.empty(), "what was taken is gone");
  return failures == 0 ? 0 : 1;
}
