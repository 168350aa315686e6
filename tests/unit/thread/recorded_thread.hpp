#ifndef WHYWAIT_TESTS_UNIT_THREAD_RECORDED_THREAD_HPP
#define WHYWAIT_TESTS_UNIT_THREAD_RECORDED_THREAD_HPP

// Runs a test on a thread that is recorded, in a process without MPI.

#include <whywait/core/pages.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/thread.hpp>
#include <whywait/thread/record_events.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <new>
#include <thread>

namespace recorded_thread {

using namespace whywait;
using core::mpi_call;

inline threads::sync_site site_of(mpi_call call) { return {call, __builtin_return_address(0), __builtin_frame_address(0)}; }

template <class Test>
void on_new_thread(Test test) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      test();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

// Runs a test on a thread of its own, in a run without MPI: test(location, number of its records so far).
template <class Test>
void on_recorded_thread(Test test) {
  record::listen();
  threads::listen();
  void*& run = core::the_registry()->extension[3];
  if (run == nullptr) {
    run = new (core::map_pages(sizeof(record::run_facts), true)) record::run_facts();
    static_cast<record::run_facts*>(run)->running = true;
  }
  on_new_thread([&test] {
    record::location* const own = record::this_location();
    REQUIRE(own != nullptr);
    threads::detail::event(site_of(mpi_call::promise_set), own, nullptr);  // it may continue the records of a thread that ended
    REQUIRE(own->syncs.size() != 0);
    test(*own, std::uint64_t(own->syncs.size()));
  });
}

}  // namespace recorded_thread

#endif
