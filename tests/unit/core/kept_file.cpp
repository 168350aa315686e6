#include <whywait/core/event_buffer.hpp>
#include <whywait/core/kept_file.hpp>

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../../temporary_folder.hpp"

using namespace whywait::core;

namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The bytes at `address` in the process that wrote the file; empty if they were not kept.
std::string bytes_at(const std::string& file, const void* address, std::size_t bytes) {
  kept_header header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const std::uint64_t wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::uint32_t i = 0; i < header.log.count && i < kept_header::extents; ++i) {
    const kept_extent& e = header.first_extents[i];
    if (wanted >= e.address && wanted + bytes <= e.address + e.bytes)
      return file.substr(e.offset + (wanted - e.address), bytes);
  }
  return {};
}

/// Runs `work` in a child that then kills itself; returns whether it reached that point.
template <class Work>
bool dies_after(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace

TEST_CASE("the content of kept pages is in the file after SIGKILL, and other pages are not") {
  temporary_folder here;
  char* const pages = static_cast<char*>(map_pages(3 * 4096, false));
  REQUIRE(pages != nullptr);
  REQUIRE(dies_after([&] {
    kept_file file;
    if (!file.open(here.path.c_str(), true, true)) _exit(2);
    file.keep(pages + 4096, 4096);
    std::strcpy(pages + 100, "not kept");
    std::strcpy(pages + 4096 + 100, "kept");
  }));
  REQUIRE(here.files().size() == 1);
  const std::string file = read_all(here.path + "/" + here.files()[0]);
  CHECK(std::memcmp(file.data(), kept_magic, sizeof kept_magic) == 0);
  CHECK(bytes_at(file, pages + 4096 + 100, 5) == std::string("kept", 5));
  CHECK(bytes_at(file, pages + 100, 9).empty());
  CHECK(file.find("not kept") == std::string::npos);
  unmap_pages(pages, 3 * 4096);
}

TEST_CASE("a normal end leaves no file, and a file that cannot be made is refused") {
  temporary_folder here;
  kept_file file;
  REQUIRE(file.open(here.path.c_str(), true, true));
  CHECK(file.is_open());
  CHECK(here.files().size() == 1);
  file.remove();
  CHECK(!file.is_open());
  CHECK(here.files().empty());

  kept_file nowhere;
  CHECK(!nowhere.open("/nonexistent/folder", true, false));
  CHECK(!nowhere.is_open());
  char* const pages = static_cast<char*>(map_pages(4096, false));
  nowhere.keep(pages, 4096);  // no effect
  pages[0] = 1;
  unmap_pages(pages, 4096);
}

TEST_CASE("memory that fills from its begin is kept step by step, that of an array by site as sites are added") {
  temporary_folder here;
  constexpr std::size_t reserved = 1 << 20;
  char* const fills = static_cast<char*>(map_pages(reserved, false));
  std::uint64_t* const by_site = static_cast<std::uint64_t*>(map_pages(sizeof(std::uint64_t) * 65536, false));
  REQUIRE(dies_after([&] {
    kept_file file;
    if (!file.open(here.path.c_str(), true, true)) _exit(2);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < reserved; i += 5000) {
      file.keep_up_to(fills, i + 1, kept, 8192, reserved);
      if (kept < i + 1 || kept > reserved) _exit(3);
      fills[i] = static_cast<char>(1 + i % 100);
    }
    file.keep_by_site(by_site, 0, sizeof(std::uint64_t));
    for (std::uint32_t i = 0; i < 5000; ++i) {
      file.grow_sites(i + 1);
      by_site[i] = i * 3;
    }
  }));
  const std::string file = read_all(here.path + "/" + here.files().at(0));
  for (std::size_t i = 0; i < reserved; i += 5000)
    REQUIRE(bytes_at(file, fills + i, 1) == std::string(1, static_cast<char>(1 + i % 100)));
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::uint64_t value = i * 3;
    REQUIRE(bytes_at(file, by_site + i, 8) == std::string(reinterpret_cast<const char*>(&value), 8));
  }
  CHECK(bytes_at(file, by_site + 60000, 8).empty());
  unmap_pages(fills, reserved);
  unmap_pages(by_site, sizeof(std::uint64_t) * 65536);
}

