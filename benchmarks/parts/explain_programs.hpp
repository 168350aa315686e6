#ifndef WHYWAIT_BENCHMARKS_PARTS_EXPLAIN_PROGRAMS_HPP
#define WHYWAIT_BENCHMARKS_PARTS_EXPLAIN_PROGRAMS_HPP

// Synthetic runs, in the form that the recorder produces.
#include <whywait/explain/explain.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Internal linkage, because explain_operations.cpp contains a second copy of the engine.
namespace {

using namespace whywait;
using core::mpi_call;
namespace flag = core::sync_flag;

struct rank_store {
  std::vector<core::sync_record> records;
  std::vector<core::path_step> steps;
  const core::sync_record* records_chunk = nullptr;
  const core::path_step* steps_chunk = nullptr;
  std::int64_t end_ns = 0;
};

void add(rank_store& store, mpi_call call, std::uint64_t computed, std::uint32_t block, std::uint64_t begin,
         std::uint64_t leave, int peer, unsigned flags, std::uint32_t site) {
  core::path_step step{};
  step.block = block;
  step.visits = 3;
  step.ticks = computed;
  store.steps.push_back(step);
  core::sync_record r{};
  r.begin = begin;
  r.duration = leave - begin;
  r.steps = static_cast<std::uint32_t>(store.steps.size());
  r.posting = static_cast<std::uint32_t>(store.records.size() + 1);
  r.peer = peer;
  r.call = call;
  r.flags = static_cast<std::uint16_t>(flags);
  r.site = site;
  store.records.push_back(r);
  store.end_ns = static_cast<std::int64_t>(leave);
}

std::vector<explain::rank_history> views(std::vector<rank_store>& stores) {
  std::vector<explain::rank_history> result;
  const auto ranks = static_cast<std::int32_t>(stores.size());
  for (std::int32_t i = 0; i != ranks; ++i) {
    rank_store& s = stores[static_cast<std::size_t>(i)];
    s.records_chunk = s.records.data();
    s.steps_chunk = s.steps.data();
    explain::rank_history h;
    h.rank = i;
    h.ranks = ranks;
    h.end_ns = s.end_ns;
    explain::location_history l;
    l.records = {&s.records_chunk, 63, s.records.size()};
    l.steps = {&s.steps_chunk, 63, s.steps.size()};
    for (const char* site : {"send", "receive", "barrier", "wait"}) l.call_sites.push_back(core::key_of(site));
    h.locations.push_back(l);
    explain::communicator world;
    world.id = 1;
    world.size = ranks;
    world.rank = i;
    h.communicators.push_back(world);
    h.blocks.push_back(0);
    for (int b = 0; b != 10; ++b) h.blocks.push_back(core::key_of(("block" + std::to_string(b)).c_str()));
    result.push_back(h);
  }
  return result;
}

constexpr unsigned sends = flag::posts_send | flag::complete;
constexpr unsigned receives = flag::posts_receive | flag::complete;

// Two ranks, `records` each. One computes while the other waits; every receive waits for 1.6 us.
[[maybe_unused]] std::vector<rank_store> ping_pong(std::size_t records) {
  std::vector<rank_store> stores(2);
  std::uint64_t t = 0;
  for (std::size_t k = 0; k != records; ++k) {
    const auto block = 1 + static_cast<std::uint32_t>(k / 2 % 10);
    const std::size_t sender = k % 2;
    add(stores[sender], mpi_call::Send, 1900, block, t + 2000, t + 2100, 1 - static_cast<int>(sender), sends, 0);
    add(stores[1 - sender], mpi_call::Recv, 300, block, t + 400, t + 2100, static_cast<int>(sender), receives, 1);
    t += 2100;
  }
  return stores;
}

// Every rank sends to the right and receives from the left, the work moves around, a barrier every 10 steps.
[[maybe_unused]] std::vector<rank_store> ring(std::int32_t ranks, std::size_t steps) {
  std::vector<rank_store> stores(static_cast<std::size_t>(ranks));
  std::uint64_t t = 0;
  for (std::size_t k = 0; k != steps; ++k) {
    for (std::int32_t i = 0; i != ranks; ++i) {
      rank_store& s = stores[static_cast<std::size_t>(i)];
      const auto work = [&](std::int32_t r) {
        return 1000 + 2000 * ((static_cast<std::uint64_t>(r) + k) % static_cast<std::uint64_t>(std::min(ranks, 8)));
      };
      const std::uint64_t sent = t + work(i), from_left = t + work((i + ranks - 1) % ranks);
      const std::uint64_t received = std::max(sent + 50, from_left) + 50;
      add(s, mpi_call::Send, work(i) - 200, 1 + static_cast<std::uint32_t>(k % 10), sent, sent + 50, (i + 1) % ranks, sends, 0);
      add(s, mpi_call::Recv, 0, 1, sent + 50, received, (i + ranks - 1) % ranks, receives, 1);
      if (k % 10 == 9) add(s, mpi_call::Barrier, 0, 1, received, t + 30000, -1, 0, 2);
    }
    t += 30000;
  }
  return stores;
}

// Halo exchange with four neighbours on a torus, with 11 steps of four Irecv, four Isend and Waitall, then an
// Allreduce.
std::vector<rank_store> stencil(std::int32_t ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto side = static_cast<std::int32_t>(std::lround(std::sqrt(static_cast<double>(ranks))));
  std::vector<rank_store> stores(n);
  std::vector<std::uint64_t> now(n, 0), sent(n, 0);
  std::uint64_t random = 1;
  for (std::size_t step = 0; step != 11; ++step) {
    for (std::size_t i = 0; i != n; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      sent[i] = now[i] + 5000 + (random >> 33) % 20000;
    }
    for (std::size_t i = 0; i != n; ++i) {
      rank_store& s = stores[i];
      if (step == 0) {
        s.records.reserve(100);
        s.steps.reserve(100);
      }
      const auto x = static_cast<std::int32_t>(i) % side, y = static_cast<std::int32_t>(i) / side;
      const std::int32_t around[4] = {y * side + (x + 1) % side, y * side + (x + side - 1) % side, (y + 1) % side * side + x,
                                      (y + side - 1) % side * side + x};
      std::uint64_t leave = sent[i] + 200;
      const auto first = static_cast<std::uint32_t>(s.records.size());
      for (int k = 0; k != 4; ++k) {
        const auto at = now[i] + static_cast<std::uint64_t>(10 * k);
        add(s, mpi_call::Irecv, 0, 1, at, at + 5, around[k], flag::posts_receive | flag::complete, 1);
      }
      for (int k = 0; k != 4; ++k) {
        const auto at = sent[i] + static_cast<std::uint64_t>(10 * k);
        add(s, mpi_call::Isend, k == 0 ? at - now[i] - 100 : 0, 1 + static_cast<std::uint32_t>(step % 10), at, at + 5,
            around[k], flag::posts_send | flag::complete, 0);
        leave = std::max(leave, sent[static_cast<std::size_t>(around[k])] + 200);
      }
      add(s, mpi_call::Waitall, 0, 1, sent[i] + 50, leave, -1, 0, 3);
      for (std::uint32_t k = 0; k != 8; ++k) s.records[first + k].completion = first + 8;
      now[i] = leave;
    }
  }
  const std::uint64_t last = *std::max_element(now.begin(), now.end());
  for (std::size_t i = 0; i != n; ++i) {
    add(stores[i], mpi_call::Allreduce, 0, 1, now[i], last + 1000, -1, flag::contributes | flag::consumes, 2);
  }
  return stores;
}

// 25 sums along a binomial tree and back, with blocking messages; 4 records per rank on average in each.
std::vector<rank_store> tree(std::int32_t ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<rank_store> stores(n);
  std::vector<std::uint64_t> now(n, 0);
  const auto message = [&](std::size_t from, std::size_t to, std::uint64_t work, std::uint32_t block) {
    const std::uint64_t begin = now[from] + work, receiving = now[to] + 100;
    add(stores[from], mpi_call::Send, work, block, begin, begin + 50, static_cast<int>(to), sends, 0);
    now[from] = begin + 50;
    const std::uint64_t over = std::max(begin, receiving) + 100;
    add(stores[to], mpi_call::Recv, 50, block, receiving, over, static_cast<int>(from), receives, 1);
    now[to] = over;
  };
  std::uint64_t random = 1;
  for (std::size_t round = 0; round != 25; ++round) {
    const auto block = 1 + static_cast<std::uint32_t>(round % 10);
    for (std::size_t step = 1; step < n; step *= 2) {
      for (std::size_t i = step; i < n; i += 2 * step) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        message(i, i - step, 2000 + (random >> 33) % 20000, block);
      }
    }
    std::size_t top = 1;
    while (2 * top < n) top *= 2;
    for (std::size_t step = top; step != 0; step /= 2) {
      for (std::size_t i = 0; i + step < n; i += 2 * step) message(i, i + step, 100, block);
    }
  }
  return stores;
}

}  // namespace

#endif
