#include <whywait/report/advice.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <string>
#include <utility>

using namespace sample;

namespace {

report::wait_entry wait_of(explain::explanation e) {
  return report::assemble(outcome({std::move(e)}), names(), facts()).waits[0];
}

}  // namespace

TEST_CASE("a late sender is told to send before the work that delays it") {
  const report::wait_entry w = wait_of(late_sender());
  REQUIRE(w.advice.size() == 1);
  CHECK(w.advice[0].problem == "late_sender");
  CHECK(w.advice[0].text ==
        "call MPI_Send (halo.cpp:131) before compute_interior, or post the receive early with MPI_Irecv and wait for "
        "it after "
        "other work");
  CHECK(w.advice[0].saving_seconds == 17.2);
}

TEST_CASE("a receive that is nonblocking already is not told to become so") {
  explain::explanation e = late_sender();
  e.operation = waitall;
  CHECK(
      wait_of(e).advice[0].text ==
      "call MPI_Send (halo.cpp:131) before compute_interior, or give the waiting ranks work to do ahead of MPI_Waitall "
      "(halo.cpp:20)");
}

TEST_CASE("every pattern has advice that names the user's block and is bounded by the wait") {
  for (unsigned i = 0; i < static_cast<unsigned>(explain::pattern::count_); ++i) {
    explain::explanation e = late_sender();
    e.why = static_cast<explain::pattern>(i);
    e.residual[0] = term(compute, 0, 25 * second, 9, 9);  // more than the wait: another block is negative
    e.residual[1] = term(pack, -6 * second, 0, 0, 9);
    const report::wait_entry w = wait_of(e);
    CAPTURE(w.pattern);
    REQUIRE(w.advice.size() == 1);
    CHECK(w.advice[0].text.find("compute_interior") != std::string::npos);
    CHECK(w.advice[0].text.find("pack_halo") == std::string::npos);
    CHECK(w.advice[0].text.find('{') == std::string::npos);
    CHECK(w.advice[0].saving_seconds == w.seconds);

    e.residual.clear();
    const report::wait_entry bare = wait_of(e);
    REQUIRE(bare.advice.size() == 1);
    CHECK(bare.advice[0].text.find('{') == std::string::npos);
  }
}

TEST_CASE("two blocks are named when one is not enough, and their sum is the bound") {
  explain::explanation e = late_sender();
  e.residual = {term(compute, 10 * second, 0, 1, 0), term(pack, 8 * second, 0, 1, 0), term(update, 900000000, 0, 1, 0)};
  const report::wait_entry w = wait_of(e);
  CHECK(w.advice[0].text.find("compute_interior and pack_halo,") != std::string::npos);
  CHECK(w.advice[0].saving_seconds == 18.0);
}

TEST_CASE("messages received in another order than sent get their own advice") {
  explain::explanation e = late_sender();
  e.wrong_order_count = 3;
  e.wrong_order_ns = 4 * second;
  const report::wait_entry w = wait_of(e);
  REQUIRE(w.advice.size() == 2);
  CHECK(w.advice[0].problem == "wrong_order");
  CHECK(w.advice[0].saving_seconds == 4.0);
}

TEST_CASE("unmarked code is named by its two calls") {
  explain::explanation e = late_sender();
  e.residual = {term(between_key, 18 * second, 0, 4, 0)};
  explain::outcome o = outcome({e});
  o.meanings = {{between_key, explain::block_kind::between, waitall, send}};
  const report::wait_entry w = report::assemble(o, names(), facts()).waits[0];
  CHECK(w.advice[0].text.find("before the code between MPI_Waitall (halo.cpp:20) and MPI_Send (halo.cpp:131), or") !=
        std::string::npos);
}

TEST_CASE("a block whose name looks like a placeholder is not expanded") {
  report::names known = names();
  known.add(500, block("{operation}", "main", "a.cpp", 1));
  explain::explanation e = late_sender();
  e.residual = {term(500, second, 0, 1, 0)};
  const report::result r = report::assemble(outcome({e}), known, facts());
  CHECK(r.waits[0].advice[0].text.find("before {operation},") != std::string::npos);
}

TEST_CASE("a pattern of a later version has no built-in advice") {
  report::wait_entry w;
  w.pattern = "mutex_contention";
  CHECK(report::built_in_advice()(w).empty());
}
