#include <whywait/base/vector.hpp>

#include "../../sanitizers.hpp"
#include "kept_program.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <random>

using namespace whywait;

namespace {

/// Returns what `work` writes to standard error.
template <class Work>
std::string said_by(Work work) {
  const int file = memfd_create("said", MFD_CLOEXEC);
  const int before = dup(2);
  dup2(file, 2);
  work();
  dup2(before, 2);
  close(before);
  const std::string said = read_all("/proc/self/fd/" + std::to_string(file));
  close(file);
  return said;
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

std::size_t lines_of(const std::string& text) {
  std::size_t lines = 0;
  for (char c : text) lines += c == '\n' ? 1 : 0;
  return lines;
}

}  // namespace

TEST_CASE("each foreign file is refused with one line") {
  temporary_folder here;
  write_file(here.path + "/whywait.a.kept", "");
  write_file(here.path + "/whywait.b.kept", "something else");
  write_file(here.path + "/whywait.c.kept", std::string(100'000, 'x'));
  write_file(here.path + "/other.kept", "not ours by its name");
  left_behind_options options;
  options.text = nullptr;
  const std::string said = said_by([&] { CHECK(report_left_behind(here.path, options) == 0); });
  CHECK(lines_of(said) == 3);
  CHECK(said.find("whywait.a.kept is too short") != std::string::npos);
  CHECK(said.find("whywait.c.kept was not written by whywait") != std::string::npos);
  CHECK(here.files() == std::vector<std::string>{"other.kept"});
}

TEST_CASE("a file of another version is named and stays") {
  temporary_folder here;
  run("SIGKILL", here.path);
  const std::string path = here.path + "/" + here.files().at(0);
  std::string content = read_all(path);
  content[offsetof(core::kept_header, layout)] = static_cast<char>(content[offsetof(core::kept_header, layout)] ^ 1);
  write_file(path, content);
  const std::string said = said_by([&] { CHECK(report_left_behind(here.path) == 0); });
  CHECK(lines_of(said) == 1);
  CHECK(said.find("another version of whywait") != std::string::npos);
  CHECK(here.files().size() == 1);
}

// Only the sanitized presets notice an overflow of a signed number.
TEST_CASE("counts of a damaged file may have a sum that is too large for a signed number") {
  temporary_folder here;
  run("damaged counts", here.path, "0");
  run("rank", here.path, "1");
  left_behind_options options;
  options.text = nullptr;
  const std::string said = said_by([&] { CHECK(report_left_behind(here.path, options) == 1); });
  CHECK(said.empty());
}

TEST_CASE("reading damaged files never fails and reports unreadable parts in clear lines") {
  std::random_device device;
  const char* const given = std::getenv("KEPT_TEST_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : device();
  CAPTURE(seed);
  INFO("repeat with KEPT_TEST_SEED=", seed);
  std::mt19937 random(seed);
  temporary_folder whole;
  run("rank", whole.path, "0");
  run("rank", whole.path, "1");
  run("SIGKILL", whole.path);
  std::vector<std::string> names = whole.files(), contents;
  REQUIRE(names.size() == 3);
  for (const std::string& name : names) contents.push_back(read_all(whole.path + "/" + name));
  // positions of non-empty data; changes of empty pages are harmless
  whywait::base::vector<whywait::base::vector<std::size_t>> used(contents.size());
  for (std::size_t f = 0; f < contents.size(); ++f)
    for (std::size_t i = 0; i < contents[f].size(); ++i)
      if (contents[f][i] != 0) used[f].push_back(i);
  constexpr int rounds = repetitions(200);
  int reported = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    temporary_folder here;
    for (std::size_t f = 0; f < contents.size(); ++f) {
      std::string damaged = contents[f];
      const int flips = round % 3 == 0 ? 1 : static_cast<int>(1u << (random() % 10));
      for (int i = 0; i < flips; ++i) {
        std::size_t at = used[f][random() % used[f].size()];
        if (random() % 4 == 0) at = random() % sizeof(core::kept_header);
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
      }
      if (random() % 8 == 0) damaged.resize(random() % damaged.size());
      write_file(here.path + "/" + names[f], damaged);
    }
    left_behind_options options;
    options.text = nullptr;
    const std::string said = said_by([&] { reported += report_left_behind(here.path, options); });
    REQUIRE(lines_of(said) <= contents.size());
    for (std::size_t at = 0; at < said.size(); at = said.find('\n', at) + 1) REQUIRE(said.compare(at, 9, "whywait: ") == 0);
  }
  CHECK(reported > rounds);  // most damage leaves most of the data intact
}
