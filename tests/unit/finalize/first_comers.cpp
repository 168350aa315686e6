#include <whywait/finalize/run_summary.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>

#include <cstdint>

TEST_CASE("answered requests from any source are counted, also those that a probe found") {
  namespace flag = whywait::core::sync_flag;
  using whywait::core::mpi_call;
  histories::run r(3);
  std::uint64_t now = 0;
  const auto add = [&](mpi_call what, int peer, unsigned flags) {
    whywait::core::sync_record& c = r[0].call(what, now, now + 10);
    c.peer = peer;
    c.flags = static_cast<std::uint16_t>(flags);
    now += 20;
  };
  const auto take = [&](int peer, unsigned more = 0) {
    add(mpi_call::Recv, peer, flag::posts_receive | flag::complete | more);
  };
  const auto answer = [&](int peer) { add(mpi_call::Send, peer, flag::posts_send | flag::complete); };
  const auto probe = [&](int peer, unsigned more) { add(mpi_call::Iprobe, peer, flag::complete | more); };
  const auto answered = [&r] {
    const whywait::explain::rank_history all = r[0].view(3);
    return whywait::finalize::answered_first_comers(all.locations.at(0));
  };
  take(1, flag::any_source);
  answer(1);
  CHECK(answered() == 1);
  take(1, flag::any_source);  // another one is answered
  answer(2);
  take(2);  // not from any source
  answer(2);
  CHECK(answered() == 1);
  probe(-1, flag::any_source);  // found nothing
  probe(2, flag::any_source);
  take(2);
  answer(2);
  CHECK(answered() == 2);
  probe(2, 0);  // of one source
  take(2);
  answer(2);
  probe(1, flag::any_source);  // the message of another one was taken
  take(2);
  answer(2);
  CHECK(answered() == 2);
}
