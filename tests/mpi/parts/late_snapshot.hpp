#ifndef WHYWAIT_TESTS_MPI_PARTS_LATE_SNAPSHOT_HPP
#define WHYWAIT_TESTS_MPI_PARTS_LATE_SNAPSHOT_HPP

/// Values from the program's time stamps, in seconds; valid on rank 0.
struct late_times {
  double wait = 0;      ///< wait of rank 1 for rank 0 in the last round, longer than all other waits for messages
  double snapshot = 0;  ///< duration of the snapshot on rank 0
};

constexpr int late_rounds = 6;

/// Runs rounds that consist of smooth with 4 cells and pack, three times, and a value sent to the right. In the last
/// round rank 0 smooths 12 cells, takes a snapshot in between, and sends a value to rank 1 only.
late_times late_snapshot();

#endif
