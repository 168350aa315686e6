// palanteer, plScope, storing in a file.
#define USE_PL 1
#define PL_IMPLEMENTATION 1
#define PL_IMPL_CATCH_SIGNALS 0
#include <palanteer.h>

#include "../harness.hpp"

namespace {

std::uint64_t regions = 0;

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    plScope("palanteer");
  }
  regions += times;
}

}  // namespace

int main(int argc, char** argv) {
  plSetFilename("/dev/null");
  plInitAndStart("benchmark", PL_MODE_STORE_IN_FILE);
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("palanteer", region, 2000, [] { usleep(2000); });  // its own thread empties the buffer
  const int result = rows.main(argc, argv);
  plStopAndUninit();
  const std::uint64_t sent = plGetStats().sentEventQty;
  if (sent < 2 * regions)
    return std::fprintf(stderr, "palanteer stored %" PRIu64 " of %" PRIu64 " events\n", sent, 2 * regions), 1;
  return result;
}
