// ranks: 2 8
// timeout: 120
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=one_sided
// json one_sided.json
// tries 3
//
// Windows: making and freeing them, fences, posts and starts, locks, and operations that need the target in MPI. Rank 1 comes
// late; where it is late as a holder of a lock, it works while it holds it.
#include "slept_cases.hpp"

namespace {

using namespace slept;

constexpr int rounds = 3, plays = 3, late = 30;
constexpr double explained = 0.95;

MPI_Win window = MPI_WIN_NULL;
int memory[64], buffer[64];

void put(int target, MPI_Win into) { MPI_Put(buffer, 8, MPI_INT, target, 0, 8, MPI_INT, into); }

/// In each round all begin together and `play` stamps the call that waits.
std::function<void(std::vector<stamp>&)> in_rounds(
    std::function<void(stamp&)> play, std::function<void()> before = [] {}) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      before();
      PMPI_Barrier(MPI_COMM_WORLD);
      stamp s;
      s.enter = s.leave = now();
      play(s);
      at.push_back(s);
    }
  };
}
template <class Call>
void stamped(stamp& s, Call&& call) {
  s.enter = now();
  call();
  s.leave = now();
}
/// A call of all ranks to which rank 1 comes late.
std::function<void(std::vector<stamp>&)> late_call(
    std::function<void()> call, std::function<void()> before = [] {}) {
  return in_rounds(
      [call](stamp& s) {
        innocent(3);
        if (rank == 1) guilty(late);
        stamped(s, call);
      },
      before);
}

/// Ranks other than 1 wait for it.
double for_rank_1(const stamps& all) {
  return until_last(all, [](int p, int q) { return p != 1 && q == 1; });
}
/// Rank 0 waits for rank 1.
double of_rank_0(const stamps& all) {
  return until_last(all, [](int p, int q) { return p == 0 && q == 1; });
}

