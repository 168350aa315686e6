// A user program with whywait, without MPI.
#include <whywait/record.hpp>

int main() {
  WHYWAIT_REGION("main");
  return WHYWAIT_VERSION_MAJOR == whywait::core::version().major_part ? 0 : 1;
}
