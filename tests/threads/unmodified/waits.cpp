// A program without whywait whose threads sleep instead of working, so that it takes as long on a busy machine. Prints how long it took.
//
//   critical   four OpenMP threads that spend most time in a critical section; --corrected: outside it
//   rounds     four threads in each round, of which one takes longest; --corrected: as long as the others
//   beside     two threads wait for the lock of a third one, which takes longer than they do
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace {

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void critical(bool corrected) {
#pragma omp parallel for num_threads(4) schedule(static)
  for (int i = 0; i < 80; ++i) {
    nap(1);
    if (corrected) nap(4);
#pragma omp critical
    if (!corrected) nap(4);
  }
}

void rounds(bool corrected) {
  for (int round = 0; round != 8; ++round) {
    std::thread all[4];
    for (int i = 0; i != 4; ++i) all[i] = std::thread(nap, corrected ? 50 : 20 * (i + 1));
    for (std::thread& t : all) t.join();
  }
}

void beside() {
  std::mutex lock;
  const auto writes = [&lock] {
    for (int i = 0; i != 60; ++i) {
      {
        const std::lock_guard<std::mutex> guard(lock);
        nap(4);
      }
      nap(1);
    }
  };
  const auto reads = [&lock] {
    for (int i = 0; i != 20; ++i) {
      nap(2);
      const std::lock_guard<std::mutex> guard(lock);
    }
  };
  std::thread writer(writes), one(reads), other(reads);
  one.join();
  other.join();
  writer.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const bool corrected = argc > 2 && std::strcmp(argv[2], "--corrected") == 0;
  const auto begin = std::chrono::steady_clock::now();
  if (what == "critical") critical(corrected);
  else if (what == "rounds") rounds(corrected);
  else beside();
  std::printf("%s: %.4f s\n", what.c_str(), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
