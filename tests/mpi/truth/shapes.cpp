// Ordinary shapes of parallel programs, each with one cause of waiting that can be removed.
//
//   shapes --shape NAME [--marked 0] [--even 1] [--pause MICROSECONDS]
//
// --even 1 removes the cause: the same work, divided evenly. --marked 0 leaves the regions out. --pause: between polls.
#include "stamps.hpp"

#include <whywait/record.hpp>

namespace {

int ranks = 1, rank = 0;
bool marked = true, even = false;
double pause_us = 200;
stamps::log* book = nullptr;

#define WORK(name)                        \
  void name(double milliseconds) {        \
    (*book)(#name, [milliseconds] {       \
      if (marked) {                       \
        WHYWAIT_REGION(#name);            \
        stamps::nap(1e-3 * milliseconds); \
      } else {                            \
        stamps::nap(1e-3 * milliseconds); \
      }                                   \
    });                                   \
  }
WORK(solve)
WORK(update)
WORK(output)
WORK(filter)
WORK(prepare)
WORK(task)
WORK(merge)
WORK(unpack)

#define CALL(name, ...) (*book)(#name, [&] { name(__VA_ARGS__); })

constexpr int steps = 60;
double in = 1, out = 0;

// One rank has more to do.
double uneven(int slow, double more, double less) {
  return even ? (more + (ranks - 1) * less) / ranks : rank == slow ? more : less;
}
void allreduce() {
  for (int i = 0; i < steps; ++i) {
    solve(uneven(1, 10, 4));
    CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    update(2);
    CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
}
void alltoall() {
  std::vector<double> from(16 * static_cast<std::size_t>(ranks)), to(from.size());
  for (int i = 0; i < steps; ++i) {
    solve(uneven(3, 9, 3));
    CALL(MPI_Alltoall, from.data(), 16, MPI_DOUBLE, to.data(), 16, MPI_DOUBLE, MPI_COMM_WORLD);
    update(3);
  }
}
void ring() {
  for (int i = 0; i < steps; ++i) {
    solve(uneven(1, 11, 5));
    CALL(MPI_Sendrecv, &in, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, &out, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
/// Persistent requests for one number from and to each neighbour in a ring.
struct edge_requests {
  edge_requests() {
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Recv_init(numbers, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, requests);
    MPI_Recv_init(numbers + 1, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, requests + 1);
    MPI_Send_init(numbers + 2, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, requests + 2);
    MPI_Send_init(numbers + 3, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, requests + 3);
  }
  ~edge_requests() {
    for (MPI_Request& r : requests) MPI_Request_free(&r);
  }
  double numbers[4] = {};
  MPI_Request requests[4];
};
void persistent() {
  edge_requests edges;
  for (int i = 0; i < steps; ++i) {
    CALL(MPI_Startall, 4, edges.requests);
    solve(uneven(2, 10, 4));
    CALL(MPI_Waitall, 4, edges.requests, MPI_STATUSES_IGNORE);
  }
}
// Sends of persistent requests complete when their receiver calls MPI, together with the message that the rank waits for.
void some() {
  edge_requests edges;
  for (int i = 0; i < steps / 2; ++i) {
    solve(uneven(2, 10, 4));
    CALL(MPI_Startall, 4, edges.requests);
    for (int open = 4, done = 0, which[4]; open > 0; open -= done)
      CALL(MPI_Waitsome, 4, edges.requests, &done, which, MPI_STATUSES_IGNORE);
  }
}
// Only the holder of the token works, so that nothing is gained by dividing the work in another way, or into pieces.
void token() {
  constexpr int rounds = 10;
  for (int i = 0; i < rounds; ++i) {
    if (i > 0 || rank > 0)
      CALL(MPI_Recv, &out, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    solve(uneven(1, 8, 3));
    if (i + 1 < rounds || rank + 1 < ranks) CALL(MPI_Send, &in, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
  }
}
void growing() {
  for (int i = 0; i < steps; ++i) {
    solve(uneven(3, 3 + 0.2 * i, 3));
    CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

// One rank has more and more to do, between exchanges with the next one.
void particles() {
  for (int i = 0; i < steps; ++i) {
    MPI_Request requests[2];
    solve(uneven(3, 4 + 0.15 * i, 4));
    CALL(MPI_Irecv, &out, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, requests);
    CALL(MPI_Isend, &in, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, requests + 1);
    CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
    if (i % 5 == 4) CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}
// One rank has more to do in each tenth step.
void bursts() {
  for (int i = 0; i < steps; ++i) {
    solve(i % 10 == 9 ? uneven(1, 44, 4) : 4);
    CALL(MPI_Sendrecv, &in, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, &out, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL(MPI_Sendrecv, &in, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, &out, 1, MPI_DOUBLE, (rank + 1) % ranks, 1,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
// One rank is late ahead of a barrier and another one after it. --even 1 removes the barrier.
void dividing() {
  for (int i = 0; i < 40; ++i) {
    solve(rank == 0 ? 9 : 3);
    if (!even) CALL(MPI_Barrier, MPI_COMM_WORLD);
    update(rank == 1 ? 9 : 3);
    CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}
// Half of the ranks have three times as many pieces of work, and exchange after each.
void halves() {
  for (int i = 0; i < 25; ++i) {
    for (int k = 0; k < (even ? 4 : rank < ranks / 2 ? 2 : 6); ++k) {
      solve(3);
      CALL(MPI_Sendrecv, &in, 1, MPI_DOUBLE, rank ^ 1, 0, &out, 1, MPI_DOUBLE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}
// A persistent halo, unpacked as it comes. With Open MPI a persistent send completes only when its receiver calls MPI.
void as_it_comes() {
  edge_requests edges;
  for (int i = 0; i < steps; ++i) {
    CALL(MPI_Startall, 4, edges.requests);
    solve(uneven(3, 10, 4));
    for (int n = 0, index = 0; n < 4; ++n) {
      CALL(MPI_Waitany, 4, edges.requests, &index, MPI_STATUS_IGNORE);
      if (index < 2) unpack(0.5);
    }
  }
}

// One rank does something for all.
void serial() {
  for (int i = 0; i < steps; ++i) {
    update(5);
    if (i % 6 == 5) {
      if (even) output(40.0 / ranks);
      else if (rank == 0) output(40);
      CALL(MPI_Barrier, MPI_COMM_WORLD);
    }
    CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}
void master() {
  MPI_Status status;
  int work = 1, left = 120;
  if (rank == 0) {
    for (int live = ranks - 1; live > 0;) {
      CALL(MPI_Recv, &work, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      if (left > 0 && !even) prepare(4);
      work = left-- > 0 ? 1 : 0;
      live -= 1 - work;
      CALL(MPI_Send, &work, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
      if (even && work == 1) prepare(4.0 / ranks);  // its share, while the others work
    }
    return;
  }
  for (;;) {
    CALL(MPI_Send, &work, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    CALL(MPI_Recv, &work, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
    if (work == 0) return;
    if (even) prepare(4 - 4.0 / ranks);
    task(6);
  }
}

// A master deals tasks to the rank that asks first; the last one is long.
void farm() {
  MPI_Status status;
  const int tasks = 45;
  int task_of = -1;
  if (rank == 0) {
    for (int next = 0, live = ranks - 1; live > 0;) {
      CALL(MPI_Recv, &task_of, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      task_of = next < tasks ? next++ : -1;
      live -= task_of < 0 ? 1 : 0;
      CALL(MPI_Send, &task_of, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
    return;
  }
  for (;;) {
    CALL(MPI_Send, &task_of, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    CALL(MPI_Recv, &task_of, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
    if (task_of < 0) return;
    const double usual = 24 + 3 * (task_of * 7 % 5), more = 423;  // long: of an even run, messages must take less than 2 %
    task(even ? usual + more / tasks : task_of + 1 == tasks ? usual + more : usual);
  }
}

// The first ranks of two groups do something for their groups.
void leaders() {
  MPI_Comm group, first;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &group);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, rank, &first);
  for (int i = 0; i < 40; ++i) {
    solve(5);
    CALL(MPI_Reduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, 0, group);
    if (first != MPI_COMM_NULL) {
      if (!even) merge(6);
      CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, first);
    }
    if (even) merge(3);
    CALL(MPI_Bcast, &out, 1, MPI_DOUBLE, 0, group);
  }
}

// Half of the ranks do something that the others wait for.
void few() {
  const int other = rank ^ 1;
  for (int i = 0; i < steps; ++i) {
    if (rank % 2 == 0) {
      update(3);
      if (even) filter(4.5);
      CALL(MPI_Ssend, &in, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    } else {
      filter(even ? 4.5 : 9);
      CALL(MPI_Recv, &out, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

// Each rank is late in its turn.
void turns() {
  for (int i = 0; i < steps; ++i) {
    solve(even ? (12.0 + 4 * (ranks - 1)) / ranks : i % ranks == rank ? 12 : 4);
    CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

// Each rank works before it sends what others wait for. --even 1 sends first: the messages do not depend on the work.
void order() {
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  for (int i = 0; i < steps; ++i) {
    const double milliseconds = (3 * i + rank) % 7 < 2 ? 12 : 4;  // longer now on one rank, now on another
    if (!even) solve(milliseconds);
    CALL(MPI_Send, &in, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
    CALL(MPI_Send, &in, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD);
    if (even) solve(milliseconds);
    CALL(MPI_Recv, &out, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL(MPI_Recv, &out, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// Wavefronts over two rows of ranks, from alternating corners: no rank has more to do than the others.
void wavefront() {
  const int row = rank / 2, column = rank % 2;
  for (int i = 0; i < 20; ++i) {
    const int down = i & 1 ? -1 : 1, right = i & 2 ? -1 : 1;
    const auto other = [&](int r, int c) { return r < 0 || r > 1 || c < 0 || c > 1 ? MPI_PROC_NULL : 2 * r + c; };
    for (int k = 0; k < (even ? 8 : 2); ++k) {
      CALL(MPI_Recv, &out, 1, MPI_DOUBLE, other(row, column - right), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CALL(MPI_Recv, &out, 1, MPI_DOUBLE, other(row - down, column), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      solve(even ? 2 : 8);
      CALL(MPI_Send, &in, 1, MPI_DOUBLE, other(row, column + right), 0, MPI_COMM_WORLD);
      CALL(MPI_Send, &in, 1, MPI_DOUBLE, other(row + down, column), 1, MPI_COMM_WORLD);
    }
  }
}

// A loop that polls and pauses. Whether it waits if the pauses are long, only the programmer knows.
void polls() {
  const int other = rank ^ 1;
  for (int i = 0; i < steps; ++i) {
    MPI_Request requests[2];
    CALL(MPI_Irecv, &out, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, requests);
    solve(uneven(1, 10, 4));
    CALL(MPI_Isend, &in, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, requests + 1);
    (*book)("MPI_Testall", [&] {
      for (int done = 0; done == 0;) {
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        const std::timespec pause{0, static_cast<long>(1000 * pause_us)};
        if (done == 0) nanosleep(&pause, nullptr);
      }
    });
  }
}

struct named {
  const char* name;
  void (*play)();
};
constexpr named shapes[] = {{"allreduce", allreduce},
                            {"alltoall", alltoall},
                            {"ring", ring},
                            {"persistent", persistent},
                            {"some", some},
                            {"token", token},
                            {"growing", growing},
                            {"particles", particles},
                            {"bursts", bursts},
                            {"dividing", dividing},
                            {"halves", halves},
                            {"as_it_comes", as_it_comes},
                            {"serial", serial},
                            {"master", master},
                            {"farm", farm},
                            {"leaders", leaders},
                            {"few", few},
                            {"turns", turns},
                            {"order", order},
                            {"wavefront", wavefront},
                            {"polls", polls}};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stamps::log log;
  book = &log;
  const stamps::options options(argc, argv);
  marked = options.count("--marked", 1) != 0;
  even = options.count("--even", 0) != 0;
  pause_us = options.number("--pause", pause_us);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  log.meet();
  const std::string shape = options.text("--shape", "");
  void (*play)() = nullptr;
  for (const named& n : shapes)
    if (shape == n.name) play = n.play;
  if (play == nullptr) MPI_Abort(MPI_COMM_WORLD, 2);
  log("run", [&] {
    play();
    log("MPI_Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); });
  });
  log.write();
  MPI_Finalize();
  return 0;
}
