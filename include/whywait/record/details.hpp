#ifndef WHYWAIT_RECORD_DETAILS_HPP
#define WHYWAIT_RECORD_DETAILS_HPP

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

struct location;

/// Callbacks for more of a thread's marks than its path profile (kept_details.hpp), called before the path recorder.
/// Pointers, so that files with marks need not include the implementation.
struct details {
  void (*enter)(location&, uint32_t number, uint64_t now) noexcept;
  void (*leave)(location&, uint64_t now) noexcept;
  void (*next)(location&, uint32_t number, uint64_t now) noexcept;
  void (*visit)(location&, uint32_t number) noexcept;
  void (*append)(location&, uint32_t number) noexcept;  ///< a visit that only the order keeps
  bool ordered;  ///< the order of visits is kept
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
