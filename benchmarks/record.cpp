// Measures recording per operation, in one run (harness.hpp):
//
//   bench_record [--rounds=1001] [--json=FILE]
//   bench_record --events=1000000000     that many events through one folding buffer; prints time, memory, losses
//
//   floor          two clock readings and two stores of 16 bytes
//   region         an empty WHYWAIT_REGION: at most 1.05 times the floor
//   next           WHYWAIT_NEXT: at most 0.55 times the floor; next_same visits the same place, as in a loop
//   nested         a region in a region, per region
//   block          WHYWAIT_BLOCK; block_kernel is its cost in a kernel of 2 ns with 3 blocks: at most 0.3 ns
//   work           WHYWAIT_WORK
//   dynamic        begin and end with a run-time name
//   two_threads    region while another thread does the same on another processor
//   so_linked, so_dlopened   region in a shared library; so_dynamic is begin and end there, as fast as in the program
//   fenced         region with WHYWAIT_CLOCK=fenced, monotonic with CLOCK_MONOTONIC
//   off            region with recording switched off, or inert: at most 1.5 ns; off_block is a block, at most 0.5 ns
//   kernel_off     the kernel with inert blocks
//   thread_start   the first region of a thread
//   segment        ten blocks between two synchronisations, closed
//   buffer_push, buffer_fold   one event of 16 bytes into an event_buffer
#include "harness.hpp"

#include <whywait/core/event_buffer.hpp>
#include <whywait/record.hpp>
#include <whywait/record/listen.hpp>

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

extern "C" void whywait_regions_linked(std::uint64_t times);
extern "C" void whywait_named_regions(std::uint64_t times);

namespace {

namespace core = whywait::core;
namespace record = whywait::record;
using harness::timed_event;

__attribute__((noinline)) void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    WHYWAIT_REGION("benchmark region");
  }
}

__attribute__((noinline)) void nested(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; i += 2) {
    WHYWAIT_REGION("benchmark outer");
    WHYWAIT_REGION("benchmark inner");
  }
}

__attribute__((noinline)) void next(std::uint64_t times) {
  WHYWAIT_REGION("first phase");
  for (std::uint64_t i = 0; i < times; i += 2) {
    WHYWAIT_NEXT("second phase");
    WHYWAIT_NEXT("third phase");
  }
}

__attribute__((noinline)) void next_same(std::uint64_t times) {
  WHYWAIT_REGION("before the loop");
  for (std::uint64_t i = 0; i < times; ++i) {
    WHYWAIT_NEXT("iteration");
    harness::barrier();
  }
}

__attribute__((noinline)) void block(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    WHYWAIT_BLOCK("benchmark block");
    harness::barrier();  // prevents a single addition for all iterations
  }
}

__attribute__((noinline)) void work(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    WHYWAIT_WORK(3);
    harness::barrier();
  }
}

__attribute__((noinline)) void dynamic(std::uint64_t times) {
  const char* name = "benchmark dynamic region";
  for (std::uint64_t i = 0; i < times; ++i) {
    harness::keep(name);
    whywait::begin(name, "benchmarks/record.cpp");
    whywait::end(name, "benchmarks/record.cpp");
  }
}

// A relaxation with limits; three blocks per iteration with mostly predictable branches.
struct cells {
  static constexpr std::uint32_t count = 2048;
  double value[count], flux[count];
  std::uint8_t wall[count];
  cells() {
    for (std::uint32_t i = 0; i < count; ++i) {
      value[i] = 1.0 + 0.001 * (i % 97);
      flux[i] = 0.5;
      wall[i] = i % 64 == 0;
    }
  }
} mesh;

struct marked {
  static void cell() { WHYWAIT_BLOCK("cell"); }
  static void wall() { WHYWAIT_BLOCK("wall"); }
  static void inside() { WHYWAIT_BLOCK("inside"); }
  static void limited() { WHYWAIT_BLOCK("limited"); }
  static void free() { WHYWAIT_BLOCK("free"); }
};
// The minimum cost of counting blocks, an increment per block, per thread or process, in the same kernel.
__attribute__((tls_model("initial-exec"))) thread_local std::uint64_t own_counts[5];
struct incremented {
  template <int Block>
  static void count() {
    std::uint64_t* counts = own_counts;
    __asm__("" : "+r"(counts));  // prevents a wait for the address on some processors
    ++counts[Block];
    harness::barrier();  // prevents allocation to a register
  }
  static void cell() { count<0>(); }
  static void wall() { count<1>(); }
  static void inside() { count<2>(); }
  static void limited() { count<3>(); }
  static void free() { count<4>(); }
};
struct unmarked {
  static void cell() {}
  static void wall() {}
  static void inside() {}
  static void limited() {}
  static void free() {}
};

