#include <whywait/base/vector.hpp>
#include <whywait/report/short_text.hpp>
#include <whywait/report/text.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

using namespace sample;

namespace {

std::string brief(const explain::outcome& o, reports::run_facts f = facts(),
                  std::size_t columns = reports::text_options::unlimited) {
  reports::text_options options;
  options.full = false;
  options.columns = columns;
  return reports::text_of(reported(o, names(), std::move(f)), options);
}
bool shows(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
std::ptrdiff_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }
std::size_t widest(const std::string& all) {
  std::size_t most = 0;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    most = std::max(most, base::display_width(std::string_view(all).substr(at, end - at)));
    at = end + 1;
  }
  return most;
}
bool finds(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }
int times(const std::string& all, const std::string& part) {
  int n = 0;
  for (std::size_t at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++n;
  return n;
}

explain::explanation at_barrier(std::int64_t wait_ns, core::stable_key block) {
  explain::explanation e = late_sender();
  e.why = explain::pattern::wait_at_barrier;
  e.operation = e.cause = barrier;
  e.count = 100;
  e.wait_ns = wait_ns;
  e.longest_ns = wait_ns / 50;
  e.indirect_ns = e.unexplained_ns = 0;
  e.residual = {term(block, wait_ns, 0, 100, 0)};
  e.waiters = {{1, 0, wait_ns / 2}, {2, 0, wait_ns / 2}};
  e.causers = {{0, 0, wait_ns}};
  return e;
}

}  // namespace

TEST_CASE("the short report of the main example") {
  explain::outcome o = outcome({late_sender(), at_barrier(11800000000, update)});
  with_ledger(o);
  reports::run_facts f = facts();
  f.origin.program = "./build/app";
  f.origin.date = "2026-11-24T15:04:05+01:00";
  CHECK(brief(o, f, 80) == R"(whywait · app · 8 ranks · 12.4 s · 31 % waiting · 2026-11-24 15:04
  ranks 1-7 waited in MPI_Recv (halo.cpp:142) for messages of rank 0, which come
  after compute_interior: sending them or parts of them earlier, if possible,
  would shorten the run by up to 2.7 s of 12 s
  efficiency 60 % = load balance 75 % × serialisation 89 % × transfer 90 %

 1  late sender: ranks 1-7 waited for rank 0, 19 % of rank time
    in MPI_Recv in exchange (halo.cpp:142) <- MPI_Send in exchange
      (halo.cpp:131)
    91 % because of compute_interior (halo.cpp:88): same visits, each 1.9 ms
      slower
    try: call MPI_Send (halo.cpp:131) before compute_interior if the message
         does not depend on it, else after each part of it, or post the receive
         early with MPI_Irecv and wait for it after other work (saves at most
         2.7 s)

 2  wait at barrier: ranks 1 and 2 waited for rank 0, 12 % of rank time
    in MPI_Barrier in main (main.cpp:30)
    100 % because of update (step.cpp:7): only the late side ran it

  12,345 MPI calls, 0.7 % of the waiting unexplained, measuring took at most 520
    ms (4.2 %); more: WHYWAIT_REPORT=full
)");
}

TEST_CASE("kinds of waits with one root are one finding") {
  explain::explanation also = late_sender();
  also.operation = waitall;
  also.wait_ns = 4 * second;
  also.longest_ns = 200000000;
  also.residual = {term(compute, 0, 4 * second, 900, 900)};
  also.unexplained_ns = 0;
  also.why = explain::pattern::late_receiver;
  const std::string text = brief(outcome({late_sender(), also, at_barrier(3 * second, update)}));
  CAPTURE(text);
  CHECK(times(text, "because of compute_interior (halo.cpp:88)") == 1);
  CHECK(finds(text, " 1  late sender and late receiver: ranks 1-7 waited for rank 0, 23 % of rank time\n"));
  CHECK(finds(text, ", and in 1 other call\n"));
  CHECK(finds(text, "\n 2  wait at barrier: "));
  CHECK(!finds(text, "\n 3  "));
}

