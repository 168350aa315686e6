#include <whywait/report/output_file.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/resource.h>
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
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string error = write(here.path / "run.json", std::string(200000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
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

TEST_CASE("the mode of a file that is replaced is kept") {
  const folder here;
  REQUIRE(write(here.path / "run.json", "old").empty());
  fs::permissions(here.path / "run.json", fs::perms::owner_read | fs::perms::owner_write);
  CHECK(write(here.path / "run.json", "new").empty());
  CHECK(fs::status(here.path / "run.json").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}
