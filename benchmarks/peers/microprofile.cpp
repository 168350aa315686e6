// microprofile 4.0 in Debian's configuration. MICROPROFILE_SCOPE writes into the thread's buffer of 2 MiB, and
// MicroProfileFlip sums it up outside the measured time. Recorded scopes show up in a frame five frames later.
#include "../harness.hpp"

#include <microprofile.h>

MICROPROFILE_DEFINE(place, "benchmark", "microprofile", 0);

namespace {

std::uint64_t frames = 0, empty = 0;

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    MICROPROFILE_SCOPE(place);
  }
}

void flip() {
  MicroProfileFlip(nullptr);
  if (++frames > 10 && !(MicroProfileGetTime("benchmark", "microprofile") > 0)) ++empty;
}

}  // namespace

int main(int argc, char** argv) {
  // Its web server cannot be restricted to the loopback interface, so the process gets a namespace without a network.
  if (unshare(CLONE_NEWNET) != 0) return std::perror("microprofile is run as root only, without a network: unshare"), 1;
  MicroProfileOnThreadCreate("main");
  MicroProfileSetEnableAllGroups(true);
  for (int i = 0; i < 10; ++i) {
    region(10);
    flip();
  }
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("microprofile", region, 2000, flip);
  const int result = rows.main(argc, argv);
  if (empty != 0)
    return std::fprintf(stderr, "microprofile recorded nothing in %" PRIu64 " of %" PRIu64 " batches\n", empty, frames), 1;
  return result;
}
