// ranks: 2
// timeout: 100
// beside: nothing
// tries 3
// with: observer
// environment: WHYWAIT_OUTPUT=profile
// json profile.json
// file profile.txt ~ ^    regions +visits +min +mean +max +rank
// file profile.txt ~ ^ +step \(profile\.cpp:\d+\)
// file profile.txt ~ ^    messages +count +bytes +smallest +largest
//
// Regions and messages as the program itself counts and times them, through an explanation in the middle (an epoch), with
// nested and recursive regions, regions that are open for long, and threads.
#include <whywait/mpi.hpp>

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank, ranks, failures;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
void nap(int ms) {
  timespec t{0, ms * 1000000L};
  nanosleep(&t, nullptr);
}

/// What this rank counted and timed in one region.
struct stamps {
  std::int64_t visits = 0;
  double seconds = 0, in_mpi = 0;
};
std::map<std::string, stamps> own;
double in_mpi = 0;  // so far

/// Times a scope like WHYWAIT_REGION.
class stamp {
 public:
  explicit stamp(const char* name) : to_(own[name]), begin_(now()), mpi_(in_mpi) { ++to_.visits; }
  ~stamp() {
    to_.seconds += now() - begin_;
    to_.in_mpi += in_mpi - mpi_;
  }
  stamp(const stamp&) = delete;
  stamp& operator=(const stamp&) = delete;

 private:
  stamps& to_;
  double begin_, mpi_;
};

template <class Call>
void call(Call&& body) {
  const double begin = now();
  body();
  in_mpi += now() - begin;
}

void inner(int ms) {
  WHYWAIT_REGION("inner");
  const stamp s("inner");
  nap(ms);
}

void recursive(int depth) {
  WHYWAIT_REGION("recursive");
  ++own["recursive"].visits;
  nap(1);
  if (depth > 0) recursive(depth - 1);
}

struct messages {
  std::int64_t count = 0, bytes = 0, least = INT64_MAX, most = 0;
  std::map<std::int64_t, std::int64_t> sizes;  // lower end of the power of two: messages
  void add(std::int64_t size) {
    ++count;
    bytes += size;
    least = std::min(least, size);
    most = std::max(most, size);
    std::int64_t low = 0;
    for (std::int64_t s = 1; s <= size; s *= 2) low = s;
    ++sizes[low];
  }
};
std::map<std::string, messages> sent;  // by call

