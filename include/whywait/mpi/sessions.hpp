#ifndef WHYWAIT_MPI_SESSIONS_HPP
#define WHYWAIT_MPI_SESSIONS_HPP

#include <whywait/mpi/communicator_calls.hpp>
#include <whywait/mpi/lifecycle.hpp>
#include <whywait/mpi/unexplained_call.hpp>

#include <stdlib.h>
#include <string.h>

#if !defined(WHYWAIT_DISABLE) && MPI_VERSION >= 4

namespace whywait {
inline namespace v0 {
namespace mpi {

// Sessions. Beside MPI_Init their calls are like others. In a program without it the recording begins with the first communicator
// of all processes, which all of them make together, and ends with the last session: MPI may synchronise there (MPI 4.0, 11.3.1).

namespace detail {

/// The thread level that the program asked a session for; without one, that of MPI_Init.
inline int level_of(MPI_Session session) noexcept {
  int level = MPI_THREAD_SINGLE, found = 0;
  char text[64] = "";
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Session_get_info(session, &info) != MPI_SUCCESS || info == MPI_INFO_NULL) return MPI_THREAD_MULTIPLE;
  PMPI_Info_get(info, "thread_level", static_cast<int>(sizeof text) - 1, text, &found);
  PMPI_Info_free(&info);
  if (found == 0) return MPI_THREAD_MULTIPLE;
  if (strcmp(text, "MPI_THREAD_MULTIPLE") == 0) level = MPI_THREAD_MULTIPLE;
  else if (strcmp(text, "MPI_THREAD_SERIALIZED") == 0) level = MPI_THREAD_SERIALIZED;
  else if (strcmp(text, "MPI_THREAD_FUNNELED") == 0) level = MPI_THREAD_FUNNELED;
  else if (strcmp(text, "MPI_THREAD_SINGLE") != 0) level = MPI_THREAD_MULTIPLE;
  return level;
}

/// Whether the group is that of all processes, in their order, as one of the open sessions has it; `level`: of that session. A
/// single process is not recorded: MPICH 4.0 starts no transport for it and crashes in MPI_Test, which whywait would call.
inline bool is_world(session_facts& facts, MPI_Group group, int& level) noexcept {
  MPI_Session session;
  {
    core::guard_if guard(facts.lock, true);
    if (facts.kept_count == 0) return false;
    session = facts.kept[0];
  }
  int size = 0;
  if (PMPI_Group_size(group, &size) != MPI_SUCCESS || size < 2) return false;
  MPI_Group all = MPI_GROUP_NULL;
  int likeness = MPI_UNEQUAL;
  if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &all) != MPI_SUCCESS) return false;
  PMPI_Group_compare(group, all, &likeness);
  PMPI_Group_free(&all);
  level = level_of(session);
  return likeness == MPI_IDENT;
}

}  // namespace detail

/// MPI_Session_init.
__attribute__((noinline, cold)) inline int begin_session(core::mpi_call what, caller from, passed_call& pass,
                                                         MPI_Session* session) {
  session_facts& facts = session_facts::of_process();
  {
    core::guard_if guard(facts.lock, true);
    if (facts.began == 0 && !detail::called_init()) {
      bindings::connect();
      detail::connect_next_tool();
      facts.agreement.announce();
      facts.agreement.withdraw_at_exit();
    }
  }
  int code;
  {
    const unexplained_call here(what, from);
    code = pass();
  }
  if (code != MPI_SUCCESS || session == nullptr) return code;
  core::guard_if guard(facts.lock, true);
  facts.add(*session);
  return code;
}

/// MPI_Comm_create_from_group.
__attribute__((noinline, cold)) inline int create_from_group(core::mpi_call what, caller from, passed_call& pass,
                                                             MPI_Group group, MPI_Comm* made) {
  session_facts& facts = session_facts::of_process();
  int level = MPI_THREAD_SINGLE;
  const bool begun = detail::called_init() || __atomic_load_n(&facts.tried, __ATOMIC_ACQUIRE);
  if (begun || !detail::is_world(facts, group, level)) return create(what, from, pass, MPI_COMM_NULL, made, true);
  const int code = pass();
  if (code != MPI_SUCCESS || made == nullptr) return code;
  if (__atomic_exchange_n(&facts.tried, true, __ATOMIC_ACQ_REL)) return code;
  detail::open_state(what, from, facts.agreement, *made, level);
  thread_state* const thread = recording_thread();
  if (thread != nullptr) made_communicator(*thread, *made);
  return code;
}

/// MPI_Session_finalize: the last one ends the run of a program without MPI_Init.
__attribute__((noinline, cold)) inline int end_session(core::mpi_call what, caller from, passed_call& pass,
                                                       MPI_Session* session) {
  session_facts& facts = session_facts::of_process();
  bool last;
  {
    core::guard_if guard(facts.lock, true);
    last = facts.open == 1 && !detail::called_init();
  }
  if (last) detail::end_run(what, from);
  const MPI_Session ended = session != nullptr ? *session : MPI_SESSION_NULL;
  int code;
  {
    const unexplained_call here(what, from);
    code = pass();
  }
  if (code != MPI_SUCCESS) return code;
  core::guard_if guard(facts.lock, true);
  facts.remove(ended);
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
