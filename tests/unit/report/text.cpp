#include <whywait/base/vector.hpp>
#include <whywait/report/text.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

using namespace sample;

namespace {

std::string text(const explain::outcome& o, reports::run_facts f = facts(), reports::text_options options = {}) {
  return reports::text_of(reported(o, names(), std::move(f)), options);
}

std::size_t widest_line(const std::string& all) {
  std::size_t most = 0;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    most = std::max(most, base::display_width(std::string_view(all).substr(at, end - at)));
    at = end + 1;
  }
  return most;
}

bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the main example fits into 80 columns") {
  explain::explanation barrier_wait = late_sender();
  barrier_wait.why = explain::pattern::wait_at_barrier;
  barrier_wait.operation = barrier_wait.cause = barrier;
  barrier_wait.count = 100;
  barrier_wait.wait_ns = 11800000000;
  barrier_wait.longest_ns = 210000000;
  barrier_wait.indirect_ns = 0;
  barrier_wait.residual = {term(update, 11800000000, 0, 100, 0)};
  barrier_wait.waiters =
      barrier_wait.causers = {{0, 0, 2950000000}, {1, 0, 2950000000}, {2, 0, 2950000000}, {3, 0, 2950000000}};
  CHECK(text(outcome({late_sender(), barrier_wait})) ==
        R"(whywait · 8 ranks · 12.4 s · 31 % of rank time is waiting (30.7 s)
  ranks 0-3 waited in MPI_Barrier (main.cpp:30) for one another because of
  update: evening that out would shorten the run by up to 3.0 s of 12 s
  late sender 19 %, wait at barrier 12 % of rank time

 1  late sender  18.9 s  62 % of the waiting, 1,400 waits, longest 95 ms
    MPI_Recv in exchange (halo.cpp:142)  <-  MPI_Send in exchange (halo.cpp:131)
    ranks 1-7 waited for rank 0
    the late rank ran
      compute_interior (halo.cpp:88)  +17.2 s  same visits, each 1.9 ms slower
      pack_halo (halo.cpp:60)          +1.5 s  1,200 more visits
      (unexplained)                    +0.2 s
    1.0 s of this is inherited: the late side had itself waited for others
    try: call MPI_Send (halo.cpp:131) before compute_interior if the message
         does not depend on it, else after each part of it, or post the receive
         early with MPI_Irecv and wait for it after other work (saves at most
         2.7 s)

 2  wait at barrier  11.8 s  38 % of the waiting, 100 waits, longest 210 ms
    MPI_Barrier in main (main.cpp:30)  <-  MPI_Barrier in main (main.cpp:30)
    ranks 0-3 waited for one another
    the late ranks ran
      update (step.cpp:7)  +11.8 s  only the late side ran it
    try: spread the work of update evenly over the ranks, or drop MPI_Barrier
         (main.cpp:30) if no data depends on it (saves at most 3.0 s)

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched, 0.7 % of the waiting unexplained
)");
}

TEST_CASE("a balanced program is reported as balanced") {
  explain::explanation e = late_sender();
  e.wait_ns = 160000000;
  e.residual = {term(compute, 160000000, 0, 5, 0)};
  explain::outcome found = outcome({e}, 4, 10 * second);
  found.total_ns = 10 * second;
  found.efficiency = {0.96, 0.97, 0.99, 0.99, 1.0, 0, 0};
  CHECK(text(std::move(found), facts(4)) == R"(whywait · 4 ranks · 10.0 s
  0.4 % of rank time is waiting (160 ms): nothing worth changing here.
  (most: late sender, 160 ms in all, MPI_Recv in exchange (halo.cpp:142))

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched, 0 % of the waiting unexplained
)");
}

