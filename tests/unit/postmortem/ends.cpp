#include <whywait/base/vector.hpp>

#include "kept_program.hpp"
#include "scenarios.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cstdio>
#include <thread>

using namespace whywait;

TEST_CASE("all that was recorded is found, however the process ended") {
  for (const char* end : {"return", "_exit", "SIGKILL", "SIGSEGV", "exec"}) {
    CAPTURE(end);
    temporary_folder here;
    const int status = run(end, here.path);
    CHECK((WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)) == (std::string(end) == "SIGKILL"   ? SIGKILL
                                                                             : std::string(end) == "SIGSEGV" ? SIGSEGV
                                                                                                             : 0));
    const auto process = only(here);
    CHECK(visits(*process, "work") == 1000);
    CHECK(records(*process) == 3000);
    CHECK(process->torn() == 0);
    CHECK(process->cut() == 0);
  }
}

TEST_CASE("the records of an ended thread are found") {
  temporary_folder here;
  run("thread", here.path);
  const auto process = only(here);
  CHECK(visits(*process, "work") == 1000);
  CHECK(records(*process) == 300);
  CHECK(process->threads().at(0)->where.finished == 1);
}

TEST_CASE("a forked child keeps nothing, and nothing of it is in its parent's file") {
  temporary_folder here;
  run("fork", here.path);
  const auto process = only(here);
  CHECK(visits(*process, "work") == 2000);
  CHECK(visits(*process, "around the fork") == 1);
  CHECK(visits(*process, "only in the child") == 0);
  CHECK(records(*process) == 6000);
  CHECK(process->threads().size() == 1);
}

TEST_CASE("an event that had only begun to be written is counted and left out") {
  temporary_folder here;
  run("torn", here.path);
  const auto process = only(here);
  CHECK(records(*process) == 3000);
  CHECK(process->threads().at(0)->where.syncs.size() == 3000);
  CHECK(process->torn() == 1);
  CHECK(process->cut() == 0);
}

TEST_CASE("thousands of places keep their names") {
  temporary_folder here;
  run("sites", here.path);
  const auto process = only(here);
  for (int i = 0; i < 5000; i += 7) REQUIRE(visits(*process, "place " + std::to_string(i)) == 1);
}

TEST_CASE("WHYWAIT_MEMORY limits kept records") {
  temporary_folder here;
  setenv("WHYWAIT_MEMORY", "128K", 1);
  run("memory", here.path);
  unsetenv("WHYWAIT_MEMORY");
  const auto process = only(here);
  CHECK(records(*process) == 2048);
  CHECK(process->threads().at(0)->where.syncs.counts().recorded == 5000);
  CHECK(visits(*process, "work") == 1000);
}

TEST_CASE("the report of a process without MPI names its open regions and its places, and its file is removed") {
  temporary_folder here;
  run("open regions", here.path);
  std::FILE* const text = std::tmpfile();
  left_behind_options options;
  options.text = text;
  options.output = here.path + "/out";
  CHECK(report_left_behind(here.path, options) == 1);
  CHECK(report_left_behind(here.path, options) == 0);
  CHECK(here.files() == std::vector<std::string>{"out.html", "out.json", "out.txt"});
  std::rewind(text);
  char buffer[4096] = "";
  CHECK(std::fread(buffer, 1, sizeof buffer - 1, text) > 0);
  std::fclose(text);
  const std::string said = buffer, json = read_all(here.path + "/out.json");
  CHECK(said.find("in outer/inner") != std::string::npos);
  CHECK(said.find("work ") != std::string::npos);
  CHECK(said.find("(1,000 visits)") != std::string::npos);
  CHECK(json.find("\"regions\": \"outer/inner\"") != std::string::npos);
  CHECK(json.find("\"visits\": 1000") != std::string::npos);
  CHECK(json.find("\"partial\": true") != std::string::npos);
}

