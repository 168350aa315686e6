#include <whywait/base/vector.hpp>
#include <whywait/explain/message_traffic.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace {

namespace core = whywait::core;
namespace explain = whywait::explain;
namespace base = whywait::base;
using core::mpi_call;
using explain::peer_class;
using explain::traffic_kind;
using explain::traffic_sum;
namespace flag = core::sync_flag;

/// Rank 1 of 6 with one thread, written by hand; one tick is one nanosecond.
struct one_rank {
  explain::rank_history history;
  std::vector<core::sync_record> records;
  std::vector<const core::sync_record*> chunks;

  one_rank() {
    history.rank = 1;
    history.ranks = 6;
    history.clock.ns_per_tick = 1;
    history.communicators.push_back({77, 6, 1, false, {}});
    history.communicators.push_back({78, 2, 0, false, {1, 4}});
    history.communicators.push_back({79, 1, 0, false, {1}});
    history.locations.emplace_back();
    history.locations[0].call_sites = {1000, 1001, 1002, 1003};
  }
  core::sync_record& call(mpi_call what, std::uint32_t site, std::uint64_t bytes, unsigned flags = 0, std::int32_t peer = -1,
                          std::uint32_t comm = 0) {
    core::sync_record r{};
    r.call = what;
    r.begin = records.empty() ? 100 : records.back().begin + 100;
    r.duration = 10;
    r.site = site;
    r.bytes = bytes;
    r.flags = static_cast<std::uint16_t>(flags);
    r.peer = peer;
    r.comm = comm;
    records.push_back(r);
    return records.back();
  }
  const explain::rank_history& done() {
    chunks = {records.data()};
    history.locations[0].records = core::chunked_view<const core::sync_record>(chunks.data(), 63, records.size());
    return history;
  }
};

const traffic_sum* find(const base::pod_vector<traffic_sum>& all, core::stable_key site, traffic_kind kind, peer_class peers,
                        std::uint8_t size = traffic_sum::all_sizes) {
  for (const traffic_sum& t : all)
    if (t.site == site && t.kind == kind && t.peers == peers && t.size == size) return &t;
  return nullptr;
}

}  // namespace

TEST_CASE("messages are counted by call site, class of peers and size") {
  one_rank r;
  r.call(mpi_call::Send, 0, 0, flag::posts_send, 0);
  r.call(mpi_call::Send, 0, 1, flag::posts_send, 0);
  r.call(mpi_call::Send, 0, 63, flag::posts_send, 2);
  r.call(mpi_call::Send, 0, 64, flag::posts_send, 2);
  r.call(mpi_call::Send, 0, 5000, flag::posts_send, 4);    // another machine
  r.call(mpi_call::Send, 0, 8, flag::posts_send, 1);       // to itself
  r.call(mpi_call::Send, 0, 8, flag::posts_send, 1, 1);    // rank 4 of the world
  r.call(mpi_call::Send, 0, 8, flag::posts_send | flag::proc_null, -1);
  r.call(mpi_call::Send, 0, 8, flag::posts_send | flag::failed, 0);
  r.call(mpi_call::Recv, 1, 4096, flag::posts_receive | flag::any_source, -1);
  explain::message_traffic traffic;
  const base::pod_vector<std::int32_t> node = [] {
    base::pod_vector<std::int32_t> n(6, 0);
    for (std::size_t i = 3; i < 6; ++i) n[i] = 3;
    return n;
  }();
  traffic.fold(r.done(), node);
  const traffic_sum* near = find(traffic.sums(), 1000, traffic_kind::send, peer_class::node);
  REQUIRE(near != nullptr);
  CHECK(near->count == 4);
  CHECK(near->bytes == 128);
  CHECK(near->least_bytes == 0);
  CHECK(near->most_bytes == 64);
  CHECK(near->ns == 40);
  CHECK(near->ranks == 1);
  CHECK(find(traffic.sums(), 1000, traffic_kind::send, peer_class::node, 0)->count == 1);  // no bytes
  CHECK(find(traffic.sums(), 1000, traffic_kind::send, peer_class::node, 1)->count == 1);  // 1
  CHECK(find(traffic.sums(), 1000, traffic_kind::send, peer_class::node, 6)->bytes == 63);  // 32 to 63
  CHECK(find(traffic.sums(), 1000, traffic_kind::send, peer_class::node, 7)->bytes == 64);
  CHECK(find(traffic.sums(), 1000, traffic_kind::send, peer_class::network)->count == 2);
  CHECK(find(traffic.sums(), 1000, traffic_kind::send, peer_class::self)->count == 1);
  const traffic_sum* received = find(traffic.sums(), 1001, traffic_kind::receive, peer_class::unknown);
  REQUIRE(received != nullptr);
  CHECK(received->count == 1);
  CHECK(received->bytes == 0);  // the size of the buffer is not that of the message
  CHECK(find(traffic.sums(), 1001, traffic_kind::receive, peer_class::unknown, 0) == nullptr);
}

