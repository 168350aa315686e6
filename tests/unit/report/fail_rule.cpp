#include <whywait/report/fail_rule.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using whywait::reports::broken_rules;
using whywait::reports::fail_rules;
using whywait::reports::parse_fail_rules;

whywait::result run() {
  whywait::result r;
  r.reason.clear();
  r.ranks = 4;
  r.seconds = 2;
  r.rank_seconds = 8;
  r.waiting_seconds = 2;
  r.unexplained_seconds = 0.1;
  r.not_understood_seconds = 0.4;
  r.efficiency = whywait::result::efficiencies{0.75, 0.8, 0.9375, 0.95, 0.987};
  r.waits.resize(1);
  r.waits[0].seconds = 1;
  r.waits[0].operation.call = "MPI_Allreduce";
  r.waits[0].operation.text = "MPI_Allreduce in step (halo.cpp:22)";
  r.regions.resize(2);
  r.regions[0].name = "step";
  r.regions[0].max_seconds = 1.5;
  r.regions[0].efficiency = whywait::result::efficiencies{0.5, 0.6, 0.8333, {}, {}};
  r.regions[1].name = "threads";
  r.verdict.resize(1);
  r.verdict[0].saving_seconds = 0.5;
  return r;
}

std::string broken(const std::string& text, const whywait::result& r = run()) {
  const fail_rules rules = parse_fail_rules(text);
  CHECK(rules.problem == "");
  std::string all;
  for (const std::string& why : broken_rules(rules, r)) all += (all.empty() ? "" : "; ") + why;
  return all;
}

}  // namespace

TEST_CASE("a condition that holds is said with its value") {
  CHECK(broken("efficiency<0.8; waiting>10%") == "efficiency is 75.0 %, below 80.0 %; waiting is 25.0 %, above 10.0 %");
  CHECK(broken("efficiency < 70 %;waiting>30%") == "");
  CHECK(broken("") == "");
  CHECK(broken("load_balance<0.9, communication<0.9, serialisation<.9, transfer<0.99") ==
        "load_balance is 80.0 %, below 90.0 %; transfer is 98.7 %, below 99.0 %");
  CHECK(broken("waiting(MPI_Allreduce)>12%") == "waiting(MPI_Allreduce) is 12.5 %, above 12.0 %");
  CHECK(broken("waiting(halo.cpp:22) > 13 %; waiting(MPI_Recv)>0; waiting(mutex::lock)>0") == "");
  CHECK(broken("waiting(MPI_Recieve)>0") == "waiting(MPI_Recieve) cannot be checked: there is no call or region of this name");
  CHECK(broken("efficiency(step)<0.6") == "efficiency(step) is 50.0 %, below 60.0 %");
  CHECK(broken("load_balance(step)<0.6") == "");
  CHECK(broken("time>1s; time>1500 ms; time(step)>1s; time > 2.5 s") ==
        "time is 2.00 s, above 1.00 s; time is 2.00 s, above 1.50 s; time(step) is 1.50 s, above 1.00 s");
  CHECK(broken("unexplained>4%; not_understood>4%; saving>20%") ==
        "unexplained is 5.00 %, above 4.00 %; not_understood is 5.00 %, above 4.00 %; saving is 25.0 %, above 20.0 %");
}

TEST_CASE("a limit that is met exactly counts with <= and >= only") {
  CHECK(broken("waiting>25%; efficiency<0.75") == "");
  CHECK(broken("waiting>=25%; efficiency<=0.75") ==
        "waiting is 25.0 %, not below 25.0 %; efficiency is 75.0 %, not above 75.0 %");
}

TEST_CASE("what is not known fails") {
  CHECK(broken("efficiency(nowhere)<0.1") == "efficiency(nowhere) cannot be checked: there is no region of this name");
  CHECK(broken("efficiency(threads)<0.1") == "efficiency(threads) cannot be checked: it is not known");
  whywait::result alone = run();
  alone.ranks = 1;
  alone.efficiency.reset();
  CHECK(broken("efficiency<0.1", alone) == "efficiency cannot be checked: with one rank it is not known");
  CHECK(broken("waiting>1", whywait::result()) == "waiting cannot be checked: nothing was explained");
}

TEST_CASE("a condition that cannot be read is shown with a caret") {
  const auto problem = [](const char* text) { return parse_fail_rules(text).problem; };
  CHECK(problem("efficiency 0.8") == "expected <, <=, > or >=\n  efficiency 0.8\n             ^");
  CHECK(problem("waiting>10%; eficiency<0.8") ==
        "expected efficiency, load_balance, communication, serialisation, transfer, waiting, unexplained, not_understood, "
        "saving, time\n  waiting>10%; eficiency<0.8\n               ^");
  CHECK(problem(" ; ") == "expected a condition\n   ; \n     ^");
  CHECK(problem("") == "");
  CHECK(problem("waiting>") == "expected a number\n  waiting>\n          ^");
  CHECK(problem("waiting>-1") == "expected a number\n  waiting>-1\n          ^");
  CHECK(problem("waiting>10 ms") == "expected %, ; or the end\n  waiting>10 ms\n             ^");
  CHECK(problem("time>10") == "expected s, ms or us\n  time>10\n         ^");
  CHECK(problem("efficiency<80") == "expected %, because a share is at most 1\n  efficiency<80\n               ^");
  CHECK(problem("efficiency<180%") == "expected at most 100 %\n  efficiency<180%\n                ^");
  CHECK(problem("waiting>1% efficiency<1") == "expected ; or the end\n  waiting>1% efficiency<1\n             ^");
  CHECK(problem("waiting(MPI_Recv>1") == "expected a site in parentheses\n  waiting(MPI_Recv>1\n         ^");
  CHECK(problem("saving(step)>1").find("because saving is that of the whole run") != std::string::npos);
}
