// spall.h with a buffer of 64 KiB and a writer that counts the bytes and discards them.
#include "../harness.hpp"

#include <spall.h>

namespace {

SpallProfile profile;
SpallBuffer buffer;

std::uint64_t regions = 0, bytes = 0;

bool discard(SpallProfile*, const void*, size_t size) {
  bytes += size;
  return true;
}
bool nothing(SpallProfile*) { return true; }
void close(SpallProfile*) {}

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    spall_buffer_begin(&profile, &buffer, "spall", 5, harness::counter());
    harness::barrier();
    spall_buffer_end(&profile, &buffer, harness::counter());
  }
  regions += times;
}

}  // namespace

int main(int argc, char** argv) {
  static char memory[1 << 16];
  spall_init_callbacks(1.0, discard, nothing, close, nullptr, &profile);
  buffer.data = memory;
  buffer.length = sizeof memory;
  spall_buffer_init(&profile, &buffer);
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("spall", region);
  bytes = 0;  // what opening has written
  const int result = rows.main(argc, argv);
  spall_buffer_flush(&profile, &buffer);
  if (bytes < regions * (sizeof(SpallBeginEvent) + 5 + sizeof(SpallEndEvent)))
    return std::fprintf(stderr, "spall wrote %" PRIu64 " bytes for %" PRIu64 " regions\n", bytes, regions), 1;
  return result;
}
