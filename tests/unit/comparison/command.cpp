#include <whywait/comparison/command.hpp>

#include <doctest/doctest.h>

#include "../../temporary_folder.hpp"
#include "runs.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using runs::spec;
namespace detail = whywait::comparison::detail;

namespace {

std::string write(const temporary_folder& folder, const std::string& name, const spec& s) {
  const std::string path = folder.path + "/" + name;
  std::ofstream(path) << runs::report(s);
  return path;
}
std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}
spec slow() {
  spec s;
  s.seconds = 16;
  s.relax = 15;
  s.waiting = 20;
  s.relax_more = 20;
  return s;
}

}  // namespace

TEST_CASE("the status says whether the second side is worse") {
  temporary_folder folder;
  const std::string a = write(folder, "a.json", {}), b = write(folder, "b.json", slow());
  CHECK(detail::compare_command({"--quiet", a, a}) == 0);
  CHECK(detail::compare_command({"--quiet", a, b}) == 1);
  CHECK(detail::compare_command({"--quiet", b, a}) == 0);
  CHECK(detail::compare_command({"--quiet", "--before", a, a, "--after", b, b}) == 1);
  CHECK(detail::compare_command({"--quiet", "--at-least=70", a, b}) == 0);
}

TEST_CASE("summaries are written to files") {
  temporary_folder folder;
  const std::string a = write(folder, "a.json", {}), b = write(folder, "b.json", slow());
  const std::string md = folder.path + "/out.md", js = folder.path + "/out.json", svg = folder.path + "/out.svg";
  CHECK(detail::compare_command({"--quiet", a, b, "--markdown", md, "--json", js, "--badge", svg}) == 1);
  CHECK(read(md).find("### whywait: worse") == 0);
  CHECK(read(js).find("\"schema\": \"whywait-compare/1\"") != std::string::npos);
  CHECK(read(svg).find("<svg") == 0);
}

TEST_CASE("a baseline grows with runs that are not worse and begins again after a change") {
  temporary_folder folder;
  const std::string base = folder.path + "/baseline";
  const std::string a = write(folder, "a.json", {}), b = write(folder, "b.json", slow());
  const auto compare = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--quiet", "--baseline", base});
    return detail::compare_command(words);
  };
  const auto kept = [&] { return whywait::comparison::baseline(base).reference(100).size(); };
  CHECK(compare({a}) == 0);  // nothing to compare with
  CHECK(kept() == 0);
  CHECK(compare({"--update", a}) == 0);
  CHECK(compare({"--update", a}) == 0);
  CHECK(kept() == 2);
  CHECK(compare({"--update", b}) == 1);  // worse, so it is not added
  CHECK(kept() == 2);
  CHECK(compare({"--update", "--accept", b}) == 1);  // added, and the beginning of another series
  CHECK(kept() == 1);
  CHECK(compare({b}) == 0);
  CHECK(whywait::comparison::baseline(base).all().size() == 3);
  CHECK(compare({"--update", a}) == 0);  // better
  CHECK(kept() == 1);
  CHECK(whywait::comparison::baseline(base).all().size() == 4);
}

TEST_CASE("slow drift is seen, because the reference does not move") {
  temporary_folder folder;
  const std::string base = folder.path + "/baseline";
  int status = 0, runs_made = 0;
  for (; runs_made != 200 && status == 0; ++runs_made) {
    spec s;
    s.seconds = 10 * std::pow(1.005, runs_made);  // each run is half a percent longer
    s.relax = s.seconds - 1;
    status = detail::compare_command({"--quiet", "--update", "--baseline", base, write(folder, "run.json", s)});
  }
  CHECK(status == 1);
  CHECK(runs_made < 60);
}

TEST_CASE("wrong arguments are named") {
  const auto problem = [](const std::vector<std::string>& words) -> std::string {
    try {
      detail::parse_arguments(words);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(problem({"a.json"}) == "expected two files or folders; several files of a side follow --before and --after (--help)");
  CHECK(problem({"--before", "a"}) == "expected --before FILE... --after FILE... and no other file");
  CHECK(problem({"a", "b", "--at-least", "x"}) == "--at-least expects a percentage between 0 and 100, not \"x\"");
  CHECK(problem({"a", "b", "--update"}) == "--update, --accept and --history need --baseline FOLDER");
  CHECK(problem({"a", "b", "--nothing"}) == "unknown option --nothing (--help lists the options)");
  CHECK(problem({"a", "b", "--json"}) == "--json needs a value");
  CHECK(problem({"a", "b", "--at-least=5%"}) == "accepted");
}

TEST_CASE("a folder stands for the reports in it") {
  temporary_folder folder;
  write(folder, "1.json", {});
  write(folder, "2.json", {});
  std::ofstream(folder.path + "/notes.txt") << "no report";
  CHECK(detail::files_of({folder.path}).size() == 2);
  temporary_folder empty;
  CHECK_THROWS_WITH(detail::files_of({empty.path}), (empty.path + " has no file that ends in .json").c_str());
}
