#ifndef WHYWAIT_MPI_NEIGHBOURS_HPP
#define WHYWAIT_MPI_NEIGHBOURS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <stddef.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The ranks from which a rank receives in a neighbourhood collective, in the order of its buffers (MPI 4.0, 8.6), and the
/// number of those that it sends to. A few local queries for each call; allocates only beyond 64 neighbours.
class neighbours {
 public:
  explicit neighbours(MPI_Comm comm) noexcept {
    int kind = MPI_UNDEFINED;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return;
    if (kind == MPI_CART) {
      int dimensions = 0;
      if (PMPI_Cartdim_get(comm, &dimensions) != MPI_SUCCESS || !make_room(2 * dimensions)) return;
      for (int d = 0; d < dimensions; ++d) PMPI_Cart_shift(comm, d, 1, &sources_[2 * d], &sources_[2 * d + 1]);
      in_ = out_ = 2 * dimensions;
    } else if (kind == MPI_GRAPH) {
      int rank = 0, degree = 0;
      PMPI_Comm_rank(comm, &rank);
      if (PMPI_Graph_neighbors_count(comm, rank, &degree) != MPI_SUCCESS || !make_room(degree)) return;
      if (PMPI_Graph_neighbors(comm, rank, degree, sources_) == MPI_SUCCESS) in_ = out_ = degree;
    } else if (kind == MPI_DIST_GRAPH) {
      int in = 0, out = 0, weighted = 0;
      if (PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS || !make_room(2 * in + 2 * out)) return;
      int *const to = sources_ + in, *const weights = to + out;
      if (PMPI_Dist_graph_neighbors(comm, in, sources_, weights, out, to, weights + in) != MPI_SUCCESS) return;
      in_ = in;
      out_ = out;
    }
  }
  ~neighbours() {
    if (sources_ != few_) core::unmap_pages(sources_, bytes_);
  }
  neighbours(const neighbours&) = delete;
  neighbours& operator=(const neighbours&) = delete;

  int sources() const noexcept { return in_; }
  int destinations() const noexcept { return out_; }
  /// MPI_PROC_NULL beyond the edge of a grid.
  int operator[](int i) const noexcept { return sources_[i]; }

 private:
  bool make_room(int count) noexcept {
    if (count <= static_cast<int>(sizeof few_ / sizeof *few_)) return true;
    bytes_ = sizeof(int) * static_cast<size_t>(count);
    int* const pages = static_cast<int*>(core::map_pages(bytes_, false));
    if (pages != nullptr) sources_ = pages;
    return pages != nullptr;
  }

  int few_[128];
  int* sources_ = few_;
  size_t bytes_ = 0;
  int in_ = 0, out_ = 0;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
