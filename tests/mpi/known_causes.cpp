// ranks: 2 4 8
// timeout: 120
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=causes WHYWAIT_REPORT=none
// tries 3
//
// Programs whose causes are known exactly, because their work is sleeping. The totals of every pattern, the causing
// block and the blocks that must not be blamed are compared with time stamps that the program takes itself and
// exchanges through PMPI, which whywait does not see.
#include <whywait/record.hpp>

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

int rank, ranks;

constexpr double guilty_share = 0.95, innocent_share = 0.02;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void sleep_ms(int ms) {
  timespec t{ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&t, nullptr);
}

void run(whywait::site& block, int ms) {
  whywait::region scope(block);
  sleep_ms(ms);
}

#define BLOCK(variable, name) static whywait::site variable(whywait::core::site_kind::region, name)

bool odd() { return rank % 2 == 1; }
bool pairs_up() { return odd() || rank + 1 < ranks; }

using entries = std::vector<std::vector<double>>;  // [rank][instance]: time of entering the call

struct known {
  std::string name, pattern, guilty;
  std::vector<std::string> innocent;
  std::function<void(std::vector<double>&)> play;
  std::function<double(const entries&, int& instances)> truth;
};

// Waiters and the rank that each waits for, once per instance; clamped like the definition.
double pairwise(const entries& t, int& instances, const std::function<int(int)>& causer) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r) {
    const int q = causer(r);
    if (q < 0) continue;
    for (std::size_t k = 0; k < t[std::size_t(r)].size(); ++k, ++instances)
      sum += std::max(0.0, t[std::size_t(q)][k] - t[std::size_t(r)][k]);
  }
  return sum;
}
double for_the_last(const entries& t, int& instances) {
  double sum = 0;
  for (std::size_t k = 0; k < t[0].size(); ++k, instances += ranks) {
    double last = 0;
    for (const auto& mine : t) last = std::max(last, mine[k]);
    for (const auto& mine : t) sum += last - mine[k];
  }
  return sum;
}
int odd_partner(int r) { return r % 2 == 0 && r + 1 < ranks ? r + 1 : -1; }
int even_partner(int r) { return r % 2 == 1 ? r - 1 : -1; }

