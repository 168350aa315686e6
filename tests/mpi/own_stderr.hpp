#ifndef WHYWAIT_TESTS_MPI_OWN_STDERR_HPP
#define WHYWAIT_TESTS_MPI_OWN_STDERR_HPP

#include <fcntl.h>
#include <unistd.h>

/// Redirects standard error of the process to this file. A launcher whose program aborts may end before it has read the
/// last output (MPICH on a busy machine).
inline void own_stderr(const char* name) {
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || dup2(file, 2) < 0) _exit(99);
  close(file);
}

#endif
