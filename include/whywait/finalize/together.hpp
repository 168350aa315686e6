#ifndef WHYWAIT_FINALIZE_TOGETHER_HPP
#define WHYWAIT_FINALIZE_TOGETHER_HPP

#include <whywait/core/warning.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/process_state.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Runs a part of the analysis, body(team), on all ranks. A failure on one rank ends it on all. Rank 0 then warns in
/// one line that begins with `consequence`, the first failure is stored in state::failed, and no further epoch begins.
/// Returns false after a failure. Collective over the process's tool communicator.
template <class Body>
bool together(mpi::state& process, const char* consequence, Body&& body) {
  const finalize::team all(process.tool_comm);
  try {
    all.together([&] { body(all); });
    return true;
  } catch (const finalize::peer_failed& problem) {
    if (process.rank == 0) core::warn(consequence, problem.what());
    if (!process.failed) process.failed = problem.why();
    process.hook.on_epoch = nullptr;
    return false;
  }
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
