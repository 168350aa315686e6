// ranks: 1 2 4
// Communication classes and distributions over MPI equal those over the simulated transport. The data records of random
// programs are distributed to the ranks as if they had been recorded there. A plain MPI program without interception.

#include <whywait/data/analysis/examine.hpp>
#include <whywait/finalize/mpi_transport.hpp>

#include "../unit/data/reference_history.hpp"

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace ranks;

bool same(const data::classified& a, const data::classified& b) {
  if (a.classes.size() != b.classes.size() || a.unmatched != b.unmatched || a.ranks != b.ranks ||
      a.mixed.size() != b.mixed.size())
    return false;
  for (std::size_t i = 0; i != a.classes.size(); ++i) {
    const data::class_sums &x = a.classes[i].sums, &y = b.classes[i].sums;
    if (a.classes[i].key() != b.classes[i].key() || x.count != y.count || x.bytes != y.bytes || x.held != y.held ||
        x.read_bytes != y.read_bytes || x.pairs != y.pairs || x.most_hops != y.most_hops) {
      return false;
    }
  }
  return true;
}

bool same(const data::placement_report& a, const data::placement_report& b) {
  if (a.arrays.size() != b.arrays.size() || a.loops.size() != b.loops.size() || a.uses.size() != b.uses.size()) return false;
  for (std::size_t i = 0; i != a.arrays.size(); ++i) {
    if (a.arrays[i].array != b.arrays[i].array || a.arrays[i].placed.text() != b.arrays[i].placed.text()) return false;
  }
  for (std::size_t i = 0; i != a.uses.size(); ++i) {
    if (a.uses[i].access.text() != b.uses[i].access.text() || a.uses[i].measured_remote != b.uses[i].measured_remote)
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = 0;
  std::size_t classes = 0;
  for (std::uint64_t seed = 1; seed != 40; ++seed) {
    reference::world program(seed, size, 150);
    whywait::base::vector<data::rank_data>& all = program.made.finished();
    whywait::finalize::mpi_transport transport(MPI_COMM_WORLD);
    const data::classified found = data::classify(transport, &all[static_cast<std::size_t>(rank)], 1);
    const data::placement_report where = data::examine(transport, &all[static_cast<std::size_t>(rank)], 1);
    if (rank != 0) continue;
    explain::simulated_transport simulated(size);
    const bool agrees = same(found, data::classify(simulated, all)) && same(where, data::examine(simulated, all));
    if (!agrees) std::fprintf(stderr, "seed %d differs\n", static_cast<int>(seed));
    wrong += agrees ? 0 : 1;
    classes += found.classes.size();
  }
  if (rank == 0 && classes == 0) ++wrong;  // nothing was compared
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
