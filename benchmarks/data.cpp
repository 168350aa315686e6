// Measures the tracking of data, in random order, with the plain loop next to each tracked one.
//
//   bench_data --benchmark_repetitions=15 --benchmark_enable_random_interleaving=true
//
//   address_lookup/n   finds the array among n registered ones that contains an address, in random order
//   lookup_in_set/n    the same lookup with Boost.Intrusive's set, without the lock that it requires
//   reads_event        WHYWAIT_READS of one range
//   sync_event         WHYWAIT_SYNC
//   lock_events        lock and unlock of a whywait::mutex while an array is registered: two events
//   register           WHYWAIT_DATA of a known array among 1000
//   copy, stencil, update, gather (+ _one_by_one, _tracked, _unregistered)
//                      a plain loop over an array in the L1 cache, which the compiler vectorises or makes one copy;
//                      the same with separate accesses; through array_view, recorded after each pass or
//                      (_tracked_16) after 16; with an unregistered array
//
//   large_...          the same over arrays of 32 MB; gather and scatter at random places
//   large_update_sampled
//                      with a sampled array
//   touch_and_flush/n/d
//                      n elements are written, at a distance of d, then recorded
//
// Records are dropped before each repetition.

#include <whywait/data.hpp>
#include <whywait/record.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/thread.hpp>
#include <whywait/thread/record_threads.hpp>

#include <benchmark/benchmark.h>
#include <boost/intrusive/set.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace {

namespace data = whywait::data;

whywait::record::run_facts run;
const bool listening = [] {
  whywait::record::listen();
  whywait::threads::listen();
  run.running = true;
  whywait::core::the_registry()->extension[3] = &run;  // thread primitives record in a run only
  return true;
}();

constexpr int rows = 32, columns = 64;
double in[rows * columns], out[rows * columns], other_in[rows * columns], other_out[rows * columns];
std::uint32_t order[rows * columns];

void forget_records() {
  auto* const here = data::this_thread();
  if (here == nullptr) return;
  here->flush();
  here->records.release();
  here->records.open(here->process().memory);
}

std::vector<std::uint64_t> addresses(std::int64_t arrays) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> list(1 << 14);
  for (std::uint64_t& a : list) a = 4096 * (1 + random() % static_cast<std::uint64_t>(arrays)) + random() % 2000;
  return list;
}
const void* at(std::uint64_t address) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)); }

void address_lookup(benchmark::State& state) {
  const std::unique_ptr<data::data_objects> all(new data::data_objects());
  all->open();
  whywait::core::data_object o;
  o.extent[0] = 2000;
  for (std::int64_t i = 1; i <= state.range(0); ++i) {
    o.key = static_cast<std::uint64_t>(i);
    all->add(1, at(4096 * static_cast<std::uint64_t>(i)), o);
  }
  const std::vector<std::uint64_t> list = addresses(state.range(0));
  std::size_t i = 0;
  for (auto _ : state) {
    data::address_piece around;
    benchmark::DoNotOptimize(all->find(at(list[i]), around));
    i = (i + 1) & (list.size() - 1);
  }
  all->release();
}
BENCHMARK(address_lookup)->Arg(10)->Arg(1000)->Arg(10000);

struct node : boost::intrusive::set_base_hook<> {
  std::uint64_t begin, end;
  bool operator<(const node& o) const { return begin < o.begin; }
};
void lookup_in_set(benchmark::State& state) {
  std::deque<node> nodes(static_cast<std::size_t>(state.range(0)));
  boost::intrusive::set<node> all;
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    nodes[i].begin = 4096 * (i + 1);
    nodes[i].end = nodes[i].begin + 2000;
    all.insert(nodes[i]);
  }
  const std::vector<std::uint64_t> list = addresses(state.range(0));
  std::size_t i = 0;
  for (auto _ : state) {
    auto found = all.upper_bound(list[i], [](const auto& a, const auto& b) {
      if constexpr (std::is_same<std::decay_t<decltype(a)>, std::uint64_t>::value) return a < b.begin;
      else return a.begin < b;
    });
    --found;
    benchmark::DoNotOptimize(list[i] < found->end ? &*found : nullptr);
    i = (i + 1) & (list.size() - 1);
  }
}
BENCHMARK(lookup_in_set)->Arg(10)->Arg(1000)->Arg(10000);

void reads_event(benchmark::State& state) {
  WHYWAIT_DATA("in", in, rows, columns);
  forget_records();
  for (auto _ : state) WHYWAIT_READS("loop", whywait::range(in, rows, columns));
}
BENCHMARK(reads_event)->Iterations(150000);

void sync_event(benchmark::State& state) {
  WHYWAIT_DATA("in", in, rows, columns);
  forget_records();
  for (auto _ : state) WHYWAIT_SYNC("thing");
}
BENCHMARK(sync_event)->Iterations(150000);

