#ifndef WHYWAIT_FINALIZE_NODE_HPP
#define WHYWAIT_FINALIZE_NODE_HPP

#include <whywait/core/kept_layout.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <cstdint>
#include <optional>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// The members of a team that run on the same machine as this rank and share memory with it. Empty on all ranks if MPI
/// cannot determine the machine of some rank. Created and freed collectively (about 0.1 ms on one machine).
class node_team {
 public:
  explicit node_team(const team& all) {
    all.agree();
    if (PMPI_Comm_split_type(all.comm(), MPI_COMM_TYPE_SHARED, all.rank(), MPI_INFO_NULL, &comm_) != MPI_SUCCESS)
      comm_ = MPI_COMM_NULL;
    if (comm_ != MPI_COMM_NULL) PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    const bool determined = all.lowest_of(comm_ == MPI_COMM_NULL) < 0;
    if (determined) here_.emplace(comm_, all.name());
    else release();
  }
  node_team(const node_team&) = delete;
  node_team& operator=(const node_team&) = delete;
  ~node_team() { release(); }

  explicit operator bool() const noexcept { return here_.has_value(); }
  const team* operator->() const noexcept { return &*here_; }
  const team& operator*() const noexcept { return *here_; }

 private:
  void release() noexcept {
    if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::optional<team> here_;
};

/// The machine of a rank.
struct machine {
  std::int32_t number =
      -1;  ///< its lowest rank, so that it is the same on all ranks; -1 on all if MPI does not know some machine
  std::int32_t ranks = 1;    ///< how many run there; all of them if the machine is not known
};

/// The machine of this rank among those of `all`. Collective over `all`.
inline machine machine_of(const team& all) {
  const core::stable_key boot = core::boot_key();
  std::int64_t most[2] = {static_cast<std::int64_t>(boot), static_cast<std::int64_t>(~boot)};
  all.all_reduce(most, 2, MPI_INT64_T, MPI_MAX);
  if (boot != 0 && most[0] == ~most[1]) return {0, all.size()};  // one machine, which no communicator has to be split to see
  const node_team here(all);
  machine found{here ? all.rank() : -1, all.size()};
  if (!here) return found;
  found.ranks = here->size();
  here->broadcast(&found.number, sizeof found.number);  // from the first rank of the machine
  return found;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