TEST_CASE("collectives count with the farthest member, one-sided transfers with their target") {
  one_rank r;
  r.call(mpi_call::Allreduce, 0, 24, flag::contributes | flag::consumes);
  r.call(mpi_call::Allreduce, 0, 24, flag::contributes | flag::consumes, -1, 2);
  r.call(mpi_call::Bcast, 1, 100, flag::consumes, 0, 1);
  r.call(mpi_call::Ibarrier, 2, 0);
  r.call(mpi_call::Put, 3, 512, 0, 4);
  r.call(mpi_call::Waitall, 3, 0);
  explain::message_traffic one_machine, unknown;
  one_machine.fold(r.done(), {});
  CHECK(find(one_machine.sums(), 1000, traffic_kind::collective, peer_class::node)->bytes == 24);
  CHECK(find(one_machine.sums(), 1000, traffic_kind::collective, peer_class::self)->count == 1);
  CHECK(find(one_machine.sums(), 1001, traffic_kind::collective, peer_class::node)->most_bytes == 100);
  CHECK(find(one_machine.sums(), 1002, traffic_kind::collective, peer_class::node)->count == 1);
  CHECK(find(one_machine.sums(), 1003, traffic_kind::transfer, peer_class::node)->bytes == 512);
  std::int64_t all = 0;
  for (const traffic_sum& t : one_machine.sums()) all += t.size == traffic_sum::all_sizes ? t.count : 0;
  CHECK(all == 5);  // MPI_Waitall is none
  unknown.fold(r.done(), base::pod_vector<std::int32_t>(6, -1));
  CHECK(find(unknown.sums(), 1003, traffic_kind::transfer, peer_class::unknown)->count == 1);
}

TEST_CASE("the time of an exchange counts with its send") {
  one_rank r;
  r.call(mpi_call::Sendrecv, 0, 16, flag::posts_send, 2);
  r.records.back().duration = 0;
  r.call(mpi_call::Sendrecv, 0, 16, flag::posts_receive, 0);
  r.call(mpi_call::Sendrecv, 0, 0);
  r.records[1].begin = r.records[2].begin = r.records[0].begin;
  r.records[1].duration = 0;
  r.records[2].duration = 70;
  explain::message_traffic traffic;
  traffic.fold(r.done(), {});
  CHECK(find(traffic.sums(), 1000, traffic_kind::send, peer_class::node)->ns == 70);
  CHECK(find(traffic.sums(), 1000, traffic_kind::receive, peer_class::node)->ns == 0);
}

TEST_CASE("epochs and ranks add up, and a rank counts once") {
  one_rank r;
  r.call(mpi_call::Send, 0, 10, flag::posts_send, 2);
  explain::message_traffic traffic;
  traffic.fold(r.done(), {});
  r.history.locations[0].carried = 1;  // of the first epoch
  r.call(mpi_call::Send, 0, 30, flag::posts_send, 2);
  traffic.fold(r.done(), {});
  const traffic_sum* sum = find(traffic.sums(), 1000, traffic_kind::send, peer_class::node);
  CHECK(sum->count == 2);
  CHECK(sum->bytes == 40);
  CHECK(sum->least_bytes == 10);
  CHECK(sum->most_bytes == 30);
  CHECK(sum->ranks == 1);
  base::pod_vector<traffic_sum> all = traffic.sums();
  all.append(traffic.sums().data(), traffic.sums().size());
  explain::join_traffic(all);
  sum = find(all, 1000, traffic_kind::send, peer_class::node);
  CHECK(sum->count == 4);
  CHECK(sum->ranks == 2);
  CHECK(all.size() == traffic.sums().size());
}

TEST_CASE("of many call sites those with the most time and the most bytes are kept") {
  base::pod_vector<traffic_sum> all;
  for (std::int64_t i = 1; i <= 100; ++i) {
    traffic_sum t;
    t.site = static_cast<core::stable_key>(i);
    t.count = 1;
    t.ns = i;
    t.bytes = 101 - i;
    all.push_back(t);
    t.size = 3;
    all.push_back(t);
  }
  explain::join_traffic(all);
  std::int64_t omitted = 0;
  CHECK(explain::largest_traffic(all, 100, omitted).size() == 200);
  CHECK(omitted == 0);
  const base::pod_vector<traffic_sum> some = explain::largest_traffic(all, 10, omitted);
  CHECK(omitted == 80);
  CHECK(some.size() == 40);
  CHECK(find(some, 100, traffic_kind::send, peer_class::unknown) != nullptr);
  CHECK(find(some, 91, traffic_kind::send, peer_class::unknown, 3) != nullptr);
  CHECK(find(some, 90, traffic_kind::send, peer_class::unknown) == nullptr);
  CHECK(find(some, 1, traffic_kind::send, peer_class::unknown) != nullptr);
  CHECK(find(some, 11, traffic_kind::send, peer_class::unknown) == nullptr);
}

TEST_CASE("a collective is as far apart as its farthest members") {
  const auto found = [](std::uint32_t comm, std::int32_t node_of_last_half) {
    one_rank r;
    r.call(mpi_call::Allreduce, 2, 8, flag::contributes | flag::consumes, -1, comm);
    base::pod_vector<std::int32_t> node(6, 0);
    for (std::size_t i = 3; i < 6; ++i) node[i] = node_of_last_half;
    explain::message_traffic traffic;
    traffic.fold(r.done(), node);
    const peer_class all[] = {peer_class::self, peer_class::node, peer_class::network, peer_class::unknown};
    for (const peer_class p : all)
      if (find(traffic.sums(), 1002, traffic_kind::collective, p) != nullptr) return p;
    FAIL("the collective is missing");
    return peer_class::self;
  };
  CHECK(found(0, 3) == peer_class::network);
  CHECK(found(0, 0) == peer_class::node);
  CHECK(found(0, -1) == peer_class::unknown);
  CHECK(found(1, 3) == peer_class::network);  // ranks 1 and 4
  CHECK(found(1, 0) == peer_class::node);
  CHECK(found(2, 3) == peer_class::self);
}
