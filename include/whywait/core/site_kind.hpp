#ifndef WHYWAIT_CORE_SITE_KIND_HPP
#define WHYWAIT_CORE_SITE_KIND_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// The kind of a marked place in the program.
enum class site_kind : uint8_t { none, region, step, waiting };

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