TEST_CASE("a partially recorded run is not called balanced") {
  explain::explanation e = late_sender();
  e.wait_ns = 160000;
  e.residual = {term(compute, 160000, 0, 5, 0)};
  reports::run_facts part = facts(4);
  part.seconds = 2.31;
  part.unseen_seconds = 2.30;
  CHECK(text(outcome({e}, 4, second / 100), part) ==
        R"(whywait · 4 ranks · 2.31 s, of which 10.0 ms (0.4 %) is explained
  0.4 % of the rank time that is explained is waiting (160 us); the other 2.30 s
  of the run were not recorded.

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched, 0 % of the waiting unexplained
)");
  reports::result with = reports::assemble(outcome({}, 4, second / 100), {}, part);
  base::place loop, pack;
  loop.name = "loop";
  loop.file = "a.cpp";
  loop.line = 3;
  pack.name = "pack";
  with.unseen = {{loop, 190, 1.9, 0}, {pack, 1, 0.1, 0}};
  CHECK(has(reports::text_of(with),
            "    while nothing was recorded, all ranks ran loop (a.cpp:3) 1.90 s (190\n    visits), pack 100 ms (1 visit)\n"));
  part.unseen_seconds = 2.31;
  CHECK(text(outcome({}, 4, 0), part) == R"(whywait · 4 ranks · 2.31 s, of which nothing is explained
  The waits of this run are not explained.

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched
)");
}

TEST_CASE("a chain names the block that began it and the inherited time") {
  explain::explanation e = late_sender();
  e.operation = recv;
  e.count = 1;
  e.wait_ns = 7 * second;
  e.longest_ns = 7 * second;
  e.indirect_ns = 5 * second;
  e.residual = {term(compute, 5 * second, 0, 1, 0), term(update, 2 * second, 0, 1, 0)};
  e.residual[0].inherited_ns = 5 * second;
  e.waiters = {{2, 0, 7 * second}};
  e.causers = {{1, 0, 7 * second}};
  CHECK(text(outcome({e}, 3), facts(3)) == R"(whywait · 3 ranks · 12.4 s · 19 % of rank time is waiting (7.00 s)
  rank 2 waited in MPI_Recv (halo.cpp:142) for messages of rank 1, which come
  after compute_interior and update: sending them or parts of them earlier, if
  possible, would shorten the run by up to 7.0 s of 12 s

 1  late sender  7.00 s  100 % of the waiting, 1 wait
    MPI_Recv in exchange (halo.cpp:142)  <-  MPI_Send in exchange (halo.cpp:131)
    rank 2 waited for rank 1
    the late rank ran
      compute_interior (halo.cpp:88)  +5.00 s
          only the late side ran it; all inherited
      update (step.cpp:7)             +2.00 s  only the late side ran it
    5.00 s of this is inherited: the late side had itself waited for others
    try: call MPI_Send (halo.cpp:131) before compute_interior and update if the
         message does not depend on it, else after each part of it, or post the
         receive early with MPI_Irecv and wait for it after other work (saves at
         most 7.00 s)

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched, 0 % of the waiting unexplained
)");
}

TEST_CASE("a program without marks is described by its MPI calls") {
  explain::explanation e = late_sender();
  e.operation = waitall;
  e.count = 3;
  e.wait_ns = second;
  e.longest_ns = 500000000;
  e.indirect_ns = 0;
  e.residual = {term(between_key, 900000000, 0, 3, 0), term(call_key, 0, 100000000, 6, 6)};
  e.waiters = e.causers = {{0, 0, 500000000}, {1, 0, 500000000}};
  explain::outcome o = outcome({e}, 2, 2 * second);
  o.meanings = {{between_key, explain::block_kind::between, waitall, send},
                {call_key, explain::block_kind::call, allreduce, 0}};
  base::names known;
  base::place site = call("MPI_Waitall", "", "", 0);
  site.function = "void app::step<double>(app::grid<double>&)";
  site.offset = 0x2301;
  known.add(waitall, site);
  known.add(send, call("MPI_Send", "", "src/halo.cpp", 131));
  known.add(allreduce, call("MPI_Allreduce", "", "src/main.cpp", 44));
  CHECK(reports::text_of(reported(o, known, facts(2))) ==
        R"(whywait · 2 ranks · 2.00 s · 25 % of rank time is waiting (1.00 s)
  ranks 0 and 1 waited in MPI_Waitall (app+0x2301) for messages of one another,
  which come after the code between MPI_Waitall (app+0x2301) and MPI_Send
  (halo.cpp:131): sending them or parts of them earlier, if possible, would
  shorten the run by up to 500 ms of 2.0 s

 1  late sender  1.00 s  100 % of the waiting, 3 waits, longest 500 ms
    MPI_Waitall in app::step<...> (app+0x2301)
      <-  MPI_Send in app::exchange (halo.cpp:131)
    ranks 0 and 1 waited for one another
    the late ranks ran
      between MPI_Waitall in app::step<...> (app+0x2301)
          and MPI_Send in app::exchange (halo.cpp:131)
        +0.90 s  only the late side ran it
      inside MPI_Allreduce in app::exchange (main.cpp:44)
        +0.10 s  same calls, each 17 ms slower
    try: call MPI_Send (halo.cpp:131) before the code between MPI_Waitall
         (app+0x2301) and MPI_Send (halo.cpp:131) if the message does not depend
         on it, else after each part of it, and MPI_Test in the rest (all but
         small ones leave only while both ranks are inside MPI), or give ranks 0
         and 1 work to do ahead of MPI_Waitall (app+0x2301) (saves at most 0.50
         s)

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched, 0 % of the waiting unexplained
)");
}

