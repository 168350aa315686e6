#include <whywait/base/vector.hpp>
#include <whywait/explain/arrivals.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>
#include <vector>

using namespace histories;
using whywait::explain::pattern;

TEST_CASE("oracle: recv enter 2 leave 9, send enter 6 gives a late sender of 4") {
  run r(2);
  r[1].send(6, 7, 0);
  r[0].receive(2, 9, 1);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::late_sender);
  CHECK(out.waits[0].wait_ns == 4);
  CHECK(out.waiting_ns == 4);
  CHECK(out.waits[0].waiters[0].rank == 0);
  CHECK(out.waits[0].causers[0].rank == 1);
}

TEST_CASE("oracle: Irecv at 1, Wait at 5, Isend at 6 gives 1") {
  run r(2);
  const auto posted = r[0].post_receive(1, 2, 1);
  r[0].call(mpi_call::Wait, 5, 8);
  r[0].completes(posted);
  r[1].post_send(6, 7, 0);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::late_sender);
  CHECK(out.waits[0].wait_ns == 1);
  CHECK(r.notes.waits[0].record == 1);
}

TEST_CASE("oracle: send 1 to 8 with the receive posted at 5 gives a late receiver of 4, send 1 to 2 gives 0") {
  for (const std::uint64_t leave : {8u, 2u}) {
    run r(2);
    r[0].send(1, leave, 1);
    r[1].receive(5, 9, 0);
    const auto out = r.explain();
    if (leave == 2) {
      CHECK(out.waits.empty());
    } else {
      REQUIRE(out.waits.size() == 1);
      CHECK(out.waits[0].why == pattern::late_receiver);
      CHECK(out.waits[0].wait_ns == 4);
    }
  }
}

TEST_CASE("oracle: Waitall at 5 with senders at 7, 4 and 9 gives 4 and blames the last") {
  run r(4);
  const auto a = r[0].post_receive(1, 1, 1), b = r[0].post_receive(2, 2, 2), c = r[0].post_receive(3, 3, 3);
  r[0].call(mpi_call::Waitall, 5, 10);
  for (const auto p : {a, b, c}) r[0].completes(p);
  r[1].send(7, 8, 0);
  r[2].send(4, 5, 0);
  r[3].send(9, 10, 0);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].wait_ns == 4);
  CHECK(out.waits[0].causers[0].rank == 3);
  CHECK(out.waits[0].trust == explain::quality::bounded);  // two requests were late
}

TEST_CASE("oracle: the same with Waitany gives 0") {
  run r(4);
  const auto a = r[0].post_receive(1, 1, 1), b = r[0].post_receive(2, 2, 2), c = r[0].post_receive(3, 3, 3);
  r[0].call(mpi_call::Waitsome, 5, 10);
  for (const auto p : {a, b, c}) r[0].completes(p);
  r[1].send(7, 8, 0);
  r[2].send(4, 5, 0);
  r[3].send(9, 10, 0);
  CHECK(r.explain().waits.empty());
}

TEST_CASE("Waitany waits for the first of those that it completed") {
  run r(3);
  const auto a = r[0].post_receive(1, 1, 1), b = r[0].post_receive(2, 2, 2);
  r[0].call(mpi_call::Waitsome, 3, 10);
  r[0].completes(a);
  r[0].completes(b);
  r[1].send(9, 10, 0);
  r[2].send(7, 8, 0);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].wait_ns == 4);
  CHECK(out.waits[0].causers[0].rank == 2);
}

TEST_CASE("Waitany that completed a send whose receive was posted only afterwards waited for nothing else") {
  for (const bool any : {true, false}) {
    run r(3);
    const auto a = r[0].post_receive(1, 1, 1), b = r[0].post_send(2, 2, 2);
    r[0].call(any ? mpi_call::Waitsome : mpi_call::Waitall, 3, 10);
    r[0].completes(a);
    r[0].completes(b);
    r[1].send(9, 10, 0);
    r[2].receive(20, 21, 0);
    const auto out = r.explain();
    REQUIRE(out.waits.size() == (any ? 0 : 1));
    if (!any) CHECK(out.waits[0].wait_ns == 6);
  }
}

TEST_CASE("a single Test never waits, however late the sender is") {
  run r(2);
  const auto posted = r[0].post_receive(1, 2, 1);
  r[0].call(mpi_call::Test, 9, 9);
  r[0].completes(posted);
  r[1].send(6, 7, 0);
  CHECK(r.explain().waits.empty());
}

