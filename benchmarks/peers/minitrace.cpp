// minitrace, MTR_SCOPE; its buffer of a million events is flushed outside the time into a
// stream that counts lines.
#include "../harness.hpp"

#include <minitrace.h>

#include <sys/types.h>

namespace {

std::uint64_t regions = 0, lines = 0;

ssize_t count(void*, const char* text, size_t size) {
  lines += static_cast<std::uint64_t>(std::count(text, text + size, '\n'));
  return static_cast<ssize_t>(size);
}

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    MTR_SCOPE("benchmark", "minitrace");
  }
  regions += times;
}
void flush() { mtr_flush(); }

}  // namespace

int main(int argc, char** argv) {
  FILE* const out = fopencookie(nullptr, "w", cookie_io_functions_t{nullptr, count, nullptr, nullptr});
  if (out == nullptr) return std::perror("fopencookie"), 1;
  mtr_init_from_stream(out);
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("minitrace", region, 2000, flush);
  const int result = rows.main(argc, argv);
  mtr_shutdown();
  if (lines < regions)
    return std::fprintf(stderr, "minitrace wrote %" PRIu64 " lines for %" PRIu64 " regions\n", lines, regions), 1;
  return result;
}
