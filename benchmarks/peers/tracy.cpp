// Tracy, ZoneScopedN: on demand and not connected (`tracy_idle`), or as it is by default, keeping all (`tracy`).
#include "../harness.hpp"

#include <tracy/Tracy.hpp>

#include <unistd.h>

namespace {

std::uint64_t regions = 0;

std::uint64_t resident() {  // not ru_maxrss, which begins with that of the process that started this one
  unsigned long all = 0, pages = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu %lu", &all, &pages) != 2) return std::perror("/proc/self/statm"), std::exit(1), 0;
  std::fclose(file);
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    ZoneScopedN("tracy");
  }
  regions += times;
}

}  // namespace

int main(int argc, char** argv) {
  harness::table rows;
  rows.add("floor", harness::floor);
#ifdef TRACY_ON_DEMAND
  rows.add("tracy_idle", region);
#else
  rows.add("tracy", region);
#endif
  const std::uint64_t before = resident();
  const int result = rows.main(argc, argv);
#ifndef TRACY_ON_DEMAND
  if (const std::uint64_t grown = resident() - before; grown < regions * 64)  // two queue items of 32 bytes
    return std::fprintf(stderr, "Tracy grew by %" PRIu64 " bytes for %" PRIu64 " regions\n", grown, regions), 1;
#endif
  return result;
}