void lock_events(benchmark::State& state) {
  WHYWAIT_DATA("in", in, rows, columns);
  forget_records();
  whywait::mutex mutex;
  for (auto _ : state) {
    mutex.lock();
    benchmark::ClobberMemory();
    mutex.unlock();
  }
}
BENCHMARK(lock_events)->Iterations(75000);

void register_known(benchmark::State& state) {
  std::deque<whywait::registered_array> kept;
  static double many[1001];
  for (int i = 0; i != 1000; ++i) kept.emplace_back("many", many + 1 + i, whywait::shape(1));
  for (auto _ : state) {
    WHYWAIT_DATA("passing", many, 1);
    benchmark::DoNotOptimize(many);
  }
}
BENCHMARK(register_known);

// --- loops, plain and through views; T is double* or array_view<double>

// Separate accesses in program order, which the compiler cannot vectorise or combine into a large copy.
struct one_by_one {
  double* at;
  struct place {
    double* at;
    operator double() const {
      double value = *at;
      __asm__ volatile("" : "+x"(value));
      return value;
    }
    void operator=(double value) const { *static_cast<volatile double*>(at) = value; }
    void operator=(const place& other) const { *this = static_cast<double>(other); }
    void operator+=(double value) const { *this = *this + value; }
  };
  place operator[](std::size_t i) const { return {at + i}; }
  place operator[](int i) const { return {at + i}; }
  place operator[](std::uint32_t i) const { return {at + i}; }
  place operator[](std::int64_t i) const { return {at + i}; }
};

template <class View>
__attribute__((noinline)) void copy(View to, View from) {
  for (int i = 0; i != rows * columns; ++i) to[i] = from[i];
}
template <class View>
__attribute__((noinline)) void stencil(View to, View from) {
  for (int i = 1; i != rows - 1; ++i)
    for (int j = 1; j != columns - 1; ++j)
      to[i * columns + j] = 0.25 * (from[(i - 1) * columns + j] + from[(i + 1) * columns + j] + from[i * columns + j - 1] +
                                    from[i * columns + j + 1]);
}
template <class View>
__attribute__((noinline)) void update(View to, View) {
  for (int i = 0; i != rows * columns; ++i) to[i] += 1.0;
}
template <class View>
__attribute__((noinline)) void gather(View to, View from) {
  for (int i = 0; i != rows * columns; ++i) to[i] = from[order[i]];
}

void shuffle() {
  std::mt19937 random(3);
  for (int i = 0; i != rows * columns; ++i) order[i] = static_cast<std::uint32_t>(random() % (rows * columns));
}

