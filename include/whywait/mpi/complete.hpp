#ifndef WHYWAIT_MPI_COMPLETE_HPP
#define WHYWAIT_MPI_COMPLETE_HPP

#include <whywait/mpi/mpi_header.hpp>

#include <sched.h>
#include <time.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The pause between two tests of a loop that waits for other ranks: none for the first 200, then sched_yield(), then a sleep
/// that grows to 1 ms. Ranks often outnumber processors, and few MPI libraries let ranks that wait sleep.
class backoff {
 public:
  void operator()() noexcept {
    ++tries_;
    if (tries_ <= 200) return;
    if (tries_ <= 1000) {
      sched_yield();
      return;
    }
    const timespec pause{0, tries_ < 21000 ? 50 * static_cast<long>(tries_ - 1000) : 1000000};
    nanosleep(&pause, nullptr);
  }

 private:
  unsigned tries_ = 0;
};

/// Waits for a nonblocking call of this rank. Returns what MPI returned for it.
inline int complete(MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE) noexcept {
  int over = 0, problem = MPI_SUCCESS;
  for (backoff wait; (problem = PMPI_Test(&request, &over, status)) == MPI_SUCCESS && over == 0;) wait();
  return problem;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
