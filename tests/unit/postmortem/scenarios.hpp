#ifndef WHYWAIT_TESTS_UNIT_POSTMORTEM_SCENARIOS_HPP
#define WHYWAIT_TESTS_UNIT_POSTMORTEM_SCENARIOS_HPP

// Programs that end in every possible way. kept_program.hpp starts each as a separate process. For inclusion in one
// file.
#include <whywait/mpi/kept_facts.hpp>
#include <whywait/record.hpp>
#include <whywait/record/listen.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <thread>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;
namespace calls = whywait::mpi;

void regions(int count) {
  for (int i = 0; i < count; ++i) {
    WHYWAIT_REGION("work");
  }
}

void sync_records(std::uint64_t count) {
  record::location& here = *record::this_location();
  for (std::uint64_t i = 0; i < count; ++i) {
    core::sync_record r{};
    r.bytes = here.syncs.size() * 3 + 1;
    here.syncs.push(r);
  }
}

[[noreturn]] void kill_self() {
  raise(SIGKILL);
  _exit(9);
}

/// The caller of an MPI call without a stack.
struct scenario_call {
  const void* address;
  const void* read(const calls::call_site::return_slot&) const noexcept { return nullptr; }
  calls::found_caller find(std::uint32_t) const noexcept { return {}; }
};

/// One rank of a program with two ranks, without MPI. Rank 0 computes for 20 ms, then sends; rank 1 receives at once.
/// Then both enter a barrier, which rank 0 never leaves because it is killed. Times are artificial. Returns the facts of its
/// thread.
calls::thread_facts& rank(int number) {
  core::registry& registry = *core::the_registry();
  core::kept_file& kept = registry.kept;
  core::kept_header& header = *kept.header();
  static core::kept_modules modules;
  const std::uint64_t ms = 2'000'000;  // ticks of about a millisecond
  const std::uint64_t zero = 1'000'000'000;
  auto* const process = new (core::map_pages(sizeof(calls::process_facts), false)) calls::process_facts();
  kept.keep(process, sizeof *process);
  new (process) calls::process_facts();
  process->communicators.open(&kept);
  const std::int32_t world[] = {0, 1};
  process->communicators.bind(77, process->communicators.add(world, 2, number));
  process->begin_ticks = zero;
  process->rank = number;
  process->size = 2;
  process->compared.same_as_reference = true;
  header.layout[2] = calls::layout_of_facts();
  header.room[0] = reinterpret_cast<std::uintptr_t>(process);
  header.rank = number;
  header.ranks = 2;
  header.job = 4711;
  kept.rename_to(4711, number);

  record::location& here = *record::this_location();
  auto* const thread = static_cast<calls::thread_facts*>(core::map_pages(sizeof(calls::thread_facts), false));
  kept.keep(thread, sizeof *thread);
  new (thread) calls::thread_facts();
  thread->sites.open(&kept, &modules);
  here.calls = thread;
  const std::uint32_t compute = registry.sites.intern(core::site_kind::region, "compute", "scenario.cpp", 1);
  const auto store = [&](core::mpi_call call, std::uint64_t begin, std::uint64_t duration, unsigned flags, int peer,
                         std::uint32_t posting) {
    core::sync_record r{};
    r.begin = begin;
    r.duration = duration;
    r.site = thread->sites.count(scenario_call{reinterpret_cast<void*>(&rank)}, call, here.path, duration);
    r.steps = static_cast<std::uint32_t>(here.steps.size());
    r.posting = posting;
    r.completion = static_cast<std::uint32_t>(here.syncs.size());
    r.peer = peer;
    r.tag = posting != 0 && peer >= 0 ? 5 : -1;
    r.call = call;
    r.flags = static_cast<std::uint16_t>(flags);
    here.syncs.push(r);
    ++thread->calls[static_cast<std::size_t>(call)];
  };
  store(core::mpi_call::Init, zero, 0, 0, -1, 0);
  if (number == 0) {
    here.steps.push(core::path_step{compute, 0, 10, 20 * ms, 0});
    store(core::mpi_call::Send, zero + 20 * ms, 1000, core::sync_flag::posts_send | core::sync_flag::complete, 1, 1);
  } else {
    store(core::mpi_call::Recv, zero + 1000, 20 * ms + 1000, core::sync_flag::posts_receive | core::sync_flag::complete, 0, 1);
    store(core::mpi_call::Barrier, zero + 21 * ms, ms, core::sync_flag::contributes | core::sync_flag::consumes, -1, 2);
  }
  thread->open.frame = thread;
  thread->open.begin = zero + 22 * ms;
  thread->open.comm = 77;
  thread->open.call = core::mpi_call::Barrier;
  thread->open.address = reinterpret_cast<void*>(&rank);
  ++thread->calls[static_cast<std::size_t>(core::mpi_call::Barrier)];
  header.first = core::clock_anchor{zero, 1'000, 1};
  header.last = core::clock_anchor{zero + 2'000'000'000, 1'000'001'000, 1};  // 2 ticks are a nanosecond
  header.boot = 1;  // another machine, so that the rate follows from these readings
  return *thread;
}

int scenario() {
  const char* const name = std::getenv("KEPT_TEST_SCENARIO");
  if (name == nullptr) return 0;
  const std::string what = name, argument = std::getenv("KEPT_TEST_ARGUMENT");
  signal(SIGSEGV, SIG_DFL);
  record::listen();
  if (what == "rank") {
    rank(std::atoi(argument.c_str()));
    kill_self();
  }
  if (what == "damaged counts") {  // the largest signed numbers, whose sum is none
    calls::thread_facts& facts = rank(std::atoi(argument.c_str()));
    for (const core::mpi_call call : {core::mpi_call::Send, core::mpi_call::Isend, core::mpi_call::Recv})
      facts.calls[static_cast<std::size_t>(call)] = ~std::uint64_t(0) >> 1;
    kill_self();
  }
  if (what == "thread") {
    std::thread([] { regions(1000), sync_records(300); }).join();
    kill_self();
  }
  if (what == "sites") {
    for (int i = 0; i < 5000; ++i) const whywait::region each(("place " + std::to_string(i)).c_str());
    kill_self();
  }
  if (what == "memory") {  // WHYWAIT_MEMORY of one chunk
    regions(1000), sync_records(5000);
    kill_self();
  }
  regions(1000), sync_records(3000);
  if (what == "return") std::exit(0);
  if (what == "_exit") _exit(0);
  if (what == "SIGKILL") kill_self();
  if (what == "SIGSEGV") {
    raise(SIGSEGV);  // default action
  }
  if (what == "exec") execl("/bin/true", "true", static_cast<char*>(nullptr));
  if (what == "torn") {
    core::sync_record* const place = record::this_location()->syncs.claim();
    place->bytes = 12345;  // and never publishes
    kill_self();
  }
  if (what == "fork") {
    WHYWAIT_REGION("around the fork");
    const pid_t child = fork();
    if (child == 0) {
      regions(1000), sync_records(3000);
      const whywait::region child_region("only in the child");
      kill_self();
    }
    regions(1000), sync_records(3000);
    waitpid(child, nullptr, 0);
    kill_self();
  }
  if (what == "open regions") {
    WHYWAIT_REGION("outer");
    WHYWAIT_REGION("inner");
    kill_self();
  }
  if (what == "stays") {
    pause();
  }
  _exit(125);
}

const int done = scenario();

}  // namespace

#endif
