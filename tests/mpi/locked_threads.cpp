// ranks: 2
// timeout: 100
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=locked
// stderr ~ io_flush
// stderr !~ several threads call MPI on
// tries 3
//
// A rank is late because a thread of it held a lock. The wait of the other rank is explained through the lock: by what the holder
// ran. All work is sleeping, and the program compares the result with its own time stamps.
#include "../threads/slept.hpp"

#include <whywait/mpi.hpp>
#include <whywait/thread.hpp>

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <atomic>
#include <fstream>
#include <mutex>

namespace {

constexpr int steps = 12;

double now() { return std::chrono::duration<double>(slept::clock::now().time_since_epoch()).count(); }

// A step of the sending rank: the message waits for the lock that the writer holds.
struct sender {
  whywait::mutex buffer;
  whywait::counting_semaphore<> filled{0};
  std::atomic<int> flushing{0};
  double sent[steps], waited[steps];

  void write() {
    for (int i = 0; i != steps; ++i) {
      filled.acquire();
      const std::lock_guard<whywait::mutex> guard(buffer);
      const whywait::region inside("io_flush");
      ++flushing;
      slept::nap(20);
    }
  }
  void run() {
    whywait::thread writer([this] { write(); });
    for (int i = 0; i != steps; ++i) {
      filled.release();
      while (flushing <= i) slept::nap(1);
      {
        const whywait::region inside("need buffer");
        const double begin = now();
        buffer.lock();
        waited[i] = now() - begin;
        buffer.unlock();
      }
      sent[i] = now();
      MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    writer.join();
  }
};

// The waits of the JSON file.
whywait::result read_report(const char* path) {
  whywait::result found;
  std::ifstream file(path);
  if (!file) return std::fprintf(stderr, "%s was not written\n", path), ++slept::failures, found;
  const nlohmann::json report = nlohmann::json::parse(file);
  for (const nlohmann::json& from : report["waits"]) {
    whywait::result::wait w;
    w.pattern = from["pattern"];
    w.seconds = from["seconds"];
    w.operation.region = from["operation"].value("region", "");
    for (const nlohmann::json& r : from["residual"]) {
      whywait::result::cause c;
      c.block = r["block"];
      c.seconds = r["seconds"];
      w.causes.push_back(c);
    }
    found.waits.push_back(w);
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  slept::expectation late{"receive step", "late_sender", {}, {{"io_flush", 1.0}}};
  slept::expectation locked{"need buffer", "mutex_contention", {}, {{"io_flush", 1.0}}};
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    sender one;
    one.run();
    MPI_Send(one.sent, steps, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    MPI_Send(one.waited, steps, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
  } else {
    double came[steps], sent[steps], waited[steps];
    for (int i = 0; i != steps; ++i) {
      const whywait::region inside("receive step");
      int step = -1;
      came[i] = now();
      late.waited([&] { MPI_Recv(&step, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
      if (step != i) ++slept::failures;
    }
    MPI_Recv(sent, steps, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(waited, steps, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    late.waited.until = 0;
    for (int i = 0; i != steps; ++i) {
      late.waited.until += std::max(0.0, sent[i] - came[i]);
      locked.waited.seconds += waited[i];
    }
    locked.waited.count = steps;
    locked.waited.until = locked.waited.seconds - 0.002 * steps;  // the lock is free a little before the thread runs
  }
  const whywait::result early = whywait::report();
  if (early || early.reason.find("wait for each other") == std::string::npos) ++slept::failures;
  MPI_Finalize();
  if (rank == 0) {
    const whywait::result found = read_report("locked.json");
    slept::check(found, late);
    slept::check(found, locked);
  }
  return slept::failures == 0 ? 0 : 1;
}
