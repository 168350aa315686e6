#ifndef WHYWAIT_MPI_FAILURE_HPP
#define WHYWAIT_MPI_FAILURE_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// A failure of one rank, sent to all ranks. Plain and of fixed size, because it is sent and stored when memory is short.
struct failure {
  int32_t rank = -1;  ///< in MPI_COMM_WORLD; -1: nothing went wrong
  char text[252] = "";  ///< "rank 3: std::bad_alloc", cut

  explicit operator bool() const noexcept { return rank >= 0; }

  static failure of(int32_t rank, const char* reason) noexcept {
    failure f;
    f.rank = rank;
    char digits[12];
    char* number = digits + sizeof digits - 1;
    *number = '\0';
    uint32_t rest = static_cast<uint32_t>(rank);
    do *--number = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    uint64_t length = 0;
    const char* const parts[] = {"rank ", number, ": ", reason};
    for (const char* part : parts)
      for (; *part != '\0' && length + 1 < sizeof f.text; ++part) f.text[length++] = *part;
    f.text[length] = '\0';
    return f;
  }
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
