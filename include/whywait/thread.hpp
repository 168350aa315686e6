#ifndef WHYWAIT_THREAD_HPP
#define WHYWAIT_THREAD_HPP

/// \file
/// Thread primitives with the interfaces of the C++ standard library that record which thread made others wait:
///
///     whywait::mutex m;                                 // std::mutex with -DWHYWAIT_DISABLE
///     whywait::condition_variable changed;
///     whywait::thread worker([&] { const std::lock_guard<whywait::mutex> guard(m); ... });
///
/// Include it where they are used. One file of the program includes <whywait/whywait.hpp>, which reports at its end why its
/// threads waited, or <whywait/mpi.hpp>, which explains waits for threads and for other ranks together. Without either, and with
/// WHYWAIT_ENABLE=0, the primitives record nothing. docs/how-to/threads.md.

#include <whywait/core/version.hpp>

#include <whywait/thread/any_conditions.hpp>
#include <whywait/thread/barriers.hpp>
#include <whywait/thread/conditions.hpp>
#include <whywait/thread/futures.hpp>
#include <whywait/thread/latches.hpp>
#include <whywait/thread/mutexes.hpp>
#include <whywait/thread/observed_threads.hpp>
#include <whywait/thread/semaphores.hpp>
#include <whywait/thread/shared_mutexes.hpp>

#undef WHYWAIT_DETAIL_SYNC_SITE
#undef WHYWAIT_DETAIL_NO_TAIL_CALL
#undef WHYWAIT_DETAIL_THREADS_NAMESPACE

#endif