void step(int k) {
  WHYWAIT_REGION("step");
  const stamp s("step");
  inner(rank == ranks - 1 ? 4 : 2);
  std::vector<char> out(std::size_t(1) << 16), in(out.size());
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const int size = k % 4 == 3 ? 0 : 5 << (k % 12);
  MPI_Request requests[2];
  call([&] { MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_CHAR, before, 0, MPI_COMM_WORLD, &requests[0]); });
  call([&] { MPI_Isend(out.data(), size, MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[1]); });
  sent["MPI_Isend"].add(size);
  call([&] { MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); });
  call([&] {
    MPI_Sendrecv(out.data(), 100, MPI_CHAR, next, 1, in.data(), 100, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  sent["MPI_Sendrecv"].add(100);
  double sums[3] = {1, 2, 3};
  call([&] { MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
  sent["MPI_Allreduce"].add(24);
  call([&] { MPI_Send(out.data(), 7, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD); });  // to no rank
}

void check(bool good, const char* what, const std::string& of, double found, double truth) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d: %s of %s: found %g, truth %g\n", rank, what, of.c_str(), found, truth);
}

/// All ranks' stamps of a region: compared with what each rank received.
void compare(const whywait::result& r, const char* name) {
  const stamps& mine = own[name];
  std::int64_t visits = 0;
  PMPI_Allreduce(&mine.visits, &visits, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  std::vector<double> times(static_cast<std::size_t>(ranks)), calls(times.size());
  PMPI_Allgather(&mine.seconds, 1, MPI_DOUBLE, times.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  PMPI_Allgather(&mine.in_mpi, 1, MPI_DOUBLE, calls.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  const whywait::result::region* const found = r.find_region(name);
  if (found == nullptr) return check(false, "no region", name, 0, 0);
  double sum = 0, in_calls = 0, useful = 0, most_useful = 0, longest = 0, shortest = 1e9;
  for (std::size_t i = 0; i != times.size(); ++i) {
    sum += times[i];
    in_calls += calls[i];
    useful += times[i] - calls[i];
    most_useful = std::max(most_useful, times[i] - calls[i]);
    longest = std::max(longest, times[i]);
    shortest = std::min(shortest, times[i]);
  }
  // The stamps lie just inside of the region; a busy machine may come in between.
  const auto close = [&](double a, double b) { return std::fabs(a - b) <= 0.03 * longest + 0.002; };
  check(found->visits == visits, "visits", name, static_cast<double>(found->visits), static_cast<double>(visits));
  check(found->ranks == ranks, "ranks", name, found->ranks, ranks);
  check(found->threads == 1, "threads", name, found->threads, 1);
  check(close(found->mean_seconds, sum / ranks), "mean", name, found->mean_seconds, sum / ranks);
  check(close(found->max_seconds, longest), "maximum", name, found->max_seconds, longest);
  check(close(found->min_seconds, shortest), "minimum", name, found->min_seconds, shortest);
  check(found->max_rank >= 0 && found->max_rank < ranks && close(times[static_cast<std::size_t>(found->max_rank)], longest),
        "rank of the maximum", name, found->max_rank, 0);
  check(close(found->mpi_seconds / ranks, in_calls / ranks), "time in MPI", name, found->mpi_seconds, in_calls);
  if (!found->efficiency) return check(false, "no efficiency", name, 0, 0);
  const auto same = [&](double a, double b) { return std::fabs(a - b) < 0.05; };
  check(same(found->efficiency->parallel, useful / (ranks * longest)), "parallel efficiency", name, found->efficiency->parallel,
        useful / (ranks * longest));
  check(same(found->efficiency->load_balance, useful / (ranks * most_useful)), "load balance", name,
        found->efficiency->load_balance, useful / (ranks * most_useful));
  check(same(found->efficiency->communication, most_useful / longest), "communication efficiency", name,
        found->efficiency->communication, most_useful / longest);
}

void compare(const whywait::result& r, const char* call, const char* operation) {
  const messages& mine = sent[call];
  whywait::result::traffic sum;
  sum.least_bytes = INT64_MAX;
  std::map<std::int64_t, std::int64_t> sizes;
  for (const whywait::result::traffic& t : r.messages) {
    if (t.where.call != call || t.operation != operation) continue;
    sum.count += t.count;
    sum.bytes += t.bytes;
    sum.least_bytes = std::min(sum.least_bytes, t.least_bytes);
    sum.most_bytes = std::max(sum.most_bytes, t.most_bytes);
    check(t.ranks == ranks, "ranks", call, t.ranks, ranks);
    check(t.peers == "node", "class of peers (not node)", call, 0, 0);
    for (const auto& s : t.sizes) sizes[s.least_bytes] += s.count;
  }
  check(sum.count == ranks * mine.count, "messages", call, static_cast<double>(sum.count),
        static_cast<double>(ranks * mine.count));
  check(sum.bytes == ranks * mine.bytes, "bytes", call, static_cast<double>(sum.bytes),
        static_cast<double>(ranks * mine.bytes));
  check(sum.least_bytes == mine.least, "smallest", call, static_cast<double>(sum.least_bytes), static_cast<double>(mine.least));
  check(sum.most_bytes == mine.most, "largest", call, static_cast<double>(sum.most_bytes), static_cast<double>(mine.most));
  for (const auto& [low, number] : mine.sizes)
    check(sizes[low] == ranks * number, "messages of a size", call, static_cast<double>(sizes[low]),
          static_cast<double>(ranks * number));
}

}  // namespace

int main(int argc, char** argv) {
  WHYWAIT_REGION("whole program");  // also before MPI_Init and after MPI_Finalize
  nap(20);
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const double begin = now();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  inner(3);  // also outside of any step
  whywait::result first;
  double left_out = 0;
  {
    WHYWAIT_REGION("loop");
    const double loop_begin = now(), mpi_before = in_mpi;
    for (int k = 0; k < 24; ++k) {
      step(k);
      if (k != 11) continue;
      const double pause = now();
      first = whywait::mpi::explain(MPI_COMM_WORLD);
      left_out = now() - pause;
    }
    recursive(3);
    std::vector<std::thread> workers;
    for (int t = 0; t < 2; ++t)
      workers.emplace_back([] {
        for (int i = 0; i < 5; ++i) {
          WHYWAIT_REGION("worker");
          nap(2);
        }
      });
    for (std::thread& w : workers) w.join();
    own["loop"] = {1, now() - loop_begin - left_out, in_mpi - mpi_before};
  }
  const whywait::result all = whywait::mpi::explain(MPI_COMM_WORLD);
  const double wall = now() - begin;

  compare(all, "step");
  compare(all, "inner");
  compare(all, "loop");
  compare(all, "MPI_Isend", "send");
  compare(all, "MPI_Sendrecv", "send");
  compare(all, "MPI_Allreduce", "collective");
  std::int64_t received = 0;
  for (const auto& t : all.messages)
    if (t.operation == "receive") received += t.count;
  check(received == 2 * 24 * ranks, "messages", "receives", static_cast<double>(received), 2 * 24 * ranks);
  for (const auto& t : all.messages) check(t.where.call != "MPI_Send", "messages to MPI_PROC_NULL", "MPI_Send", 1, 0);

  const auto* const again = all.find_region("recursive");
  check(again != nullptr && again->recursive && again->visits == 4 * ranks && !again->efficiency, "visits", "recursive",
        again != nullptr ? static_cast<double>(again->visits) : 0, 4 * ranks);
  check(again != nullptr && again->mean_seconds >= 0.004 && again->mean_seconds < 0.03, "time", "recursive",
        again != nullptr ? again->mean_seconds : 0, 0.004);
  const auto* const worker = all.find_region("worker");
  check(worker != nullptr && worker->visits == 10 * ranks && !worker->efficiency, "visits", "worker",
        worker != nullptr ? static_cast<double>(worker->visits) : 0, 10 * ranks);
  check(worker != nullptr && worker->mean_seconds >= 0.020, "time", "worker", worker != nullptr ? worker->mean_seconds : 0,
        0.020);
  const auto* const whole = all.find_region("whole program");
  check(whole != nullptr && whole->max_seconds <= wall && whole->max_seconds > 0.9 * (all.seconds - 0.01), "time",
        "whole program", whole != nullptr ? whole->max_seconds : 0, all.seconds);

  // The first half is a part of the whole, and the difference is the second half.
  const whywait::result second = all.since(first);
  check(first.find_region("step")->visits == 12 * ranks && second.find_region("step")->visits == 12 * ranks, "visits of a half",
        "step", static_cast<double>(second.find_region("step")->visits), 12 * ranks);
  check(static_cast<int>(all.each_rank.size()) == ranks, "ranks", "run", static_cast<double>(all.each_rank.size()), ranks);
  double waited = 0;
  for (const auto& r : all.each_rank) {
    waited += r.waiting_seconds;
    check(
        !r.host.empty() && r.seconds <= all.seconds * 1.001 && r.mpi_seconds <= r.seconds && r.waiting_seconds <= r.mpi_seconds,
        "times", "a rank", r.mpi_seconds, r.seconds);
  }
  check(std::fabs(waited - all.waiting_seconds) < 0.01 * waited + 1e-6, "waiting", "all ranks", waited, all.waiting_seconds);
  check(all.program.find("mpi_profile") != std::string::npos && all.nodes == 1 && all.date.size() == 25, "origin", "run", 0, 0);
  MPI_Finalize();
  return failures != 0;
}
