#ifndef WHYWAIT_TESTS_MPI_PARTS_COMES_LAST_HPP
#define WHYWAIT_TESTS_MPI_PARTS_COMES_LAST_HPP

#include <vector>

/// Makes a rank late independently of the machine. Ranks that are about to wait for it announce that in shared memory
/// right before the waiting call, and the late rank continues only after that. A nap of the late rank is then waiting
/// time of the others. whywait sees none of this; to it the late rank runs its own code.
class comes_last {
 public:
  comes_last();  ///< collective over MPI_COMM_WORLD, whose ranks are on one machine
  ~comes_last();
  comes_last(const comes_last&) = delete;
  comes_last& operator=(const comes_last&) = delete;

  void waits_for(int late);  ///< announces that the caller is about to wait for that rank
  void after(int waiter);    ///< returns after the next announcement of that rank
  void after_all();          ///< returns after the next announcements of all others

 private:
  unsigned* said_by_to(int waiter, int late) const { return said_ + waiter * ranks_ + late; }

  int rank_ = 0, ranks_ = 1;
  unsigned* said_ = nullptr;
  std::vector<unsigned> seen_;  // by waiter
};

#endif
