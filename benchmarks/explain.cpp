// The explanation of synthetic runs over the simulated transport, all ranks in one thread: records per second
// of all ranks together. Set up once, nothing of the generation is measured.
#include <whywait/explain/explain.hpp>
#include <whywait/explain/simulated_transport.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

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
    for (const char* site : {"send", "receive", "barrier"}) l.call_sites.push_back(core::key_of(site));
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

// Two ranks, `records` each; the other one computes while one waits: every receive waits for 1.6 us.
std::vector<rank_store> ping_pong(std::size_t records) {
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
std::vector<rank_store> ring(std::int32_t ranks, std::size_t steps) {
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
      add(s, mpi_call::Send, work(i) - 200, 1 + static_cast<std::uint32_t>(k % 10), sent, sent + 50, (i + 1) % ranks,
          sends, 0);
      add(s, mpi_call::Recv, 0, 1, sent + 50, received, (i + ranks - 1) % ranks, receives, 1);
      if (k % 10 == 9) add(s, mpi_call::Barrier, 0, 1, received, t + 30000, -1, 0, 2);
    }
    t += 30000;
  }
  return stores;
}

void run(benchmark::State& state, std::vector<rank_store> stores) {
  const std::vector<explain::rank_history> histories = views(stores);
  explain::simulated_transport transport(static_cast<std::int32_t>(stores.size()));
  std::int64_t records = 0;
  for (const rank_store& s : stores) records += static_cast<std::int64_t>(s.records.size());
  explain::outcome out;
  for (auto _ : state) {
    out = explain::explain(transport, histories);
    benchmark::DoNotOptimize(out);
  }
  std::int64_t waits = 0;
  for (const auto& e : out.waits) waits += e.count;
  state.SetItemsProcessed(state.iterations() * records);
  state.counters["records"] = static_cast<double>(records);
  state.counters["waits"] = static_cast<double>(waits);
  state.counters["waiting_s"] = static_cast<double>(out.waiting_ns) * 1e-9;
}

void explain_ring(benchmark::State& state) {
  const auto ranks = static_cast<std::int32_t>(state.range(0));
  run(state, ring(ranks, static_cast<std::size_t>(std::max(20, 20480 / ranks))));
}
BENCHMARK(explain_ring)->RangeMultiplier(4)->Range(2, 1024)->Unit(benchmark::kMillisecond);

void explain_million(benchmark::State& state) { run(state, ping_pong(1000000)); }
BENCHMARK(explain_million)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
