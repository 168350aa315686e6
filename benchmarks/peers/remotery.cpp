// Remotery, rmt_ScopedCPUSample, without a viewer; its own thread hands each tree of samples to a function that counts.
// It listens on the loopback interface only.
#include "../harness.hpp"

#include <Remotery.h>

#include <atomic>
#include <unistd.h>

namespace {

std::uint64_t regions = 0;
std::atomic<std::uint64_t> trees{0};

void count(void*, rmtSampleTree*) { trees.fetch_add(1, std::memory_order_relaxed); }

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    rmt_ScopedCPUSample(remotery, 0);
  }
  regions += times;
}

}  // namespace

int main(int argc, char** argv) {
  rmt_Settings()->limit_connections_to_localhost = RMT_TRUE;
  rmt_Settings()->sampletree_handler = count;
  Remotery* instance = nullptr;
  if (rmt_CreateGlobalInstance(&instance) != RMT_ERROR_NONE) return 1;
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("remotery", region, 500, [] { usleep(10000); });  // else its queue is full
  const int result = rows.main(argc, argv);
  rmt_DestroyGlobalInstance(instance);
  if (trees < regions)  // its own thread has samples, too
    return std::fprintf(stderr, "Remotery kept %" PRIu64 " of %" PRIu64 " samples\n", trees.load(), regions), 1;
  return result;
}
