#ifndef WHYWAIT_TESTS_MPI_OWN_STDERR_HPP
#define WHYWAIT_TESTS_MPI_OWN_STDERR_HPP

#include <fcntl.h>
#include <unistd.h>

/// From here on what the process says on standard error is in this file: a launcher whose program aborts may end before
/// it has read what was said last (MPICH's does so on a busy machine).
inline void own_stderr(const char* name) {
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || dup2(file, 2) < 0) _exit(99);
  close(file);
}

#endif
