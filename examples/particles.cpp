// Load imbalance that moves. Particles drift around a ring of ranks, so that in every phase another rank has too
// many of them, and all others wait for it at the MPI_Allreduce of the time step.
//
//     mpirun -n 4 ./particles
//
// WHYWAIT_WORK counts the particles, so that the report can distinguish *more particles* from *slower particles*.
// Here each particle costs the same on all ranks, and all waits are caused by more work. Pushing a particle
// sleeps for 5 microseconds, so that its cost is known on a machine with fewer cores than ranks.
#include <whywait/record.hpp>  // use whywait_observe(target) of CMake, or link cmake/observe.cpp

#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int steps = 30;
constexpr int cloud = 6000;  // total number of particles

struct ring {
  int rank = 0, ranks = 1;
  int left() const { return (rank + ranks - 1) % ranks; }
  int right() const { return (rank + 1) % ranks; }
};

void push(std::vector<double>& particles) {
  WHYWAIT_REGION("push_particles");
  WHYWAIT_WORK(particles.size());
  for (double& x : particles) x += 1.0 / 20;
  std::this_thread::sleep_for(std::chrono::microseconds(5 * particles.size()));
}

// Particles that left [rank, rank + 1) move to the right neighbour.
void migrate(std::vector<double>& particles, const ring& r) {
  WHYWAIT_REGION("migrate");
  std::vector<double> leaving, staying;
  for (double x : particles) (x >= r.rank + 1 ? leaving : staying).push_back(std::fmod(x, r.ranks));
  int sends = static_cast<int>(leaving.size()), receives = 0;
  MPI_Sendrecv(&sends, 1, MPI_INT, r.right(), 0, &receives, 1, MPI_INT, r.left(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::vector<double> arriving(static_cast<std::size_t>(receives));
  MPI_Sendrecv(leaving.data(), sends, MPI_DOUBLE, r.right(), 1, arriving.data(), receives, MPI_DOUBLE, r.left(), 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  particles = std::move(staying);
  particles.insert(particles.end(), arriving.begin(), arriving.end());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ring r;
  MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);

  // Half of the cloud is distributed evenly, the other half starts on rank 0.
  std::vector<double> particles;
  for (int i = 0; i < cloud; ++i) {
    const double x = i % 2 == 0 ? double(i) / cloud * r.ranks : double(i) / cloud;
    if (x >= r.rank && x < r.rank + 1) particles.push_back(x);
  }
  double energy = 0;
  for (int step = 0; step < steps; ++step) {
    push(particles);
    double mine = 0;
    for (double x : particles) mine += x * 1e-3;
    MPI_Allreduce(&mine, &energy, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    migrate(particles, r);
  }
  long long mine = static_cast<long long>(particles.size()), all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (r.rank == 0) std::printf("particles: %lld particles after %d steps\n", all, steps);
  MPI_Finalize();
  return 0;
}
