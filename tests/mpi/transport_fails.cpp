// ranks: 1 2 4
// ranks of mpich: 1 2
// flags: -O1
// not: thread (it replaces operator new, as the library of ThreadSanitizer does)
// One or two ranks fail anywhere inside a transport and its team. All ranks leave together with the same reason,
// nothing is pending, and the same communicator then completes a round without failures. Plain MPI without
// interception.

#include <whywait/finalize/mpi_transport.hpp>
#include <whywait/finalize/node.hpp>

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// What operator new throws where a rank is to have no memory for large packets.
struct no_memory : std::bad_alloc {
  const char* what() const noexcept override { return "trapped: memory"; }
};
std::size_t least_refused = SIZE_MAX;
bool refused = false;

}  // namespace

__attribute__((noinline)) void* operator new(std::size_t size) {
  if (size >= least_refused) {
    refused = true;
    throw no_memory();
  }
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new[](std::size_t size) { return operator new(size); }
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete[](void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using whywait::finalize::mpi_transport;
using whywait::finalize::peer_failed;
using whywait::finalize::team;
using packet = mpi_transport::packet;

// Makes rank r fail at the n-th passage of a place. Every place of a round has a name.
struct trap {
  std::string place;
  int rank = -1, countdown = 0;
};

class a_round {
 public:
  a_round(MPI_Comm comm, std::vector<trap> traps, bool shares_memory)
      : team_(comm), transport_(team_, shares_memory), traps_(std::move(traps)) {
    large_ = traps_.size() != 1;
    for (const trap& t : traps_) large_ = large_ || t.countdown != 0 || t.place == "produce" || t.place == "consume";
  }

  bool fired() const { return fired_ || refused; }
  const std::vector<std::string>& wrong() const { return wrong_; }

  void run() {
    const int rank = team_.rank(), ranks = team_.size();
    team_.together([&] {
      pass("begin");
      expect(transport_.minimum([&](std::int32_t) { return pass("minimum"), std::int64_t{-7} * rank; }) == -7 * (ranks - 1),
             "minimum");
      exchange(10);
      exchange(large_ ? 3 << 20 : 30 << 10);  // far more than the initial buffer; slow, so only where it may fail
      forward();
      std::uint64_t sum = static_cast<std::uint64_t>(rank);
      transport_.reduce([&](std::int32_t) { return pass("pack"), number(sum, rank == 1 ? 3 << 20 : 8); },
                        [&](std::int32_t, const unsigned char* data, std::size_t) { pass("merge"), sum += value(data); });
      expect(rank != 0 || sum == static_cast<std::uint64_t>(ranks * (ranks - 1) / 2), "reduce");
      transport_.broadcast([&](std::int32_t) { return pass("pack for all"), number(42, 3 << 20); },
                           [&](std::int32_t, const unsigned char* data, std::size_t size) {
                             pass("take");
                             expect(value(data) == 42 && size == 3 << 20, "broadcast");
                           });
      std::uint64_t gathered = 0;
      const packet mine = number(static_cast<std::uint64_t>(rank), rank == 2 ? 3 << 20 : 8);
      team_.gather(mine.data(), mine.size(),
                   [&](const unsigned char* data, std::size_t) { pass("gather"), gathered += value(data); });
      expect(rank != 0 || gathered == static_cast<std::uint64_t>(ranks * (ranks - 1) / 2), "gather");
      std::string text = rank == 0 ? "said by rank 0" : "anything";
      team_.share(text);
      pass("shared");
      expect(text == "said by rank 0", "share");
      expect(team_.lowest_of(rank >= ranks / 2) == ranks / 2 && team_.lowest_of(false) == -1, "lowest_of");
      const whywait::finalize::node_team node(team_);
      if (node)
        node->together([&] {
          pass("node");
          node->agree();
        });
      pass("end");
    });
  }

 private:
  void pass(const char* place) {
    for (trap& t : traps_)
      if (t.rank == team_.rank() && t.place == place && t.countdown-- == 0) {
        fired_ = true;
        throw std::runtime_error(std::string("trapped: ") + place);
      }
  }
  void expect(bool so, const char* what) {
    if (!so) wrong_.push_back(what);
  }
  static packet number(std::uint64_t n, std::size_t size) {
    packet p(size);
    std::memcpy(p.data(), &n, sizeof n);
    return p;
  }
  static std::uint64_t value(const unsigned char* data) {
    std::uint64_t n = 0;
    std::memcpy(&n, data, sizeof n);
    return n;
  }

  // All ranks send `size` bytes to all, a part in each round.
  void exchange(std::size_t size) {
    const auto n = static_cast<std::size_t>(team_.size());
    std::size_t left = size;
    std::vector<std::size_t> got(n);
    transport_.exchange(
        [&](std::int32_t, auto&& to, std::size_t room) {
          pass("produce");
          const std::size_t part = std::min(left, 7 * room);
          for (std::size_t i = 0; part != 0 && i != n; ++i)
            to(static_cast<std::int32_t>(i)).assign(part, static_cast<unsigned char>(i));
          left -= part;
        },
        [&](std::int32_t, std::int32_t source, const unsigned char* data, std::size_t bytes) {
          pass("consume");
          expect(data[bytes - 1] == team_.rank(), "exchange");
          got[static_cast<std::size_t>(source)] += bytes;
        });
    for (const std::size_t g : got) expect(g == size, "exchange");
  }

  // Tokens of all sizes are forwarded from rank to rank until they expire; some ranks are done long before others.
  void forward() {
    constexpr int tokens = 30, hops = 7;
    const int rank = team_.rank(), ranks = team_.size();
    if (ranks == 1) return transport_.forward([](std::int32_t, auto&&) { return true; }, [](auto...) {});
    const auto next = [ranks](int at, int hop) { return (at + 1 + hop % (ranks - 1)) % ranks; };
    int expected = 0, got = 0;
    for (int first = 0; first != ranks; ++first)
      for (int at = first, hop = 0; hop != hops; ++hop) expected += (at = next(at, hop)) == rank ? tokens : 0;
    struct token {
      int hop;
      std::uint32_t bytes;
    };
    std::vector<token> here;
    for (std::uint32_t i = 0; i != tokens; ++i) here.push_back({0, i == 20 ? 60000 : 10 + 100 * i});
    transport_.forward(
        [&](std::int32_t, auto&& post) {
          pass("advance");
          for (const token& t : here) {
            packet p(t.bytes, 1);
            std::memcpy(p.data(), &t, sizeof t);
            post(next(rank, t.hop), p);
          }
          here.clear();
          for (const trap& t : traps_)  // from now on: large packets were sent, but not received
            if (t.rank == rank && t.place == "memory") least_refused = 50000;
          return got == expected;
        },
        [&](std::int32_t, std::int32_t, const unsigned char* data, std::size_t size) {
          pass("receive");
          for (std::size_t at = 0; at < size;) {
            token t;
            std::memcpy(&t, data + at, sizeof t);
            at += t.bytes;
            ++got;
            if (++t.hop != hops) here.push_back(t);
          }
        });
    expect(got == expected && here.empty(), "forward");
  }

  team team_;
  mpi_transport transport_;
  std::vector<trap> traps_;
  std::vector<std::string> wrong_;
  bool fired_ = false;
  bool large_ = false;
};

int bad = 0;

void check(MPI_Comm comm, const std::vector<trap>& traps, const char* what) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static int rounds = 0;
  a_round round(comm, traps, rounds++ % 2 == 0);
  refused = false;
  struct {
    int rank;
    char text[200];
  } said = {-1, ""}, first;
  try {
    round.run();
  } catch (const peer_failed& problem) {
    said.rank = problem.why().rank;
    std::snprintf(said.text, sizeof said.text, "%s", problem.what());
  }
  least_refused = SIZE_MAX;
  first = said;
  MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
  std::vector<int> fired(static_cast<std::size_t>(ranks));
  const int here = round.fired() ? 1 : 0;
  MPI_Allgather(&here, 1, MPI_INT, fired.data(), 1, MPI_INT, MPI_COMM_WORLD);
  int under_way = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &under_way, MPI_STATUS_IGNORE);
  bool anybody = false, right = true;
  for (const int f : fired) anybody = anybody || f != 0;
  if (anybody) {
    right = said.rank >= 0 && said.rank < ranks && fired[static_cast<std::size_t>(said.rank)] != 0 &&
            std::string(said.text).find("rank " + std::to_string(said.rank) + ": trapped: ") == 0;
  } else {
    right = said.rank == -1 && round.wrong().empty();
  }
  right = right && said.rank == first.rank && std::string(said.text) == first.text && under_way == 0;
  if (!right) {
    ++bad;
    std::string traps_text, wrong;
    for (const trap& t : traps) traps_text += " " + t.place + "@" + std::to_string(t.rank) + "+" + std::to_string(t.countdown);
    for (const std::string& w : round.wrong()) wrong += " " + w;
    std::printf("rank %d, %s: traps%s: said \"%s\", rank 0 \"%s\", wrong:%s, %d under way\n", rank, what, traps_text.c_str(),
                said.text, first.text, wrong.c_str(), under_way);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const char* const places[] = {"begin",        "minimum", "produce", "consume", "advance", "receive", "pack",  "merge",
                                "pack for all", "take",    "gather",  "shared",  "node",    "end",     "memory"};
  unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 20261122;
  for (const char* way : {"no rank fails", "no rank fails, over MPI"}) check(comm, {}, way);
  for (const char* place : places)
    for (int victim = 0; victim != ranks; ++victim) {
      const bool in_forward =
          place == std::string("advance") || place == std::string("receive") || place == std::string("memory");
      for (int way = 0; way != (in_forward ? 2 : 1); ++way) check(comm, {{place, victim, 0}}, "one rank");
    }
  std::mt19937 random(seed);
  for (int i = 0; i != 12; ++i) {  // in turn through shared memory and over MPI alone
    std::vector<trap> traps;
    for (unsigned n = 1 + random() % 2; n != 0; --n)
      traps.push_back({places[random() % std::size(places)], static_cast<int>(random() % static_cast<unsigned>(ranks)),
                       static_cast<int>(random() % 20)});
    check(comm, traps, "at random");
  }
  check(comm, {}, "afterwards");
  const rlimit small = {16384, 16384};  // beyond it the kernel sends SIGXFSZ
  setrlimit(RLIMIT_FSIZE, &small);
  for (const char* way : {"files may not grow", "files may not grow, over MPI"}) check(comm, {}, way);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("transport_fails: seed %u, %d wrong\n", seed, bad);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return bad == 0 ? 0 : 1;
}
