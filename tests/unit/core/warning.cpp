#include <whywait/core/warning.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

using namespace whywait::core;

namespace {

// Returns what `speak` writes to standard error.
template <class Speak>
std::string heard(Speak speak) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int kept = dup(2);
  dup2(ends[1], 2);
  speak();
  dup2(kept, 2);
  close(kept);
  close(ends[1]);
  char text[4096];
  const ssize_t length = read(ends[0], text, sizeof text);
  close(ends[0]);
  return std::string(text, length > 0 ? static_cast<std::size_t>(length) : 0);
}

}  // namespace

TEST_CASE("a warning is one line with the prefix of whywait") {
  CHECK(heard([] { warn("cannot write ", "a.json"); }) == "whywait: cannot write a.json\n");
  CHECK(heard([] { warn("a", static_cast<const char*>(nullptr), "b"); }) == "whywait: ab\n");
}

TEST_CASE("a warning that is too long is truncated and still a line") {
  const std::string longer(5000, 'x');
  const std::string line = heard([&] { warn("text ", longer.c_str()); });
  CHECK(line.size() == 1000);
  CHECK(line.back() == '\n');
  CHECK(line.find('\n') == line.size() - 1);
}

TEST_CASE("warnings preserve errno") {
  errno = 42;
  heard([] { warn("x"); });
  const int kept = dup(2);
  close(2);
  errno = 43;
  warn("nobody hears this");
  const int after = errno;
  dup2(kept, 2);
  close(kept);
  CHECK(after == 43);
}

TEST_CASE("the first process of a launch speaks, the others do not") {
  unsetenv("SLURM_PROCID");
  unsetenv("PMIX_RANK");
  unsetenv("PMI_RANK");
  unsetenv("MV2_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_RANK");
  CHECK(first_of_the_launch());
  setenv("PMI_RANK", "3", 1);
  CHECK_FALSE(first_of_the_launch());
  setenv("PMI_RANK", "0", 1);
  CHECK(first_of_the_launch());
  unsetenv("PMI_RANK");
}
