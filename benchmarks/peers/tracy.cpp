// Tracy, ZoneScopedN: on demand and not connected (`tracy_idle`), or as it is by default, keeping all (`tracy`).
#include "../harness.hpp"

#include <tracy/Tracy.hpp>

namespace {

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    ZoneScopedN("tracy");
  }
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
  return rows.main(argc, argv);
}
