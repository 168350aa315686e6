#ifndef WHYWAIT_MPI_KEPT_FACTS_HPP
#define WHYWAIT_MPI_KEPT_FACTS_HPP

#include <whywait/core/kept_layout.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/mpi/clock_start.hpp>
#include <whywait/mpi/communicators.hpp>
#include <whywait/record/call_facts.hpp>

namespace whywait {
inline namespace v0 {
namespace mpi {

// The part of the wrappers' state that a reader in another process can use, after a crash for example: free of
// types of the MPI library.

using record::call_site;
using record::call_site_table;
using record::found_caller;
using record::open_call;
using record::thread_facts;

/// What the process's MPI calls left.
struct process_facts : record::run_facts {
  clock_start compared;
  communicator_table communicators;
};

inline core::stable_key layout_of_facts() noexcept {
  return core::combine(core::combine(core::layout_of<thread_facts>(), core::layout_of<process_facts>()),
                       core::layout_of<call_site>());
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
