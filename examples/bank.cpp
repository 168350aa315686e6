// A lock that is a queue. Four tellers book transfers, and one lock protects all accounts. Booking takes microseconds, but the
// tellers also write the statement before they give the lock up: it is held nearly all the time, and three tellers wait.
//
//   bank               as it was written
//   bank --corrected   what the report says: the statement is written outside the lock
//
// Both book the same transfers.
#include <whywait/record.hpp>
#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>  // in one file of the program: records, and reports at exit

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int tellers = 4, transfers = 40, account_count = 8;

// Stands for real work; sleeping takes the same time on a loaded machine.
void work_for(int us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

class bank {
 public:
  bank() { accounts_.fill(1000); }

  void transfer(int from, int to, int amount) {
    const std::lock_guard<whywait::mutex> guard(accounts_lock_);
    book(from, to, amount);
    write_statement();
  }
  void transfer_corrected(int from, int to, int amount) {
    {
      const std::lock_guard<whywait::mutex> guard(accounts_lock_);
      book(from, to, amount);
    }
    write_statement();
  }
  long total() const {
    long sum = 0;
    for (const int account : accounts_) sum += account;
    return sum;
  }

 private:
  void book(int from, int to, int amount) {
    accounts_[static_cast<std::size_t>(from)] -= amount;
    accounts_[static_cast<std::size_t>(to)] += amount;
  }
  static void write_statement() {
    WHYWAIT_REGION("write_statement");
    work_for(2000);
  }

  whywait::mutex accounts_lock_;
  std::array<int, account_count> accounts_{};
};

void serve(bank& of, int teller, bool corrected) {
  for (int i = 0; i != transfers; ++i) {
    {
      WHYWAIT_REGION("check_customer");
      work_for(1000);
    }
    const int from = (teller + i) % account_count, to = (teller * 3 + i * 5 + 1) % account_count;
    if (corrected) of.transfer_corrected(from, to, 10);
    else of.transfer(from, to, 10);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool corrected = argc > 1 && std::strcmp(argv[1], "--corrected") == 0;
  bank branch;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<whywait::jthread> staff;
    for (int teller = 0; teller != tellers; ++teller)
      staff.emplace_back([&branch, teller, corrected] { serve(branch, teller, corrected); });
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("bank: %s %.3f s, %d transfers, %ld in all accounts\n", corrected ? "corrected" : "written", seconds,
              tellers * transfers, branch.total());
}
