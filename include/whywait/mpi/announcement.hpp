#ifndef WHYWAIT_MPI_ANNOUNCEMENT_HPP
#define WHYWAIT_MPI_ANNOUNCEMENT_HPP

#include <whywait/core/kept_layout.hpp>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Lets processes of one job on one machine find out which of them contain whywait, without a message: one without whywait
/// would never answer, and a message to it could meet one of its own receives. Each process makes a small file before
/// MPI_Init, in which all processes meet; afterwards the files are there, or their process has no whywait. Works with the
/// launchers of Open MPI and MPICH, which give the number of processes to each of them; elsewhere `is_known` is false.
class announcement {
 public:
  /// Before MPI_Init.
  void make() noexcept {
    if (!find_job()) return;
    name_file(path_, local_rank_);
    const int file = ::open(path_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    char text[24];
    const int length = snprintf(text, sizeof text, "%ld", static_cast<long>(getpid()));
    made_ = length > 0 && ::write(file, text, static_cast<size_t>(length)) == length;
    ::close(file);
  }

  bool is_known() const noexcept { return made_; }
  int local_ranks() const noexcept { return local_ranks_; }
  /// After MPI_Init: how many processes of this machine have no whywait.
  int missing() const noexcept {
    int count = 0;
    for (int rank = 0; rank < local_ranks_; ++rank) count += exists(rank) ? 0 : 1;
    return count;
  }
  /// Whether this is the first process of this machine that has whywait.
  bool is_first() const noexcept {
    for (int rank = 0; rank < local_rank_; ++rank)
      if (exists(rank)) return false;
    return true;
  }
  /// When no process needs it any more.
  void withdraw() noexcept {
    if (made_) ::unlink(path_);
    made_ = false;
  }

 private:
  static int number_of(const char* variable) noexcept {
    const char* const text = getenv(variable);
    return text != nullptr && *text != '\0' ? atoi(text) : -1;
  }

  bool find_job() noexcept {
    char job[64] = "";
    if (const char* const space = getenv("PMIX_NAMESPACE")) {
      local_ranks_ = number_of("OMPI_COMM_WORLD_LOCAL_SIZE");
      local_rank_ = number_of("OMPI_COMM_WORLD_LOCAL_RANK");
      snprintf(job, sizeof job, "pmix%s", space);
    } else if (getenv("PMI_FD") != nullptr) {
      local_ranks_ = number_of("MPI_LOCALNRANKS");
      local_rank_ = number_of("MPI_LOCALRANKID");
      snprintf(job, sizeof job, "hydra%ld", launcher());
    }
    if (job[0] == '\0' || local_rank_ < 0 || local_ranks_ < 2 || local_rank_ >= local_ranks_) return false;
    job_ = core::combine(core::combine(core::key_of(job), static_cast<uint64_t>(getuid())), core::boot_key());
    return true;
  }

  /// The process of the launcher above this one; shells may lie between.
  static long launcher() noexcept {
    long process = static_cast<long>(getppid());
    for (int level = 0; level < 8 && process > 1; ++level) {
      char path[40], text[256] = "";
      snprintf(path, sizeof path, "/proc/%ld/stat", process);
      const int file = ::open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0) break;
      const ssize_t length = ::read(file, text, sizeof text - 1);
      ::close(file);
      const char* const name = strchr(text, '(');
      const char* const end = length > 0 ? strrchr(text, ')') : nullptr;
      if (name == nullptr || end == nullptr) break;
      if (strncmp(name, "(hydra_", 7) == 0) return process;
      long parent = 0;
      if (sscanf(end, ") %*c %ld", &parent) != 1) break;
      process = parent;
    }
    return 0;
  }

  void name_file(char (&path)[80], int rank) const noexcept {
    snprintf(path, sizeof path, "/dev/shm/whywait.%016llx.%d", static_cast<unsigned long long>(job_), rank);
  }
  /// A file of a process that is gone is a left-over.
  bool exists(int rank) const noexcept {
    char path[80], text[24] = "";
    name_file(path, rank);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = ::read(file, text, sizeof text - 1);
    ::close(file);
    const long process = length > 0 ? atol(text) : 0;
    return process > 0 && (::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
  }

  core::stable_key job_ = 0;
  int local_ranks_ = 0, local_rank_ = -1;
  bool made_ = false;
  char path_[80] = "";
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