std::vector<known> all_cases() {
  constexpr int times = 8, late = 40;
  std::vector<known> cases;
  BLOCK(common, "common");
  BLOCK(guilty, "guilty");

  auto with = [&](const char* name, const char* pattern, std::function<void(std::vector<double>&)> play,
                  std::function<double(const entries&, int&)> truth) {
    cases.push_back(known{name, pattern, "guilty", {"common"}, std::move(play), std::move(truth)});
  };
  auto for_odd = [](const entries& t, int& n) { return pairwise(t, n, odd_partner); };

  with(
      "late_sender_case", "late_sender",
      [](std::vector<double>& at) {
        for (int k = 0, value = 0; k < times && pairs_up(); ++k) {
          run(common, 3);
          if (odd()) run(guilty, late);
          at.push_back(now());
          if (odd()) MPI_Send(&k, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD);
          else MPI_Recv(&value, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
      },
      for_odd);
  with(
      "guilty_before_innocent_case", "late_sender",
      [](std::vector<double>& at) {
        for (int k = 0, value = 0; k < times && pairs_up(); ++k) {
          if (odd()) run(guilty, late);
          run(common, 30);  // runs on the late side while the other side waits
          at.push_back(now());
          if (odd()) MPI_Send(&k, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD);
          else MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
      },
      for_odd);
  with(
      "late_sender_at_waitall_case", "late_sender",
      [](std::vector<double>& at) {
        for (int k = 0, value = 0; k < times && pairs_up(); ++k) {
          MPI_Request requests[2];
          int count = 0, out = k;
          const int partner = odd() ? rank - 1 : rank + 1;
          MPI_Irecv(&value, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &requests[count++]);
          run(common, 3);
          if (odd()) run(guilty, late);
          at.push_back(now());
          MPI_Isend(&out, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &requests[count++]);
          MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        }
      },
      for_odd);
  with(
      "late_receiver_case", "late_receiver",
      [](std::vector<double>& at) {
        for (int k = 0, value = 0; k < times && pairs_up(); ++k) {
          run(common, 3);
          if (!odd()) run(guilty, late);
          at.push_back(now());
          if (odd()) MPI_Ssend(&k, 1, MPI_INT, rank - 1, 3, MPI_COMM_WORLD);
          else MPI_Recv(&value, 1, MPI_INT, rank + 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
      },
      [](const entries& t, int& n) { return pairwise(t, n, even_partner); });
  with(
      "barrier_case", "wait_at_barrier",
      [](std::vector<double>& at) {
        for (int k = 0; k < times; ++k) {
          run(common, 3);
          if (rank == k % ranks) run(guilty, late);
          at.push_back(now());
          MPI_Barrier(MPI_COMM_WORLD);
        }
      },
      for_the_last);
  with(
      "allreduce_case", "wait_at_nxn",
      [](std::vector<double>& at) {
        for (int k = 0, sum = 0; k < times; ++k) {
          run(common, 3);
          if (rank == k % ranks) run(guilty, late);
          at.push_back(now());
          MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
      },
      for_the_last);
  with(
      "bcast_case", "late_broadcast",
      [](std::vector<double>& at) {
        for (int k = 0; k < times; ++k) {
          int value = k;
          run(common, 3);
          if (rank == 0) run(guilty, late);
          at.push_back(now());
          MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
      },
      [](const entries& t, int& n) { return pairwise(t, n, [](int r) { return r == 0 ? -1 : 0; }); });
  with(
      "reduce_case", "early_reduce",
      [](std::vector<double>& at) {
        for (int k = 0, sum = 0; k < times; ++k) {
          run(common, 3);
          if (rank == 1) run(guilty, late);  // which no other rank than the root waits for, in any tree
          at.push_back(now());
          MPI_Reduce(&k, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        }
      },
      [](const entries& t, int& n) { return pairwise(t, n, [](int r) { return r == 0 ? 1 : -1; }); });
  with(
      "scan_case", "early_scan",
      [](std::vector<double>& at) {
        for (int k = 0, sum = 0; k < times; ++k) {
          run(common, 3);
          if (rank == 0) run(guilty, late);
          at.push_back(now());
          MPI_Scan(&k, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
      },
      [](const entries& t, int& n) { return pairwise(t, n, [](int r) { return r == 0 ? -1 : 0; }); });
  with(
      "chain_case", "late_sender",
      [](std::vector<double>& at) {
    // only the first rank is late; the others forward the delay
        for (int k = 0, value = 0; k < times; ++k) {
          run(common, 3);
          if (rank == 0) run(guilty, late);
          at.push_back(now());
          if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          at.push_back(now());
          if (rank + 1 < ranks) MPI_Send(&value, 1, MPI_INT, rank + 1, 4, MPI_COMM_WORLD);
          MPI_Barrier(MPI_COMM_WORLD);
        }
      },
      [](const entries& t, int& n) {
        double sum = 0;  // receives have even stamps, sends odd ones
        for (int r = 1; r < ranks; ++r)
          for (std::size_t k = 0; k < t[std::size_t(r)].size(); k += 2, ++n)
            sum += std::max(0.0, t[std::size_t(r - 1)][k + 1] - t[std::size_t(r)][k]);
        return sum;
      });
  return cases;
}

void no_region_around(std::vector<double>& at) {
  for (int k = 0, value = 0; k < 8 && pairs_up(); ++k) {
    at.push_back(now());
    if (odd()) {
      MPI_Recv(&value, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      sleep_ms(20);
      at.push_back(now());
      MPI_Send(&k, 1, MPI_INT, rank - 1, 6, MPI_COMM_WORLD);
    } else {
      MPI_Send(&k, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
      at.push_back(now());
      MPI_Recv(&value, 1, MPI_INT, rank + 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

void more_visits(int visits, int ms, std::vector<double>& at, int tag) {
  BLOCK(cell, "cell");
  int value = 0;
  for (int i = 0; i < visits; ++i) run(cell, ms);
  at.push_back(now());
  if (odd()) MPI_Send(&value, 1, MPI_INT, rank - 1, tag, MPI_COMM_WORLD);
  else MPI_Recv(&value, 1, MPI_INT, rank + 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

entries exchange(const std::vector<double>& mine) {
  int count = static_cast<int>(mine.size());
  std::vector<int> counts(std::size_t(ranks), 0), offsets(std::size_t(ranks), 0);
  PMPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 1; r < ranks; ++r) offsets[std::size_t(r)] = offsets[std::size_t(r - 1)] + counts[std::size_t(r - 1)];
  std::vector<double> flat(std::size_t(offsets.back() + counts.back()));
  PMPI_Allgatherv(mine.data(), count, MPI_DOUBLE, flat.data(), counts.data(), offsets.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  entries all;
  for (int r = 0; r < ranks; ++r)
    all.emplace_back(flat.begin() + offsets[std::size_t(r)], flat.begin() + offsets[std::size_t(r)] + counts[std::size_t(r)]);
  return all;
}

// The work of each rank before MPI_Finalize, in a file that all ranks map, because nothing can be exchanged afterwards.
struct last_steps {
  double guilty_begin, guilty_end, entered;
};
last_steps* shared_steps() {
  const int file = open("finalize.stamps", O_RDWR | O_CREAT, 0600);
  const std::size_t bytes = sizeof(last_steps) * std::size_t(ranks);
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<last_steps*>(memory);
}

int failures = 0;
void expect(bool good, const char* format, ...) __attribute__((format(printf, 2, 3)));
void expect(bool good, const char* format, ...) {
  if (good) return;
  ++failures;
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "FAILED: ");
  std::vfprintf(stderr, format, arguments);
  std::fprintf(stderr, "\n");
  va_end(arguments);
}

struct sums {
  double seconds = 0, unexplained = 0, guilty = 0, visits = 0, speed = 0, positive = 0;
  int count = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<known> cases = all_cases();
  std::vector<std::vector<double>> stamps;
  for (const known& c : cases) {
    MPI_Barrier(MPI_COMM_WORLD);
    stamps.emplace_back();
    whywait::region scope(c.name.c_str());
    c.play(stamps.back());
  }
  std::vector<double> unmarked, visits, speed, balanced;
  MPI_Barrier(MPI_COMM_WORLD);
  no_region_around(unmarked);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < 4 && pairs_up(); ++k) {
    WHYWAIT_REGION("visits_case");
    more_visits(odd() ? 15 : 5, 3, visits, 7);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < 4 && pairs_up(); ++k) {
    WHYWAIT_REGION("speed_case");
    more_visits(5, odd() ? 9 : 3, speed, 8);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < 20; ++k) {
    WHYWAIT_REGION("balanced_case");
    sleep_ms(5);
    balanced.push_back(now());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::vector<entries> seen;
  for (const auto& mine : stamps) seen.push_back(exchange(mine));
  const entries unmarked_seen = exchange(unmarked), visits_seen = exchange(visits), speed_seen = exchange(speed),
                balanced_seen = exchange(balanced);
  last_steps* const steps = shared_steps();
  if (steps == nullptr) return std::fprintf(stderr, "FAILED: no stamps can be shared\n"), 1;
  {
    WHYWAIT_REGION("before_finalize");
    steps[rank].guilty_begin = now();
    if (odd()) sleep_ms(60);
    steps[rank].guilty_end = now();
  }
  steps[rank].entered = now();
  MPI_Finalize();
  if (rank != 0) return 0;

  std::ifstream file("causes.json");
  if (!file) return std::fprintf(stderr, "FAILED: causes.json was not written\n"), 1;
  const nlohmann::json report = nlohmann::json::parse(file);
  for (const auto& wait : report["waits"]) {
    double sum = wait["unexplained_seconds"].get<double>();
    for (const auto& term : wait["residual"]) sum += term["seconds"].get<double>();
    const double seconds = wait["seconds"].get<double>();
    expect(std::abs(sum - seconds) <= 1e-9 * std::max(1.0, seconds), "residual and remainder sum to %.9f, not %.9f", sum,
           seconds);
  }
  auto total = [&](const std::string& region, const std::string& pattern, const std::string& guilty) {
    sums s;
    for (const auto& wait : report["waits"]) {
      const std::string path = wait["operation"]["region"].is_null() ? "" : wait["operation"]["region"].get<std::string>();
      if (wait["pattern"] != pattern || path != region) continue;
      s.seconds += wait["seconds"].get<double>();
      s.unexplained += wait["unexplained_seconds"].get<double>();
      s.count += wait["count"].get<int>();
      for (const auto& term : wait["residual"]) {
        const double seconds = term["seconds"].get<double>();
        s.positive += std::max(0.0, seconds);
        if (term["block"].get<std::string>().find(guilty) == std::string::npos) continue;
        s.guilty += seconds;
        s.visits += term["visits_seconds"].get<double>();
        s.speed += term["speed_seconds"].get<double>();
      }
    }
    return s;
  };
  // Waits with other patterns; those in MPI_Barrier do not count where it separates the rounds.
  auto others_than = [&](const std::string& region, const std::string& pattern) {
    double sum = 0;
    for (const auto& wait : report["waits"]) {
      const std::string path = wait["operation"]["region"].is_null() ? "" : wait["operation"]["region"].get<std::string>();
      if (path == region && wait["pattern"] != pattern && wait["operation"]["call"] != "MPI_Barrier")
        sum += wait["seconds"].get<double>();
    }
    return sum;
  };
  auto agrees = [&](const char* what, const sums& s, double truth, int instances) {
    std::fprintf(stderr, "%-30s %8.4f s, truth %8.4f s, guilty %5.1f %%, unexplained %.4f s\n", what, s.seconds, truth,
                 s.seconds > 0 ? 100 * s.guilty / s.seconds : 0.0, s.unexplained);
    expect(std::abs(s.seconds - truth) <= 0.03 * truth + 0.001 * instances, "%s: %.4f s, truth %.4f s", what, s.seconds, truth);
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const known& c = cases[i];
    int instances = 0;
    const double truth = c.truth(seen[i], instances);
    const sums s = total(c.name, c.pattern, c.guilty);
    agrees(c.name.c_str(), s, truth, instances);
    const double others = others_than(c.name, c.pattern);
    expect(others <= 0.03 * truth + 0.001, "%s: %.4f s of waits with other patterns", c.name.c_str(), others);
    expect(s.guilty >= guilty_share * s.seconds, "%s: the guilty block has %.4f of %.4f s", c.name.c_str(), s.guilty,
           s.seconds);
    for (const std::string& innocent : c.innocent) {
      const sums wrongly = total(c.name, c.pattern, innocent);
      expect(std::abs(wrongly.guilty) <= innocent_share * s.seconds, "%s: %s is blamed for %.4f s", c.name.c_str(),
             innocent.c_str(), wrongly.guilty);
    }
  }
  int instances = 0;
  double truth = 0;  // the odd ranks wait at the even stamps, the even ranks at the odd ones
  for (int r = 0; r < ranks; ++r)
    for (std::size_t k = 0; k < unmarked_seen[std::size_t(r)].size(); ++k, ++instances) {
      const int q = r % 2 == 1 ? r - 1 : r + 1;
      if ((k % 2 == 0) != (r % 2 == 1)) continue;
      truth += std::max(0.0, unmarked_seen[std::size_t(q)][k] - unmarked_seen[std::size_t(r)][k]);
    }
  sums s = total("", "late_sender", "between MPI_Recv");
  agrees("unannotated", s, truth, instances);
  expect(s.guilty >= guilty_share * s.seconds, "unannotated: the code between the calls has %.4f of %.4f s", s.guilty,
         s.seconds);

  instances = 0;
  truth = pairwise(visits_seen, instances, odd_partner);
  s = total("visits_case", "late_sender", "cell");
  agrees("more visits", s, truth, instances);
  expect(s.visits >= 0.95 * guilty_share * s.seconds, "more visits: visits_seconds %.4f of %.4f", s.visits, s.seconds);

  instances = 0;
  truth = pairwise(speed_seen, instances, odd_partner);
  s = total("speed_case", "late_sender", "cell");
  agrees("slower visits", s, truth, instances);
  expect(s.speed >= guilty_share * s.seconds, "slower visits: speed_seconds %.4f of %.4f", s.speed, s.seconds);

  instances = 0;
  truth = for_the_last(balanced_seen, instances);
  s = total("balanced_case", "wait_at_barrier", "");
  agrees("balanced", s, truth, instances);

  s = total("", "wait_at_finalize", "before_finalize");
  entries finalize_seen;
  for (int r = 0; r < ranks; ++r) finalize_seen.push_back({steps[r].entered});
  instances = 0;
  truth = for_the_last(finalize_seen, instances);
  agrees("finalize", s, truth, instances);
  const auto guilty_seconds = [](const last_steps& l) { return l.guilty_end - l.guilty_begin; };
  const last_steps& last = *std::max_element(steps, steps + ranks, [](auto& a, auto& b) { return a.entered < b.entered; });
  truth = 0;
  for (int r = 0; r < ranks; ++r) truth += guilty_seconds(last) - guilty_seconds(steps[r]);
  expect(std::abs(s.guilty - truth) <= 0.03 * truth + 0.001 * instances, "finalize: the guilty block has %.4f s, truth %.4f s",
         s.guilty, truth);
  return failures == 0 ? 0 : 1;
}