TEST_CASE("a process that runs is left alone, also while others in its folder are reported") {
  temporary_folder here;
  const pid_t alive = start("stays", here.path);
  const auto stop = [&] {
    kill(alive, SIGKILL);
    waitpid(alive, nullptr, 0);
  };
  const auto has_its_name = [&] {  // the file has a temporary name first
    const std::vector<std::string> names = here.files();
    return names.size() == 1 && names[0].find(".kept") != std::string::npos;
  };
  while (!has_its_name() && waitpid(alive, nullptr, WNOHANG) == 0) usleep(10'000);
  const std::vector<std::string> before = here.files();
  if (before.size() != 1) stop();
  REQUIRE(before.size() == 1);
  run("SIGKILL", here.path);
  left_behind_options options;
  options.text = nullptr;
  CHECK(report_left_behind(here.path, options) == 1);
  CHECK(here.files() == before);
  stop();
  CHECK(report_left_behind(here.path, options) == 1);
  CHECK(here.files().empty());
}

TEST_CASE("a job of which a process still runs is reported when that has ended") {
  temporary_folder here;
  run("rank", here.path, "0");
  run("rank", here.path, "1");
  const auto files = here.files();
  REQUIRE(files.size() == 2);
  left_behind_options options;
  options.text = nullptr;
  for (const std::string& running : files) {  // the lock is what a running process has
    const int file = open((here.path + "/" + running).c_str(), O_RDWR);
    REQUIRE(flock(file, LOCK_EX | LOCK_NB) == 0);
    CHECK(report_left_behind(here.path, options) == 0);
    CHECK(here.files() == files);
    close(file);
  }
  const int file = open((here.path + "/" + files[0]).c_str(), O_RDWR);
  REQUIRE(flock(file, LOCK_EX | LOCK_NB) == 0);
  std::thread ending([&] {
    usleep(100'000);
    close(file);
  });
  CHECK(report_left_behind(here.path, options) == 1);
  CHECK(here.files().empty());
  ending.join();
}

TEST_CASE("two ranks that were killed are explained like two that came to their end, unfinished barriers left out") {
  temporary_folder here;
  run("rank", here.path, "0");
  run("rank", here.path, "1");
  postmortem::dead_job job;
  for (const std::string& name : here.files())
    job.add(std::make_unique<postmortem::dead_process>(std::make_unique<postmortem::dead_memory>(here.path + "/" + name)));
  const reports::result result = job.report();
  REQUIRE(job.explained());
  CHECK(result.run.partial);
  CHECK(result.run.ranks == 2);
  CHECK(result.run.mpi_calls == 7);  // rank 0 has Init, Send, Barrier; rank 1 has Init, Recv, Barrier twice
  REQUIRE(result.waits.size() == 1);
  const reports::wait_entry& wait = result.waits[0];
  CHECK(wait.pattern == "late_sender");
  CHECK(wait.seconds == doctest::Approx(0.020).epsilon(0.001));  // 20 ms until the send began, minus 0.5 us
  REQUIRE(!wait.residual.empty());
  CHECK(wait.residual[0].block == "compute");
  CHECK(wait.residual[0].causer_visits == 10);
  REQUIRE(result.last_words.size() == 2);
  CHECK(result.last_words[0].inside);
  CHECK(result.last_words[0].call.call == "MPI_Barrier");
  CHECK(result.last_words[0].since_seconds == doctest::Approx(0.022));
  CHECK(result.last_words[0].whom == "with 2 ranks");                     // rank 1 has arrived and left
  CHECK(result.last_words[1].whom == "with 2 ranks; rank 0 is missing");  // at the next barrier
  bool said = false;
  for (const std::string& w : result.run.warnings)
    said = said || w == "1 collective call is not explained: not all ranks had left it";
  CHECK(said);
}

TEST_CASE("with missing ranks there are last words and the reason for the missing explanation") {
  temporary_folder here;
  run("rank", here.path, "1");
  postmortem::dead_job job;
  job.add(std::make_unique<postmortem::dead_process>(
      std::make_unique<postmortem::dead_memory>(here.path + "/" + here.files().at(0))));
  const reports::result result = job.report();
  CHECK(!job.explained());
  CHECK(result.waits.empty());
  CHECK(result.last_words.size() == 1);
  REQUIRE(result.run.warnings.size() == 1);
  CHECK(result.run.warnings[0] == "waits are not explained: only 1 of 2 ranks left their records");
}
