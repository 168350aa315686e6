// ranks: 1
// with: observer_data openmp
// not: address thread mpich
// flags: -fopenmp
// environment: WHYWAIT_OUTPUT=out OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
// file out.json ~ (?s)"data": "critical",\s+"pattern": "migratory".*?"misses": 8,.*?"invalidation": "omp critical in
// file out.json ~ (?s)"data": "barrier",\s+"pattern": "false sharing".*?"misses": 10,.*?"invalidation": "omp barrier in
// file out.json ~ (?s)"data": "regions",\s+"pattern": "false sharing".*?"misses": 9,.*?"invalidation": "end of omp parallel in
// json out.json
//
// The sharing graph of an OpenMP program without marks: critical sections that two threads enter in turn, barriers, and parallel
// regions between which the first thread reads what all wrote.
#include "parts/data_order.hpp"

#include <whywait/gomp.hpp>

#include <mpi.h>
#include <omp.h>

using namespace data_order;

int main(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  {
    values v;
    WHYWAIT_DATA("critical", v.value, 8);
    turns order;
#pragma omp parallel num_threads(2)
    for (int i = 0; i < rounds; ++i) {
      order.wait_for(2 * i + omp_get_thread_num());
#pragma omp critical
      change(v, omp_get_thread_num());
      order.next();
    }
  }
  {
    values v;
    WHYWAIT_DATA("barrier", v.value, 8);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 2 * rounds; ++i) {
      if (i % 2 == 0) fill(v, omp_get_thread_num());
      else sum(v);
#pragma omp barrier
    }
  }
  {
    values v;
    WHYWAIT_DATA("regions", v.value, 8);
    for (int i = 0; i < rounds; ++i) {
#pragma omp parallel num_threads(2)
      fill(v, omp_get_thread_num());
      sum(v);
    }
  }
  MPI_Finalize();
}