TEST_CASE("polls that found something after a while waited like the blocking call") {
  for (const mpi_call what : {mpi_call::Test, mpi_call::Testall, mpi_call::Request_get_status}) {
    run r(2);
    const auto posted = r[0].post_receive(1, 2, 1);
    r[0].call(what, 3, 9);
    r[0].completes(posted);
    r[1].send(6, 7, 0);
    const auto out = r.explain();
    REQUIRE(out.waits.size() == 1);
    CHECK(out.waits[0].wait_ns == 3);
    CHECK(out.waits[0].why == pattern::late_sender);
  }
  for (const mpi_call what : {mpi_call::Testany, mpi_call::Testsome}) {  // the first of two is enough
    run r(3);
    const auto a = r[0].post_receive(1, 2, 1), b = r[0].post_receive(1, 2, 2);
    r[0].call(what, 3, 9);
    r[0].completes(a);
    r[0].completes(b);
    r[1].send(8, 9, 0);
    r[2].send(5, 6, 0);
    const auto out = r.explain();
    REQUIRE(out.waits.size() == 1);
    CHECK(out.waits[0].wait_ns == 2);
    CHECK(out.waits[0].causers[0].rank == 2);
  }
  for (const mpi_call what : {mpi_call::Iprobe, mpi_call::Improbe}) {
    run r(2);
    sync_record& probe = r[0].call(what, 3, 9);
    probe.peer = 1;
    probe.tag = 0;
    if (what == mpi_call::Improbe) probe.flags = flag::matched;
    r[0].receive(9, 10, 1);
    if (what == mpi_call::Improbe) r[0].locations[0].records[1].posting = 1;
    r[1].send(6, 7, 0);
    const auto out = r.explain();
    REQUIRE(out.waits.size() == 1);
    CHECK(out.waits[0].wait_ns == 3);
    CHECK(r.notes.wait_of(0, 0) == 3);
    CHECK(out.unmatched == 0);
  }
}

TEST_CASE("polls that found nothing do not wait") {
  run r(2);
  const auto posted = r[0].post_receive(1, 2, 1);
  r[0].call(mpi_call::Test, 3, 9).flags = flag::found_nothing;
  r[0].call(mpi_call::Wait, 20, 21);
  r[0].completes(posted);
  r[1].send(6, 7, 0);
  CHECK(r.explain().waits.empty());
}

TEST_CASE("oracle: a late sender of a message sent at 8 is in wrong order if one sent at 3 is received later") {
  run r(2);
  r[1].send(3, 4, 0, 2);
  r[1].send(8, 9, 0, 1);
  r[0].receive(4, 9, 1, 1);
  r[0].receive(10, 11, 1, 2);
  auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].wait_ns == 4);
  CHECK(out.waits[0].wrong_order_count == 1);
  CHECK(out.waits[0].wrong_order_ns == 4);
  CHECK(out.waits[0].other_ready_ns == 4);

  run other(3);  // from different sources
  other[2].send(3, 4, 0);
  other[1].send(8, 9, 0);
  other[0].receive(4, 9, 1);
  other[0].receive(10, 11, 2);
  CHECK(other.explain().waits.at(0).wrong_order_ns == 4);

  run right(2);
  right[1].send(8, 9, 0, 1);
  right[1].send(9, 10, 0, 2);
  right[0].receive(4, 9, 1, 1);
  right[0].receive(10, 11, 1, 2);
  CHECK(right.explain().waits.at(0).wrong_order_count == 0);
}

TEST_CASE("another message is ready if it was sent in the first half of the wait, whichever is received next") {
  const auto ready_ns = [](std::uint64_t second, std::uint64_t third) {
    run r(4);
    r[1].send(9, 9, 0);
    r[2].send(second, second, 0);
    r[3].send(third, third, 0);
    r[0].receive(1, 10, 1);
    r[0].receive(11, 12, 2);
    r[0].receive(13, 14, 3);
    const auto out = r.explain();
    REQUIRE(out.waits.size() == 1);
    CHECK(out.waits[0].wait_ns == 8);
    CHECK(out.waits[0].wrong_order_ns == (second < 9 || third < 9 ? 8 : 0));
    CHECK(out.waits[0].wrong_order_count == (second < 9 || third < 9 ? 1 : 0));
    return out.waits[0].other_ready_ns;
  };
  CHECK(ready_ns(9, 9) == 0);
  CHECK(ready_ns(8, 8) == 0);  // all come at nearly the same time
  CHECK(ready_ns(6, 9) == 0);
  CHECK(ready_ns(5, 9) == 8);
  CHECK(ready_ns(8, 5) == 8);
  CHECK(ready_ns(9, 0) == 8);
}

