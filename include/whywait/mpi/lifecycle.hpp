#ifndef WHYWAIT_MPI_LIFECYCLE_HPP
#define WHYWAIT_MPI_LIFECYCLE_HPP

#include <whywait/core/safe_write.hpp>
#include <whywait/mpi/agreement.hpp>
#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/bindings.hpp>
#include <whywait/mpi/calibration.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/end_hooks.hpp>
#include <whywait/mpi/next_tool.hpp>
#include <whywait/mpi/session_facts.hpp>
#include <whywait/mpi/unexplained_call.hpp>
#include <whywait/record/listen.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// From MPI_Init to MPI_Finalize. Recording lies strictly between them.

namespace detail {

/// Handles that MPI gives to many requests at once: those of operations that are complete when they are
/// posted (Open MPI: one for all; MPICH: one for each kind). Found by trying, on the tool's communicator.
inline void find_shared_handles(state& process) noexcept {
  int nothing = 0;
  const auto note = [&](MPI_Request a, MPI_Request b) {
    const bool room = process.shared_handle_count < sizeof process.shared_handles / sizeof process.shared_handles[0];
    if (a == b && a != MPI_REQUEST_NULL && room && !process.is_shared(bits_of(a)))
      process.shared_handles[process.shared_handle_count++] = bits_of(a);
  };
  const auto try_twice = [&](auto&& post) {
    MPI_Request pair[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    post(&pair[0]);
    post(&pair[1]);
    note(pair[0], pair[1]);
    PMPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
  };
  try_twice([&](MPI_Request* r) { PMPI_Isend(&nothing, 1, MPI_INT, MPI_PROC_NULL, 1, process.tool_comm, r); });
  try_twice([&](MPI_Request* r) { PMPI_Irecv(&nothing, 1, MPI_INT, MPI_PROC_NULL, 1, process.tool_comm, r); });
  try_twice([&](MPI_Request* r) { PMPI_Ibarrier(process.self_comm, r); });
}

/// The state of the process, or null if it cannot be had.
inline state* make_state(core::registry* registry) noexcept {
  pthread_mutex_lock(&registry->mutex);
  state* known = static_cast<state*>(registry->extension[0]);
  if (known == nullptr) {
    if (void* pages = core::map_pages(sizeof(state), true)) {
      registry->kept.keep(pages, sizeof(state));
      known = new (pages) state();
      known->layout = sizeof(state);
      known->registry = registry;
      known->last_posted = &known->last_posting;
      known->tool_comm = MPI_COMM_NULL;
      if (known->requests.open() && known->messages.open() && known->communicators.open(&registry->kept)) {
        __atomic_store_n(&registry->extension[0], static_cast<void*>(known), __ATOMIC_RELEASE);
        __atomic_store_n(&registry->extension[3], static_cast<void*>(static_cast<record::run_facts*>(known)), __ATOMIC_RELEASE);
      } else {
        known = nullptr;
      }
    }
  } else if (known->layout != sizeof(state)) {
    known = nullptr;  // another version of whywait watches this process
  }
  pthread_mutex_unlock(&registry->mutex);
  return known;
}

/// What a reader of the file that outlives this process needs to put it together with the other ranks'. Collective.
inline void join_job(state& process) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t job = core::combine(static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec),
                               core::combine(core::boot_key(), static_cast<uint64_t>(getpid())));
  const char* const output = process.registry->config.output;
  const char* const unknown = process.rank == 0 && output != nullptr ? core::expand_output(output, process.output) : nullptr;
  if (unknown != nullptr)
    core::warn("WHYWAIT_OUTPUT=", output,
               " contains a sequence that is not known and is left as it is; known are %p (process), %j (job), %t (time), %h "
               "(host) and %%");
  // One broadcast for both.
  unsigned char shared[sizeof job + sizeof process.output];
  memcpy(shared, &job, sizeof job);
  memcpy(shared + sizeof job, process.output, sizeof process.output);
  PMPI_Bcast(shared, static_cast<int>(sizeof shared), MPI_BYTE, 0, process.tool_comm);
  memcpy(&job, shared, sizeof job);
  memcpy(process.output, shared + sizeof job, sizeof process.output);
  core::kept_file& kept = process.registry->kept;
  core::kept_header* const header = kept.header();
  if (header == nullptr) return;
  header->layout[2] = layout_of_facts();
  header->room[0] = reinterpret_cast<uintptr_t>(static_cast<process_facts*>(&process));
  header->rank = process.rank;
  header->ranks = process.size;
  __atomic_store_n(&header->job, job, __ATOMIC_RELEASE);
  kept.rename_to(job, process.rank);
  process.modules.update(kept);
}

/// Whether this process called MPI_Init* through its wrapper.
inline bool& called_init() noexcept {
  static bool called = false;
  return called;
}

