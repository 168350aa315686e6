#ifndef WHYWAIT_MPI_SESSION_FACTS_HPP
#define WHYWAIT_MPI_SESSION_FACTS_HPP

#include <whywait/core/spin_lock.hpp>
#include <whywait/mpi/agreement.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The sessions of a process. `lock` guards all but the agreement.
struct session_facts {
  core::spin_lock lock = {};
  uint32_t began = 0;  ///< how many it opened
  uint32_t open = 0;   ///< how many of them are open
  bool tried = false;  ///< recording began with a communicator of all processes, or could not
#if MPI_VERSION >= 4
  static constexpr uint32_t most_kept = 16;
  MPI_Session kept[most_kept] = {};  ///< open ones; further ones are only counted
  uint32_t kept_count = 0;

  void add(MPI_Session session) noexcept {
    ++began;
    ++open;
    if (kept_count != most_kept) kept[kept_count++] = session;
  }
  void remove(MPI_Session session) noexcept {
    if (open != 0) --open;
    uint32_t place = 0;
    while (place != kept_count && kept[place] != session) ++place;
    if (place != kept_count) kept[place] = kept[--kept_count];
  }
#endif
  start_agreement agreement = {};  ///< announced with the first session

  static session_facts& of_process() noexcept {
    static session_facts facts;
    return facts;
  }
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