TEST_CASE("a row of several kinds of waits is that of the kind with most of the time, or an average") {
  explain::explanation also = late_sender();  // compute_interior: 17.2 s in 9,000 visits
  also.operation = waitall;
  also.wait_ns = second;
  also.residual = {term(compute, 0, second, 9000, 9000)};
  also.unexplained_ns = 0;
  CHECK(finds(brief(outcome({late_sender(), also})), "compute_interior (halo.cpp:88): same visits, each 1.9 ms slower\n"));
  also.wait_ns = 18 * second;
  also.residual = {term(compute, 0, 18 * second, 9000, 9000)};
  explain::explanation third = also;
  third.operation = barrier;
  third.why = explain::pattern::wait_at_barrier;
  CHECK(finds(brief(outcome({late_sender(), also, third})),
              "compute_interior (halo.cpp:88): same visits, 2.0 ms slower on average\n"));
}

TEST_CASE("what is small is left out") {
  explain::explanation e = late_sender();
  e.count = 9;
  e.residual = {term(compute, 0, 17 * second, 9, 9), term(sample::pack, 1700000000, 0, 2, 1), term(update, 200000000, 0, 2, 1)};
  const std::string text = brief(outcome({e, at_barrier(2 * second, update)}));
  CAPTURE(text);
  CHECK(finds(text, "90 % because of compute_interior (halo.cpp:88): same visits, each 1.9 s slower\n"));
  CHECK(!finds(text, "pack_halo"));  // 9 % of the finding
  CHECK(!finds(text, "\n 2  "));     // 9.6 % of the waiting
  CHECK(finds(text, "; more: WHYWAIT_REPORT=full\n"));
}

TEST_CASE("a report of 500 kinds of waits fits 25 lines") {
  base::names known = names();
  base::vector<explain::explanation> waits;
  for (core::stable_key i = 0; i < 500; ++i) {
    const core::stable_key region = 1000 + i % 7, operation = 2000 + i;
    known.add(region,
              block(("region_with_a_long_name_" + std::to_string(i % 7)).c_str(), "main/region", "src/solver.cpp", 100));
    known.add(operation, call("MPI_Wait", "main/exchange", "src/a_file_with_a_long_name.cpp", 100 + static_cast<int>(i)));
    explain::explanation e = late_sender();
    e.operation = operation;
    e.wait_ns = 100000000 - static_cast<std::int64_t>(i) * 100000;
    e.unexplained_ns = 0;
    e.indirect_ns = 0;
    e.residual = {term(region, e.wait_ns / 4 * 3, 0, 20, 10), term(compute, 0, e.wait_ns / 4, 10, 10)};
    waits.push_back(e);
  }
  explain::outcome o = outcome(std::move(waits));
  with_ledger(o);
  reports::run_facts f = facts();
  for (int i = 0; i < 5; ++i)
    f.warnings.push_back("a long warning that explains what happened, to what, what happens now and what to do, number " +
                         std::to_string(i));
  reports::text_options options;
  options.full = false;
  const reports::result r = reported(o, known, f);
  const std::string text = reports::text_of(r, options);
  CAPTURE(text);
  CHECK(lines_of(text) <= 25);
  CHECK(widest(text) <= 80);
  CHECK(finds(text, "\n 1  "));
  CHECK(finds(text, "and in 71 other calls"));
  CHECK(finds(text, "500 kinds of waits in all; more: WHYWAIT_REPORT=full"));
  CHECK(finds(text, "3 more warnings"));
  options.columns = reports::text_options::unlimited;
  const std::string unwrapped = reports::text_of(r, options);
  CHECK(lines_of(unwrapped) <= lines_of(text));
  CHECK(finds(unwrapped, "in MPI_Wait in exchange (a_file_with_a_long_name.cpp:100) <- MPI_Send in exchange (halo.cpp:131)"));
  // the same content, wrapped or not
  CHECK(times(unwrapped, "try: ") == times(text, "try: "));
  CHECK(lines_of(reports::text_of(r, {})) > 60);  // the full one
}