TEST_CASE("huge numbers stay readable") {
  explain::explanation e = late_sender();
  e.wait_ns = 123456789 * second;
  e.longest_ns = 99999 * second;
  e.count = 5000000000;
  e.unexplained_ns = 0;
  e.residual = {term(compute, 0, 123400000 * second, 9000000000, 9000000000), term(pack, 56789 * second, 0, 2600000000, 1400)};
  explain::outcome o = outcome({e}, 100000, 12345 * second);
  o.unmatched = 1;
  o.clock_violations = 3;
  reports::run_facts f = facts(100000);
  f.mpi_calls = 123456789012;
  f.dropped_events = 7654321;
  CHECK(text(o, f) == R"(whywait · 100,000 ranks · 3.43 h · 10 % of rank time is waiting (34294 h)
  no verdict: no change is known that would shorten the run by 2 % or more

 1  late sender  34294 h  100 % of the waiting, 5.00 billion waits, longest 28 h
    MPI_Recv in exchange (halo.cpp:142)  <-  MPI_Send in exchange (halo.cpp:131)
    ranks 1-7 waited for rank 0
    the late rank ran
      compute_interior (halo.cpp:88)  +34278 h  same visits, each 14 ms slower

    123 billion MPI calls seen, clock error 1.0 us, 7,654,321 events dropped, 1
    message unmatched, 3 clock violations, 0 % of the waiting unexplained
)");
}

TEST_CASE("tiny numbers stay readable") {
  explain::explanation e = late_sender();
  e.wait_ns = e.longest_ns = 950;
  e.count = 1;
  e.indirect_ns = 0;
  e.residual = {term(compute, 0, 900, 9, 9), term(pack, 50, 0, 2600, 0)};
  e.waiters = {{1, 0, 950}};
  reports::text_options all;
  all.quiet_seconds = 0;
  CHECK(text(outcome({e}, 2, 12345), facts(2), all) ==
        R"(whywait · 2 ranks · 12.3 us · 3.8 % of rank time is waiting (950 ns)

 1  late sender  950 ns  100 % of the waiting, 1 wait
    MPI_Recv in exchange (halo.cpp:142)  <-  MPI_Send in exchange (halo.cpp:131)
    rank 1 waited for rank 0
    the late rank ran
      compute_interior (halo.cpp:88)  +900 ns  same visits, each 100 ns slower
      pack_halo (halo.cpp:60)          +50 ns  only the late side ran it
    try: call MPI_Send (halo.cpp:131) before compute_interior if the message
         does not depend on it, else after each part of it, or post the receive
         early with MPI_Irecv and wait for it after other work (saves at most
         900 ns)

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched, 0 % of the waiting unexplained
)");
}