/// At the end of a process that never called MPI_Init through C: one line instead of silence.
inline void say_if_unseen() noexcept {
  core::registry* const registry = core::the_registry();
  if (registry == nullptr || registry->pid != getpid() || called_init()) return;
  if (registry->extension[0] != nullptr) return;  // another module of the process has the wrappers
  if (!registry->config.enable || !registry->config.report || !core::first_of_the_launch()) return;
  int initialised = 0;
  PMPI_Initialized(&initialised);
  const char* const tool = initialised != 0 ? other_tools::in_front() : nullptr;
  if (tool != nullptr)
    core::warn(tool,
               " was loaded before whywait and takes the MPI calls of this program: none was seen, there is no report; use one "
               "tool at a time");
  else if (session_facts::of_process().began != 0)
    core::warn(
        "this program uses sessions of MPI without MPI_Init and made no communicator of all processes (of mpi://WORLD, "
        "two or more): no MPI call was recorded, there is no report");
  else if (initialised != 0)
    core::warn(
        "MPI was initialised, but not through MPI_Init (a call of PMPI_Init, or a library that was loaded later): no MPI call "
        "was seen, there is no report");
  else if (registry->location_count != 0)
    core::warn("this program never called MPI_Init: what its threads wait for is not explained, there is no report");
}

/// After all handlers that the program registered in `main` or later: one of them may call MPI_Finalize.
inline void at_exit() {
  state* const process = the_state();
  if (process == nullptr || !process->running || process->registry->pid != getpid()) return;
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized == 0) say_last_words(*process, end_reason::exit, 0);
}

/// The wrappers pass calls on to a tool behind them. Before the first call that they pass on.
inline const char* connect_next_tool() noexcept {
  const char* const tool = other_tools::find_next();
  const core::registry* const registry = core::the_registry();
  return registry != nullptr && registry->config.report && core::first_of_the_launch() ? tool : nullptr;
}

/// `world`: a communicator of all processes. `level`: the thread level of MPI. Collective over it.
inline void open_state(core::mpi_call what, caller from, start_agreement& agreement, MPI_Comm world, int level) noexcept {
  record::listen();
  record::location* const here = record::this_location();
  // Launchers do not always pass the environment to other nodes: a rank that is switched off there must not
  // leave the others waiting in what they do together.
  state* const process = here != nullptr ? make_state(core::the_registry()) : nullptr;
  int highest = level;
  const core::registry* const registry = core::the_registry();
  const bool first_time = process != nullptr && !process->running;
  // A rank that finds no memory later must not stop recording alone, so the thread gets its memory now.
  const bool has_memory = first_time && (here->extension[0] != nullptr || make_thread(process, here) != nullptr);
  const bool no_memory = registry == nullptr || registry->no_memory || (registry->config.enable && process == nullptr) ||
                         (first_time && !has_memory);
  if (!agreement.all_record(world, has_memory, no_memory, highest)) return;
  process->hook = installed_hooks;
  if (PMPI_Comm_dup(world, &process->tool_comm) != MPI_SUCCESS) return;
  PMPI_Comm_set_errhandler(process->tool_comm, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(world, &process->rank);
  PMPI_Comm_size(world, &process->size);
  PMPI_Comm_group(world, &process->world_group);
  const bool has_world = world == MPI_COMM_WORLD;
  process->self_comm = MPI_COMM_SELF;
  if (!has_world) {
    if (PMPI_Comm_split(process->tool_comm, process->rank, 0, &process->self_comm) != MPI_SUCCESS) return;
    PMPI_Comm_set_errhandler(process->self_comm, MPI_ERRORS_RETURN);
  }
  process->thread_level = level;
  process->multiple = level == MPI_THREAD_MULTIPLE;
  process->any_multiple = highest >= MPI_THREAD_MULTIPLE;
  MPI_Comm parent = MPI_COMM_NULL;  // the program may disconnect it
  process->spawned = has_world && PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
  find_shared_handles(*process);
  const MPI_Comm first_known = has_world ? world : process->tool_comm;  // number 0; the program may free its own
  process->communicators.bind(bits_of(first_known), learn_communicator(*process, first_known));
  process->communicators.bind(bits_of(process->self_comm), learn_communicator(*process, process->self_comm));
  {
    const without_next_tool alone;
    calibrate(*process);
  }
  join_job(*process);
  if (process->hook.on_start != nullptr) process->hook.on_start(*process);
  process->start_anchor = core::clock_anchor::take();
  process->clocks.start(process->tool_comm);  // waits for the others' on_start, so that it delays no message
  process->compared = process->clocks.compared();
  core::detail::pin_this_module();  // the code that runs at exit must still be there
  process->catches_faults = listen_to_signals();
  if (process->catches_faults) static_cast<thread_state*>(here->extension[0])->signals.set();
  if (process->hook.on_recording != nullptr) process->hook.on_recording(*process);
  process->begin_ticks = core::cycle_clock::now();
  here->path.begin_whole(process->registry->sites.size(), process->begin_ticks);  // regions around MPI_Init
  __atomic_store_n(&process->running, true, __ATOMIC_RELEASE);
  // The first record: everything before it belongs to no message.
  call first(what, from);
  if (!first) return;
  first.thread().began_run = true;
  first.thread().counter.start();
  here->node = first.thread().counter.node();
  process->counter = &first.thread().counter;
  first.begin();
  first.leave();
  first.thread().sites[first.site()].ticks = 0;  // its own time was before the recording
  first.duration(0);
  process->begin_ticks = first.begun_at();
  if (first.store(0, 0) != nullptr) first.finish();
}

/// MPI_Init after sessions began the recording, or ended it: it does not begin again.
__attribute__((noinline, cold)) inline int initialise_later(core::mpi_call what, caller from, passed_call& pass) {
  int code;
  {
    const unexplained_call here(what, from);
    code = pass();
  }
  thread_state* const thread = recording_thread();
  if (code != MPI_SUCCESS || thread == nullptr) return code;
  made_communicator(*thread, MPI_COMM_WORLD);
  made_communicator(*thread, MPI_COMM_SELF);
  return code;
}

}  // namespace detail