TEST_CASE("if the file cannot grow, memory continues without it") {
  temporary_folder here;
  REQUIRE(dies_after([&] {
    const int quiet = ::open("/dev/null", O_WRONLY);
    dup2(quiet, 2);
    rlimit small{1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &small);  // a write beyond the limit would raise SIGXFSZ
    kept_file file;
    if (!file.open(here.path.c_str(), true, true)) _exit(2);
    char* const first = static_cast<char*>(map_pages(8192, false));
    file.keep(first, 8192);
    char* const second = static_cast<char*>(map_pages(1 << 20, false));
    file.keep(second, 1 << 20);
    std::memset(second, 1, 1 << 20);
    if (file.header()->stopped != EFBIG) _exit(3);
    char* const third = static_cast<char*>(map_pages(4096, false));
    file.keep(third, 4096);  // would fit, but the file would no longer hold a prefix
    std::strcpy(third, "too late");
    std::strcpy(first, "in time");
  }));
  const std::string file = read_all(here.path + "/" + here.files().at(0));
  CHECK(file.size() <= (1 << 16));
  CHECK(file.find("in time") != std::string::npos);
  CHECK(file.find("too late") == std::string::npos);
}

TEST_CASE("released pages make room for others") {
  temporary_folder here;
  kept_file file;
  REQUIRE(file.open(here.path.c_str(), true, true));
  struct stat before, after;
  for (int round = 0; round < 50; ++round) {
    char* const pages = static_cast<char*>(map_pages(1 << 16, false));
    file.keep(pages, 1 << 16);
    bool zero = true;
    for (int i = 0; i < (1 << 16); ++i) zero = zero && pages[i] == 0;
    CHECK(zero);
    std::memset(pages, 7, 1 << 16);
    file.forget(pages);
    unmap_pages(pages, 1 << 16);
    if (round == 0) REQUIRE(stat(file.name(), &before) == 0);
  }
  REQUIRE(stat(file.name(), &after) == 0);
  CHECK(after.st_size == before.st_size);
  file.remove();
}

TEST_CASE("a file with more pieces than its first log holds all of them") {
  temporary_folder here;
  kept_file file;
  REQUIRE(file.open(here.path.c_str(), true, true));
  constexpr int pieces = 3000;
  char* const pages = static_cast<char*>(map_pages(4096 * pieces, false));
  for (int i = pieces; i-- > 0;) file.keep(pages + 4096 * i, 4096);  // in reverse order, so that no two pieces merge
  CHECK(file.header()->log.count == kept_header::extents);
  CHECK(file.header()->log.next != 0);
  CHECK(file.header()->stopped == 0);
  file.remove();
  unmap_pages(pages, 4096 * pieces);
}

TEST_CASE("an event buffer's chunks are kept, and the memory budget holds") {
  temporary_folder here;
  kept_file file;
  REQUIRE(file.open(here.path.c_str(), true, true));
  memory_budget budget;
  budget.keep_in(&file);
  budget.limit(3 * 65536);
  event_buffer<std::uint64_t> buffer;
  REQUIRE(buffer.open(budget));
  for (std::uint64_t i = 0; i < 100'000; ++i) buffer.push(i * 7);
  const std::uint64_t kept = 3 * decltype(buffer)::chunk_events;
  CHECK(buffer.size() == kept);
  CHECK(buffer.counts().recorded == 100'000);
  CHECK(buffer.dropped() == 100'000 - kept);
  const std::string content = read_all(file.name());
  for (std::uint64_t i = 0; i < kept; i += 1000) {
    const std::uint64_t value = i * 7;
    REQUIRE(bytes_at(content, &buffer[i], 8) == std::string(reinterpret_cast<const char*>(&value), 8));
  }
  const std::uint64_t once = content.size();
  buffer.release();
  REQUIRE(buffer.open(budget));
  for (std::uint64_t i = 0; i < 100'000; ++i) buffer.push(i);
  CHECK(read_all(file.name()).size() == once);
  buffer.release();
  file.remove();
}

TEST_CASE("a forked child has the same content for itself and never writes its parent's file") {
  temporary_folder here;
  kept_file file;
  REQUIRE(file.open(here.path.c_str(), true, true));
  char* const pages = static_cast<char*>(map_pages(8192, false));
  file.keep(pages, 8192);
  std::strcpy(pages, "parent");
  const pid_t child = fork();
  if (child == 0) {
    file.leave_to_parent();
    const bool same = std::strcmp(pages, "parent") == 0 && !file.is_open();
    std::strcpy(pages, "child!");
    std::strcpy(pages + 4096, "child!");
    file.remove();
    _exit(same ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(std::strcmp(pages, "parent") == 0);
  CHECK(pages[4096] == 0);
  CHECK(here.files().size() == 1);
  CHECK(flock(::open(file.name(), O_RDONLY), LOCK_EX | LOCK_NB) != 0);  // still locked by its owner
  file.remove();
  unmap_pages(pages, 8192);
}
