#ifndef WHYWAIT_TESTS_UNIT_POSTMORTEM_KEPT_PROGRAM_HPP
#define WHYWAIT_TESTS_UNIT_POSTMORTEM_KEPT_PROGRAM_HPP

#include <whywait/base/vector.hpp>
#include <whywait/left_behind.hpp>

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "../../temporary_folder.hpp"

inline std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Starts this program as another process, which runs the scenario `name` (scenarios.hpp) before main, with `directory`
/// as its WHYWAIT_CRASH. Returns its process id.
inline pid_t start(const char* name, const std::string& directory, const char* argument = "") {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("WHYWAIT_CRASH", directory.c_str(), 1);
  setenv("KEPT_TEST_SCENARIO", name, 1);
  setenv("KEPT_TEST_ARGUMENT", argument, 1);
  execl("/proc/self/exe", "scenario", static_cast<char*>(nullptr));
  _exit(126);
}

/// Runs a scenario to its end and returns the wait status.
inline int run(const char* name, const std::string& directory, const char* argument = "") {
  int status = -1;
  waitpid(start(name, directory, argument), &status, 0);
  return status;
}

/// The only kept process in the folder.
inline std::unique_ptr<whywait::postmortem::dead_process> only(const temporary_folder& where) {
  const std::vector<std::string> files = where.files();
  REQUIRE(files.size() == 1);
  auto file = std::make_unique<whywait::postmortem::dead_memory>(where.path + "/" + files[0]);
  REQUIRE(file->readable() == whywait::postmortem::dead_memory::state::readable);
  auto process = std::make_unique<whywait::postmortem::dead_process>(std::move(file));
  REQUIRE(process->problem() == "");
  return process;
}

/// Visits of a region on all threads, in closed and open segments.
inline std::uint64_t visits(const whywait::postmortem::dead_process& p, const std::string& name) {
  std::uint64_t sum = 0;
  for (const auto& t : p.threads()) {
    const auto count = [&](const whywait::core::path_step& s) {
      if (s.block < p.sites().size() && p.sites()[s.block].name == name) sum += s.visits;
    };
    const auto steps = t->where.steps.view();
    for (std::uint64_t i = 0; i < steps.size(); ++i) count(steps[i]);
    if (t->path_is_there) t->where.path.peek(t->last_ticks, count);
  }
  return sum;
}

/// Number of kept records, if each equals the one that was written.
inline std::uint64_t records(const whywait::postmortem::dead_process& p) {
  std::uint64_t sum = 0;
  for (const auto& t : p.threads()) {
    const auto all = t->where.syncs.view();
    for (std::uint64_t i = 0; i < all.size(); ++i)
      if (all[i].bytes == i * 3 + 1) ++sum;
  }
  return sum;
}

#endif