MPI_Group of(std::vector<int> ranks_in) {
  MPI_Group world, made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks_in.size()), ranks_in.data(), &made);
  MPI_Group_free(&world);
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<slept_case> cases;
  static MPI_Group first = of({0}), second = of({1});
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);

  static MPI_Win made = MPI_WIN_NULL;
  static void* base;
  const auto create = [] { MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &made); };
  const auto release = [] { MPI_Win_free(&made); };
  cases.push_back({"create", "MPI_Win_create", "wait_at_create",
                   late_call(create,
                             [release] {
                               if (made != MPI_WIN_NULL) release();
                             }),
                   for_rank_1, "MPI_Win_free"});
  cases.push_back({"allocate", "MPI_Win_allocate", "wait_at_create",
                   late_call([] { MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made); }, release), for_rank_1,
                   "MPI_Win_free"});
  cases.push_back({"create_dynamic", "MPI_Win_create_dynamic", "wait_at_create",
                   late_call([] { MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made); }, release), for_rank_1,
                   "MPI_Win_free"});
  cases.push_back({"free", "MPI_Win_free", "wait_at_create",
                   late_call(release,
                             [=] {
                               if (made == MPI_WIN_NULL) create();
                             }),
                   for_rank_1, "MPI_Win_create"});
  cases.push_back({"fence", "MPI_Win_fence", "wait_at_fence",
                   late_call([] { MPI_Win_fence(0, window); },
                             [] {
                               MPI_Win_fence(0, window);
                               put(1 - rank % 2, window);
                             }),
                   for_rank_1});

  // Rank 0 is the origin, rank 1 the target.
  cases.push_back({"late_post", "MPI_Win_start", "late_post", in_rounds([](stamp& s) {
                     if (rank == 0) {
                       stamped(s, [] { MPI_Win_start(second, 0, window); });
                       put(1, window);
                       MPI_Win_complete(window);
                     }
                     if (rank == 1) {
                       guilty(late);
                       stamped(s, [] { MPI_Win_post(first, 0, window); });
                       MPI_Win_wait(window);
                     }
                   }),
                   of_rank_0});
  // Rank 1 is the origin, rank 0 the target.
  cases.push_back({"early_wait", "MPI_Win_wait", "early_wait", in_rounds([](stamp& s) {
                     if (rank == 0) {
                       MPI_Win_post(second, 0, window);
                       stamped(s, [] { MPI_Win_wait(window); });
                     }
                     if (rank == 1) {
                       MPI_Win_start(first, 0, window);
                       guilty(late);
                       stamped(s, [] { put(0, window); });
                       MPI_Win_complete(window);
                     }
                   }),
                   of_rank_0, "MPI_Win_start"});
  cases.push_back({"late_complete", "MPI_Win_wait", "late_complete", in_rounds([](stamp& s) {
                     if (rank == 0) {
                       MPI_Win_post(second, 0, window);
                       stamped(s, [] { MPI_Win_wait(window); });
                     }
                     if (rank == 1) {
                       MPI_Win_start(first, 0, window);
                       put(0, window);
                       guilty(late);
                       stamped(s, [] { MPI_Win_complete(window); });
                     }
                   }),
                   of_rank_0, "MPI_Win_start"});
  // The target is outside MPI while the origin completes.
  cases.push_back({"complete_progress", "MPI_Win_complete", "wait_for_progress", in_rounds([](stamp& s) {
                     if (rank == 0) {
                       MPI_Win_start(second, 0, window);
                       put(1, window);
                       stamped(s, [] { MPI_Win_complete(window); });
                     }
                     if (rank == 1) {
                       MPI_Win_post(first, 0, window);
                       guilty(late);
                       stamped(s, [] { MPI_Win_wait(window); });
                     }
                   }),
                   of_rank_0, "MPI_Win_start"});

  // Rank 1 holds the lock of its own memory, or of that of the last rank, and works.
  const auto hold = [](int target, int kind) {
    return in_rounds([=](stamp& s) {
      int ready = 0;
      if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
        PMPI_Send(&ready, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        guilty(late);
        stamped(s, [=] { MPI_Win_unlock(target, window); });
      }
      if (rank == 0) {
        PMPI_Recv(&ready, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stamped(s, [=] { MPI_Win_lock(kind, target, 0, window); });
        put(target, window);
        MPI_Win_unlock(target, window);
      }
      PMPI_Barrier(MPI_COMM_WORLD);
    });
  };
  cases.push_back({"lock_of_target", "MPI_Win_lock", "window_lock_contention", hold(1, MPI_LOCK_EXCLUSIVE), of_rank_0});
  if (ranks > 2)
    cases.push_back({"lock_of_third", "MPI_Win_lock", "window_lock_contention", hold(ranks - 1, MPI_LOCK_SHARED), of_rank_0});

  // The target is outside MPI.
  cases.push_back({"flush", "MPI_Win_flush", "wait_for_progress", in_rounds([](stamp& s) {
                     int ready = 0;
                     if (rank == 0) {
                       MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
                       PMPI_Send(&ready, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
                       innocent(5);  // until rank 1 has left MPI
                       put(1, window);
                       stamped(s, [] { MPI_Win_flush(1, window); });
                       MPI_Win_unlock(1, window);
                     }
                     if (rank == 1) {
                       PMPI_Recv(&ready, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                       guilty(late);
                       stamped(s, [] { MPI_Barrier(MPI_COMM_SELF); });
                     }
                     PMPI_Barrier(MPI_COMM_WORLD);
                   }),
                   of_rank_0, "MPI_Barrier", 0, 1.3});  // rank 0 works meanwhile

  // So it is for the wait for a request.
  for (const bool tested : {false, true})
    cases.push_back({tested ? "tested_request" : "request", tested ? "MPI_Test" : "MPI_Wait", "wait_for_progress",
                     in_rounds([=](stamp& s) {
                       int ready = 0;
                       if (rank == 0) {
                         MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
                         PMPI_Send(&ready, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
                         innocent(5);  // until rank 1 has left MPI
                         MPI_Request request;
                         double value = 0;
                         MPI_Rget(&value, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, window, &request);
                         stamped(s, [&] {
                           if (!tested) MPI_Wait(&request, MPI_STATUS_IGNORE);
                           for (int done = 0; tested && done == 0; nap(done == 0 ? 1 : 0))
                             MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                         });
                         MPI_Win_unlock(1, window);
                       }
                       if (rank == 1) {
                         PMPI_Recv(&ready, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                         guilty(late);
                         stamped(s, [] { MPI_Barrier(MPI_COMM_SELF); });
                       }
                       PMPI_Barrier(MPI_COMM_WORLD);
                     }),
                     of_rank_0, "MPI_Barrier", 0, 1.3});

  run(cases, explained, 0.97, plays);
  MPI_Group_free(&first);
  MPI_Group_free(&second);
  MPI_Win_free(&window);
  if (made != MPI_WIN_NULL) MPI_Win_free(&made);
  MPI_Finalize();
  return failures;
}
