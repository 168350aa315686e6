#ifndef WHYWAIT_TESTS_MPI_PARTS_COMES_LAST_HPP
#define WHYWAIT_TESTS_MPI_PARTS_COMES_LAST_HPP

#include <vector>

/// Lets a rank be late whatever else the machine does: ranks that are about to wait for it say so, right before the call
/// that waits, in memory that the ranks share; the late one goes on only when they have. A nap that it takes then is waiting
/// of theirs. whywait sees none of it: to it the late rank runs its own code.
class comes_last {
 public:
  comes_last();  ///< collective over MPI_COMM_WORLD, whose ranks are on one machine
  ~comes_last();
  comes_last(const comes_last&) = delete;
  comes_last& operator=(const comes_last&) = delete;

  void waits_for(int late);  ///< the caller is about to wait for that rank
  void after(int waiter);    ///< returns when that rank has said so once more
  void after_all();          ///< when all others have

 private:
  unsigned* said_by_to(int waiter, int late) const { return said_ + waiter * ranks_ + late; }

  int rank_ = 0, ranks_ = 1;
  unsigned* said_ = nullptr;
  std::vector<unsigned> seen_;  // by waiter
};

#endif
