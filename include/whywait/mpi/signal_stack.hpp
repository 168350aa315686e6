#ifndef WHYWAIT_MPI_SIGNAL_STACK_HPP
#define WHYWAIT_MPI_SIGNAL_STACK_HPP

#include <whywait/core/pages.hpp>

#include <signal.h>
#include <stddef.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The stack on which the handler of a fatal signal runs after a stack overflow. A thread gets one if it has none. All functions
/// are for the thread itself.
class signal_stack {
 public:
  void set() noexcept {
    stack_t now;
    if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;  // one of the program
    if (pages_ == nullptr) pages_ = core::map_pages(bytes, false);
    if (pages_ == nullptr) return;
    stack_t own{};
    own.ss_sp = pages_;
    own.ss_size = bytes;
    sigaltstack(&own, nullptr);
  }

  /// The pages remain: a later thread that continues the records uses them.
  void reset() noexcept {
    stack_t now;
    if (pages_ == nullptr || sigaltstack(nullptr, &now) != 0 || now.ss_sp != pages_ || now.ss_flags != 0) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }

 private:
  static constexpr size_t bytes = size_t(1) << 16;  // the last words need 20 KiB with AVX-512
  void* pages_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
