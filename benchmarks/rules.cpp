// Measures rules by parsing the built-in knowledge base and by composite events per second with it and the paper's rule
// loaded.
#include <whywait/rules/advice.hpp>
#include <whywait/rules/calls.hpp>
#include <whywait/rules/knowledge_base.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>

namespace {

namespace base = whywait::base;
namespace rules = whywait::rules;
using rules::call_field;

rules::knowledge everything() {
  rules::compiler all;
  rules::add_base(all);
  all.add("paper",
          "declare composite event message member (send as s, receive as r) when s.bytes = r.buffer_bytes and "
          "s.destination = r.rank;"
          "declare problem for message parameters (name = \"messages\", duration = s.duration + r.duration);");
  return all.finish();
}

void rules_parse(benchmark::State& state) {
  for (auto _ : state) {
    const rules::knowledge known = everything();
    if (!known.log.empty()) std::abort();
    benchmark::DoNotOptimize(known.problems.size());
  }
}
BENCHMARK(rules_parse)->Unit(benchmark::kMillisecond);

void feed(rules::event_store& store, rules::trouble& log, std::int64_t kinds) {
  rules::call_feeder feeder(store, log);
  const std::uint32_t send = store.add_action({"MPI_Send", "calculate", "jacobi.cpp", 92, "MPI_Send in calculate"});
  for (std::int64_t i = 0; i < kinds; ++i) {
    rules::call_values v;
    v[call_field::source] = v[call_field::rank] = static_cast<double>(i % 64);
    v[call_field::destination] = static_cast<double>((i + 1) % 64);
    v[call_field::bytes] = static_cast<double>(i);
    v[call_field::duration] = 1e-6;
    feeder.feed(whywait::core::mpi_call::Send, v, send, 10);
    v[call_field::rank] = v[call_field::destination];
    feeder.feed(whywait::core::mpi_call::Recv, v, send, 10);
  }
}

// Items are composite events, one per kind of message. Each consists of a send and a receive.
void rules_composite_events(benchmark::State& state) {
  const rules::knowledge known = everything();
  const std::int64_t messages = state.range(0);
  for (auto _ : state) {
    state.PauseTiming();
    rules::event_store store(known);
    rules::trouble log;
    feed(store, log, messages);
    state.ResumeTiming();
    const rules::findings found = rules::evaluator(store).evaluate();
    if (found.list.size() != 1 || found.list[0].instances != 10 * static_cast<double>(messages)) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * messages);
}
BENCHMARK(rules_composite_events)->Arg(1 << 14)->Arg(1 << 20)->Unit(benchmark::kMillisecond);

// Items are simple events, two per message.
void rules_simple_events(benchmark::State& state) {
  const rules::knowledge known = everything();
  for (auto _ : state) {
    rules::event_store store(known);
    rules::trouble log;
    feed(store, log, 1 << 16);
    benchmark::DoNotOptimize(store.plain_rows());
  }
  state.SetItemsProcessed(state.iterations() * (2 << 16));
}
BENCHMARK(rules_simple_events)->Unit(benchmark::kMillisecond);

}  // namespace