TEST_CASE("steps and counted lines stand under the block that they are part of") {
  base::names known = names();
  base::place lines = block("loop in force", "", "src/force.cpp", 8, "step");
  lines.last_line = 11;
  lines.function = "force(int)";
  known.add(700, lines);
  explain::explanation e = late_sender();
  e.count = 3;
  e.indirect_ns = e.unexplained_ns = 0;
  e.residual = {term(between_key, 0, 10 * second, 3, 3), term(compute, 0, 8900000000, 9, 9), term(700, 0, 0, 4000, 1000),
                term(step, 0, 0, 100, 40), term(700, 0, 0, 5, 0)};
  e.residual[2].within = between_key;
  e.residual[3].within = compute;
  e.residual[4].within = waitall;  // an interval that is not listed took no longer, so its lines are not shown
  explain::outcome o = outcome({e});
  o.meanings = {{between_key, explain::block_kind::between, waitall, send}};
  const std::string out = reports::text_of(reports::assemble(o, known, facts()));
  CHECK(has(out, R"(
      between MPI_Waitall in step (halo.cpp:20)
          and MPI_Send in exchange (halo.cpp:131)
                                      +10.0 s  same visits, each 3.3 s slower
        loop in force (force.cpp:8-11)
          4.0x as often: 4,000 visits instead of 1,000
      compute_interior (halo.cpp:88)   +8.9 s  same visits, each 989 ms slower
        refine (halo.cpp:90)
          2.5x as often: 100 visits instead of 40
)"));
  CHECK_FALSE(has(out, "5 visits"));
}

TEST_CASE("a single rank has no waits") {
  CHECK(text(outcome({}, 1), facts(1)) == R"(whywait · 1 rank · 12.4 s
  1 rank: there is no other rank to wait for.

    12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages
    unmatched
)");
}

TEST_CASE("no MPI calls seen is loud and claims no balance") {
  reports::run_facts f = facts();
  f.mpi_calls = 0;
  const std::string out = text(outcome({}), f);
  CHECK(has(out, "NO MPI CALLS WERE SEEN"));
  CHECK_FALSE(has(out, "nothing worth changing"));
  CHECK(widest_line(out) <= 80);
}

TEST_CASE("at most six waits are shown, the rest is one line with its sum") {
  whywait::base::vector<explain::explanation> many;
  for (int i = 0; i < 18; ++i) {
    explain::explanation e = late_sender();
    e.wait_ns = second;
    e.why = static_cast<explain::pattern>(i % 9);  // with one pattern they would be shapes of one wait
    if (i >= 9) std::swap(e.operation, e.cause);
    e.residual = {term(compute, second, 0, 1, 0)};
    many.push_back(e);
  }
  const std::string out = text(outcome(many));
  CHECK(has(out, "\n 6  early reduce"));
  CHECK_FALSE(has(out, "\n 7  "));
  CHECK(has(out, "\n    12 more kinds of waits: 12.0 s (67 % of the waiting)\n"));
}

TEST_CASE("waits beyond 95 % of the waiting are not shown one by one") {
  explain::explanation small = late_sender();
  small.wait_ns = 300000000;
  small.residual = {term(update, 300000000, 0, 1, 0)};
  explain::explanation other = small;
  small.why = explain::pattern::late_receiver;
  other.why = explain::pattern::early_scan;
  const std::string out = text(outcome({late_sender(), small, other}));
  CHECK_FALSE(has(out, "\n 2  "));
  CHECK(has(out, "\n    2 more kinds of waits: 600 ms (3.1 % of the waiting)\n"));
}

TEST_CASE("waiting that was too short to explain is accounted for") {
  explain::outcome o = outcome({late_sender()});
  o.waiting_ns += 2 * second;
  CHECK(has(text(o), "\n    other waits, each too short to explain: 2.00 s (9.6 % of the waiting)\n"));
}

TEST_CASE("wrong order, doubts, partial runs and warnings are reported") {
  explain::explanation e = late_sender();
  e.wrong_order_count = 200;
  e.wrong_order_ns = 3 * second;
  e.trust = explain::quality::order_suspect;
  reports::run_facts f = facts();
  f.partial = true;
  f.warnings = {"region \"a\" was ended twice"};
  const std::string out = text(outcome({e}), f);
  CHECK(has(out, "    200 messages received in another order than sent (3.00 s)\n"));
  CHECK(has(out, "    uncertain: some messages could not be assigned to their receives\n"));
  CHECK(has(out, "PARTIAL"));
  CHECK(has(out, "The program did not finish"));
  CHECK(has(out, "    warning: region \"a\" was ended twice\n"));
}

TEST_CASE("a small remainder is not shown, a large one is") {
  explain::explanation e = late_sender();
  e.residual = {term(compute, 18800000000, 0, 1, 0)};
  CHECK_FALSE(has(text(outcome({e})), "(unexplained)"));
  e.residual = {term(compute, 18000000000, 0, 1, 0)};
  CHECK(has(text(outcome({e})), "(unexplained)                    +0.9 s"));
  e.residual.clear();
  const std::string out = text(outcome({e}));
  CHECK(has(out, "(unexplained)  +18.9 s"));
  CHECK_FALSE(has(out, "the late rank ran"));
}

TEST_CASE("many blocks become eight and a sum") {
  explain::explanation e = late_sender();
  e.residual.clear();
  for (int i = 0; i < 12; ++i) e.residual.push_back(term(compute, 1575000000, 0, 1, 0));
  CHECK(has(text(outcome({e})), "      4 more blocks                   +6.3 s\n"));
}

TEST_CASE("long names and paths stay within 80 columns, file names whole") {
  base::names known = names();
  const std::string file = "very/deep/path/to/the/sources/of/the/program/finite_volume_flux.cpp";
  known.add(901,
            block("compute_the_numerical_flux_over_all_interior_faces_of_the_unstructured_mesh", "main", file.c_str(), 1234));
  known.add(900,
            call("MPI_Neighbor_alltoallw", "exchange_of_halo_layers_between_neighbouring_subdomains", file.c_str(), 98765));
  explain::explanation e = late_sender();
  e.operation = e.cause = 900;
  e.residual[0].block = 901;
  e.why = explain::pattern::wait_at_create;
  const std::string out = reports::text_of(reported(outcome({e}), known, facts()));
  CAPTURE(out);
  CHECK(has(out, "compute_the_numerical_flux_over_all_...rior_faces_of_the_unstructured_mesh"));
  CHECK(has(out, "(finite_volume_flux.cpp:1234)"));
  CHECK(has(out, "(finite_volume_flux.cpp:98765)"));
  CHECK_FALSE(has(out, "very/deep"));
  CHECK(widest_line(out) <= 80);
}

TEST_CASE("callers of functions that wrap MPI are named, within 80 columns") {
  base::names known = names();
  base::place one_place = call("MPI_Allreduce", "", "src/parallel.c", 99), other_place = one_place;
  one_place.caller = "advance_the_solution (timestep.c:133)";
  other_place.caller = "norm_of_the_residual (conjugate_gradients.c:1207)";
  known.add(900, one_place);
  known.add(901, other_place);
  explain::explanation e = late_sender();
  e.operation = 900;
  e.cause = 901;
  e.residual[0].block = between_key;
  explain::outcome found = outcome({e});
  found.meanings = {{between_key, explain::block_kind::between, 900, 901}};
  const reports::result result = reported(found, known, facts());
  const std::string out = reports::text_of(result);
  CAPTURE(out);
  CHECK(has(out, "MPI_Allreduce in app::exchange (parallel.c:99)\n        from advance_the_solution (timestep.c:133)\n"));
  CHECK(has(out,
            "  <-  MPI_Allreduce in app::exchange (parallel.c:99)\n              from norm_of_the_residual "
            "(conjugate_gradients.c:1207)"));
  CHECK(has(
      out,
      "between MPI_Allreduce in app::exchange (parallel.c:99)\n                  from advance_the_solution (timestep.c:133)"));
  CHECK(result.waits[0].residual[0].block ==
        "between MPI_Allreduce at app::exchange (parallel.c:99) from advance_the_solution (timestep.c:133) and "
        "MPI_Allreduce at app::exchange (parallel.c:99) from norm_of_the_residual (conjugate_gradients.c:1207)");
  CHECK(widest_line(out) <= 80);
}

TEST_CASE("the text fits other widths") {
  explain::explanation e = late_sender();
  e.why = explain::pattern::wait_at_create;
  e.trust = explain::quality::hidden_tree;
  for (const std::size_t columns : {60u, 80u, 100u, 140u}) {
    reports::text_options options;
    options.columns = columns;
    CAPTURE(columns);
    CHECK(widest_line(text(outcome({e, e}), facts(), options)) <= columns);
  }
}

TEST_CASE("names in other scripts keep the columns aligned") {
  base::names known = names();
  known.add(901, block("\xe8\xa8\x88\xe7\xae\x97", "main", "a.cpp", 1));  // four columns, six bytes
  explain::explanation e = late_sender();
  e.residual[0].block = 901;
  const std::string out = reports::text_of(reported(outcome({e}), known, facts()));
  CHECK(has(out, "      \xe8\xa8\x88\xe7\xae\x97 (a.cpp:1)           +17.2 s  same visits"));
  CHECK(has(out, "      pack_halo (halo.cpp:60)   +1.5 s  1,200 more"));
}

TEST_CASE("a region cannot control the terminal") {
  base::names known = names();
  known.add(901, block("a\033[2Jb\nc", "main", "a.cpp", 1));
  explain::explanation e = late_sender();
  e.residual[0].block = 901;
  CHECK(has(reports::text_of(reported(outcome({e}), known, facts())), "a?[2Jb c (a.cpp:1)"));
}

TEST_CASE("colour adds nothing but colour") {
  reports::text_options colour;
  colour.colour = true;
  const std::string coloured = text(outcome({late_sender()}), facts(), colour);
  std::string stripped;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\033') i = coloured.find('m', i);
    else stripped += coloured[i];
  }
  CHECK(coloured != stripped);
  CHECK(stripped == text(outcome({late_sender()})));
}

