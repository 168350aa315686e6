// stderr ~ data was registered but is not analysed; include <whywait/sharing.hpp> beside\s+<whywait/whywait.hpp> in one file of the\s+program
// json report.json
//
// A program without MPI that registers data without the analysis is told so.
#include <whywait/data.hpp>
#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

int main() {
  double data[2] = {};
  WHYWAIT_DATA("data", data, 2);
  whywait::thread other([&data] { data[1] = 1; });
  other.join();
}