TEST_CASE("during a wait for another message at most the code after the receives of ready ones could run") {
  run r(4);
  r[1].send(100, 100, 0);
  r[2].send(20, 20, 0);
  r[3].send(30, 30, 0);
  r[0].receive(1, 101, 1);
  r[0].receive(126, 127, 2);  // 25 of code ahead of it, 20 after it, and 30 after the next one
  r[0].receive(147, 148, 3);
  r[0].call(mpi_call::Barrier, 178, 179);
  const auto out = r.explain();
  REQUIRE(!out.waits.empty());
  CHECK(out.waits[0].wait_ns == 99);
  CHECK(out.waits[0].other_ready_ns == 99);
  CHECK(out.waits[0].ready_code_ns == 45);

  run both(3);  // what follows the second receive may need both messages
  both[1].send(100, 100, 0);
  both[2].send(20, 20, 0);
  both[0].receive(1, 101, 1);
  both[0].receive(101, 102, 2);
  both[0].call(mpi_call::Barrier, 178, 179);
  CHECK(both.explain().waits.at(0).ready_code_ns == 0);
}

TEST_CASE("a message of the next step, or one whose receive was posted ahead, is in no wrong order") {
  run next(3);  // rank 2 is a step ahead; rank 0 sends before its next step
  next[2].send(3, 4, 0);
  next[1].send(8, 9, 0);
  next[0].receive(4, 9, 1);
  next[0].send(10, 11, 1);
  next[1].receive(10, 12, 0);
  next[0].receive(12, 13, 2);
  const auto later = next.explain();
  REQUIRE(later.waits.size() == 1);
  CHECK(later.waits[0].wait_ns == 4);
  CHECK(later.waits[0].wrong_order_count == 0);

  for (const mpi_call what : {mpi_call::Barrier, mpi_call::Comm_disconnect}) {  // all ranks meet between the receives
    CAPTURE(name_of(what));
    run met(3);
    met[2].send(3, 4, 0);
    met[1].send(8, 9, 0);
    met[0].receive(4, 9, 1);
    for (int rank = 0; rank != 3; ++rank) met[rank].collective(what, 10, 11);
    met[0].receive(12, 13, 2);
    const auto before = met.explain();
    REQUIRE(before.waits.size() == 1);
    CHECK(before.waits[0].wrong_order_count == 0);
  }

  run ahead(3);
  ahead[2].send(3, 4, 0);
  ahead[1].send(8, 9, 0);
  const auto a = ahead[0].post_receive(1, 2, 1), b = ahead[0].post_receive(2, 3, 2);
  ahead[0].call(mpi_call::Wait, 4, 9);
  ahead[0].completes(a);
  ahead[0].call(mpi_call::Wait, 10, 11);
  ahead[0].completes(b);
  const auto posted = ahead.explain();
  REQUIRE(posted.waits.size() == 1);
  CHECK(posted.waits[0].wait_ns == 4);
  CHECK(posted.waits[0].wrong_order_count == 0);
  CHECK(posted.waits[0].other_ready_ns == 4);  // MPI_Waitany would have returned it
}

TEST_CASE("Sendrecv waits for its sender; a late receiver is not counted then") {
  run r(3);
  r[0].exchange(2, 12, 1, 2);
  r[2].send(7, 8, 0);
  r[1].receive(9, 12, 0);
  auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::late_sender);
  CHECK(out.waits[0].wait_ns == 5);

  run only(3);
  only[0].exchange(2, 12, 1, 2);
  only[2].send(1, 2, 0);
  only[1].receive(9, 12, 0);
  out = only.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::late_receiver);
  CHECK(out.waits[0].wait_ns == 7);
}

