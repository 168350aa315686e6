#ifndef WHYWAIT_NVTX_HPP
#define WHYWAIT_NVTX_HPP

/// Ranges of NVTX (NVIDIA's marks) as regions of whywait: include it instead of <nvtx3/nvToolsExt.h> or <nvtx3/nvtx3.hpp>. Pushed
/// and popped ranges, scoped ranges and function ranges are regions; marks and ranges that nvtxRangeStart begins, which need not
/// nest, count as visits of a step. Colours, categories and payloads are ignored. Nothing of NVIDIA is needed.
///
///     nvtxRangePushA("assemble");  ...  nvtxRangePop();
///     nvtx3::scoped_range r{"solve"};
///     NVTX3_FUNC_RANGE();

#if defined(NVTX_VERSION) || defined(NVTX3_CPP_DEFINITIONS_V1_0)
#error "include <whywait/nvtx.hpp> instead of the headers of NVTX"
#endif

#include <whywait/record.hpp>
#include <whywait/record/named_ranges.hpp>

#include <stdint.h>

#define NVTX_VERSION 3

using nvtxRangeId_t = uint64_t;

/// The attributes of which only an ASCII message is used.
struct nvtxEventAttributes_t {
  uint16_t version = 3, size = 48;
  uint32_t category = 0;
  int32_t colorType = 0;
  uint32_t color = 0;
  int32_t payloadType = 0, reserved0 = 0;
  union {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
  } payload = {0};
  int32_t messageType = 0;
  union {
    const char* ascii;
    const wchar_t* unicode;
  } message = {nullptr};
};
constexpr uint16_t NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t);
constexpr int32_t NVTX_MESSAGE_TYPE_ASCII = 1;
constexpr int32_t NVTX_COLOR_ARGB = 1;

/// Returns the depth of the new range as NVTX does, from 0.
inline int nvtxRangePushA(const char* name) { return whywait::record::named_ranges::begin(name, "nvtx"); }
inline int nvtxRangePushEx(const nvtxEventAttributes_t* what) {
  return nvtxRangePushA(what != nullptr && what->messageType == NVTX_MESSAGE_TYPE_ASCII ? what->message.ascii : nullptr);
}
/// Returns the depth of the range that ends, -1 if none was begun.
inline int nvtxRangePop() { return whywait::record::named_ranges::end(); }
inline void nvtxMarkA(const char* name) { whywait::visit(name != nullptr ? name : "(unnamed)", "nvtx", 0); }
inline nvtxRangeId_t nvtxRangeStartA(const char* name) {
  nvtxMarkA(name);
  return 0;
}
inline void nvtxRangeEnd(nvtxRangeId_t) {}
#define nvtxRangePush nvtxRangePushA
#define nvtxMark nvtxMarkA
#define nvtxRangeStart nvtxRangeStartA

namespace nvtx3 {

/// A range to the end of the scope.
class scoped_range {
 public:
  explicit scoped_range(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept
      : region_(name, file, line) {}
  scoped_range(const scoped_range&) = delete;
  scoped_range& operator=(const scoped_range&) = delete;

 private:
  const whywait::region region_;
};
inline void mark(const char* name) { nvtxMarkA(name); }

}  // namespace nvtx3

#define NVTX3_FUNC_RANGE() const ::nvtx3::scoped_range nvtx3_func_range__(__func__)

#endif
