// Remotery, rmt_ScopedCPUSample, without a viewer.
#include "../harness.hpp"

#include <Remotery.h>

#include <unistd.h>

namespace {

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    rmt_ScopedCPUSample(remotery, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Remotery* instance = nullptr;
  if (rmt_CreateGlobalInstance(&instance) != RMT_ERROR_NONE) return 1;
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("remotery", region, 1000, [] { usleep(2000); });
  const int result = rows.main(argc, argv);
  rmt_DestroyGlobalInstance(instance);
  return result;
}