TEST_CASE("Sendrecv waits for its receiver too if it stayed blocked after its sender and returned soon after its receiver") {
  const auto exchange = [](run& r) -> run& {
    r[0].exchange(2, 22, 1, 2);
    r[2].send(5, 6, 0);
    r[1].receive(20, 23, 0);
    return r;
  };
  run r(3);
  const auto out = exchange(r).explain();
  REQUIRE(r.notes.waits.size() == 2);
  CHECK(r.notes.waits[0].why == pattern::late_sender);
  CHECK(r.notes.waits[0].causer_rank == 2);
  CHECK(r.notes.waits[0].wait_ns == 3);
  CHECK(r.notes.waits[1].why == pattern::late_receiver);
  CHECK(r.notes.waits[1].causer_rank == 1);
  CHECK(r.notes.waits[1].begin_ns == 5);
  CHECK(r.notes.waits[1].wait_ns == 15);
  CHECK(out.waiting_ns == 18);

  run short_first(3);
  whywait::explain::options settings;
  settings.threshold_ns = 4;
  exchange(short_first).explain(settings);
  REQUIRE(short_first.notes.waits.size() == 1);
  CHECK(short_first.notes.waits[0].why == pattern::late_receiver);
  CHECK(short_first.notes.waits[0].wait_ns == 18);

  // As long after the receiver as between the two: what held it is not known.
  run unclear(3);
  unclear[0].exchange(2, 36, 1, 2);
  unclear[2].send(5, 6, 0);
  unclear[1].receive(20, 37, 0);
  const auto one = unclear.explain();
  REQUIRE(one.waits.size() == 1);
  CHECK(one.waits[0].why == pattern::late_sender);
  CHECK(one.waits[0].wait_ns == 3);
}

TEST_CASE("a Probe waits for the message that the next receive on its channel gets") {
  run r(2);
  r[1].send(1, 2, 0);
  r[1].send(20, 21, 0);
  r[0].receive(5, 6, 1);
  sync_record& probe = r[0].call(mpi_call::Probe, 12, 22);
  probe.peer = 1;
  r[0].receive(23, 24, 1);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].wait_ns == 8);
  CHECK(r.notes.waits[0].record == 1);
}

TEST_CASE("an Mprobe shares its posting with its Mrecv") {
  run r(2);
  r[1].send(10, 12, 0);
  r[1].send(15, 40, 0);
  sync_record& probe = r[0].call(mpi_call::Mprobe, 2, 11);
  probe.peer = 1;
  probe.flags = flag::matched;
  const std::uint32_t posting = probe.posting;
  r[0].receive(12, 16, 1);  // receives the second message, because the probe takes the first
  sync_record& receive = r[0].call(mpi_call::Mrecv, 30, 31);
  receive.peer = 1;
  receive.posting = posting;
  receive.flags = flag::matched | flag::posts_receive | flag::complete;
  const auto out = r.explain();
  CHECK(r.notes.wait_of(0, 0) == 8);
  CHECK(r.notes.wait_of(0, 1) == 3);
  CHECK(r.notes.wait_of(0, 2) == 0);
  CHECK(r.notes.wait_of(1, 1) == 0);  // posted at 12, before the send
  CHECK(out.unmatched == 0);
}

TEST_CASE("cancelled, failed and null operations take no part in matching; freed wildcards neither") {
  run r(2);
  r[1].send(6, 7, 0);
  r[0].call(mpi_call::Irecv, 0, 0).flags = flag::posts_receive | flag::cancelled;
  r[0].locations[0].records.back().peer = 1;
  r[0].call(mpi_call::Irecv, 0, 0).flags = flag::posts_receive | flag::any_source;
  r[0].locations[0].records.back().peer = 1;
  r[0].call(mpi_call::Recv, 0, 0).flags = flag::posts_receive | flag::proc_null;
  r[0].call(mpi_call::Recv, 0, 0).flags = flag::posts_receive | flag::failed;
  r[0].locations[0].records.back().peer = 1;
  r[0].receive(2, 9, 1);
  const auto out = r.explain();
  CHECK(out.waiting_ns == 4);
  CHECK(out.unmatched == 0);
}

TEST_CASE("postings without a partner are counted on both sides") {
  run r(2);
  r[1].send(6, 7, 0, 5);
  r[0].receive(2, 9, 1, 6);
  const auto out = r.explain();
  CHECK(out.unmatched == 2);
  CHECK(out.waits.empty());
}

TEST_CASE("a cause that arrives after its waiter left is clamped, counted and not explained") {
  run r(2);
  r[1].send(20, 21, 0);
  r[0].receive(2, 9, 1);
  const auto out = r.explain();
  CHECK(out.clock_violations == 1);
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].wait_ns == 7);
  CHECK(out.waits[0].unexplained_ns == 7);
}

