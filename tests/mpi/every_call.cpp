// ranks: 2
// timeout: 120
// beside: nothing
// not: address thread (they run the other programs with known waits)
// with: observer
// environment: WHYWAIT_OUTPUT=every_call
// json every_call.json
// tries 3
//
// Calls that no other program with known waits makes, each in a case of its own: the forms of messages, collectives in their
// blocking, nonblocking and persistent forms, calls that make communicators, and operations on windows. The target
// known_waits_of_all_sizes runs it with more ranks. Arguments: messages, collectives, making, windows, every.
#include "slept_cases.hpp"

#include <unistd.h>

#include <array>

namespace {

using namespace slept;

constexpr int late = 20, most_ranks = 8, words = 1 << 13;

int rounds = 1;
bool odd() { return rank % 2 == 1; }
int partner() { return rank ^ 1; }
int in[2 * most_ranks], out[2 * most_ranks];
std::vector<char> large(words * sizeof(int));
MPI_Request request, two[2];
MPI_Message message;
void nothing() {}
void wait() { MPI_Wait(&request, MPI_STATUS_IGNORE); }
void wait_for_two() { MPI_Waitall(2, two, MPI_STATUSES_IGNORE); }

double for_rank(const stamps& all, int late_rank) {
  return until_last(all, [=](int, int q) { return q == late_rank; });
}
double for_rank_1(const stamps& all) { return for_rank(all, 1); }
double for_rank_0(const stamps& all) { return for_rank(all, 0); }
double of_rank_0(const stamps& all) {
  return until_last(all, [](int p, int q) { return p == 0 && q == 1; });
}
/// Ranks in a line: each needs the one before it and the one behind it.
double of_neighbours(const stamps& all) {
  return until_last(all, [](int p, int q) { return p - q == 1 || q - p == 1; });
}
double of_even(const stamps& all) {
  return until_last(all, [](int p, int q) { return p % 2 == 0 && q == p + 1; });
}
/// Every rank that left after rank 1 had come waited for it.
double of_those_that_stayed(const stamps& all) {
  double sum = 0;
  for (std::size_t p = 0; p != all.size(); ++p)
    for (std::size_t k = 0; k != all[p].size(); ++k)
      if (all[p][k].leave > all[1][k].enter) sum += std::max(0.0, all[1][k].enter - all[p][k].enter);
  return sum;
}

template <class Call>
void stamped(stamp& s, Call&& call) {
  s.enter = now();
  call();
  s.leave = now();
}
/// `call` in each round, to which one rank comes late; `before` is not part of it.
std::function<void(std::vector<stamp>&)> late_call(std::function<void()> call, int late_rank = 1,
                                                   std::function<void()> before = nothing) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      before();
      PMPI_Barrier(MPI_COMM_WORLD);
      innocent(3);
      if (rank == late_rank) guilty(late);
      stamp s;
      stamped(s, call);
      at.push_back(s);
    }
  };
}
/// Odd ranks call `late_side` late, and their even partners wait for them in `side`, after `prepare`.
std::function<void(std::vector<stamp>&)> in_pairs(std::function<void()> late_side, std::function<void()> side,
                                                  std::function<void()> prepare = nothing) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      PMPI_Barrier(MPI_COMM_WORLD);
      if (!odd()) prepare();
      PMPI_Barrier(MPI_COMM_WORLD);
      innocent(3);
      if (odd()) guilty(late);
      stamp s;
      stamped(s, odd() ? late_side : side);
      at.push_back(s);
    }
  };
}