template <class Marks>
__attribute__((noinline)) void kernel(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    const std::uint32_t c = static_cast<std::uint32_t>(i) & (cells::count - 1);
    Marks::cell();
    double flux = mesh.value[c] * 0.25 + mesh.flux[c] * 0.5;
    if (mesh.wall[c] != 0) {
      Marks::wall();
      flux = -flux;
    } else {
      Marks::inside();
      flux += mesh.value[(c + 1) & (cells::count - 1)] * 0.125;
    }
    if (flux > 0.9) {
      Marks::limited();
      flux = 0.9;
    } else {
      Marks::free();
    }
    mesh.flux[c] = flux;
  }
}

// Both threads start a batch together. A batch counts only if the other thread ran during all of it.
class companion {
 public:
  explicit companion(int processor)
      : thread_([this, processor] {
          harness::pin(processor);
          while (!__atomic_load_n(&end_, __ATOMIC_ACQUIRE)) {
            if (__atomic_load_n(&running_, __ATOMIC_ACQUIRE) == 0) {
              sched_yield();
              continue;
            }
            region(100);
            __atomic_store_n(&batches_, batches_ + 1, __ATOMIC_RELEASE);
          }
        }) {}
  ~companion() {
    __atomic_store_n(&end_, true, __ATOMIC_RELEASE);
    thread_.join();
  }
  double operator()() {
    __atomic_store_n(&running_, 1, __ATOMIC_RELEASE);
    double ns = 0;
    for (int attempt = 0; attempt < 50; ++attempt) {
      const std::uint64_t known = __atomic_load_n(&batches_, __ATOMIC_ACQUIRE), wait = harness::now_ns();
      while (__atomic_load_n(&batches_, __ATOMIC_ACQUIRE) == known && harness::now_ns() - wait < 10'000'000) {
      }
      const std::uint64_t first = __atomic_load_n(&batches_, __ATOMIC_ACQUIRE), begin = harness::now_ns();
      region(2000);
      const std::uint64_t end = harness::now_ns();
      ns = static_cast<double>(end - begin) / 2000;
      if (__atomic_load_n(&batches_, __ATOMIC_ACQUIRE) - first >= 15) break;  // about 20 batches take the same time
    }
    __atomic_store_n(&running_, 0, __ATOMIC_RELEASE);
    return ns;
  }

 private:
  int running_ = 0;
  std::uint64_t batches_ = 0;
  bool end_ = false;
  std::thread thread_;
};

// Sets the state of a thread as WHYWAIT_CLOCK and WHYWAIT_ENABLE do.
void with_clock(core::clock_source source, std::uint64_t times) {
  record::location& mine = *record::this_location();
  static const bool made = record::detail::make_decoy(mine);
  static record::path_head* const decoy = mine.decoy;
  if (!made) std::abort();
  core::cycle_clock::use(source);
  record::detail::set_here(mine.decoy = decoy);
  region(times);
  record::detail::set_here(&mine.path.head());
  mine.decoy = nullptr;
  core::cycle_clock::use(core::clock_source::counter);
}
void fenced(std::uint64_t times) { with_clock(core::clock_source::fenced, times); }
void monotonic(std::uint64_t times) { with_clock(core::clock_source::monotonic, times); }
// Sets the state of a program with WHYWAIT_ENABLE=0, or of a library in a program without whywait.
template <void (*Run)(std::uint64_t)>
void inert(std::uint64_t times) {
  const std::intptr_t attached = whywait_v0_module.here;
  __atomic_store_n(&whywait_v0_module.here, std::intptr_t(0), __ATOMIC_RELAXED);
  Run(times);
  __atomic_store_n(&whywait_v0_module.here, attached, __ATOMIC_RELAXED);
}

