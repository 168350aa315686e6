#include <whywait/report/page/page.hpp>
#include <whywait/report/page/treemap.hpp>
#include <whywait/report/text.hpp>

#include "../../page/special_results.hpp"
#include "../../temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <utime.h>

#include <cmath>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

namespace base = whywait::base;
namespace reports = whywait::reports;

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}
bool contains_text(const std::string& text, const std::string& word) { return occurrences(text, word) != 0; }

std::string island_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">\n";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

base::place place_at(const std::string& file, int line) {
  base::place p;
  p.file = file;
  p.line = line;
  return p;
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("the data of a page are the JSON document with 200 waits, whatever names a program has") {
  for (const auto& each : page_test::special_results()) {
    const std::string& name = each.first;
    const auto& result = each.second;
    CAPTURE(name);
    const std::string page = reports::page_of(result);
    nlohmann::json document = nlohmann::json::parse(reports::json_of(result));
    const std::size_t waits = document["waits"].size();
    while (document["waits"].size() > 200) document["waits"].erase(document["waits"].size() - 1);  // a line each instead
    CHECK((nlohmann::json::parse(island_of(page)) == document));
    CHECK(occurrences(page, "<article class=\"wait\"") == document["waits"].size());
    CHECK(occurrences(page, "<tr id=\"w") == waits - document["waits"].size());
    CHECK(occurrences(page, "<script") == 2);
    CHECK(occurrences(page, "</script") == 2);
    CHECK_FALSE(contains_text(page, "<img"));
    CHECK_FALSE(contains_text(page, "\x1b"));
    CHECK_FALSE(contains_text(page, "\x01"));
    CHECK(occurrences(page, "</html>") == 1);
    CHECK(page.size() < 3500000);
  }
}

TEST_CASE("the waits have a map if an operation has at least 1 % of the waiting") {
  for (const int operations : {100, 101}) {
    CAPTURE(operations);
    reports::result r = page_test::small_run(2);
    for (int line = 1; line <= operations; ++line) {
      reports::wait_entry w;
      w.seconds = 0.25;  // a power of 2, so that sums are exact
      w.count = 1;
      w.operation = place_at("halo.cpp", line);
      w.cause = place_at("halo.cpp", 1);
      page_test::add_wait(r, w);
    }
    const std::string page = reports::page_of(r);
    CHECK(contains_text(page, "<div class=\"map\"") == (operations == 100));
    CHECK(contains_text(page, "Each of the 101 operations that waited has less than 1 % of the waiting") ==
          (operations == 101));
  }
}

TEST_CASE("the page of more than 4,096 ranks leaves out the figures of each rank, the JSON file does not") {
  for (const int ranks : {4096, 4097}) {
    CAPTURE(ranks);
    reports::result r = page_test::small_run(ranks);
    page_test::add_figures(r, ranks);
    for (reports::mpi_time* t : {&r.files, &r.other_worlds}) t->ranks.push_back({3, 0, 0.5});
    r.not_understood.ranks.push_back({3, 0, 0.5});
    const nlohmann::json file = nlohmann::json::parse(reports::json_of(r));
    nlohmann::json data = nlohmann::json::parse(island_of(reports::page_of(r)));
    CHECK(file["ranks"]["seconds"].size() == static_cast<std::size_t>(ranks));
    CHECK((data == file) == (ranks == 4096));
    for (const auto& [name, column] : file["ranks"].items()) {
      CHECK(data["ranks"][name].size() == (ranks == 4096 ? column.size() : 0));
      data["ranks"][name] = column;
    }
    for (const char* const part : {"files", "other_worlds", "not_understood"}) {
      CHECK(data[part]["ranks"].size() == (ranks == 4096 ? 1 : 0));
      data[part]["ranks"] = file[part]["ranks"];
    }
    CHECK(data == file);
  }
}

TEST_CASE("regions and messages are shown in figures, with the files that ranks read and write") {
  reports::result r = page_test::small_run();
  page_test::add_figures(r, 4);
  r.ledger.seconds = 10;
  r.ledger.efficiency = {0.5, 0.8, 0.625, 0.9, 0.8, 0, 0, 0, 0};
  CHECK_FALSE(contains_text(reports::page_of(r), "<dt>files</dt>"));
  r.ledger.efficiency.files = 0.868;
  r.files.seconds = 4;
  r.files.calls.push_back({page_test::call_at("MPI_File_write", "dump", "dump.cpp", 3), 4, 1, 0});
  const std::string page = reports::page_of(r);
  for (const char* const words :
       {"<section id=\"regions\"", "<section id=\"messages\"", "<data value=\"0.4375\">44 %</data> <small>= ",
        "<data value=\"8\">8 bytes</data> to <data value=\"1048576\">1 MiB</data>", "<span>advect</span>",
        "<span>2026-11-24 15:04</span>", "<dt>files</dt><dd><b><data value=\"0.868\">87 %</data>",
        "10 % of rank time (4.00 s) is input and output: MPI_File_write (dump.cpp:3).", "inside itself: without other regions",
        "<summary>4 more</summary>"})
    CHECK_MESSAGE(contains_text(page, words), words);
}

TEST_CASE("a result of a program without MPI speaks of threads in text, JSON document and page, the next result of ranks") {
  for (const bool threads : {true, false, true}) {
    CAPTURE(threads);
    const std::string noun = threads ? "thread" : "rank", other = threads ? "rank 2" : "thread 2";
    reports::result r = page_test::small_run();
    r.run.threads_only = threads;
    if (threads) r.run.mpi_calls = 0;
    r.run.primitives = 12;
    r.run.waiting_seconds = 5;
    r.waits.push_back(page_test::wait_at(4, 5, "fill"));
    reports::verdict_entry v;
    v.claim = noun + " 2 takes 3.0 times as long as the others in fill: balancing it";
    v.block = "fill";
    v.rank = 2;
    v.ratio = 3;
    v.saving_seconds = 2;
    r.verdict.push_back(v);
    reports::text_options full;
    full.full = true;
    const std::string page = reports::page_of(r), data = nlohmann::json::parse(reports::json_of(r))["verdict"][0]["text"];
    for (const std::string& shown : {reports::text_of(r), reports::text_of(r, full), page, data}) {
      CHECK_MESSAGE(contains_text(shown, noun + " 2"), shown);
      CHECK_FALSE_MESSAGE(contains_text(shown, other), shown);
    }
    CHECK(contains_text(page, "<title>4 " + noun + "s "));
    r.run.origin.program = "/home/user/app";
    CHECK(contains_text(reports::page_of(r), "<title>app \xc2\xb7 4 " + noun + "s "));
    CHECK(contains_text(page, "<li><span>" + noun + " 0</span>"));
    CHECK(contains_text(page, "12 % of " + noun + " time is waiting"));
    CHECK_FALSE(contains_text(page, "No MPI calls were seen"));
  }
}

TEST_CASE("messages are counted by powers of two, and the empty ones between them are one row") {
  reports::profile all;
  const auto add = [&](const char* operation, std::initializer_list<reports::size_class> sizes) {
    reports::traffic_entry t;
    t.operation = operation;
    for (const reports::size_class& s : sizes) t.sizes.push_back(s);
    all.messages.push_back(t);
  };
  CHECK(reports::detail::rows_of_sizes(all).empty());
  add("send", {{0, 2, 0}, {8, 3, 30}});
  add("collective", {{4, 1, 5}, {8, 1, 8}});
  add("send", {{8, 4, 32}});
  add("receive", {});
  add("transfer", {{32, 1, 32}});
  std::string rows;
  for (const reports::detail::size_row& r : reports::detail::rows_of_sizes(all)) {
    rows += std::to_string(r.least_bytes) + "-" + std::to_string(r.end_bytes) + ":";
    for (const std::int64_t c : r.counts) rows += std::to_string(c) + ",";
    rows += std::to_string(r.bytes) + " ";
  }
  CHECK(rows == "0-1:2,0,0,0 1-4:0,0,0,0 4-8:0,1,0,5 8-16:7,1,0,70 16-32:0,0,0,0 32-64:0,0,1,32 ");
}

TEST_CASE("text of programs loses its markup and its control characters") {
  CHECK(reports::html_text("a<b>&\"'\n\x1b\xff\xe6\x97\xa5") == "a&lt;b&gt;&amp;&quot;&#39; ??\xe6\x97\xa5");
  std::string text;
  auto sink = [&text](const char* data, std::size_t size) { text.append(data, size); };
  reports::html_writer out{reports::json_sink(sink)};
  out.put("<p>$ $ $|$|$|$|$|$|$|$</p>", "<p>", std::string("$&"), reports::as_markup("<b>"),
          reports::as_figure(0.0189, "18.9 ms"), reports::as_count(1234567), reports::as_width(0.12345), reports::as_width(7),
          reports::as_width(NAN), 42, reports::as_time(NAN));
  out.put("<hr>");
  CHECK(text ==
        "<p>&lt;p&gt; $&amp; <b>|<data value=\"0.0189\">18.9 ms</data>|<data "
        "value=\"1234567\">1,234,567</data>|12.35%|100%|0%|42|"
        "unknown</p><hr>");
}

TEST_CASE("the tiles of a map fill it in proportion to their sizes and do not overlap") {
  for (std::size_t n = 1; n != 40; ++n) {
    CAPTURE(n);
    base::pod_vector<double> sizes;
    double sum = 0;
    for (std::size_t i = 0; i != n; ++i) sizes.push_back(100.0 / static_cast<double>((i + 1) * (1 + i % 3)));
    base::small_stable_sort(sizes, [](double a, double b) { return a > b; });
    for (const double s : sizes) sum += s;
    const base::pod_vector<reports::map_tile> tiles = reports::squarified(sizes, {0, 0, 2.2, 1});
    REQUIRE(tiles.size() == n);
    for (std::size_t i = 0; i != n; ++i) {
      const reports::map_tile& t = tiles[i];
      CHECK(t.width * t.height == doctest::Approx(2.2 * sizes[i] / sum).epsilon(1e-6));
      CHECK((t.x >= -1e-9 && t.y >= -1e-9 && t.x + t.width <= 2.2 + 1e-6 && t.y + t.height <= 1 + 1e-6));
      for (std::size_t k = 0; k != i; ++k) {
        const reports::map_tile& o = tiles[k];
        const double wide = std::min(t.x + t.width, o.x + o.width) - std::max(t.x, o.x);
        const double high = std::min(t.y + t.height, o.y + o.height) - std::max(t.y, o.y);
        CHECK((wide < 1e-6 || high < 1e-6));
      }
    }
  }
  CHECK(reports::squarified({}, {0, 0, 1, 1}).empty());
  const base::pod_vector<reports::map_tile> nothing = reports::squarified({0.0, 0.0}, {0, 0, 1, 1});
  CHECK(nothing.size() == 2);
}

TEST_CASE("excerpts of sources are found beside the program, each once, and marked if they are newer than it") {
  const temporary_folder folder;
  const std::string root = folder.path;
  ::mkdir((root + "/build").c_str(), 0700);
  ::mkdir((root + "/src").c_str(), 0700);
  const std::string program = root + "/build/app";
  std::string text;
  for (int line = 1; line <= 40; ++line) text += "line " + std::to_string(line) + (line == 20 ? " <b>&\t\x01" : "") + "\n";
  write_text(program, "x");
  write_text(root + "/src/halo.cpp", text);
  write_text(root + "/src/new.cpp", "one\ntwo");
  const utimbuf old{1000, 1000}, older{500, 500};
  ::utime(program.c_str(), &old);
  ::utime((root + "/src/halo.cpp").c_str(), &older);

  reports::source_book book(program.c_str());
  CHECK(book.of(place_at("src/halo.cpp", 20)) == 0);  // from the folder above that of the program
  CHECK(book.of(place_at("../src/halo.cpp", 20)) == 1);  // as a build tool names it, from the folder of the program
  CHECK(book.of(place_at(root + "/src/new.cpp", 2)) == 2);
  CHECK(book.of(place_at("src/halo.cpp", 20)) == 0);
  CHECK(book.of(place_at("src/halo.cpp", 41)) == -1);
  CHECK(book.of(place_at("src/halo.cpp", 0)) == -1);
  CHECK(book.of(place_at("", 3)) == -1);
  CHECK(book.of(place_at("src/none.cpp", 3)) == -1);
  CHECK(book.of(place_at(root + "/src", 1)) == -1);       // a folder
  CHECK(book.of(place_at("/dev/zero", 1)) == -1);         // not a regular file
  base::place range = place_at("src/halo.cpp", 38);
  range.last_line = 40;
  CHECK(book.of(range) == 3);

  std::string html;
  auto sink = [&html](const char* data, std::size_t size) { html.append(data, size); };
  reports::html_writer out{reports::json_sink(sink)};
  book.write(out);
  CHECK(contains_text(html, "<span><b>17</b>line 17</span>"));
  CHECK_FALSE(contains_text(html, "line 16<"));
  CHECK(contains_text(html, "<mark><b>20</b>line 20 &lt;b&gt;&amp; ?</mark>"));
  CHECK(contains_text(html, "<mark><b>40</b>line 40</mark>"));
  CHECK(contains_text(html, "<mark><b>2</b>two</mark>"));
  CHECK(occurrences(html, "changed after the program was built") == 1);
  CHECK(occurrences(html, "<figure id=\"s") == 4);
}

TEST_CASE("no more than 400 excerpts are kept") {
  const temporary_folder folder;
  const std::string path = folder.path + "/long.cpp";
  write_text(path, std::string(1000, '\n'));
  reports::source_book book("/nonexistent/program");
  for (int line = 1; line <= 400; ++line) REQUIRE(book.of(place_at(path, line)) == line - 1);
  CHECK(book.of(place_at(path, 401)) == -1);
  CHECK(book.of(place_at(path, 400)) == 399);
}

TEST_CASE("a page that cannot be written gives the reason and leaves no file") {
  const temporary_folder folder;
  const std::string missing = folder.path + "/none/x.html", good = folder.path + "/x.html";
  CHECK(reports::write_page_file(reports::result{}, missing) == "cannot write " + missing + ": No such file or directory");
  CHECK(reports::write_page_file(reports::result{}, good) == "");
  struct stat facts {};
  CHECK(::stat(good.c_str(), &facts) == 0);
  CHECK(::stat(missing.c_str(), &facts) != 0);
}

TEST_CASE("up to 16 ranks are a table of figures, more ranks a picture") {
  for (const std::int32_t ranks : {16, 17}) {
    CAPTURE(ranks);
    reports::result r = page_test::small_run(ranks);
    r.maps.run.ranks = ranks;
    r.maps.run.messages.push_back({2, 3, 12345, 1048576});
    const std::string page = reports::page_of(r);
    CHECK(contains_text(page, "<table class=\"matrix\">") == (ranks == 16));
    CHECK(contains_text(page, "<data value=\"12345\">12,345</data>") == (ranks == 16));
    CHECK(contains_text(page, "aria-label=\"Matrix;") == (ranks == 17));
  }
}

TEST_CASE("call sites and regions that are left out are counted on the page") {
  reports::result r = page_test::small_run();
  page_test::add_figures(r, 4);
  CHECK_FALSE(contains_text(reports::page_of(r), "call sites are left out"));
  r.profile.omitted_messages = 1234;
  r.profile.omitted_regions = 77;
  const std::string page = reports::page_of(r);
  CHECK(contains_text(page, "<data value=\"1234\">1,234</data> call sites are left out"));
  CHECK(contains_text(page, "<data value=\"77\">77</data> regions are left out"));
}

TEST_CASE("advice is shown with the description of its problem; a problem without advice is described once") {
  const auto page_with = [](const std::string& advice) {
    reports::result r = page_test::small_run();
    reports::wait_entry w = page_test::wait_at(0, 3, "advect");
    w.advice.push_back({"late_sender", advice, 2, "messages come late", 3, false, {}});
    page_test::add_wait(r, w);
    const std::string page = reports::page_of(r);
    return page.substr(0, page.find("<script type=\"application/json\""));
  };
  const std::string both = page_with("send earlier"), one = page_with("");
  CHECK(contains_text(both, "<p>send earlier</p>"));
  CHECK(contains_text(both, "</b> messages come late"));
  CHECK(contains_text(one, "<p>messages come late</p>"));
  CHECK_FALSE(contains_text(one, "</b> messages come late"));
}

TEST_CASE("bars of an explanation fit the longest side and the largest difference, of visits and speed together") {
  reports::wait_entry w;
  const auto add = [&w](double causer, double waiter, double visits, double speed) {
    reports::residual_entry e;
    e.causer_ns = static_cast<std::int64_t>(causer * 1e9);
    e.waiter_ns = static_cast<std::int64_t>(waiter * 1e9);
    e.visits_ns = static_cast<std::int64_t>(visits * 1e9);
    e.speed_ns = static_cast<std::int64_t>(speed * 1e9);
    w.residual.push_back(e);
  };
  add(4, 2, 3, -1);
  add(1, 7, -2, 1);
  const reports::detail::path_scale scale(w);
  CHECK(scale.side == doctest::Approx(7));
  CHECK(scale.difference == doctest::Approx(4));
  w.unexplained_seconds = -9;
  CHECK(reports::detail::path_scale(w).difference == doctest::Approx(9));
}

TEST_CASE("elements of a page are closed in the order in which they were opened") {
  const std::string names = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (const auto& each : page_test::special_results()) {
    CAPTURE(each.first);
    const std::string page = reports::page_of(each.second);
    std::vector<std::string> open;
    std::string wrong;
    for (std::size_t at = page.find('<'); at != std::string::npos && wrong.empty(); at = page.find('<', at + 1)) {
      if (page[at + 1] == '!') continue;
      const bool closes = page[at + 1] == '/';
      const std::size_t begin = at + (closes ? 2 : 1), end = page.find_first_not_of(names, begin), last = page.find('>', end);
      const std::string name = page.substr(begin, end - begin);
      if (closes) {
        if (open.empty() || open.back() != name) wrong = "</" + name + "> at " + page.substr(at < 60 ? 0 : at - 60, 70);
        else open.pop_back();
        continue;
      }
      if (page[last - 1] == '/' || name == "meta" || name == "link" || name == "input" || name == "br" || name == "hr")
        continue;
      open.push_back(name);
      if (name == "script" || name == "style") at = page.find("</" + name, last) - 1;  // text
    }
    CHECK_MESSAGE(wrong.empty(), wrong);
    CHECK(open.empty());
  }
}
