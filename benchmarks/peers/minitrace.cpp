// minitrace, MTR_SCOPE; its buffer of a million events is flushed outside the time.
#include "../harness.hpp"

#include <minitrace.h>

namespace {

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    MTR_SCOPE("benchmark", "minitrace");
  }
}
void flush() { mtr_flush(); }

}  // namespace

int main(int argc, char** argv) {
  mtr_init("/dev/null");
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("minitrace", region, 2000, flush);
  return rows.main(argc, argv);
}