double thread_start() {
  std::uint64_t ns = 0;
  std::thread([&ns] {
    const std::uint64_t begin = harness::now_ns();
    region(1);
    ns = harness::now_ns() - begin;
  }).join();
  return static_cast<double>(ns);
}

void segment(std::uint64_t times) {
  static record::path_recorder* const recorder = [] {
    auto* made = new (core::map_pages(sizeof(record::path_recorder), false)) record::path_recorder;
    made->open(core::cycle_clock::now());
    return made;
  }();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    for (std::uint32_t place = 10; place < 20; ++place) recorder->visit(place);
    recorder->close(core::cycle_clock::now(), [&sum](const core::path_step& step) { sum += step.visits; });
  }
  harness::keep(sum);
}

struct sum_up {
  std::uint64_t sum = 0;
  void operator()(const timed_event* first, std::uint64_t count) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) sum += first[i].id;
  }
};
core::memory_budget budget;
core::event_buffer<timed_event, core::fold<sum_up>> folding;
core::event_buffer<timed_event, core::overwrite_oldest> overwriting;

void buffer_fold(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) folding.push(timed_event{i, i});
}
// Overwrites 16 MiB repeatedly, so that neither page faults nor near caches affect the result.
void buffer_push(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) overwriting.push(timed_event{i, i});
}

int many_events(std::uint64_t events) {
  const auto peak = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  for (std::uint64_t i = 0; i < 5000; ++i) folding.push(timed_event{i, 1});
  const long before = peak();
  const std::uint64_t begin = harness::now_ns();
  for (std::uint64_t i = 5000; i < events; ++i) folding.push(timed_event{i, 1});
  const std::uint64_t end = harness::now_ns();
  folding.fold_rest();
  const core::event_counts c = folding.counts();
  std::printf("recorded %" PRIu64 " = folded %" PRIu64 " + dropped %" PRIu64 "; the folder saw %" PRIu64 "\n", c.recorded,
              c.folded, c.dropped, folding.folded_into().sum);
  std::printf("%.2f ns an event, resident memory grew by %ld KiB\n",
              static_cast<double>(end - begin) / static_cast<double>(events), peak() - before);
  return c.recorded == c.folded + c.dropped && c.folded == folding.folded_into().sum ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  record::listen();
  folding.open(budget);
  if (argc == 2 && std::strncmp(argv[1], "--events=", 9) == 0) return many_events(std::strtoull(argv[1] + 9, nullptr, 10));
  budget.limit(16u << 20);
  overwriting.open(budget);
  for (std::uint64_t i = 0; i < (1u << 21); ++i) overwriting.push(timed_event{i, i});

  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("region", region);
  rows.add("nested", nested);
  rows.add("next", next);
  rows.add("next_same", next_same);
  rows.add("block", block, 20000);
  rows.add("kernel", kernel<unmarked>, 4096);
  rows.add("kernel_with_blocks", kernel<marked>, 4096);
  rows.add("kernel_with_counts", kernel<incremented>, 4096);
  rows.derive("block_kernel", "kernel_with_blocks", "kernel", 3);
  rows.derive("increment_kernel", "kernel_with_counts", "kernel", 3);
  rows.add("work", work, 20000);
  rows.add("dynamic", dynamic);
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) > 1) {
    int other = 0;
    while (other == sched_getcpu() || !CPU_ISSET(other, &processors)) ++other;
    static companion together(other);
    rows.add("two_threads", [] { return together(); });
  }
  rows.add("so_linked", whywait_regions_linked);
  rows.add("so_dynamic", whywait_named_regions);
  void* const module = dlopen(WHYWAIT_BENCHMARK_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  rows.add("so_dlopened", reinterpret_cast<void (*)(std::uint64_t)>(dlsym(module, "whywait_regions_loaded")));
  rows.add("fenced", fenced);
  rows.add("monotonic", monotonic);
  rows.add("off", inert<region>, 20000);
  rows.add("off_block", inert<block>, 20000);
  rows.add("kernel_off", inert<kernel<marked>>, 4096);
  int threads = 0;
  rows.add("thread_start", [&threads] {
    static double last = 0;
    return ++threads <= 200 ? last = thread_start() : last;  // each keeps its location
  });
  rows.add("segment", segment, 500);
  rows.add("buffer_push", buffer_push, 10000);
  rows.add("buffer_fold", buffer_fold, 10000);
  return rows.main(argc, argv);
}