template <void (*Loop)(double*, double*)>
void plain(benchmark::State& state) {
  shuffle();
  for (auto _ : state) {
    Loop(out, in);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * columns);
}
template <void (*Loop)(one_by_one, one_by_one)>
void singly(benchmark::State& state) {
  shuffle();
  for (auto _ : state) {
    Loop(one_by_one{out}, one_by_one{in});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * columns);
}
using view = whywait::array_view<double>;
template <void (*Loop)(view, view), int Times>
void tracked(benchmark::State& state) {
  WHYWAIT_DATA("in", in, rows, columns);
  WHYWAIT_DATA("out", out, rows, columns);
  shuffle();
  forget_records();
  for (auto _ : state) {
    for (int i = 0; i != Times; ++i) Loop(view(out, rows * columns), view(in, rows * columns));
    data::this_thread()->flush();  // like any message or mark
    if (data::this_thread()->records.size() > 200000) {
      state.PauseTiming();
      forget_records();
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(state.iterations() * Times * rows * columns);
}
template <void (*Loop)(view, view)>
void unregistered(benchmark::State& state) {
  for (auto _ : state) {
    Loop(view(other_out, rows * columns), view(other_in, rows * columns));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * columns);
}

// Arrays of 32 MB, which exceed the caches near the core, as in programs that need this analysis.
constexpr std::int64_t many = 4 << 20;
double* large_array(int which) {
  static std::vector<double> arrays[2] = {std::vector<double>(many), std::vector<double>(many)};
  return arrays[which].data();
}
template <class View>
void large_copy(View to, View from) {
  for (std::int64_t i = 0; i != many; ++i) to[i] = from[i];
}
template <class View>
void large_update(View to, View) {
  for (std::int64_t i = 0; i != many; ++i) to[i] += 1.0;
}
template <class View>
void large_stencil(View to, View from) {
  for (std::int64_t i = 2048; i != many - 2048; ++i)
    to[i] = 0.25 * (from[i - 2048] + from[i + 2048] + from[i - 1] + from[i + 1]);
}
// Elements at random places, 1/16 of them in one pass.
const std::vector<std::uint32_t>& large_order() {
  static const std::vector<std::uint32_t> list = [] {
    std::mt19937 random(4);
    std::vector<std::uint32_t> places(many / 16);
    for (std::uint32_t& p : places) p = static_cast<std::uint32_t>(random() % many);
    return places;
  }();
  return list;
}
template <class View>
void large_gather(View to, View from) {
  std::int64_t i = 0;
  for (const std::uint32_t place : large_order()) to[i++] = from[place];
}
template <class View>
void large_scatter(View to, View) {
  for (const std::uint32_t place : large_order()) to[place] += 1.0;
}
enum class as { plain, singly, tracked, sampled };
template <class View, void (*Loop)(View, View), as How>
void large(benchmark::State& state) {
  double* const first = large_array(0);
  double* const second = large_array(1);
  const auto extent = whywait::shape(many);
  const auto registered = [&](const char* name, const double* array) {
    return How == as::tracked   ? whywait::registered_array(name, array, extent)
           : How == as::sampled ? whywait::registered_array::sampled(name, array, extent)
                                : whywait::registered_array();
  };
  const whywait::registered_array one = registered("large", first), two = registered("other large", second);
  const std::int64_t each = Loop == static_cast<void (*)(View, View)>(large_gather<View>) ||
                                    Loop == static_cast<void (*)(View, View)>(large_scatter<View>)
                                ? many / 16
                                : many;
  large_order();
  if (How >= as::tracked) forget_records();
  std::uint64_t records = 0;
  for (auto _ : state) {
    if constexpr (How >= as::tracked) Loop(View(first, many), View(second, many));
    else Loop(View{first}, View{second});
    benchmark::ClobberMemory();
    if (How >= as::tracked) {
      data::this_thread()->flush();
      records += data::this_thread()->records.size() + data::this_thread()->records.dropped();
      state.PauseTiming();
      forget_records();
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(state.iterations() * each);
  state.counters["records_each"] = static_cast<double>(records) / static_cast<double>(state.iterations());
}

// Touches n elements, 64 bytes apart or adjacent, and flushes them.
void touch_and_flush(benchmark::State& state) {
  double* const first = large_array(0);
  WHYWAIT_DATA("large", first, many);
  const view v(first, many);
  const std::int64_t count = state.range(0), apart = state.range(1);
  forget_records();
  for (auto _ : state) {
    for (std::int64_t i = 0; i != count; ++i) v[i * apart] = 1.0;
    data::this_thread()->flush();
    if (data::this_thread()->records.size() > 100000) {
      state.PauseTiming();
      forget_records();
      state.ResumeTiming();
    }
  }
}
BENCHMARK(touch_and_flush)->ArgsProduct({{1, 10, 1000}, {1, 8}});

#define LARGE(name)                                                                                                \
  BENCHMARK_TEMPLATE(large, double*, large_##name<double*>, as::plain)->Name("large_" #name);                      \
  BENCHMARK_TEMPLATE(large, one_by_one, large_##name<one_by_one>, as::singly)->Name("large_" #name "_one_by_one"); \
  BENCHMARK_TEMPLATE(large, view, large_##name<view>, as::tracked)->Name("large_" #name "_tracked")
LARGE(copy);
LARGE(stencil);
LARGE(update);
LARGE(gather);
LARGE(scatter);
BENCHMARK_TEMPLATE(large, view, large_update<view>, as::sampled)->Name("large_update_sampled");

BENCHMARK_TEMPLATE(plain, copy<double*>)->Name("copy");
BENCHMARK_TEMPLATE(singly, copy<one_by_one>)->Name("copy_one_by_one");
BENCHMARK_TEMPLATE(tracked, copy<view>, 1)->Name("copy_tracked");
BENCHMARK_TEMPLATE(tracked, copy<view>, 16)->Name("copy_tracked_16");
BENCHMARK_TEMPLATE(plain, stencil<double*>)->Name("stencil");
BENCHMARK_TEMPLATE(singly, stencil<one_by_one>)->Name("stencil_one_by_one");
BENCHMARK_TEMPLATE(tracked, stencil<view>, 1)->Name("stencil_tracked");
BENCHMARK_TEMPLATE(tracked, stencil<view>, 16)->Name("stencil_tracked_16");
BENCHMARK_TEMPLATE(plain, update<double*>)->Name("update");
BENCHMARK_TEMPLATE(singly, update<one_by_one>)->Name("update_one_by_one");
BENCHMARK_TEMPLATE(tracked, update<view>, 1)->Name("update_tracked");
BENCHMARK_TEMPLATE(tracked, update<view>, 16)->Name("update_tracked_16");
BENCHMARK_TEMPLATE(plain, gather<double*>)->Name("gather");
BENCHMARK_TEMPLATE(singly, gather<one_by_one>)->Name("gather_one_by_one");
BENCHMARK_TEMPLATE(tracked, gather<view>, 1)->Name("gather_tracked");
BENCHMARK_TEMPLATE(tracked, gather<view>, 16)->Name("gather_tracked_16");
BENCHMARK_TEMPLATE(unregistered, copy<view>)->Name("copy_unregistered");

}  // namespace