TEST_CASE("a run that hardly waits has few lines") {
  explain::outcome found = outcome({}, 4, 10 * second);
  found.total_ns = 10 * second;
  found.efficiency = {0.96, 0.97, 0.99, 0.99, 1.0, 0, 0};
  CHECK(brief(found, facts(4)) == R"(whywait · 4 ranks · 10.0 s
  0 % of rank time is waiting (0 s): nothing worth changing here.
  12,345 MPI calls
)");
  found.efficiency = {0.5, 0.6, 0.85, 0.9, 0.95, 0, 0};
  const std::string inefficient = brief(found, facts(4));
  CAPTURE(inefficient);
  CHECK(finds(inefficient, "the ranks hardly wait, but the run is not efficient"));
  found.waiting_ns = 84000;
  found.location_ns = 240000;
  const std::string tiny = brief(found, facts(4));
  CAPTURE(tiny);
  CHECK(finds(tiny, "35 % of rank time is waiting (84.0 us), too little to be worth changing."));
  CHECK(finds(inefficient, "efficiency 50 % = load balance 60 %"));
}

TEST_CASE("what makes a report doubtful is said in the short one") {
  explain::outcome o = outcome({late_sender()});
  o.unmatched = 3;
  o.clock_violations = 2;
  reports::run_facts f = facts();
  f.dropped_events = 7;
  f.partial = true;
  f.clock_error_seconds = 0.002;
  f.pause_seconds = 123;
  f.warnings = {"the record buffer was full"};
  reports::name_not_counted(f, 0xf, 0);  // slower visits are what matters in the example
  const std::string text = brief(o, f);
  CAPTURE(text);
  CHECK(finds(text, "· PARTIAL\n  The program did not finish"));
  CHECK(finds(text, "7 events dropped"));
  CHECK(finds(text, "3 messages unmatched"));
  CHECK(finds(text, "2 clock violations"));
  CHECK(finds(text, "clock error 2.0 ms"));
  CHECK(finds(text, ", pauses of epochs another 123 s (WHYWAIT_PAUSES limits them)"));
  CHECK(finds(text, ", not counted on this machine: instructions, cycles and stalled cycles"));
  CHECK(finds(text, "\n  warning: the record buffer was full\n"));
  f.mpi_calls = 0;
  CHECK(finds(brief(o, f), "NO MPI CALLS WERE SEEN"));
  o.waits[0].trust = explain::quality::hidden_tree;
  CHECK(finds(brief(o), "another rank may have been late"));
}

TEST_CASE("colours change nothing else") {
  explain::outcome o = outcome({late_sender()});
  with_ledger(o);
  const reports::result r = reported(o, names(), facts());
  reports::text_options options;
  options.full = false;
  const std::string plain = reports::text_of(r, options);
  options.colour = true;
  std::string coloured = reports::text_of(r, options);
  CHECK(finds(coloured, "\033[32m    try: "));
  for (std::size_t at = coloured.find('\033'); at != std::string::npos; at = coloured.find('\033'))
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  CHECK(coloured == plain);
}

namespace {

/// Lines of a terminal with 80 columns, as tests/check.py counts them: spaces at the begin of a line stay, long words are cut.
std::size_t rows_of(const std::string& all) {
  std::size_t rows = 0;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string line = all.substr(at, end - at);
    ++rows;
    for (std::size_t column = 0, i = 0; i < line.size();) {
      const std::size_t space = std::min(line.find(' ', i == 0 ? line.find_first_not_of(' ') : i), line.size());
      const std::size_t width = base::display_width(std::string_view(line).substr(i, space - i));
      if (column != 0 && column + 1 + width > 80) {
        ++rows;
        column = 0;
      }
      column += (column != 0 ? 1 : 0) + width;
      for (; column > 80; column -= 80) ++rows;
      i = space + 1;
    }
    at = end + 1;
  }
  return rows;
}

/// A name of `size` characters: one word, or several.
std::string long_name(std::size_t size, bool words) {
  std::string name;
  while (name.size() < size) name += words && name.size() % 12 == 11 ? ' ' : 'n';
  return name;
}

/// A part of the report that is as long as its names.
class long_section final : public reports::section {
 public:
  explicit long_section(std::string text) : text_(std::move(text)) {}
  std::string text(std::size_t) const override { return {}; }
  std::string brief(std::size_t columns) const override {
    return base::wrap("data: " + text_, columns, "  ", "    ") + base::wrap("shared memory: " + text_, columns, "  ", "    ");
  }
  void write(reports::json_document&) const override {}

 private:
  std::string text_;
};

