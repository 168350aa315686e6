#include <whywait/coverage/names/own_headers.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace files = std::filesystem;
using whywait::coverage::own_headers;

namespace {

// A folder for one test, with blanks and non-ASCII letters in its name.
struct scratch_folder {
  files::path root = files::temp_directory_path() / ("whywait own headers \u00fc " + std::to_string(::getpid()));
  ~scratch_folder() {
    std::error_code ignored;
    files::remove_all(root, ignored);
  }
  std::string copy(const std::string& below) const {
    const files::path folder = root / below / "whywait" / "coverage" / "names";
    files::create_directories(folder);
    std::ofstream(folder / "own_headers.hpp") << "// a copy\n";
    return (root / below).string();
  }
};

}  // namespace

TEST_CASE("paths are normalised without the file system") {
  CHECK(own_headers::normal("/a//b/./c/../d.hpp") == "/a/b/d.hpp");
  CHECK(own_headers::normal("./a/b/../c.hpp") == "a/c.hpp");
  CHECK(own_headers::normal("../../a/../b.hpp") == "../../b.hpp");
  CHECK(own_headers::normal("/../a.hpp") == "/a.hpp");
  CHECK(own_headers::normal("a/..") == "");
  CHECK(own_headers::normal("a/../../b/") == "../b/");
  CHECK(own_headers::normal("").empty());
}

TEST_CASE("what lies in the folder of this header is a header of whywait") {
  const own_headers own("/opt/include/whywait/coverage/names/own_headers.hpp");
  CHECK(own.contain("/opt/include/whywait/record/region.hpp"));
  CHECK(own.contain("/opt/include/whywait/mpi.hpp"));
  CHECK(own.contain("/opt/lib/../include/whywait/mpi.hpp"));
  CHECK_FALSE(own.contain("/opt/include/whywait_extra/mpi.hpp"));
  CHECK_FALSE(own.contain("/opt/include/other.hpp"));
  CHECK_FALSE(own.contain("/home/whywait/record/region.hpp"));
  CHECK_FALSE(own.contain("/home/whywait/coverage/names/unit.hpp"));
  CHECK_FALSE(own.contain(""));
}

TEST_CASE("of single_include only the file itself is whywait's, whatever it is called") {
  const own_headers own("/app/whywait/waits.hpp");
  CHECK(own.contain("/app/whywait/waits.hpp"));
  CHECK(own.contain("/app/src/../whywait/waits.hpp"));
  CHECK_FALSE(own.contain("/app/whywait/solve.hpp"));
  CHECK_FALSE(own_headers("/app/coverage/other_names/own_headers.hpp").contain("/app/solve.hpp"));
}

TEST_CASE("relative -I, symbolic links and other copies are found where the headers lie") {
  const scratch_folder scratch;
  const std::string first = scratch.copy("project/include"), second = scratch.copy("third party/include");
  const own_headers relative("../include/whywait/coverage/names/own_headers.hpp");
  CHECK(relative.contain("../include/whywait/record/region.hpp"));
  CHECK(relative.contain(first + "/whywait/record/region.hpp"));
  CHECK(relative.contain(second + "/whywait/record/region.hpp"));
  CHECK_FALSE(relative.contain("include/whywait/solve.hpp"));
  CHECK_FALSE(relative.contain((scratch.root / "project/whywait/solve.hpp").string()));
  files::create_directory_symlink(files::path(first), scratch.root / "link");
  const own_headers own(first + "/whywait/coverage/names/own_headers.hpp");
  CHECK(own.contain((scratch.root / "link/whywait/record/region.hpp").string()));
  CHECK(own.contain(second + "/whywait/mpi.hpp"));
  CHECK_FALSE(own.contain((scratch.root / "third party/include/other/mpi.hpp").string()));
}

TEST_CASE("this header finds its own folder") {
  const own_headers own;
  CHECK(own.contain(__FILE__) == false);
}
