// XRay of clang in flight-data-recorder mode. Calls a patched function; the buffers in memory are read outside the
// measured time. By default it discards functions shorter than 5 us; the threshold 0 keeps them. No record may be lost.
#include "../harness.hpp"

#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>

extern "C" void whywait_xray_region();

namespace {

std::uint64_t called = 0, recorded = 0;
bool broken = false;

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) whywait_xray_region();
  called += times;
}

// The buffer begins with the file header. Function records have 8 bytes, other records 16 and the lowest bit set.
void count(const char*, XRayBuffer buffer) {
  static const void* header = nullptr;
  const auto* const bytes = static_cast<const unsigned char*>(buffer.Data);
  if (header == nullptr) header = bytes;
  if (header == bytes) return;
  for (std::size_t i = 0; i < buffer.Size; i += (bytes[i] & 1) != 0 ? 16 : 8) recorded += (bytes[i] & 1) == 0;
}

void begin() {
  const XRayLogInitStatus status =
      __xray_log_init_mode("xray-fdr", "func_duration_threshold_us=0:buffer_size=1048576:buffer_max=4:no_file_flush=true");
  if (status != XRAY_LOG_INITIALIZED) broken = true;
}

void read_back() {
  if (__xray_log_finalize() != XRAY_LOG_FINALIZED) broken = true;
  if (__xray_log_process_buffers(count) != XRAY_LOG_FLUSHED) broken = true;
  if (__xray_log_flushLog() != XRAY_LOG_FLUSHED) broken = true;
  begin();
}

}  // namespace

int main(int argc, char** argv) {
  if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK) return std::fprintf(stderr, "no flight data recorder\n"), 1;
  begin();
  if (__xray_patch() != SUCCESS) return std::fprintf(stderr, "XRay could not patch\n"), 1;
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("xray", region, 2000, read_back);
  const int result = rows.main(argc, argv);
  if (broken || recorded != 2 * called)
    return std::fprintf(stderr, "XRay has %" PRIu64 " records of %" PRIu64 " calls\n", recorded, called), 1;
  return result;
}
