// What a program did, by its own clock: truth.py compares it with the report.
//
// Work takes time but no processor, so that ranks may outnumber cores. All stamps are of CLOCK_MONOTONIC, which the ranks
// of one machine share.
#ifndef WHYWAIT_TESTS_TRUTH_STAMPS_HPP
#define WHYWAIT_TESTS_TRUTH_STAMPS_HPP

#include <mpi.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace stamps {

inline double now() {
  std::timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Sleeps for `seconds`, less what earlier sleeps of this thread took too long.
inline void nap(double seconds) {
  static thread_local double debt = 0;
  const double begin = now(), end = begin + seconds - debt;
  std::timespec until{};
  until.tv_sec = static_cast<std::time_t>(end);
  until.tv_nsec = static_cast<long>(1e9 * (end - static_cast<double>(until.tv_sec)));
  if (end > begin)
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  debt += now() - begin - seconds;
}

/// The stamps of this rank in the order of their ends, from MPI_Init on.
class log {
 public:
  /// Stamps everything since the log was made as the work "startup", and meets the other ranks.
  void meet() {
    add("startup", begin_, now());
    (*this)("MPI_Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); });
  }
  /// Runs `f` and stamps it as work or as an MPI call, by the name.
  template <class F>
  void operator()(const char* name, F&& f) {
    const double begin = now();
    std::forward<F>(f)();
    all_.push_back({name, begin, now()});
  }
  void add(const char* name, double begin, double end) { all_.push_back({name, begin, end}); }

  /// Writes one line "name begin end" for each stamp into the file stamps.<rank>.
  void write() const {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::FILE* const file = std::fopen(("stamps." + std::to_string(rank)).c_str(), "w");
    if (file == nullptr) MPI_Abort(MPI_COMM_WORLD, 3);
    for (const stamp& s : all_) std::fprintf(file, "%s %.9f %.9f\n", s.name, s.begin, s.end);
    if (std::fclose(file) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  }

 private:
  struct stamp {
    const char* name;
    double begin, end;
  };
  double begin_ = now();
  std::vector<stamp> all_;
};

/// Options "--name value" of the command line.
class options {
 public:
  options(int argc, char** argv) : argc_(argc), argv_(argv) {}
  const char* text(const char* name, const char* otherwise) const {
    for (int i = 1; i + 1 < argc_; i += 2)
      if (std::strcmp(argv_[i], name) == 0) return argv_[i + 1];
    return otherwise;
  }
  double number(const char* name, double otherwise) const {
    const char* const value = text(name, nullptr);
    return value == nullptr ? otherwise : std::strtod(value, nullptr);
  }
  int count(const char* name, int otherwise) const { return static_cast<int>(number(name, otherwise)); }

 private:
  int argc_;
  char** argv_;
};

}  // namespace stamps

#endif
