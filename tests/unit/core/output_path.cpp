#include <whywait/core/output_path.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>

using namespace whywait::core;

namespace {

std::string expanded(const char* pattern, std::string* unknown = nullptr) {
  char path[most_output_path];
  const char* const at = expand_output(pattern, path);
  if (unknown != nullptr) *unknown = at != nullptr ? at : "none";
  return path;
}

/// Without the job of the machine that runs the tests.
void leave_job() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PJM_JOBID", "OAR_JOB_ID", "COBALT_JOBID", "FLUX_JOB_ID",
                           "LOADL_STEP_ID", "JOB_ID", "PMIX_NAMESPACE"})
    ::unsetenv(name);
}

}  // namespace

TEST_CASE("a path has the process, the job, the time and the host") {
  leave_job();
  const std::string pid = std::to_string(::getpid());
  char host[256] = "";
  REQUIRE(::gethostname(host, sizeof host - 1) == 0);
  CHECK(expanded("run") == "run");
  CHECK(expanded("") == "");
  CHECK(expanded("out/") == "out/whywait");
  CHECK(expanded(".") == "./whywait");
  CHECK(expanded("a/..") == "a/../whywait");
  CHECK(expanded("a/.b") == "a/.b");
  CHECK(expanded("a/%p-b") == "a/" + pid + "-b");
  CHECK(expanded("%h/%p%p") == std::string(host) + "/" + pid + pid);
  CHECK(expanded("100%%") == "100%");
  CHECK(std::regex_match(expanded("x%t"), std::regex("x20\\d{6}-\\d{6}")));
  CHECK(expanded("%j") == pid);  // in no job
  ::setenv("PMIX_NAMESPACE", "prterun-node/7@1", 1);
  CHECK(expanded("out-%j.x") == "out-prterun-node_7@1.x");
  ::setenv("SLURM_JOB_ID", "4711", 1);
  CHECK(expanded("out-%j") == "out-4711");
  leave_job();
}

TEST_CASE("an unknown sequence is kept and named") {
  std::string unknown;
  CHECK(expanded("a%qb%p", &unknown) == "a%qb" + std::to_string(::getpid()));
  CHECK(unknown == "qb%p");
  CHECK(expanded("a%", &unknown) == "a%");
  CHECK(unknown == "");
  CHECK(expanded("%%q", &unknown) == "%q");
  CHECK(unknown == "none");
}

TEST_CASE("a path that is too long is cut") {
  const std::string path = expanded(std::string(5000, 'x').c_str());
  CHECK(path == std::string(most_output_path - 1, 'x'));
  CHECK(expanded((std::string(most_output_path - 3, 'x') + "%p%h").c_str()).size() == most_output_path - 1);
}
