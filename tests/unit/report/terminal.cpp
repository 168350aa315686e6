#include <whywait/report/terminal.hpp>
#include <whywait/report/text.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

using namespace sample;

namespace {

/// Sets variables for one test, or removes them (null), and restores them.
class variables {
 public:
  variables() {
    for (const char* name : {"COLUMNS", "TERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) {
      const char* const value = std::getenv(name);
      kept_.emplace_back(name, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
  }
  ~variables() {
    for (const auto& [name, value] : kept_)
      if (value) ::setenv(name, value->c_str(), 1);
      else ::unsetenv(name);
  }
  variables(const variables&) = delete;
  variables& operator=(const variables&) = delete;

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> kept_;
};

/// A terminal of some width.
struct pseudo_terminal {
  int controller = ::posix_openpt(O_RDWR | O_NOCTTY);
  std::FILE* file = nullptr;

  explicit pseudo_terminal(unsigned short columns) {
    REQUIRE(controller >= 0);
    REQUIRE(::grantpt(controller) == 0);
    REQUIRE(::unlockpt(controller) == 0);
    file = std::fopen(::ptsname(controller), "w");
    REQUIRE(file != nullptr);
    winsize size{};
    size.ws_col = columns;
    REQUIRE(::ioctl(::fileno(file), TIOCSWINSZ, &size) == 0);
  }
  ~pseudo_terminal() {
    std::fclose(file);
    ::close(controller);
  }
};

std::string printed_to_a_file(const reports::result& r, bool full) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  reports::text_options options;
  options.full = full;
  reports::print_text(r, file, options);
  std::rewind(file);
  std::string read(65536, '\0');
  read.resize(std::fread(read.data(), 1, read.size(), file));
  std::fclose(file);
  return read.front() == '\n' ? read.substr(1) : read;  // not the first report of this process
}

}  // namespace

TEST_CASE("a report is coloured on a terminal, unless the environment says otherwise") {
  const variables clean;
  const pseudo_terminal terminal(100);
  ::setenv("TERM", "xterm", 1);
  CHECK(reports::terminal_of(terminal.file).colour);
  ::setenv("NO_COLOR", "", 1);  // no-color.org requires a non-empty value
  CHECK(reports::terminal_of(terminal.file).colour);
  ::setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(reports::terminal_of(terminal.file).colour);
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  CHECK_FALSE(reports::terminal_of(terminal.file).colour);
  ::unsetenv("TERM");
  CHECK_FALSE(reports::terminal_of(terminal.file).colour);
}

TEST_CASE("the width is that of COLUMNS or of the terminal, and a file has none") {
  const variables clean;
  const pseudo_terminal terminal(123), unknown(0), narrow(7);
  CHECK(reports::terminal_of(terminal.file).columns == 123);
  CHECK(reports::terminal_of(unknown.file).columns == 80);
  CHECK(reports::terminal_of(narrow.file).columns == 40);
  ::setenv("COLUMNS", "95", 1);
  CHECK(reports::terminal_of(terminal.file).columns == 95);
  ::setenv("COLUMNS", "wide", 1);
  CHECK(reports::terminal_of(terminal.file).columns == 123);
  ::setenv("COLUMNS", "95", 1);
  std::FILE* const file = std::tmpfile();
  CHECK(reports::terminal_of(file).columns == 0);
  CHECK_FALSE(reports::terminal_of(file).colour);
  std::fclose(file);
}

TEST_CASE("the locale decides on characters, the first variable that is set") {
  const variables clean;
  CHECK_FALSE(reports::detail::is_utf8_locale());
  ::setenv("LANG", "de_DE.UTF-8", 1);
  CHECK(reports::detail::is_utf8_locale());
  ::setenv("LC_CTYPE", "C", 1);
  CHECK_FALSE(reports::detail::is_utf8_locale());
  ::setenv("LC_ALL", "C.utf8", 1);
  CHECK(reports::detail::is_utf8_locale());
  ::setenv("LC_ALL", "", 1);
  CHECK_FALSE(reports::detail::is_utf8_locale());
}

TEST_CASE("signs of the report become similar ones of ASCII") {
  CHECK(reports::to_ascii("whywait · 4 ranks") == "whywait - 4 ranks");
  CHECK(reports::to_ascii("50 % = 2 × 3 (± 1 s)") == "50 % = 2 x 3 (+- 1 s)");
  CHECK(reports::to_ascii("Größe \xff") == "Gr??e ?");
}

TEST_CASE("a report in a file is neither wrapped nor coloured, and ASCII without a locale") {
  const variables clean;
  ::setenv("TERM", "xterm", 1);
  const reports::result r = reported(outcome({late_sender()}), names(), facts());
  for (const bool full : {true, false}) {
    reports::text_options options;
    options.full = full;
    options.columns = reports::text_options::unlimited;
    const std::string whole = reports::text_of(r, options);
    CHECK(printed_to_a_file(r, full) == reports::to_ascii(whole));
    ::setenv("LC_ALL", "C.UTF-8", 1);
    CHECK(printed_to_a_file(r, full) == whole);
    ::unsetenv("LC_ALL");
    CHECK(whole.find("MPI_Recv in exchange (halo.cpp:142)") != std::string::npos);
    CHECK(whole.find("try: call MPI_Send (halo.cpp:131) before compute_interior if the message does not depend on it") !=
          std::string::npos);
  }
}

TEST_CASE("the second report of a process begins with an empty line") {
  const reports::result r = reported(outcome({late_sender()}), names(), facts());
  std::FILE* const file = std::tmpfile();
  reports::print_text(r, file, {});
  reports::print_text(r, file, {});
  std::rewind(file);
  std::string read(65536, '\0');
  read.resize(std::fread(read.data(), 1, read.size(), file));
  std::fclose(file);
  const std::size_t second_one = read.find("\nwhywait", 1);
  REQUIRE(second_one != std::string::npos);
  CHECK(read[second_one - 1] == '\n');
}
