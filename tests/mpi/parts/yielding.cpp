// MPICH's ranks wait spinning, and where they outnumber the processors those that wait keep others from working and from moving
// data. With this file in the program they yield the processor whenever MPI has polled the network for nothing, as Open MPI's
// ranks do with mpi_yield_when_idle. TRUTH_SPIN=1 leaves them spinning. It needs MPICH's ch4:ucx, whose progress loop calls
// ucp_worker_progress through the dynamic linker; with others it has no effect.
// Other MPI libraries need nothing of this.
#include <mpi.h>

#ifdef MPICH_VERSION

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  using progress = unsigned (*)(void*);
  static const auto next = reinterpret_cast<progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  static const bool spins = std::getenv("TRUTH_SPIN") != nullptr;
  const unsigned events = next(worker);
  if (events == 0 && !spins) sched_yield();
  return events;
}

#endif
