#include <whywait/base/vector.hpp>
#include <whywait/explain/wait_list.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

using namespace histories;
using list = whywait::base::vector<std::int64_t>;

static list list_of(const explain::wait_list& waits, const explain::rank_history& rank, std::size_t location) {
  list all;
  for (std::size_t i = 0; i != rank.locations[location].records.size(); ++i) all.push_back(waits.of(location, i));
  return all;
}

TEST_CASE("a wait is listed at the call that was kept waiting, whether it is explained or not") {
  run r(2);
  r[0].send(5000, 5100, 1);
  r[0].send(5600, 5700, 1);
  r[1].post_receive(100, 110, 0);
  r[1].call(core::mpi_call::Wait, 200, 5200);
  r[1].completes(0);
  r[1].receive(5400, 5750, 0);
  const whywait::base::vector<explain::rank_history> all = r.views();
  explain::wait_list waits(all[1]);
  explain::options settings;  // waits of 200 ns are below the threshold
  settings.watch = &waits;
  explain::simulated_transport transport(2);
  const explain::outcome out = explain::explain(transport, all, settings);
  CHECK(list_of(waits, all[1], 0) == list{0, 4800, 200});
  CHECK(out.waiting_ns == 5000);
}

TEST_CASE("each thread has a list, and other ranks of the process pass by") {
  run r(2);
  r[1].locations.resize(2);
  r[0].send(3000, 3100, 1, 7);
  r[0].receive(3200, 6100, 1, 9);
  r[1].call(core::mpi_call::Recv, 1000, 3100, "", 1);
  core::sync_record& received = r[1].locations[1].records.back();
  received.peer = 0;
  received.tag = 7;
  received.flags = flag::posts_receive | flag::complete;
  r[1].send(6000, 6050, 0, 9);
  const whywait::base::vector<explain::rank_history> all = r.views();
  explain::simulated_transport transport(2);
  for (const int watched : {0, 1}) {
    explain::wait_list waits(all[static_cast<std::size_t>(watched)]);
    explain::options settings = run::exact();
    settings.watch = &waits;
    explain::explain(transport, all, settings);
    if (watched == 0) {
      CHECK(list_of(waits, all[0], 0) == list{0, 2800});
    } else {
      CHECK(list_of(waits, all[1], 0) == list{0});
      CHECK(list_of(waits, all[1], 1) == list{2000});
    }
  }
}
