// ranks: 1
// Measures the additional cost of messages with registered data (MPI_Isend to the own rank, MPI_Irecv, MPI_Waitall).
//
//   mpirun -n 1 bench_data_mpi
//
//   plain                 calls PMPI_ functions
//   nothing_registered    wrappers without any registered array; must run first
//   other_registered      an array is registered, but not the buffers
//   registered            both buffers are in registered arrays, which adds two data records
//   registered_column     the same with a known derived datatype

#include <whywait/data.hpp>
#include <whywait/mpi/wrappers.hpp>

#include <benchmark/benchmark.h>

namespace {

double sent[64 * 64], received[64 * 64], other[64];

template <bool Observed>
void exchange(benchmark::State& state, MPI_Datatype type) {
  whywait::mpi::thread_state* const thread = whywait::mpi::recording_thread();
  for (auto _ : state) {
    MPI_Request r[2];
    if (Observed) {
      MPI_Irecv(received, 1, type, 0, 1, MPI_COMM_SELF, &r[0]);
      MPI_Isend(sent, 1, type, 0, 1, MPI_COMM_SELF, &r[1]);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else {
      PMPI_Irecv(received, 1, type, 0, 1, MPI_COMM_SELF, &r[0]);
      PMPI_Isend(sent, 1, type, 0, 1, MPI_COMM_SELF, &r[1]);
      PMPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
  }
  if (Observed && (thread == nullptr || thread->process->closed)) state.SkipWithError("memory ran out: nothing was recorded");
}

void plain(benchmark::State& state) { exchange<false>(state, MPI_DOUBLE); }
void nothing_registered(benchmark::State& state) { exchange<true>(state, MPI_DOUBLE); }
void other_registered(benchmark::State& state) {
  WHYWAIT_DATA("other", other, 64);
  exchange<true>(state, MPI_DOUBLE);
}
void registered(benchmark::State& state) {
  WHYWAIT_DATA("sent", sent, 64, 64);
  WHYWAIT_DATA("received", received, 64, 64);
  exchange<true>(state, MPI_DOUBLE);
}
void column(benchmark::State& state, bool with_data) {
  MPI_Datatype type;
  MPI_Type_vector(64, 1, 64, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  if (with_data) {
    WHYWAIT_DATA("sent", sent, 64, 64);
    WHYWAIT_DATA("received", received, 64, 64);
    exchange<true>(state, type);
  } else {
    exchange<false>(state, type);
  }
  MPI_Type_free(&type);
}
void plain_column(benchmark::State& state) { column(state, false); }
void registered_column(benchmark::State& state) { column(state, true); }

// the records of all iterations fit into the default memory
BENCHMARK(nothing_registered)->Iterations(6000)->Repetitions(5);
BENCHMARK(plain)->Iterations(6000)->Repetitions(5);
BENCHMARK(other_registered)->Iterations(6000)->Repetitions(5);
BENCHMARK(registered)->Iterations(6000)->Repetitions(5);
BENCHMARK(plain_column)->Iterations(6000)->Repetitions(5);
BENCHMARK(registered_column)->Iterations(6000)->Repetitions(5);

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  MPI_Finalize();
}
