#include <whywait/finalize/process_names.hpp>

#include <doctest/doctest.h>
#include <gnu/libc-version.h>

#include <cstddef>
#include <cstdint>
#include <string>

using namespace whywait;
using core::mpi_call;
using record::call_site;
using record::call_site_table;

namespace process_names_tests {

const void* seen_address = nullptr;
[[gnu::noinline]] void seen() { seen_address = __builtin_return_address(0); }
[[gnu::noinline]] void first_caller() {
  seen();
  __asm__ volatile("");  // prevents a tail call
}
[[gnu::noinline]] void second_caller() {
  seen();
  __asm__ volatile("");
}

struct no_regions {
  static core::stable_key path() { return 1; }
  static std::uint32_t depth() { return 0; }
  static std::uint32_t open_region(std::uint32_t) { return 0; }
};
struct only_address {
  const void* address;
  static const void* read(const call_site::return_slot&) { return nullptr; }
  static record::found_caller find(std::uint32_t) { return {}; }
};

struct with_caller {
  const void *address, *caller;
  const void* read(const call_site::return_slot&) const { return caller; }
  record::found_caller find(std::uint32_t) const { return {caller, {}}; }
};

/// A process whose only thread called MPI_Send in two functions.
struct process {
  process() {
    REQUIRE(sites.open());
    REQUIRE(calls.open());
    for (void (*const call)() : {&first_caller, &second_caller}) {
      call();
      calls.find_or_add(only_address{seen_address}, mpi_call::Send, no_regions{});
    }
    all.history.locations.resize(1);
    all.threads.resize(1);
    all.threads[0].sites = &calls;
  }
  ~process() { calls.release(); }
  core::stable_key key(std::size_t number) const { return all.history.locations[0].call_sites[number]; }

  core::site_table sites;
  call_site_table calls;
  finalize::process_records all;
};

TEST_CASE("call sites in the same function have the same source, in another another") {
  process p;
  finalize::process_names names(p.all, p.sites);
  const explain::source_keys first = names.source_of(p.key(1)), second = names.source_of(p.key(2));
  CHECK(first.function != 0);
  CHECK(second.function != 0);
  CHECK(first.function != second.function);
  CHECK(names.source_of(p.key(1)).function == first.function);
  CHECK(names.source_of(12345).function == 0);
}

TEST_CASE("a source is read once for all epochs that remember it") {
  process p;
  finalize::call_sources known;
  explain::source_keys first;
  {
    finalize::process_names names(p.all, p.sites, nullptr, nullptr, nullptr, &known);
    first = names.source_of(p.key(1));
    CHECK(known.sources.size() == 1);
    CHECK(names.source_of(p.key(1)).function == first.function);
    CHECK(known.sources.size() == 1);
  }
  known.sources[0].line = 4711;  // what debug information cannot say
  finalize::process_names names(p.all, p.sites, nullptr, nullptr, nullptr, &known);
  CHECK(names.source_of(p.key(1)).function == first.function);
  CHECK(names.source_of(p.key(1)).line == 4711);
  CHECK(names.source_of(p.key(2)).function != first.function);
  CHECK(known.sources.size() == 2);
}

TEST_CASE("a call in a function that the main thread calls and another begins with has one name") {
  process p;
  call_site_table others;
  REQUIRE(others.open());
  const void* const worker = p.calls[1].address;  // in a function of the program
  const void* const program = p.calls[2].address;
  const void* const library =
      reinterpret_cast<const char*>(&gnu_get_libc_version) + 1;  // of the C library, which begins threads
  const auto add = [](call_site_table& sites, const void* caller, mpi_call call, const void* address) {
    return sites.find_or_add(with_caller{address, caller}, call, no_regions{});
  };
  const auto waits = add(p.calls, program, mpi_call::pthread_barrier_wait, worker);
  const auto sends = add(p.calls, program, mpi_call::Send, worker);
  const auto locks = add(p.calls, program, mpi_call::pthread_mutex_lock, worker);
  const auto waits_there = add(others, library, mpi_call::pthread_barrier_wait, worker);
  const auto sends_there = add(others, library, mpi_call::Send, worker);
  const auto locks_there = add(others, library, mpi_call::pthread_mutex_lock, worker);  // a tail call
  add(others, worker, mpi_call::pthread_mutex_lock, worker);  // and from a function of the program: it serves several
  p.all.history.locations.resize(2);
  p.all.threads.resize(2);
  p.all.threads[1].sites = &others;
  finalize::call_sources known;
  finalize::process_names names(p.all, p.sites, nullptr, nullptr, nullptr, &known);
  const auto there = [&p](std::uint32_t number) { return p.all.history.locations[1].call_sites[number]; };
  CHECK(there(waits_there) == p.key(waits));
  CHECK(there(sends_there) != p.key(sends));
  CHECK(there(locks_there) != p.key(locks));
  known.callers = base::key_map();  // had the caller not been known to begin a thread
  known.callers.intern(reinterpret_cast<std::uintptr_t>(library), 0);
  known.callers.intern(reinterpret_cast<std::uintptr_t>(program), 0);
  finalize::process_names unknown(p.all, p.sites, nullptr, nullptr, nullptr, &known);
  CHECK(there(waits_there) != p.key(waits));
}

TEST_CASE("the code of a parallel region is the same on the thread that begins it and on the others") {
  process p;
  call_site_table others;
  REQUIRE(others.open());
  const only_address region{p.calls[1].address}, elsewhere{p.calls[2].address};
  p.calls.find_or_add(region, mpi_call::omp_parallel, no_regions{});
  const mpi_call also[] = {mpi_call::omp_idle, mpi_call::thread_begin, mpi_call::omp_parallel_end};
  for (const mpi_call call : also) others.find_or_add(region, call, no_regions{});
  others.find_or_add(elsewhere, mpi_call::thread_begin, no_regions{});
  p.all.history.locations.resize(2);
  p.all.threads.resize(2);
  p.all.threads[1].sites = &others;
  finalize::process_names names(p.all, p.sites);
  const core::location_history& there = p.all.history.locations[1];
  const core::stable_key parallel = p.key(3);
  CHECK(code_after(p.all.history.locations[0], 3) == parallel);
  CHECK(code_after(p.all.history.locations[0], 1) == p.key(1));
  CHECK(code_after(there, 1) == parallel);
  CHECK(code_after(there, 2) == parallel);
  for (std::uint32_t number : {1u, 2u}) CHECK(there.call_sites[number] != parallel);  // as waits they have their own names
  for (std::uint32_t number : {3u, 4u}) CHECK(code_after(there, number) == there.call_sites[number]);
  CHECK(code_after(there, 5) == 0);
  others.release();
}

TEST_CASE("a call site has its name after its source was asked for") {
  process p;
  finalize::process_names names(p.all, p.sites);
  const explain::source_keys source = names.source_of(p.key(1));
  base::vector<core::stable_key> keys;
  keys.push_back(p.key(1));
  const base::names found = names.names_of(keys);
  const base::place* const where = found.find(p.key(1));
  REQUIRE(where != nullptr);
  CHECK(where->call == "MPI_Send");
  CHECK(where->function.find("first_caller") != std::string::npos);
  CHECK(source.function != 0);
}

}  // namespace process_names_tests
