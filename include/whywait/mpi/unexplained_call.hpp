#ifndef WHYWAIT_MPI_UNEXPLAINED_CALL_HPP
#define WHYWAIT_MPI_UNEXPLAINED_CALL_HPP

#include <whywait/mpi/call.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// One call of the role `unexplained` while it lasts: two clock readings and one record without a message. Its call site
/// counts it and adds up its time. Not inlined, so that each of the many wrappers consists of three calls. About 40 ns.
class unexplained_call {
 public:
  __attribute__((noinline)) unexplained_call(core::mpi_call what, const caller& from) noexcept : here_(what, from) {
    if (!here_) return;
    here_.begin();
  }
  __attribute__((noinline)) ~unexplained_call() {
    if (!here_) return;
    here_.leave();
    core::sync_record* const r = here_.store(0, 0);
    if (r == nullptr) return;
    r->comm = communicator_table::none;
    here_.finish();
  }
  unexplained_call(const unexplained_call&) = delete;
  unexplained_call& operator=(const unexplained_call&) = delete;

 private:
  call here_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
