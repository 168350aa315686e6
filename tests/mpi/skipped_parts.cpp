// The run is far longer than WHYWAIT_MEMORY, and pauses may take 5 % of it, so that most of it is only counted. What the report
// says of the rest is compared with the program's own stamps.
//
// ranks: 2
// timeout: 120
// tries 3
// with: observer
// environment: WHYWAIT_OUTPUT=skipped WHYWAIT_MEMORY=256K WHYWAIT_PAUSES=5% WHYWAIT_REPORT=full
// json skipped.json
// stderr ~ of\s+which\s+[0-9.]+ m?s\s+\([0-9.]+ %\)\s+is\s+explained
// stderr ~ efficiency\s+of\s+what\s+is\s+explained:
// stderr ~ in\s+the\s+whole\s+run\s+[0-9.]+ %\s+to\s+[0-9.]+ %\s+of\s+rank\s+time\s+is\s+waiting
// stderr ~ of\s+the\s+[0-9.]+ m?s\s+that\s+are\s+explained
// stderr ~ WHYWAIT_PAUSES:\s+[0-9.]+ m?s\s+of\s+the\s+run\s+were\s+not\s+recorded
// stderr ~ while\s+nothing\s+was\s+recorded,\s+all\s+ranks\s+ran\s+prepare
// stderr !~ record\s+buffer\s+was\s+full
// stderr !~ nothing\s+worth
#include "parts/partly_recorded.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  partly::stamps own(argc, argv);
  int value = 0;
  for (int step = 0; step < 12000; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    if (own.rank == 0) {
      WHYWAIT_REGION("prepare");
      partly::work(100e-6);
    }
    for (int k = 0; k < 20; ++k) {
      if (own.rank == 0) MPI_Send(&k, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      else MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (k == 0 && own.rank == 1) own.waited += MPI_Wtime() - began;
    }
    own.ran += MPI_Wtime() - began;
  }
  own.end();
  if (own.rank != 0) return 0;
  const partly::report r("skipped.json");
  bool good = partly::consistent(r, own);
  const double run = r["seconds"], unseen = r["unseen_seconds"] / run, pauses = r["pause_seconds"] / run;
  good = partly::within("part without records", unseen, 0.5, 0.49) && good;
  // A pause may take longer than the one before; without the setting pauses take as long as the run.
  good = partly::within("part of the pauses", pauses, 0.05, 0.05) && good;
  const auto [low, high] = r.range("waiting_of_all");
  const double middle = (low + high) / 2, error = (high - low) / 2;
  if (partly::undisturbed(own))
    good = partly::within("waiting of the whole run", middle, own.waited / own.ran, error + 0.005) && good;
  good = partly::within("error of that", error, 0.1, 0.0999) && good;
  return good ? 0 : 1;
}