/// Everything that a report may have, with names of `size` characters.
reports::result everything(std::size_t size, bool words) {
  const std::string name = long_name(size, words);
  base::names known = names();
  known.add(1000, block(name.c_str(), name.c_str(), (name + ".cpp").c_str(), 100));
  known.add(1001, block((name + "2").c_str(), name.c_str(), (name + ".cpp").c_str(), 200));
  known.add(2000, call("MPI_Wait", name.c_str(), (name + ".cpp").c_str(), 100));
  known.add(2001, call("MPI_Isend", name.c_str(), (name + ".cpp").c_str(), 300));
  explain::explanation e = late_sender();
  e.operation = 2000;
  e.cause = 2001;
  e.residual = {term(1000, e.wait_ns / 2, 0, 20, 10), term(1001, e.wait_ns / 4, 0, 10, 10)};
  e.unexplained_ns = e.wait_ns - e.wait_ns / 2 - e.wait_ns / 4;
  e.trust = explain::quality::hidden_tree;
  explain::explanation other = at_barrier(12 * second, update);
  other.operation = other.cause = 2001;
  explain::outcome o = outcome({e, other});
  with_ledger(o);
  o.unmatched = 123456;
  o.clock_violations = 123456;
  reports::run_facts f = facts();
  f.origin.program = name;
  f.origin.date = "2026-11-24T15:04:05+01:00";
  f.partial = true;
  f.epochs = 123;
  f.dropped_events = 123456789;
  f.clock_error_seconds = 0.002;
  f.pause_seconds = 123;
  f.late = {123456, 12345, 12345};
  f.unseen_seconds = 1;
  for (int i = 0; i < 9; ++i) f.warnings.push_back(name + " happened " + std::to_string(i) + " times");
  reports::result r = reported(o, known, std::move(f));
  for (int i = 0; i < 3; ++i) {
    reports::verdict_entry v;
    v.claim = "rank " + std::to_string(i) + " takes 3.0 times as long as the others in " + name + ": balancing it";
    v.saving_seconds = 1;
    r.verdict.push_back(v);
  }
  for (reports::wait_entry& w : r.waits) {
    reports::advice_entry a;
    a.text = "give some of " + name + " to the other ranks, and call MPI_Isend before it if the message does not depend on it";
    a.saving_seconds = 1;
    w.advice.push_back(a);
  }
  const auto calls = [&](auto& list) {
    for (int i = 0; i < 8; ++i) list.push_back({call("MPI_Wait", name.c_str(), (name + ".cpp").c_str(), i + 1), 10, 1.0, 0});
  };
  r.not_understood.seconds = 20;
  r.not_understood.between_polls_seconds = 8;
  calls(r.not_understood.calls);
  r.not_understood.sharing.seconds = 30;
  r.not_understood.sharing.ranks = 8;
  r.not_understood.sharing.processors = 2;
  r.files.seconds = r.other_worlds.seconds = 5;
  calls(r.files.calls);
  calls(r.other_worlds.calls);
  for (int i = 0; i < 6; ++i) {
    whywait::whatif::answer a;
    a.question = "block " + name + " x2";
    if (i % 2 == 0) a.refusal = "no block " + name;
    r.prediction.answers.push_back(a);
  }
  r.communication.reset(new long_section(name));
  return r;
}

}  // namespace

TEST_CASE("no short report has more than 25 lines, whatever it contains and however long its names are") {
  for (const bool words : {false, true}) {
    for (const std::size_t size : {1u, 30u, 79u, 400u}) {
      CAPTURE(size);
      CAPTURE(words);
      reports::result r = everything(size, words);
      reports::text_options options;
      options.full = false;
      for (const std::size_t columns : {std::size_t(80), reports::text_options::unlimited}) {
        options.columns = columns;
        const std::string text = reports::text_of(r, options);
        CAPTURE(text);
        CHECK(rows_of(text) <= 25);
        CHECK(rows_of(text) >= 12);
        CHECK(shows(text, "\n 1  "));
        CHECK(shows(text, "\n    try: "));
        CHECK(shows(text, " takes 3.0 times as long as the others in"));
        CHECK(shows(text, "shorten"));
        CHECK(shows(text, "s that are explained"));
        CHECK(shows(text, "8 more warnings"));
      }
      // without calls, and without anything to explain
      r.run.mpi_calls = 0;
      CHECK(rows_of(reports::text_of(r, options)) <= 25);
    }
  }
}