void send() { MPI_Send(out, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD); }
void receive() { MPI_Recv(in, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
void post_receive() { MPI_Irecv(in, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &request); }
void start_and_free() {
  MPI_Start(&request);
  wait();
  MPI_Request_free(&request);
}

void add_messages(std::vector<slept_case>& cases) {
  const auto add = [&](const char* name, const char* call, std::function<void()> late_side, std::function<void()> side,
                       std::function<void()> prepare = nothing, const char* pattern = "late_sender") {
    cases.push_back({name, call, pattern, in_pairs(late_side, side, prepare), of_even});
  };
#define SEND(kind) MPI_##kind(out, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD)
#define START_SEND(kind) MPI_##kind(out, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &request)
  const auto plain = [&](const char* name, std::function<void()> sends) { add(name, "MPI_Recv", sends, receive); };
  plain("bsend", [] { SEND(Bsend); });
  plain("ibsend", [] { START_SEND(Ibsend), wait(); });
  plain("issend", [] { START_SEND(Issend), wait(); });
  plain("send_init", [] { START_SEND(Send_init), start_and_free(); });
  plain("bsend_init", [] { START_SEND(Bsend_init), start_and_free(); });
  plain("ssend_init", [] { START_SEND(Ssend_init), start_and_free(); });
  const auto ready = [&](const char* name, std::function<void()> sends) { add(name, "MPI_Wait", sends, wait, post_receive); };
  ready("rsend", [] { SEND(Rsend); });
  ready("irsend", [] { START_SEND(Irsend), wait(); });
  ready("rsend_init", [] { START_SEND(Rsend_init), start_and_free(); });
  add(
      "startall", "MPI_Waitall",
      [] {
        for (MPI_Request& r : two) MPI_Send_init(out, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &r);
        MPI_Startall(2, two), wait_for_two();
        for (MPI_Request& r : two) MPI_Request_free(&r);
      },
      [] {
        wait_for_two();
        for (MPI_Request& r : two) MPI_Request_free(&r);
      },
      [] {
        for (int i = 0; i < 2; ++i) MPI_Recv_init(in + i, 1, MPI_INT, partner(), 1, MPI_COMM_WORLD, &two[i]);
        MPI_Startall(2, two);
      });
  add("probe", "MPI_Probe", send, [] {
    MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive();
  });
  add("mprobe", "MPI_Mprobe", send, [] {
    MPI_Mprobe(partner(), MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  });
  add("imrecv", "MPI_Mprobe", send, [] {
    MPI_Mprobe(partner(), 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, 1, MPI_INT, &message, &request);
    wait();
  });
  const auto replace = [] {
    MPI_Sendrecv_replace(in, 1, MPI_INT, partner(), 1, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  add("sendrecv_replace", "MPI_Sendrecv_replace", replace, replace);
  add(
      "waitany", "MPI_Waitany", send,
      [] {
        int index = 0;
        MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
      },
      post_receive);
  add(
      "waitsome", "MPI_Waitsome", send,
      [] {
        int count = 0, index = 0;
        MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
      },
      post_receive);
  add(
      "request_get_status", "MPI_Request_get_status", send,
      [] {
        for (int done = 0; done == 0; usleep(200)) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
        wait();
      },
      post_receive);
  // The late side receives.
  const char* const receiver = "late_receiver";
  add(
      "issend_to_late", "MPI_Wait", receive, [] { START_SEND(Issend), wait(); }, nothing, receiver);
  add(
      "ssend_init_to_late", "MPI_Wait", receive, [] { START_SEND(Ssend_init), start_and_free(); }, nothing, receiver);
  add(
      "buffer_detach", "MPI_Buffer_detach",
      [] { MPI_Recv(large.data(), words, MPI_INT, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); },
      [] {
        void* buffer = nullptr;
        int bytes = 0;
        MPI_Bsend(large.data(), words, MPI_INT, partner(), 1, MPI_COMM_WORLD);
        MPI_Buffer_detach(&buffer, &bytes);
        MPI_Buffer_attach(buffer, bytes);
      },
      nothing, receiver);
#if MPI_VERSION >= 4
  add(
      "parrived", "MPI_Parrived",
      [] {
        MPI_Psend_init(out, 2, 1, MPI_INT, partner(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready_range(0, 1, request);
        wait();
        MPI_Request_free(&request);
      },
      [] {
        for (int done = 0; done == 0; usleep(200)) MPI_Parrived(request, 1, &done);
        wait();
        MPI_Request_free(&request);
      },
      [] {
        MPI_Precv_init(in, 2, 1, MPI_INT, partner(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
      });
#endif
}

/// Lists for the v- and w-forms: one element from and to each rank.
int ones[2 * most_ranks], places[2 * most_ranks], bytes_at[2 * most_ranks];
MPI_Aint addresses[2 * most_ranks];
MPI_Datatype types[2 * most_ranks];
MPI_Comm line;  // a Cartesian communicator without periods

// The blocking, the nonblocking and, since MPI 4, the persistent form of one collective.
#if MPI_VERSION >= 4
#define PERSISTENT(Name, pattern, late_rank, truth, ...)                               \
  cases.push_back({#Name "_init", "MPI_Wait", "nonblocking_collective",                \
                   late_call([] { MPI_Start(&request), wait(); }, late_rank), truth}); \
  cases.back().play = [play = cases.back().play](std::vector<stamp>& at) {             \
    MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                           \
    play(at);                                                                          \
    MPI_Request_free(&request);                                                        \
  };
#else
#define PERSISTENT(Name, pattern, late_rank, truth, ...)
#endif
#define FORMS(Name, name, pattern, late_rank, truth, ...)                                                        \
  cases.push_back({#Name, "MPI_" #Name, pattern, late_call([] { MPI_##Name(__VA_ARGS__); }, late_rank), truth}); \
  cases.push_back({"I" #name, "MPI_Wait", "nonblocking_collective",                                              \
                   late_call([] { MPI_I##name(__VA_ARGS__, &request), wait(); }, late_rank), truth});            \
  PERSISTENT(Name, pattern, late_rank, truth, __VA_ARGS__)

void add_collectives(std::vector<slept_case>& cases) {
  const char *const root = "late_broadcast", *const reduce = "early_reduce", *const nxn = "wait_at_nxn";
  const MPI_Comm world = MPI_COMM_WORLD;
  static_cast<void>(world);
  FORMS(Barrier, barrier, "wait_at_barrier", 1, for_rank_1, MPI_COMM_WORLD)
  for (slept_case& c : cases) c.preparation = "";
  FORMS(Bcast, bcast, root, 1, for_rank_1, in, 1, MPI_INT, 1, MPI_COMM_WORLD)
  FORMS(Scatter, scatter, root, 1, for_rank_1, in, 1, MPI_INT, out, 1, MPI_INT, 1, MPI_COMM_WORLD)
  FORMS(Scatterv, scatterv, root, 1, for_rank_1, in, ones, places, MPI_INT, out, 1, MPI_INT, 1, MPI_COMM_WORLD)
  FORMS(Reduce, reduce, reduce, 1, of_rank_0, in, out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD)
  FORMS(Gather, gather, reduce, 1, of_rank_0, in, 1, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_WORLD)
  FORMS(Gatherv, gatherv, reduce, 1, of_rank_0, in, 1, MPI_INT, out, ones, places, MPI_INT, 0, MPI_COMM_WORLD)
  FORMS(Allreduce, allreduce, nxn, 1, for_rank_1, in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
  FORMS(Allgather, allgather, nxn, 1, for_rank_1, in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD)
  FORMS(Allgatherv, allgatherv, nxn, 1, for_rank_1, in, 1, MPI_INT, out, ones, places, MPI_INT, MPI_COMM_WORLD)
  FORMS(Alltoall, alltoall, nxn, 1, for_rank_1, in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD)
  FORMS(Alltoallv, alltoallv, nxn, 1, for_rank_1, in, ones, places, MPI_INT, out, ones, places, MPI_INT, MPI_COMM_WORLD)
  FORMS(Alltoallw, alltoallw, nxn, 1, for_rank_1, in, ones, bytes_at, types, out, ones, bytes_at, types, MPI_COMM_WORLD)
  FORMS(Reduce_scatter, reduce_scatter, nxn, 1, for_rank_1, in, out, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
  FORMS(Reduce_scatter_block, reduce_scatter_block, nxn, 1, for_rank_1, in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
  FORMS(Scan, scan, "early_scan", 0, for_rank_0, in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
  FORMS(Exscan, exscan, "early_scan", 0, for_rank_0, in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
  FORMS(Neighbor_allgather, neighbor_allgather, nxn, 1, of_neighbours, in, 1, MPI_INT, out, 1, MPI_INT, line)
  FORMS(Neighbor_allgatherv, neighbor_allgatherv, nxn, 1, of_neighbours, in, 1, MPI_INT, out, ones, places, MPI_INT, line)
  FORMS(Neighbor_alltoall, neighbor_alltoall, nxn, 1, of_neighbours, in, 1, MPI_INT, out, 1, MPI_INT, line)
  FORMS(Neighbor_alltoallv, neighbor_alltoallv, nxn, 1, of_neighbours, in, ones, places, MPI_INT, out, ones, places, MPI_INT,
        line)
  FORMS(Neighbor_alltoallw, neighbor_alltoallw, nxn, 1, of_neighbours, in, ones, addresses, types, out, ones, addresses, types,
        line)
}

MPI_Comm made = MPI_COMM_NULL, half, groups;
MPI_Info info;
MPI_Win window = MPI_WIN_NULL, made_window = MPI_WIN_NULL;

void add_making(std::vector<slept_case>& cases) {
  const auto release = [] {
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  };
  const auto add = [&](const char* call, std::function<void()> makes) {
    cases.push_back({call + 4, call, "wait_at_create", late_call(makes, 1, release), of_those_that_stayed, "MPI_Comm_free"});
  };
  static MPI_Group everybody;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  add("MPI_Comm_dup", [] { MPI_Comm_dup(MPI_COMM_WORLD, &made); });
  add("MPI_Comm_dup_with_info", [] { MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made); });
  add("MPI_Comm_create", [] { MPI_Comm_create(MPI_COMM_WORLD, everybody, &made); });
  add("MPI_Comm_split", [] { MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made); });
  add("MPI_Comm_split_type", [] { MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made); });
  add("MPI_Intercomm_create", [] { MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd() ? 0 : 1, 7, &made); });
  add("MPI_Intercomm_merge", [] { MPI_Intercomm_merge(groups, odd() ? 1 : 0, &made); });
  add("MPI_Cart_create", [] {
    const int periodic = 0;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &made);
  });
  add("MPI_Cart_sub", [] {
    const int keep = 1;
    MPI_Cart_sub(line, &keep, &made);
  });
  add("MPI_Graph_create", [] {
    std::array<int, most_ranks> ends, edges;
    for (int i = 0; i < ranks; ++i) {
      ends[static_cast<std::size_t>(i)] = i + 1;
      edges[static_cast<std::size_t>(i)] = (i + 1) % ranks;
    }
    MPI_Graph_create(MPI_COMM_WORLD, ranks, ends.data(), edges.data(), 0, &made);
  });
  add("MPI_Dist_graph_create", [] {
    const int degree = 1, to = (rank + 1) % ranks;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  });
  add("MPI_Dist_graph_create_adjacent", [] {
    const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  });
  add("MPI_Comm_set_info", [] { MPI_Comm_set_info(MPI_COMM_WORLD, info); });
#if MPI_VERSION >= 4
  static MPI_Group own, other;
  MPI_Comm_group(half, &own);
  MPI_Group_difference(everybody, own, &other);
  add("MPI_Intercomm_create_from_groups",
      [] { MPI_Intercomm_create_from_groups(own, 0, other, 0, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made); });
#endif
  static void* base;
  cases.push_back({"Win_allocate_shared", "MPI_Win_allocate_shared", "wait_at_create",
                   late_call([] { MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made_window); }, 1,
                             [] {
                               if (made_window != MPI_WIN_NULL) MPI_Win_free(&made_window);
                             }),
                   of_those_that_stayed, "MPI_Win_free"});
  cases.push_back({"Win_set_info", "MPI_Win_set_info", "wait_at_barrier", late_call([] { MPI_Win_set_info(window, info); }),
                   of_those_that_stayed, ""});
}

int value, compare, result_of;
/// Rank 1 is outside MPI while rank 0 completes an operation on its memory with `complete`.
std::function<void(std::vector<stamp>&)> passive(std::function<void()> operation, std::function<void()> complete,
                                                 bool all = false) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      PMPI_Barrier(MPI_COMM_WORLD);
      stamp s;
      s.enter = s.leave = now();
      int ready = 0;
      if (rank == 0) {
        if (all) MPI_Win_lock_all(0, window);
        else MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        PMPI_Send(&ready, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        innocent(5);  // until rank 1 has left MPI
        stamped(s, [&] {
          operation();
          complete();
        });
        if (all) MPI_Win_unlock_all(window);
        else MPI_Win_unlock(1, window);
      }
      if (rank == 1) {
        PMPI_Recv(&ready, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        guilty(late);
        stamped(s, [] { MPI_Barrier(MPI_COMM_SELF); });
      }
      PMPI_Barrier(MPI_COMM_WORLD);
      at.push_back(s);
    }
  };
}

void add_windows(std::vector<slept_case>& cases) {
  const auto add = [&](const char* name, const char* call, std::function<void()> operation, std::function<void()> complete,
                       bool all = false) {
    cases.push_back({name, call, "wait_for_progress", passive(operation, complete, all), of_rank_0, "MPI_Barrier", 0, 2});
  };
  const auto put = [] { MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window); };
  const auto flush = [] { MPI_Win_flush(1, window); };
  const char* const flushed = "MPI_Win_flush";
  add(
      "flush_all", "MPI_Win_flush_all", put, [] { MPI_Win_flush_all(window); }, true);
  add(
      "flush_local", "MPI_Win_flush_local", [] { MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window); },
      [] { MPI_Win_flush_local(1, window); });
  add(
      "flush_local_all", "MPI_Win_flush_local_all", [] { MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window); },
      [] { MPI_Win_flush_local_all(window); }, true);
  add(
      "get", flushed, [] { MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window); }, flush);
  // These wait themselves in Open MPI, for the target's lock.
#ifdef OPEN_MPI
#define ATOMIC(Name, finish, ...) \
  add(                            \
      #Name, "MPI_" #Name, [] { MPI_##Name(__VA_ARGS__); }, finish)
#else
#define ATOMIC(Name, finish, ...) \
  add(                            \
      #Name, flushed, [] { MPI_##Name(__VA_ARGS__); }, finish)
#endif
  const auto flush_and_wait = [=] {
    flush();
    wait();
  };
  ATOMIC(Accumulate, flush, &value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window);
  ATOMIC(Get_accumulate, flush, &value, 1, MPI_INT, &result_of, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window);
  ATOMIC(Fetch_and_op, flush, &value, &result_of, MPI_INT, 1, 0, MPI_SUM, window);
  ATOMIC(Compare_and_swap, flush, &value, &compare, &result_of, MPI_INT, 1, 0, window);
  ATOMIC(Raccumulate, flush_and_wait, &value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window, &request);
  ATOMIC(Rget_accumulate, flush_and_wait, &value, 1, MPI_INT, &result_of, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window,
         &request);
#undef ATOMIC
  add(
      "rput", flushed, [] { MPI_Rput(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window, &request); }, flush_and_wait);

  // Rank 1 holds the lock of its own memory and works.
  cases.push_back({"lock_all", "MPI_Win_lock_all", "window_lock_contention",
                   [](std::vector<stamp>& at) {
                     for (int k = 0; k < rounds; ++k) {
                       PMPI_Barrier(MPI_COMM_WORLD);
                       stamp s;
                       s.enter = s.leave = now();
                       int ready = 0;
                       if (rank == 1) {
                         MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
                         PMPI_Send(&ready, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
                         guilty(late);
                         stamped(s, [] { MPI_Win_unlock(1, window); });
                       }
                       if (rank == 0) {
                         PMPI_Recv(&ready, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                         stamped(s, [] { MPI_Win_lock_all(0, window); });
                         MPI_Win_unlock_all(window);
                       }
                       at.push_back(s);
                       PMPI_Barrier(MPI_COMM_WORLD);
                     }
                   },
                   of_rank_0});
  static MPI_Group first, second;
  MPI_Group world;
  const int zero = 0, one = 1;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &zero, &first);
  MPI_Group_incl(world, 1, &one, &second);
  cases.push_back({"win_test", "MPI_Win_test", "late_complete",
                   [](std::vector<stamp>& at) {
                     for (int k = 0; k < rounds; ++k) {
                       PMPI_Barrier(MPI_COMM_WORLD);
                       stamp s;
                       s.enter = s.leave = now();
                       if (rank == 0) {
                         MPI_Win_post(second, 0, window);
                         stamped(s, [] {
                           for (int done = 0; done == 0; usleep(200)) MPI_Win_test(window, &done);
                         });
                       }
                       if (rank == 1) {
                         MPI_Win_start(first, 0, window);
                         MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
                         guilty(late);
                         stamped(s, [] { MPI_Win_complete(window); });
                       }
                       at.push_back(s);
                     }
                   },
                   of_rank_0, "MPI_Win_start"});
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 2 * most_ranks; ++i) {
    ones[i] = 1;
    places[i] = i;
    bytes_at[i] = i * static_cast<int>(sizeof(int));
    addresses[i] = bytes_at[i];
    types[i] = MPI_INT;
  }
  std::vector<char> buffer(2 * large.size());
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  const int periodic = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &line);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd() ? 0 : 1, 8, &groups);
  static int memory[8];
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);

  MPI_Info_create(&info);

  if (argc > 1) rounds = 2;
  const std::string group = argc > 1 ? argv[1] : "every";
  const auto plays = [&](const char* name) { return group == "every" || group == name; };
  std::vector<slept_case> cases;
  if (plays("messages")) add_messages(cases);
  if (plays("collectives")) add_collectives(cases);
  if (plays("making")) add_making(cases);
  if (plays("windows")) add_windows(cases);
  for (slept_case& c : cases) c.most = std::max(c.most, 1.2);  // other ranks may sleep longer than rank 1 before they wait
  run(cases, 0.95, 0.97, 2);

  MPI_Info_free(&info);
  void* attached = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&attached, &bytes);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  if (made_window != MPI_WIN_NULL) MPI_Win_free(&made_window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return failures;
}
