#include <whywait/core/site.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace whywait::core;

namespace {

// Tables are never released, because they belong to a process.
site_table& new_table() {
  auto* const table = new (map_pages(sizeof(site_table), false)) site_table();
  REQUIRE(table->open());
  return *table;
}

}  // namespace

TEST_CASE("a site has one number for all callers, and its names are copies") {
  site_table& sites = new_table();
  std::string name = "region", file = "dir/file.cpp";
  const std::uint32_t id = sites.intern(site_kind::region, name.c_str(), file.c_str(), 12);
  CHECK(id > site_table::overflow);
  name[0] = file[0] = 'X';
  CHECK(std::string(sites[id].name) == "region");
  CHECK(std::string(sites[id].file) == "dir/file.cpp");
  CHECK(sites[id].line == 12);
  CHECK(sites[id].kind == site_kind::region);
  CHECK(sites.intern(site_kind::region, "region", "dir/file.cpp", 12) == id);
  CHECK(sites.intern(site_kind::region, "region", "elsewhere/file.cpp", 12) == id);  // built in another directory
  CHECK(sites.size() == id + 1);
}

TEST_CASE("name, file, line and kind each make another site") {
  site_table& sites = new_table();
  const std::uint32_t id = sites.intern(site_kind::region, "a", "f.cpp", 1);
  CHECK(sites.intern(site_kind::region, "b", "f.cpp", 1) != id);
  CHECK(sites.intern(site_kind::region, "a", "g.cpp", 1) != id);
  CHECK(sites.intern(site_kind::region, "a", "f.cpp", 2) != id);
  CHECK(sites.intern(site_kind::step, "a", "f.cpp", 1) != id);
}

TEST_CASE("null names are empty names, and the null site has one as well") {
  site_table& sites = new_table();
  const std::uint32_t id = sites.intern(site_kind::region, nullptr, nullptr, 0);
  CHECK(std::string(sites[id].name).empty());
  CHECK(sites.intern(site_kind::region, "", "", 0) == id);
  CHECK(std::string(sites[0].name).empty());
  CHECK(std::string(sites[0].file).empty());
}

TEST_CASE("names longer than a page are kept whole") {
  site_table& sites = new_table();
  const std::string longer(200'000, 'n');
  const std::uint32_t id = sites.intern(site_kind::region, longer.c_str(), "f.cpp", 1);
  CHECK(longer == sites[id].name);
  const std::uint32_t next = sites.intern(site_kind::region, "short", "f.cpp", 1);
  CHECK(std::string(sites[next].name) == "short");
}

TEST_CASE("beyond the capacity all further sites share one number, known ones keep theirs") {
  site_table& sites = new_table();
  const std::uint32_t first = sites.intern(site_kind::region, "first", "f.cpp", 1);
  std::uint32_t line = 0;
  while (sites.size() < site_table::capacity) sites.intern(site_kind::region, "many", "f.cpp", ++line);
  CHECK(sites.intern(site_kind::region, "one more", "f.cpp", 1) == site_table::overflow);
  CHECK(sites.intern(site_kind::region, "and another", "f.cpp", 1) == site_table::overflow);
  CHECK(sites.intern(site_kind::region, "first", "f.cpp", 1) == first);
  CHECK(std::string(sites[site_table::overflow].name) == "(more than 65534 sites)");
}

TEST_CASE("threads that meet the same new sites agree on their numbers") {
  site_table& sites = new_table();
  constexpr std::uint32_t count = 2000;
  std::vector<std::vector<std::uint32_t>> found(3, std::vector<std::uint32_t>(count));
  std::vector<std::thread> threads;
  for (auto& mine : found)
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < count; ++i) mine[i] = sites.intern(site_kind::region, "shared", "f.cpp", i);
    });
  for (std::thread& each : threads) each.join();
  CHECK(found[0] == found[1]);
  CHECK(found[1] == found[2]);
  CHECK(sites.size() == 2 + count);
}

TEST_CASE("the copy of a table of a process that is gone has its sites, of every kind") {
  site_table& there = new_table();
  const site_kind kinds[] = {site_kind::region, site_kind::step, site_kind::waiting};
  std::vector<std::uint32_t> ids;
  for (const site_kind kind : kinds)
    ids.push_back(there.intern(kind, "name", "dir/file.cpp", 7 + static_cast<std::uint32_t>(ids.size())));
  auto* const copy = static_cast<site_table*>(map_pages(sizeof(site_table), false));
  std::memcpy(static_cast<void*>(copy), &there, sizeof(site_table));
  struct same_memory {
    std::uint64_t room(const site_info*) const { return 1000; }
    const site_info* find(const site_info* at, std::uint64_t) const { return at; }
    const char* text(const char* at) const { return at; }
  };
  std::vector<site_info> own;
  copy->adopt(same_memory(), own);
  REQUIRE(copy->size() == there.size());
  for (std::size_t i = 0; i != ids.size(); ++i) {
    CAPTURE(i);
    const site_info& read = (*copy)[ids[i]];
    CHECK(read.kind == kinds[i]);
    CHECK(std::string(read.name) == "name");
    CHECK(read.line == 7 + i);
    CHECK(read.key == there[ids[i]].key);
  }
}
