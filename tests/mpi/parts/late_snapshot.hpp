#ifndef WHYWAIT_TESTS_MPI_PARTS_LATE_SNAPSHOT_HPP
#define WHYWAIT_TESTS_MPI_PARTS_LATE_SNAPSHOT_HPP

/// What plain time stamps beside whywait say, in seconds; known on rank 0.
struct late_times {
  double wait = 0;      ///< of rank 1 for rank 0 in the last round: longer than all other waits for a message
  double snapshot = 0;  ///< how long rank 0 was in it
};

constexpr int late_rounds = 6;

/// Rounds of: three times (smooth with 4 cells, pack), then a value to the right. In the last round rank 0 smooths 12 cells
/// and takes a snapshot between, and only rank 1 gets a value.
late_times late_snapshot();

#endif
