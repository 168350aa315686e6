#ifndef WHYWAIT_TESTS_UNIT_FINALIZE_THREADS_AS_RANKS_HPP
#define WHYWAIT_TESTS_UNIT_FINALIZE_THREADS_AS_RANKS_HPP

// An MPI library whose ranks are threads of this process, with the functions that finalize::team and its users call.
// Nonblocking calls return when they are complete. A call that waits for longer than 10 s ends the job: `stuck`.
#include <whywait/mpi/mpi_header.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace threads_as_ranks {

using bytes = std::vector<unsigned char>;

struct job {
  int size = 1;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int, int, int>, std::deque<bytes>> messages;  // from, to, tag
  std::vector<bytes> contributions;  // to the collective that is open
  int entered = 0, left = 0;
  std::uint64_t collectives = 0;
  bool stuck = false;
};
inline job* running = nullptr;
inline thread_local int own_rank = 0;

/// Waits until `condition`. False: the job is stuck.
template <class Condition>
bool wait_until(std::unique_lock<std::mutex>& lock, Condition condition) {
  job& all = *running;
  if (!all.changed.wait_for(lock, std::chrono::seconds(10), [&] { return all.stuck || condition(); })) all.stuck = true;
  all.changed.notify_all();
  return !all.stuck;
}

/// All ranks contribute, and each reads the contributions of all.
template <class Read>
int collective(const void* data, std::size_t size, Read read) {
  job& all = *running;
  std::unique_lock<std::mutex> lock(all.mutex);
  if (!wait_until(lock, [&] { return all.left == 0; })) return MPI_ERR_OTHER;  // the one before is over
  const auto* const from = static_cast<const unsigned char*>(data);
  all.contributions.resize(static_cast<std::size_t>(all.size));
  all.contributions[static_cast<std::size_t>(own_rank)] = size != 0 ? bytes(from, from + size) : bytes();
  ++all.entered;
  all.changed.notify_all();
  if (!wait_until(lock, [&] { return all.entered == all.size; })) return MPI_ERR_OTHER;
  read(all.contributions);
  if (++all.left == all.size) {
    all.entered = all.left = 0;
    ++all.collectives;
  }
  all.changed.notify_all();
  return wait_until(lock, [&] { return all.left == 0; }) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/// Runs rank(number) on as many threads, and checks that no rank waits for ever and that every message was received.
template <class Rank>
void run(int size, Rank rank) {
  job all;
  all.size = size;
  running = &all;
  std::vector<std::thread> threads;
  for (int r = 0; r != size; ++r)
    threads.emplace_back([&rank, r] {
      own_rank = r;
      rank(r);
    });
  for (std::thread& t : threads) t.join();
  running = nullptr;
  CHECK_FALSE(all.stuck);
  for (const auto& channel : all.messages) CHECK(channel.second.empty());
}

}  // namespace threads_as_ranks

extern "C" {
[[gnu::weak]] int PMPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = threads_as_ranks::own_rank;
  return MPI_SUCCESS;
}
[[gnu::weak]] int PMPI_Comm_size(MPI_Comm, int* size) {
  *size = threads_as_ranks::running->size;
  return MPI_SUCCESS;
}
[[gnu::weak]] int PMPI_Test(MPI_Request*, int* over, MPI_Status*) {
  *over = 1;
  return MPI_SUCCESS;
}
[[gnu::weak]] int PMPI_Iallreduce(const void* own, void* result, int count, MPI_Datatype type, MPI_Op op, MPI_Comm,
                                  MPI_Request*) {
  using namespace threads_as_ranks;
  CHECK(type == MPI_INT64_T);
  CHECK(op == MPI_MAX);
  const std::size_t size = static_cast<std::size_t>(count) * sizeof(std::int64_t);
  return collective(own == MPI_IN_PLACE ? result : own, size, [&](const std::vector<bytes>& all) {
    auto* const most = static_cast<std::int64_t*>(result);
    for (int i = 0; i != count; ++i) {
      most[i] = INT64_MIN;
      for (const bytes& one : all) {
        std::int64_t value = 0;
        std::memcpy(&value, one.data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
        most[i] = std::max(most[i], value);
      }
    }
  });
}
[[gnu::weak]] int PMPI_Ibcast(void* data, int count, MPI_Datatype, int root, MPI_Comm, MPI_Request*) {
  using namespace threads_as_ranks;
  return collective(data, own_rank == root ? static_cast<std::size_t>(count) : 0, [&](const std::vector<bytes>& all) {
    std::memcpy(data, all[static_cast<std::size_t>(root)].data(), static_cast<std::size_t>(count));
  });
}
[[gnu::weak]] int PMPI_Igather(const void* own, int count, MPI_Datatype type, void* to, int, MPI_Datatype, int root, MPI_Comm,
                               MPI_Request*) {
  using namespace threads_as_ranks;
  const std::size_t size = static_cast<std::size_t>(count) * (type == MPI_UINT64_T ? sizeof(std::uint64_t) : 1);
  return collective(own, size, [&](const std::vector<bytes>& all) {
    for (std::size_t r = 0; own_rank == root && r != all.size(); ++r)
      std::memcpy(static_cast<unsigned char*>(to) + r * size, all[r].data(), size);
  });
}
[[gnu::weak]] int PMPI_Iallgather(const void* own, int count, MPI_Datatype, void* to, int, MPI_Datatype, MPI_Comm,
                                  MPI_Request*) {
  using namespace threads_as_ranks;
  const auto size = static_cast<std::size_t>(count);
  return collective(own, size, [&](const std::vector<bytes>& all) {
    for (std::size_t r = 0; r != all.size(); ++r) std::memcpy(static_cast<unsigned char*>(to) + r * size, all[r].data(), size);
  });
}
[[gnu::weak]] int PMPI_Isend(const void* data, int count, MPI_Datatype, int to, int tag, MPI_Comm, MPI_Request*) {
  using namespace threads_as_ranks;
  const auto* const from = static_cast<const unsigned char*>(data);
  const std::lock_guard<std::mutex> lock(running->mutex);
  running->messages[{own_rank, to, tag}].emplace_back(from, from + count);
  running->changed.notify_all();
  return MPI_SUCCESS;
}
[[gnu::weak]] int PMPI_Irecv(void* data, int count, MPI_Datatype, int from, int tag, MPI_Comm, MPI_Request*) {
  using namespace threads_as_ranks;
  std::unique_lock<std::mutex> lock(running->mutex);
  std::deque<bytes>& channel = running->messages[{from, own_rank, tag}];
  if (!wait_until(lock, [&] { return !channel.empty(); })) return MPI_ERR_OTHER;
  CHECK(channel.front().size() == static_cast<std::size_t>(count));
  std::memcpy(data, channel.front().data(), std::min(channel.front().size(), static_cast<std::size_t>(count)));
  channel.pop_front();
  return MPI_SUCCESS;
}
}

#endif
