#include <whywait/report/json.hpp>
#include <whywait/report/ledger_text.hpp>
#include <whywait/report/text.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <string>

using namespace sample;

namespace {

explain::outcome example() {
  explain::outcome o = outcome({late_sender()});
  with_ledger(o);
  return o;
}

std::string text(const explain::outcome& o) { return reports::text_of(reported(o, names(), facts())); }

bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("without virtual clocks a report omits efficiency, critical path and overhead") {
  const reports::result r = reported(outcome({late_sender()}), names(), facts());
  CHECK(r.ledger.seconds == 0);
  CHECK(r.ledger.critical_path.empty());
  CHECK_FALSE(r.waits[0].compensated_seconds.has_value());
  CHECK_FALSE(r.waits[0].saving_seconds.has_value());
  const std::string said = reports::text_of(r);
  for (const char* word : {"efficiency", "critical path", "measuring", "delay costs"}) CHECK_FALSE(has(said, word));
}

TEST_CASE("results of virtual clocks have names and seconds") {
  const reports::result r = reported(example(), names(), facts());
  REQUIRE(r.ledger.critical_path.size() == 3);
  CHECK(r.ledger.critical_path[0].block == "compute_interior");
  CHECK(r.ledger.critical_path[0].where.line == 88);
  CHECK(r.ledger.critical_path[0].seconds == 9);
  CHECK(r.ledger.critical_path[0].imbalance_seconds == 2);
  CHECK(r.ledger.critical_path[0].saving_seconds == 4.2);
  CHECK(r.ledger.critical_path[1].saving_seconds == 0.0);
  CHECK(r.ledger.critical_path[2].block == "inside MPI_Allreduce in norm (main.cpp:44)");
  CHECK_FALSE(r.ledger.critical_path[2].saving_seconds.has_value());  // not computed
  CHECK(r.ledger.delay_costs[0].long_seconds == 2);
  CHECK(r.ledger.delays.terminal_seconds == 10);
  CHECK(r.ledger.overhead.without_seconds == 12);
  CHECK(r.waits[0].compensated_seconds == 17.9);
  CHECK(r.waits[0].compensated_quality == "bounded");
  CHECK(r.waits[0].saving_seconds == 4.2);
}

TEST_CASE("blocks beyond those listed are one entry, so that the critical path still adds up") {
  explain::outcome o = example();
  o.critical_path.clear();
  o.costs.blocks.clear();
  for (std::int64_t i = 0; i != 40; ++i) {
    o.critical_path.push_back({1000 + static_cast<core::stable_key>(i), 100 - i, 1, 2});
    o.costs.blocks.push_back({1000 + static_cast<core::stable_key>(i), 100 - i, 3});
  }
  const reports::run_ledger l = reported(o, names(), facts()).ledger;
  REQUIRE(l.critical_path.size() == explain::most_listed_blocks + 1);
  CHECK(l.critical_path.back().kind == "other");
  CHECK(l.critical_path.back().visits == 16);
  REQUIRE(l.delay_costs.size() == explain::most_listed_blocks + 1);
  double sum = 0, costs = 0;
  for (const reports::critical_entry& e : l.critical_path) sum += e.seconds;
  for (const reports::delay_entry& e : l.delay_costs) costs += e.short_seconds;
  CHECK(sum == doctest::Approx(3220e-9));
  CHECK(costs == doctest::Approx(3220e-9));
}

TEST_CASE("the text shows the efficiencies, the critical path with the savings of halved blocks, and the overhead") {
  const std::string said = text(example());
  CAPTURE(said);
  CHECK(has(said, "\n  efficiency 60 % = load balance 75 % × serialisation 89 % × transfer 90 %\n"));
  CHECK(has(said,
            "\n"
            "    critical path                           12.4 s  above mean  x2 saves\n"
            "      compute_interior (halo.cpp:88)         9.0 s       2.0 s     4.2 s\n"
            "      pack_halo (halo.cpp:60)                3.0 s                   0 s\n"
            "      inside MPI_Allreduce in norm (main.cpp:44)\n"
            "                                             0.4 s\n"));
  CHECK(has(said,
            "    without measuring the run would have taken 12.0 s (± 20 ms), with 17.9 s of\n"
            "    waiting: measuring took 900 ms on all ranks and made the run longer by at\n"
            "    most 520 ms (4.2 %)\n"));
  CHECK(has(said, "longest 95 ms, 17.9 s without measuring\n"));
}

TEST_CASE("overhead below one percent is reported as a bound, and not at all without calibration") {
  explain::outcome o = example();
  o.without_overhead.bound_ns = 80000000;  // and 20 ms uncertainty of the constants
  for (explain::explanation& e : o.waits) e.compensated_ns = e.wait_ns;
  std::string said = text(o);
  CHECK(has(said, "\n    measuring made the run longer by at most 100 ms (0.8 %)\n"));
  CHECK_FALSE(has(said, "without measuring"));
  o.without_overhead.inversions = 3;
  o.without_overhead.bound_ns = 500000000;
  CHECK(has(text(o), "(4.2 %); without it another message would have arrived first in\n    3 calls\n"));
  o.without_overhead.calibrated = false;
  CHECK_FALSE(has(text(o), "measuring"));
}

TEST_CASE("pauses between epochs are stated beside the run, polls that found nothing are in the bound") {
  explain::outcome o = example();
  o.without_overhead.bound_ns = 80000000;
  reports::run_facts f = facts();
  f.epochs = 12;
  f.pause_seconds = 120;
  f.poll_seconds = 0.013;
  f.compare_seconds = 0.002;
  const reports::result r = reported(o, names(), f);
  CHECK(r.ledger.overhead.error_seconds == doctest::Approx(0.02 + 0.013 + 0.002));
  CHECK(
      reports::detail::overhead_text(r.ledger) ==
      "measuring made the run longer by at most 115 ms (0.9 %), 13 ms of it in tests that found nothing; besides, the program "
      "stood still for 120 s in 11 pauses in which the run so far was explained: they are not part of the 12.4 s of the run");
}

TEST_CASE("savings of a first-come first-served program carry a note about the distribution of work") {
  reports::run_facts f = facts();
  f.first_comers = 57;
  const std::string said = reports::text_of(reported(example(), names(), f));
  CHECK(has(said,
            "\n      \"x2 saves\" assumes that every rank gets the same work again, but 57\n      answers went to the first "
            "rank that sent a request\n"));
  CHECK_FALSE(has(text(example()), "assumes that every rank"));
  f.first_comers = 2;  // no dealing
  CHECK_FALSE(has(reports::text_of(reported(example(), names(), f)), "assumes that every rank"));
}

TEST_CASE("delay costs are reported if they differ from the explanations") {
  explain::outcome o = example();
  const std::string differ =
      "the same waiting by proportion (delay costs): compute_interior 14.0 s (2.0 s\n    of it through others)\n";
  CHECK(has(text(o), differ));  // the explanations contain 17.2 s and 1.5 s
  o.costs.blocks = {{compute, 17 * second, 0}, {pack, 1500000000, 0}};
  CHECK_FALSE(has(text(o), "by proportion"));
}

TEST_CASE("efficiency is split by machine if the machines differ") {
  explain::outcome o = example();
  o.efficiency.balance_in_nodes = 0.75;
  o.efficiency.balance_between_nodes = 1;
  CHECK_FALSE(has(text(o), "in nodes"));
  o.efficiency.balance_in_nodes = 0.9375;
  o.efficiency.balance_between_nodes = 0.8;
  CHECK(has(text(o), "load balance 75 % (in nodes 94 % × between them 80 %)"));
  o.efficiency.transfer_in_nodes = 0.9;
  o.efficiency.transfer_between_nodes = 1;
  CHECK(has(text(o), "transfer 90 %\n"));
  o.efficiency.transfer_in_nodes = 0.96;
  o.efficiency.transfer_between_nodes = 0.9375;
  CHECK(has(text(o), "transfer 90 % (in nodes 96 % × between them 94 %)"));
}

TEST_CASE("negligible waiting omits the critical path but not a low efficiency") {
  explain::outcome o = example();
  o.waiting_ns = 1000;
  CHECK(has(text(o), "efficiency 60 %"));
  CHECK_FALSE(has(text(o), "critical path"));
  o.efficiency.parallel = 0.95;
  CHECK_FALSE(has(text(o), "efficiency"));
}
