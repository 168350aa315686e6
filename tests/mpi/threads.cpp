// ranks: 2
// with: recorder
//
// Three threads of each rank send and receive on one channel (same communicator, peer and tag) at the same time,
// blocking and nonblocking. The ordinals must be those in which MPI matched the messages.

#include "checks.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

using namespace checks;

namespace {
constexpr int threads = 3;
constexpr int messages = 2000;  // of each thread

struct entry {
  std::uint32_t posting;
  int serial;
};
std::vector<entry> lists[threads];
int rank = 0;

void send_all(int thread) {
  for (int i = 0; i < messages; ++i) {
    int serial = thread * messages + i;
    if (i % 3 == 0) {
      MPI_Request request;
      MPI_Isend(&serial, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
      lists[thread].push_back({last().posting, serial});
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      if (i % 3 == 1) MPI_Send(&serial, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
      else MPI_Ssend(&serial, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
      lists[thread].push_back({last().posting, serial});
      CHECK(last().has(flag::complete));
    }
  }
}

void receive_all(int thread) {
  for (int i = 0; i < messages; ++i) {
    int serial = -1;
    std::uint32_t posting = 0;
    if (i % 4 == 0) {
      MPI_Recv(&serial, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      posting = last().posting;
      CHECK(last().peer == 0 && last().tag == 7);
    } else if (i % 4 == 1) {
      MPI_Recv(&serial, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      posting = last().posting;
      CHECK(last().peer == 0 && last().tag == 7);
    } else if (i % 4 == 2) {
      MPI_Request request;
      MPI_Irecv(&serial, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
      const auto posted = records().size() - 1;
      int done = 0, index = -1;
      switch (i / 4 % 4) {
        case 0: MPI_Wait(&request, MPI_STATUS_IGNORE); break;
        case 1: MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); break;
        case 2: MPI_Waitsome(1, &request, &done, &index, MPI_STATUSES_IGNORE); break;
        default:
          while (done == 0) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            std::this_thread::yield();
          }
      }
      const sync_record& r = records()[posted];
      CHECK(r.has(flag::complete) && r.peer == 0 && r.completion == records().size() - 1);
      CHECK(r.completed_by == whywait::record::this_location()->index);
      posting = r.posting;
    } else {
      MPI_Message message;
      MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(&serial, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
      posting = last().posting;
    }
    lists[thread].push_back({posting, serial});
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) {
    std::printf("no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(process().multiple && !process().several);
  int value = rank;
  // rank synchronisation before the threads start, so that nothing is pending when they do
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<std::thread> team;
  static int started;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([t] {
      whywait::record::this_location();  // its own, because no thread has ended
      __atomic_add_fetch(&started, 1, __ATOMIC_ACQ_REL);
      while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) != threads) std::this_thread::yield();
      rank == 0 ? send_all(t) : receive_all(t);
    });
  for (auto& t : team) t.join();
  CHECK(process().several);
  std::vector<entry> mine;
  for (auto& l : lists) mine.insert(mine.end(), l.begin(), l.end());
  std::sort(mine.begin(), mine.end(), [](const entry& a, const entry& b) { return a.posting < b.posting; });
  std::vector<int> serials;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    CHECK(i == 0 || mine[i].posting != mine[i - 1].posting);
    serials.push_back(mine[i].serial);
  }
  std::vector<int> sent = serials;
  PMPI_Bcast(sent.data(), static_cast<int>(sent.size()), MPI_INT, 0, MPI_COMM_WORLD);
  int displaced = 0;
  for (std::size_t i = 0; i < serials.size(); ++i) displaced += serials[i] != sent[i];
  if (!CHECK(displaced == 0)) std::fprintf(stderr, "%d of %zu messages displaced\n", displaced, serials.size());
  CHECK(process().requests.size() == 0 && process().messages.size() == 0 && process().open_wildcards == 0);
  int ambiguous = 0;
  const auto all = whywait::finalize::collect(process());
  for (const auto& l : all.history.locations)
    for (std::uint64_t i = 0; i < l.records.size(); ++i) ambiguous += l.records[i].has(flag::ambiguous);
  CHECK(ambiguous == 0);
  CHECK(all.history.locations.size() == threads + 1);
  MPI_Finalize();
  return result();
}