TEST_CASE("shapes of one wait are added up for the reader, and the sum still adds up") {
  explain::explanation first = late_sender(), second_shape = late_sender();
  second_shape.wait_ns = 9 * second;
  second_shape.count = 7;
  second_shape.residual = {term(compute, second, 0, 10, 10), term(update, 8 * second, 0, 5, 0)};
  second_shape.unexplained_ns = 0;
  const reports::result r = reported(outcome({first, second_shape}), names(), facts());
  REQUIRE(r.waits.size() == 2);
  const whywait::base::vector<reports::wait_group> groups = reports::group_shapes(r.waits);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].shapes == 2);
  CHECK(groups[0].sum.count == first.count + 7);
  double sum = groups[0].sum.unexplained_seconds;
  for (const reports::residual_entry& e : groups[0].sum.residual) sum += e.seconds();
  CHECK(sum == doctest::Approx(groups[0].sum.seconds).epsilon(1e-12));
  CHECK(has(reports::text_of(r), "2 shapes of explanations added up"));
}

TEST_CASE("a section that only some programs have stands before what if, with or without waiting") {
  struct own_section final : reports::section {
    std::string text(std::size_t columns) const override { return "\n    own, " + std::to_string(columns) + " columns\n"; }
    std::string brief(std::size_t columns) const override {
      return "  own, briefly, " + std::to_string(columns) + " columns\n";
    }
    void write(reports::json_document&) const override {}
  };
  for (const bool waiting : {true, false}) {
    reports::result r = reported(waiting ? outcome({late_sender()}) : outcome({}), names(), facts());
    CHECK_FALSE(has(reports::text_of(r), "own, "));
    r.communication = std::make_shared<own_section>();
    CHECK(has(reports::text_of(r), "\n    own, 80 columns\n\n    12,345 MPI calls seen"));
    CHECK(has(reports::short_text_of(r), "\n  own, briefly, 80 columns\n  12,345 MPI calls"));
  }
}

TEST_CASE("inherited waiting is named above 1 % of a wait") {
  explain::explanation e = late_sender();
  e.indirect_ns = 0;
  CHECK_FALSE(has(text(outcome({e})), "is inherited"));
  reports::result r = reported(outcome({late_sender()}), names(), facts());
  REQUIRE(r.waits.size() == 1);
  r.waits[0].seconds = 100;
  r.waits[0].indirect_seconds = 1;
  CHECK_FALSE(has(reports::text_of(r), "is inherited"));
  r.waits[0].indirect_seconds = 1.01;
  CHECK(has(reports::text_of(r), "is inherited"));
}
