#ifndef WHYWAIT_REPORT_REPORT_NOW_HPP
#define WHYWAIT_REPORT_REPORT_NOW_HPP

#include <whywait/report/run_result.hpp>

namespace whywait {
inline namespace v0 {

#ifndef WHYWAIT_DISABLE

/// Explains to the program itself why it waited so far. With MPI: `mpi::explain` over all ranks, without MPI types; there is no
/// result before MPI_Init and after MPI_Finalize. Without MPI: of the threads of this process, at any time, from any thread; the
/// others go on meanwhile. Throws nothing; if there is no result, `reason` gives the reason. Needs the implementation, <whywait/mpi.hpp>
/// or <whywait/whywait.hpp>, in one file of the program.
result report();

#else

inline result report() {
  result nothing;
  nothing.reason = "whywait is disabled (WHYWAIT_DISABLE); no result";
  return nothing;
}

#endif

}  // namespace v0
}  // namespace whywait

#endif