TEST_CASE("an ambiguous channel makes the order suspect") {
  run r(2);
  r[1].send(6, 7, 0).flags |= flag::ambiguous;
  r[0].receive(2, 9, 1);
  CHECK(r.explain().waits.at(0).trust == explain::quality::order_suspect);
}

TEST_CASE("lost records make an explanation bounded") {
  run r(2);
  r[1].send(6, 7, 0);
  r[1].locations[0].dropped = 3;
  r[0].receive(2, 9, 1);
  CHECK(r.explain().waits.at(0).trust == explain::quality::bounded);
}

TEST_CASE("a wait that is not much longer than the clock error is bounded") {
  run r(2);
  r[1].send(6, 7, 0);
  r[0].receive(2, 9, 1);
  auto settings = run::exact();
  settings.clock_error_ns = 2;
  CHECK(r.explain(settings).waits.at(0).trust == explain::quality::bounded);
}

TEST_CASE("a message to oneself and messages between threads of one rank are matched") {
  run r(1);
  r[0].locations.resize(2);
  sync_record& s = r[0].call(mpi_call::Send, 6, 7, "", 0);
  s.peer = 0;
  s.flags = flag::posts_send;
  sync_record& q = r[0].call(mpi_call::Recv, 2, 9, "", 1);
  q.peer = 0;
  q.flags = flag::posts_receive;
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].wait_ns == 4);
  CHECK(out.locations == 2);
  CHECK(r.notes.waits[0].location == 1);
  CHECK(r.notes.waits[0].causer_location == 0);
}

TEST_CASE("a wait belongs to the thread that completed the request") {
  run r(2);
  r[0].locations.resize(2);
  const auto posted = r[0].post_receive(1, 2, 1);
  r[0].call(mpi_call::Wait, 5, 12, "", 1);
  r[0].completes(posted, 0, 1);
  r[1].send(9, 10, 0);
  const auto out = r.explain();
  CHECK(out.waiting_ns == 4);
  CHECK(r.notes.waits[0].location == 1);
}

TEST_CASE("the remote group of an intercommunicator is translated to world ranks") {
  run r(3);
  for (int i = 0; i != 3; ++i) {
    explain::communicator inter;
    inter.id = core::key_of("inter");
    inter.inter = true;
    inter.size = i == 0 ? 2 : 1;
    inter.rank = i == 2 ? 1 : 0;
    inter.world = i == 0 ? std::vector<std::int32_t>{1, 2} : std::vector<std::int32_t>{0};
    r[i].communicators.push_back(inter);
  }
  r[2].send(6, 7, 0).comm = 1;
  r[0].receive(2, 9, 1).comm = 1;  // remote rank 1 is world rank 2
  const auto out = r.explain();
  CHECK(out.waiting_ns == 4);
  CHECK(out.waits.at(0).causers.at(0).rank == 2);
}

TEST_CASE("the order of messages is that of one thread: late messages of another thread do not count") {
  run r(3);
  r[2].send(100, 101, 1, 9);
  r[1].receive(1, 101, 2, 9);  // the first thread's last wait
  r[0].send(8, 8, 1, 0);
  r[0].send(10, 10, 1, 2);
  r[0].send(20, 20, 1, 1);
  r[1].locations.emplace_back();
  const auto receive = [&r](std::uint64_t begin, std::uint64_t leave, int tag) {
    sync_record& c = r[1].call(mpi_call::Recv, begin, leave, "receive", 1);
    c.peer = 0;
    c.tag = tag;
    c.flags = flag::posts_receive | flag::complete;
    c.completion = r[1].last(1);
    c.completed_by = 1;
  };
  receive(5, 8, 0);
  receive(9, 20, 1);
  receive(21, 22, 2);  // sent at 10, before the message of tag 1
  const auto out = r.explain();
  std::int64_t waited_ns = 0, count = 0, wrong_ns = 0;
  for (const auto& e : out.waits) {
    waited_ns += e.wait_ns;
    count += e.wrong_order_count;
    wrong_ns += e.wrong_order_ns;
  }
  CHECK(waited_ns == 99 + 3 + 11);
  CHECK(count == 1);
  CHECK(wrong_ns == 11);
}
