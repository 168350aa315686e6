// ranks: 2
// with: observer
// flags: -O2
// timeout: 100
// beside: nothing
// tries 3
// environment: WHYWAIT_OUTPUT=wrapped
// json wrapped.json
// stderr ~ MPI_Allreduce in \S*sum \(wrapped_calls.cpp:\d+\)\s+from advance \(wrapped_calls.cpp:\d+\)
// stderr ~ MPI_Recv in \S*receive \(wrapped_calls.cpp:\d+\)\s+from first_halo \(wrapped_calls.cpp:\d+\)
// stderr ~ MPI_Alltoall in \S*exchange \(wrapped_calls.cpp:\d+\)\s+from both \(wrapped_calls.cpp:\d+\)
// stderr ~ MPI_Barrier in \S*meet \(wrapped_calls.cpp:\d+\)
// stderr !~ from only_place
// file wrapped.json ~ "caller": "energy \(wrapped_calls.cpp:\d+\)"
//
// All MPI calls of this program are made by a few functions, as in many applications; one is inlined. Reports name the caller of
// such a function where it is called from several places, and each cause stands under its own caller. Times are compared with time
// stamps that the program exchanges through PMPI.
#include <whywait/mpi.hpp>

#include <alloca.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#define NOT_INLINED __attribute__((noinline))
#define AFTER_THE_CALL __asm__ volatile("")  // so that it is no tail call
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define HERE(function) function " (wrapped_calls.cpp:" TEXT(__LINE__) ")"