namespace detail {

/// ns since the machine started, as the kernel counts the begin of processes; 0: not known.
inline int64_t since_boot() noexcept {
  timespec now;
  return clock_gettime(CLOCK_BOOTTIME, &now) == 0 ? static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec : 0;
}

}  // namespace detail

/// MPI_Init, MPI_Init_thread.
template <class What, class Pass>
inline int initialise(What what, caller from, Pass& pass) {
  detail::called_init() = true;
  if (__atomic_load_n(&session_facts::of_process().tried, __ATOMIC_ACQUIRE)) return detail::initialise_later(what, from, pass);
  if (!bindings::connect()) return pass();
  const char* const tool = detail::connect_next_tool();
  if (core::is_stderr_closed()) core::stderr_closed = true;  // MPI opens files
  start_agreement agreement;
  agreement.announce();
  const int64_t called = detail::since_boot();
  const int code = pass();
  const int64_t left = detail::since_boot();
  if (code == MPI_SUCCESS) {
    if (tool != nullptr)
      core::warn(tool, " receives the MPI calls of this program after whywait: its cost counts as time in MPI");
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    detail::open_state(what, from, agreement, MPI_COMM_WORLD, level);
    if (state* const process = the_state()) {
      process->init_called_ns = called;
      process->init_ns = left - called;
    }
  }
  return code;
}

namespace detail {

/// The end of recording and the explanation. Waiting for the others is measured by a barrier of the tool's, for MPI itself may or
/// may not wait. Collective over all processes.
__attribute__((noinline, cold)) inline void end_run(core::mpi_call what, caller from) {
  state* const process = the_state();
  if (process == nullptr || !process->running) return;
  if (process->registry->pid != getpid()) return;
  // An error handler may end MPI. Its call lasts on, as it does without whywait, but records nothing more.
  thread_state* const thread = recording_thread();
  if (thread == nullptr) return;
  const open_call outer = thread->open;
  thread->open.frame = nullptr;
  thread->release_posting_locks();
  {
    call here(what, from);
    if (!here) return;
    here.begin();
    here.about(bits_of(process->self_comm == MPI_COMM_SELF ? MPI_COMM_WORLD : process->tool_comm), -1, -1);
    process->end_ticks = here.begun_at();
    const uint32_t posting = process->take_posting();
    PMPI_Barrier(process->tool_comm);
    here.leave();
    if (core::sync_record* r = here.store(flag::contributes | flag::consumes, posting)) {
      r->comm = 0;
      here.finish();
    }
    __atomic_store_n(&process->running, false, __ATOMIC_RELEASE);
    process->ended = true;
    if (process->hook.on_finalize != nullptr) process->hook.on_finalize(*process);
  }
  thread->open = outer;
  process->registry->kept.remove();
  detail::ignore_signals();
  thread->signals.reset();
  process->clocks.release();
  PMPI_Group_free(&process->world_group);
  if (process->self_comm != MPI_COMM_SELF) PMPI_Comm_free(&process->self_comm);
  PMPI_Comm_free(&process->tool_comm);
}

}  // namespace detail

/// MPI_Finalize. A program that hangs here would hang in it without whywait.
template <class What, class Pass>
inline int finalise(What what, caller from, Pass& pass) {
  detail::end_run(what, from);
  return pass();
}

/// MPI_Pcontrol: leaves a record with the level, which the explanation reads (explain/paused_time.hpp). Whatever the ranks
/// pause, all calls are recorded: matching needs them.
__attribute__((noinline, cold)) inline int control(core::mpi_call what, caller from, passed_call& pass, int level) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const int code = pass();
  here.leave();
  if (core::sync_record* r = here.store(0, 0)) {
    r->tag = level;
    here.finish();
  }
  return code;
}

/// MPI_Abort.
template <class What, class Pass>
inline int abort(What what, caller from, Pass& pass) {
  if (state* const process = the_state()) {  // also inside another call: error handlers abort
    call here(what, from);  // what the hook calls passes straight through
    if (process->running && process->registry->pid == getpid()) say_last_words(*process, end_reason::abort, 0);
  }
  return pass();
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
