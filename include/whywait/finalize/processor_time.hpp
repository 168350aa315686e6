#ifndef WHYWAIT_FINALIZE_PROCESSOR_TIME_HPP
#define WHYWAIT_FINALIZE_PROCESSOR_TIME_HPP

#include <whywait/core/code_count.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/finalize/process_use.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/rules/own_code.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <time.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace finalize {

#ifndef WHYWAIT_DISABLE
/// How long the main thread of this process had a processor and was ready to run without one, which Linux counts
/// (/proc/self/schedstat; zeros where it does not), what it did in the kernel outside MPI, the processor time of all threads, and
/// the number of processors that it may use. Called inside an MPI call: nothing between the begin of that call and the return from
/// here counts as outside MPI.
inline rules::processor_use processor_use_of_process(mpi::state& process) noexcept {
  rules::processor_use out;
  if (std::FILE* const file = std::fopen("/proc/self/schedstat", "r")) {
    unsigned long long ran = 0, ready = 0, times = 0;
    if (std::fscanf(file, "%llu %llu %llu", &ran, &ready, &times) == 3) {
      out.ran_ns = static_cast<std::int64_t>(ran);
      out.ran_times = static_cast<std::int64_t>(times);
      out.delay_ns = static_cast<std::int64_t>(ready);
    }
    std::fclose(file);
  }
  timespec of_process;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &of_process) == 0)
    out.process_ns = std::int64_t(of_process.tv_sec) * 1000000000 + of_process.tv_nsec;
  if (process.counter != nullptr) {
    process.counter->end_call(core::cycle_clock::now());
    out.own_delay_ns = process.counter->own()[core::code_count::delay_ns];
    out.offered = process.counter->offered();
    out.refused = process.counter->refused();
  }
  out.processors = processors_of_process(*process.registry);
  return out;
}
#endif  // WHYWAIT_DISABLE

/// Processors of this machine; at least 1.
inline std::int64_t processors_of_machine() noexcept { return std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN)); }

/// What another division of the same work saves at most: no run of `total_ns` gets shorter than its processor time on all
/// processors. INT64_MAX: these are not known.
inline std::int64_t most_divided_ns(std::int64_t total_ns, std::int64_t ran_ns, double processors) noexcept {
  if (!(processors > 0)) return INT64_MAX;
  return std::max<std::int64_t>(0, total_ns - core::nearest(static_cast<double>(ran_ns) / processors));
}

/// For how long another rank may have the processor of a rank that could go on; 0 if each of `ranks` on this machine has one of
/// its own.
inline std::int64_t time_slice_ns(std::int64_t ranks) noexcept {
  const std::int64_t processors = processors_of_machine();
  return ranks <= processors ? 0 : 8'000'000 * ((ranks + processors - 1) / processors);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