namespace {

constexpr int rounds = 15;
int rank, failures;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
NOT_INLINED void sleep_ms(int of_rank_0, int of_rank_1) {
  const timespec t{0, (rank == 0 ? of_rank_0 : of_rank_1) * 1000000L};
  nanosleep(&t, nullptr);
}

// A place of the program that calls a wrapper, and when it did so.
struct place {
  const char* name;
  const char* call;
  bool shown;  // other places call the same function
  std::vector<double> entered = {};
};
place places[] = {{"advance", "MPI_Allreduce", true}, {"energy", "MPI_Allreduce", true},    {"dump", "MPI_Allreduce", true},
                  {"first_halo", "MPI_Recv", true},   {"second_halo", "MPI_Recv", true},    {"small", "MPI_Bcast", true},
                  {"large", "MPI_Bcast", true},       {"only_place", "MPI_Barrier", false}, {"", "MPI_Alltoall", true},
                  {"", "MPI_Alltoall", true}};
double value = 1;

// The functions that wrap MPI
NOT_INLINED void sum(place& from) {
  double all = 0;
  from.entered.push_back(now());
  MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  AFTER_THE_CALL;
}
NOT_INLINED void receive(place& from) {
  from.entered.push_back(now());
  MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  AFTER_THE_CALL;
}
NOT_INLINED void meet(place& from) {
  from.entered.push_back(now());
  MPI_Barrier(MPI_COMM_WORLD);
  AFTER_THE_CALL;
}
NOT_INLINED void share(place& from, int bytes) {  // its frame has another size in each call
  char* const room = static_cast<char*>(alloca(static_cast<std::size_t>(bytes)));
  std::memset(room, 1, static_cast<std::size_t>(bytes));
  from.entered.push_back(now());
  MPI_Bcast(room, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
  AFTER_THE_CALL;
}
NOT_INLINED void send(place& from) {
  from.entered.push_back(now());
  MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  AFTER_THE_CALL;
}

__attribute__((always_inline)) inline void exchange(place& from, const char* name) {
  double out[2] = {value, value}, in[2];
  from.name = name;
  from.entered.push_back(now());
  MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

NOT_INLINED void advance() {
  sleep_ms(1, 9);
  sum(places[0]);
  AFTER_THE_CALL;
}
NOT_INLINED void energy() {
  sleep_ms(7, 1);
  sum(places[1]);
  AFTER_THE_CALL;
}
NOT_INLINED void dump() {
  sleep_ms(1, 4);
  sum(places[2]);
  AFTER_THE_CALL;
}
NOT_INLINED void first_halo() {
  sleep_ms(1, 6);
  rank == 0 ? receive(places[3]) : send(places[3]);
  AFTER_THE_CALL;
}
NOT_INLINED void second_halo() {
  sleep_ms(1, 3);
  rank == 0 ? receive(places[4]) : send(places[4]);
  AFTER_THE_CALL;
}
NOT_INLINED void small(int round) {
  sleep_ms(6, 1);
  share(places[5], 16 + 16 * (round % 7));
  AFTER_THE_CALL;
}
NOT_INLINED void large(int round) {
  sleep_ms(3, 1);
  share(places[6], 4000 + 16 * (round % 5));
  AFTER_THE_CALL;
}
NOT_INLINED void both() {
  sleep_ms(1, 8);
  exchange(places[8], HERE("both"));
  sleep_ms(5, 1);
  exchange(places[9], HERE("both"));
}
NOT_INLINED void only_place() {
  sleep_ms(2, 6);
  meet(places[7]);
  AFTER_THE_CALL;
}

void failed(const place& p, const char* what, double found, double truth) {
  ++failures;
  std::fprintf(stderr, "%s: %s: found %g, true %g\n", p.name, what, found, truth);
}

bool is_called_by(const whywait::result::place& where, const place& p) {
  const std::string begin = std::string(p.name) + (std::string_view(p.name).find('(') == std::string_view::npos ? " (" : "");
  return where.call == p.call && where.caller.compare(0, begin.size(), begin) == 0;
}

void check(const whywait::result& result, const place& p, const std::vector<double>& of_0, const std::vector<double>& of_1) {
  double truth[2] = {0, 0}, found[2] = {0, 0}, guilty = 0, others = 0, total = 0;
  for (std::size_t i = 0; i != of_0.size(); ++i) {
    truth[0] += std::max(0.0, of_1[i] - of_0[i]);
    if (std::string_view(p.call) != "MPI_Recv" && std::string_view(p.call) != "MPI_Bcast")
      truth[1] += std::max(0.0, of_0[i] - of_1[i]);
    else if (std::string_view(p.call) == "MPI_Bcast") truth[1] += std::max(0.0, of_0[i] - of_1[i]), truth[0] = 0;
  }
  for (const whywait::result::wait& w : result.waits) {
    if (p.shown ? !is_called_by(w.operation, p) : w.operation.call != p.call) continue;
    if (!p.shown && !w.operation.caller.empty()) failed(p, "a caller that is not needed", 1, 0);
    for (const auto& s : w.waiters)
      if (s.rank >= 0) found[s.rank] += s.seconds;
    for (const auto& r : w.causes) {
      const bool here = p.shown && r.where.call != "MPI_Recv" && r.where.call != "MPI_Send"
                            ? is_called_by(r.where, p)
                            : r.where.call == p.call || r.where.call == "MPI_Send";
      if (r.kind == "between") (here ? guilty : others) += r.seconds;
    }
    total += w.seconds;
  }
  for (int r = 0; r < 2; ++r)
    if (std::fabs(found[r] - truth[r]) > 0.1 * (truth[0] + truth[1]) + 0.003)
      failed(p, r == 0 ? "rank 0 waited" : "rank 1 waited", found[r], truth[r]);
  if (guilty <= 2 * others) failed(p, "because of the code before other calls", others, guilty);
#ifndef MPICH_VERSION  // its ranks spin, so that calls before are slow at random
  if (std::fabs(guilty - total) > 0.25 * total + 0.003) failed(p, "because of the code before the call", guilty, total);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round != rounds; ++round) {
    advance();
    energy();
    first_halo();
    dump();
    second_halo();
    small(round);
    large(round);
    only_place();
    both();
  }
  const whywait::result result = whywait::mpi::explain(MPI_COMM_WORLD);
  for (place& p : places) {
    std::vector<double> all(2 * rounds);
    PMPI_Gather(p.entered.data(), rounds, MPI_DOUBLE, all.data(), rounds, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) check(result, p, {all.begin(), all.begin() + rounds}, {all.begin() + rounds, all.end()});
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
