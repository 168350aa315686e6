// Writes the pages that the tests open: simulated runs of any size, and results that are hard to show.
//
//   pages FOLDER simulated RANKS   explains a simulated run; prints how long explanation and page took, and its size
//   pages FOLDER without RANKS     the same without maps, to see what they cost
//   pages FOLDER special           hostile names, 500 kinds of waits, no wait, one rank, a killed run, all sections
//   pages form                     prints the short reports of these results, for scripts/gallery.py
#include "simulated_run.hpp"
#include "special_results.hpp"

#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/simulated_transport.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/page/page.hpp>
#include <whywait/report/text.hpp>

#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace whywait;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

bool write(const reports::result& r, const std::string& prefix) {
  for (const std::string& problem :
       {reports::write_json_file(r, prefix + ".json"), reports::write_page_file(r, prefix + ".html")}) {
    if (problem.empty()) continue;
    std::fprintf(stderr, "%s\n", problem.c_str());
    return false;
  }
  return true;
}

int simulated(const std::string& folder, std::int32_t ranks, bool maps) {
  const page_test::simulated_run run(ranks);
  explain::simulated_transport transport(ranks);
  explain::options settings;
  settings.clocks = &clocks::virtual_clocks;
  settings.maps = maps;
  const double begin = now();
  const explain::outcome found = explain::explain(transport, run.histories().data(), run.histories().size(), settings);
  const double explained = now();
  reports::run_facts facts;
  facts.ranks = ranks;
  facts.mpi = "simulated";
  facts.mpi_calls = run.calls();
  facts.clock = "simulated";
  const whywait::base::names names = page_test::simulated_run::names();
  const reports::result r = reports::assemble(found, names, facts);
  const double assembled = now();
  const std::string prefix = folder + "/simulated" + std::to_string(ranks);
  const std::string page = reports::page_of(r);
  const double made = now();
  if (!write(r, prefix)) return 1;
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf(
      "{\"ranks\": %d, \"records\": %lld, \"explain_seconds\": %.3f, \"page_seconds\": %.3f, \"page_bytes\": %zu, "
      "\"peak_mib\": %.0f}\n",
      ranks, static_cast<long long>(run.calls()), explained - begin, made - assembled, page.size(),
      static_cast<double>(use.ru_maxrss) / 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string("form")) {
    reports::text_options options;
    options.full = false;
    options.columns = reports::text_options::unlimited;
    for (const auto& [name, result] : page_test::special_results())
      if (name != "hostile") std::printf("%s", reports::text_of(result, options).c_str());
    return 0;
  }
  const std::string what = argc > 2 ? argv[2] : "";
  if (argc == 4 && (what == "simulated" || what == "without"))
    return simulated(argv[1], std::atoi(argv[3]), what == "simulated");
  if (argc == 3 && what == "special") {
    for (const auto& [name, result] : page_test::special_results())
      if (!write(result, std::string(argv[1]) + "/" + name)) return 1;
    return 0;
  }
  std::fprintf(stderr, "usage: pages FOLDER simulated|without RANKS | pages FOLDER special | pages form\n");
  return 2;
}
