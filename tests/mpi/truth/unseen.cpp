// Ranks wait in calls that a tool easily overlooks, for rank 1, which solves before each of them.
//
//   unseen [--call fence|lock|mutex|post|file|neighbour|create_group|test] [--rounds N]
#include "stamps.hpp"

#include <whywait/record.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const stamps::options options(argc, argv);
  const std::string call = options.text("--call", "fence");
  const int rounds = options.count("--rounds", 10);
  int ranks = 1, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int right = (rank + 1) % ranks;

  // what the calls need
  const bool one_sided = call == "fence" || call == "lock" || call == "mutex" || call == "post";
  long *memory = nullptr, mine = rank;
  MPI_Win window = MPI_WIN_NULL;
  if (one_sided) MPI_Win_allocate(sizeof mine, sizeof mine, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_File file = MPI_FILE_NULL;
  if (call == "file") MPI_File_open(MPI_COMM_WORLD, "unseen.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Comm ring = MPI_COMM_NULL;
  const int periodic = 1;
  if (call == "neighbour") MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  MPI_Group everybody = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);

  stamps::log log;
  log.meet();
  log("run", [&] {
    for (int i = 0; i < rounds; ++i) {
      log("prepare", [&] {
        WHYWAIT_REGION("prepare");
        stamps::nap(0.003);
      });
      if (rank == 1 && call != "mutex")
        log("solve", [&] {
          WHYWAIT_REGION("solve");
          stamps::nap(0.030);
        });
      if (call == "fence") {
        log("MPI_Win_fence", [&] { MPI_Win_fence(0, window); });
        MPI_Put(&mine, 1, MPI_LONG, right, 0, 1, MPI_LONG, window);
        log("MPI_Win_fence", [&] { MPI_Win_fence(0, window); });
      } else if (call == "lock") {  // rank 1 solves again with the lock held, while the others want it
        if (rank != 1) log("prepare", [] { stamps::nap(0.033); });
        log("MPI_Win_lock", [&] { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); });
        MPI_Put(&mine, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        log("MPI_Win_flush", [&] { MPI_Win_flush(0, window); });
        if (rank == 1)
          log("solve", [&] {
            WHYWAIT_REGION("solve");
            stamps::nap(0.030);
          });
        log("MPI_Win_unlock", [&] { MPI_Win_unlock(0, window); });
      } else if (call == "mutex") {  // one rank at a time
        log("MPI_Win_lock", [&] { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); });
        MPI_Put(&mine, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        log("MPI_Win_flush", [&] { MPI_Win_flush(0, window); });
        log("share", [] {
          WHYWAIT_REGION("share");
          stamps::nap(0.020);
        });
        log("MPI_Win_unlock", [&] { MPI_Win_unlock(0, window); });
      } else if (call == "post") {
        log("MPI_Win_post", [&] { MPI_Win_post(everybody, 0, window); });
        log("MPI_Win_start", [&] { MPI_Win_start(everybody, 0, window); });
        MPI_Put(&mine, 1, MPI_LONG, right, 0, 1, MPI_LONG, window);
        log("MPI_Win_complete", [&] { MPI_Win_complete(window); });
        log("MPI_Win_wait", [&] { MPI_Win_wait(window); });
      } else if (call == "file") {
        log("MPI_File_write_at_all", [&] {
          MPI_File_write_at_all(file, static_cast<MPI_Offset>(sizeof mine) * rank, &mine, 1, MPI_LONG, MPI_STATUS_IGNORE);
        });
        log("MPI_File_sync", [&] { MPI_File_sync(file); });
      } else if (call == "neighbour") {
        long to[2] = {mine, mine}, from[2] = {};
        MPI_Request request = MPI_REQUEST_NULL;
        log("MPI_Ineighbor_alltoall", [&] { MPI_Ineighbor_alltoall(to, 1, MPI_LONG, from, 1, MPI_LONG, ring, &request); });
        log("MPI_Wait", [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
      } else if (call == "create_group") {
        MPI_Comm made = MPI_COMM_NULL;
        log("MPI_Comm_create_group", [&] { MPI_Comm_create_group(MPI_COMM_WORLD, everybody, i, &made); });
        MPI_Comm_free(&made);
      } else if (call == "test") {
        MPI_Request request = MPI_REQUEST_NULL;
        log("MPI_Ibarrier", [&] { MPI_Ibarrier(MPI_COMM_WORLD, &request); });
        log("MPI_Test", [&] {
          for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        });
      } else {
        MPI_Abort(MPI_COMM_WORLD, 2);
      }
    }
  });
  if (one_sided) log("MPI_Win_free", [&] { MPI_Win_free(&window); });
  log.write();
  MPI_Group_free(&everybody);
  if (ring != MPI_COMM_NULL) MPI_Comm_free(&ring);
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
