#include <whywait/core/safe_write.hpp>
#include <whywait/report/output_file.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include "../../temporary_folder.hpp"

namespace fs = std::filesystem;
using whywait::reports::output_file;

namespace {

struct folder : temporary_folder {
  const fs::path path = temporary_folder::path;
  std::size_t files() const {  // with hidden ones
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string write(const fs::path& path, const std::string& text) {
  output_file out(path.string());
  out.write(text.data(), text.size());
  return out.commit();
}

}  // namespace

TEST_CASE("a file appears complete and leaves no temporary file") {
  const folder here;
  const std::string large(200000, 'x');
  CHECK(write(here.path / "run.json", large).empty());
  CHECK(content(here.path / "run.json") == large);
  CHECK(write(here.path / "run.json", "new").empty());
  CHECK(content(here.path / "run.json") == "new");
  CHECK(here.files() == 1);
}

TEST_CASE("an uncommitted file changes nothing") {
  const folder here;
  REQUIRE(write(here.path / "run.json", "old").empty());
  {
    output_file out((here.path / "run.json").string());
    out.write("half", 4);
  }
  CHECK(content(here.path / "run.json") == "old");
  CHECK(here.files() == 1);
}

TEST_CASE("a missing folder and a folder in the way are named with the reason") {
  const folder here;
  const std::string missing = (here.path / "none" / "run.json").string();
  CHECK(write(missing, "x") == "cannot write " + missing + ": No such file or directory");
  fs::create_directory(here.path / "run.json");
  CHECK(write(here.path / "run.json", "x") == "cannot write " + (here.path / "run.json").string() + ": Is a directory");
  CHECK(here.files() == 1);
}

TEST_CASE("a disk that is full costs no older result") {
  const folder here;
  REQUIRE(write(here.path / "run.json", "old").empty());
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string error = write(here.path / "run.json", std::string(200000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(error == "cannot write " + (here.path / "run.json").string() + ": File too large");
  CHECK(content(here.path / "run.json") == "old");
  CHECK(here.files() == 1);
}

TEST_CASE("a symbolic link stays one and a device is written directly") {
  const folder here;
  fs::create_directory(here.path / "target");
  REQUIRE(write(here.path / "target" / "real.json", "old").empty());
  fs::create_symlink("target/real.json", here.path / "run.json");
  CHECK(write(here.path / "run.json", "new").empty());
  CHECK(fs::is_symlink(here.path / "run.json"));
  CHECK(content(here.path / "target" / "real.json") == "new");
  CHECK(write("/dev/null", "gone").empty());
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a full device is reported, not silently lost") {
  CHECK(write("/dev/full", "x") == "cannot write /dev/full: No space left on device");
}

TEST_CASE("a pipe without a reader is refused, and SIGPIPE reaches no handler") {
  const folder here;
  const std::string pipe = (here.path / "run.json").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(write(pipe, "x") == "cannot write " + pipe + ": No such device or address");
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  CHECK(write(pipe, "read").empty());
  char text[8];
  CHECK(::read(reader, text, sizeof text) == 4);
  output_file out(pipe);
  ::close(reader);
  out.write("x", 1);
  CHECK(out.commit() == "cannot write " + pipe + ": Broken pipe");
}

TEST_CASE("signals of writes that were pending before stay pending") {
  sigset_t both, before, pending;
  sigemptyset(&both);
  sigaddset(&both, SIGPIPE);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &both, &before) == 0);
  REQUIRE(::pthread_kill(::pthread_self(), SIGPIPE) == 0);
  { const whywait::core::write_signals_off guard; }
  REQUIRE(::sigpending(&pending) == 0);
  CHECK(::sigismember(&pending, SIGPIPE) == 1);
  int signal = 0;
  CHECK(::sigwait(&both, &signal) == 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("the mode of a file that is replaced is kept") {
  const folder here;
  REQUIRE(write(here.path / "run.json", "old").empty());
  fs::permissions(here.path / "run.json", fs::perms::owner_read | fs::perms::owner_write);
  CHECK(write(here.path / "run.json", "new").empty());
  CHECK(fs::status(here.path / "run.json").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}
