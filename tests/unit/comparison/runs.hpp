#ifndef WHYWAIT_TESTS_UNIT_COMPARISON_RUNS_HPP
#define WHYWAIT_TESTS_UNIT_COMPARISON_RUNS_HPP

#include <whywait/comparison/compared_run.hpp>

#include <string>
#include <vector>

// Hand-written reports for the tests of comparisons: a run of four ranks in which rank 1 is late in relax.
namespace runs {

namespace comparison = whywait::comparison;

struct spec {
  double seconds = 10;
  double waiting = 8;       ///< rank time of the waits at MPI_Allreduce because of relax
  double relax = 9;         ///< on the critical path
  double relax_more = 8;    ///< of the explanation
  int visits = 100;
  int line = 20;            ///< of MPI_Allreduce; relax begins 10 lines above
  std::string file = "app.cpp";
  double other = 0;         ///< rank time of late senders because of pack
  double parallel = 0.7;
  double sharing = 0;       ///< rank time without a processor
  double saving = 0;        ///< of the verdict about relax; 0: none
  int ranks = 4;
};

inline std::string number(double value) { return std::to_string(value); }

inline std::string call(const spec& s, const char* name, const char* region, int line) {
  return std::string("{\"call\": \"") + name + "\", \"region\": \"" + region + "\", \"file\": \"src/" + s.file +
         "\", \"line\": " + std::to_string(line) + "}";
}
inline std::string block(const spec& s, const char* name, int line, double seconds, const std::string& more) {
  return std::string("{\"block\": \"") + name + "\", \"kind\": \"region\", \"region\": \"main/" + name +
         "\", \"file\": \"src/" + s.file + "\", \"line\": " + std::to_string(line) + ", \"seconds\": " + number(seconds) +
         more + "}";
}

inline std::string report(const spec& s) {
  const double rank_time = s.seconds * s.ranks;
  std::string waits =
      "{\"pattern\": \"wait_at_nxn\", \"seconds\": " + number(s.waiting) +
      ", \"count\": 300, \"operation\": " + call(s, "MPI_Allreduce", "main", s.line) +
      ", \"cause\": " + call(s, "MPI_Allreduce", "main", s.line) + ", \"residual\": [" +
      block(s, "relax", s.line - 10, s.relax_more, ", \"visits_seconds\": 0, \"speed_seconds\": " + number(s.relax_more)) +
      "], \"causers\": [{\"rank\": 1, \"thread\": 0, \"seconds\": " + number(s.waiting) + "}]}";
  if (s.other > 0)
    waits += ", {\"pattern\": \"late_sender\", \"seconds\": " + number(s.other) +
             ", \"count\": 50, \"operation\": " + call(s, "MPI_Recv", "main", s.line + 10) +
             ", \"cause\": " + call(s, "MPI_Send", "main", s.line + 5) + ", \"residual\": [" +
             block(s, "pack", s.line + 2, s.other, ", \"visits_seconds\": " + number(s.other) + ", \"speed_seconds\": 0") +
             "], \"causers\": [{\"rank\": 3, \"thread\": 0, \"seconds\": " + number(s.other) + "}]}";
  std::string verdict;
  if (s.saving > 0)
    verdict = "{\"text\": \"rank 1 takes 3.0 times as long as the others in relax (" + s.file + ":" +
              std::to_string(s.line - 10) +
              "): balancing it would shorten the run by about 3 s of 10 s\", \"block\": \"relax\", \"rank\": 1, \"ratio\": 3, "
              "\"saving_seconds\": " +
              number(s.saving) + "}";
  return "{\"schema\": \"whywait/1\", \"run\": {\"ranks\": " + std::to_string(s.ranks) +
         ", \"locations\": " + std::to_string(s.ranks) + ", \"seconds\": " + number(s.seconds) +
         ", \"location_seconds\": " + number(rank_time) + ", \"waiting_seconds\": " + number(s.waiting + s.other) +
         ", \"mpi\": \"some MPI\"}, \"verdict\": [" + verdict + "], \"waits\": [" + waits +
         "], \"processor_sharing\": {\"seconds\": " + number(s.sharing) +
         "}, \"efficiency\": {\"parallel\": " + number(s.parallel) + ", \"load_balance\": " + number(s.parallel) +
         ", \"serialisation\": 1, \"transfer\": 1}, \"critical_path\": [" +
         block(s, "relax", s.line - 10, s.relax, ", \"visits\": " + std::to_string(s.visits)) + ", " +
         block(s, "pack", s.line + 2, s.seconds - s.relax, ", \"visits\": 5") + "]}";
}

inline comparison::compared_run run(const spec& s, const std::string& name = "run.json") {
  return comparison::run_from_json(report(s), name);
}

/// Several runs that differ as little as runs of a quiet machine do: by 1 % around the mean.
inline std::vector<comparison::compared_run> repeated(const spec& s, int n) {
  std::vector<comparison::compared_run> all;
  for (int i = 0; i != n; ++i) {
    const double factor = 1 + 0.01 * (i % 3 - 1);
    spec each = s;
    each.seconds *= factor;
    each.waiting *= factor;
    each.relax *= factor;
    all.push_back(run(each));
  }
  return all;
}

}  // namespace runs

#endif
