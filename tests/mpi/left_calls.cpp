// ranks: 2
// timeout: 60
// with: observer
// environment: WHYWAIT_OUTPUT=left WHYWAIT_MEMORY=256K
// json left.json
// stderr ~ in [0-9,]+\s+epochs
// stderr !~ ended by
//
// Error handlers that leave MPI calls by longjmp: later calls are recorded, so that epochs stay in step, and no lock stays held.
// Errors reach the handler of their communicator while several threads call MPI. MPI_Finalize is called inside an error handler
// on one rank, and by a handler of exit on the other.

#include "checks.hpp"

#include <csetjmp>
#include <thread>

using namespace checks;

namespace {

std::jmp_buf back;
int rank;
#ifdef MPICH_VERSION
constexpr bool may_jump = false;  // MPI_THREAD_MULTIPLE: handlers run under MPICH's own lock, without whywait as well
#else
constexpr bool may_jump = true;
#endif

void leave(MPI_Comm*, int*, ...) { std::longjmp(back, 1); }
void finalise(MPI_Comm*, int*, ...) { MPI_Finalize(); }

// The wrapper's frame and its return address remain in a part of the stack that is not in use.
[[gnu::noinline]] void fail(MPI_Comm comm) {
  int x = 0;
  MPI_Send(&x, 1, MPI_INT, 99, 1, comm);
}
[[gnu::noinline]] void fail_and_return(MPI_Comm comm) {
  if (setjmp(back) == 0) fail(comm);
}
[[gnu::noinline]] void meet_below(bool reduce) {
  char unused[20000];
  __asm__ volatile("" : : "r"(unused) : "memory");
  int x = 1, sum = 0;
  const auto before = records().size();
  if (reduce) MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  else MPI_Barrier(MPI_COMM_WORLD);
  CHECK(records().size() != before);  // fewer after an epoch
  __asm__ volatile("" : : "r"(unused) : "memory");
}

int class_of(int code) {
  int c = -1;
  PMPI_Error_class(code, &c);
  return c;
}

void set_handler(MPI_Comm comm, MPI_Comm_errhandler_function* handler) {
  MPI_Errhandler made;
  MPI_Comm_create_errhandler(handler, &made);
  MPI_Comm_set_errhandler(comm, made);
  MPI_Errhandler_free(&made);
}

void with_several_threads(MPI_Comm jumping, MPI_Comm returning) {
  std::thread([] {
    MPI_Request request;
    int x = 0;
    MPI_Irecv(&x, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }).join();
  const int other = 1 - rank;
  const auto exchange = [&] {
    int out = rank, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, other, 1, &in, 1, MPI_INT, other, 1, jumping, MPI_STATUS_IGNORE);
    CHECK(in == other);
  };
  if (may_jump) fail_and_return(jumping);
  exchange();
  if (may_jump) fail_and_return(jumping);
  std::thread(exchange).join();  // takes the lock over
  int values[4] = {1, 2, 3, 4};
  if (rank == 0) {
    MPI_Send(values, 4, MPI_INT, 1, 1, returning);
    MPI_Send(values, 1, MPI_INT, 1, 1, returning);
    int got = -1;
    MPI_Sendrecv(values, 4, MPI_INT, 1, 1, &got, 1, MPI_INT, 1, 1, returning, MPI_STATUS_IGNORE);
    CHECK(got == 1);
    MPI_Sendrecv(values, 1, MPI_INT, 1, 1, &got, 1, MPI_INT, 1, 1, returning, MPI_STATUS_IGNORE);
  } else {
    CHECK(class_of(MPI_Recv(values, -1, MPI_INT, 0, 1, returning, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Recv(values, 1, MPI_INT, 0, 1, returning, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(MPI_Recv(values, 1, MPI_INT, 0, 1, returning, MPI_STATUS_IGNORE) == MPI_SUCCESS && values[0] == 1);
    const auto exchange_one = [&] {
      return MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, values, 1, MPI_INT, 0, 1, returning, MPI_STATUS_IGNORE);
    };
    CHECK(class_of(exchange_one()) == MPI_ERR_TRUNCATE);
    CHECK(exchange_one() == MPI_SUCCESS && values[0] == 1);
  }
}

void refused_message(MPI_Comm returning) {
#ifdef MPICH_VERSION  // Open MPI ends with a fault, without whywait as well
  int x = 7;
  if (rank == 0) {
    MPI_Send(&x, 1, MPI_INT, 1, 2, returning);
    return;
  }
  MPI_Message message;
  MPI_Request request;
  MPI_Mprobe(0, 2, returning, &message, MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // MPICH raises it there
  CHECK(MPI_Imrecv(&x, 1, MPI_INT, &message, nullptr) != MPI_SUCCESS);
  MPI_Imrecv(&x, 1, MPI_INT, &message, &request);
  CHECK(last().flags & flag::matched);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
  static_cast<void>(returning);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  std::atexit([] {
    if (rank == 1) MPI_Finalize();
  });
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm jumping, returning;
  MPI_Comm_dup(MPI_COMM_WORLD, &jumping);
  MPI_Comm_dup(MPI_COMM_WORLD, &returning);
  set_handler(jumping, leave);
  MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
  for (int k = 0; k < 4000; ++k) {
    if (rank == 0 && k % 7 == 0 && may_jump) fail_and_return(jumping);
    meet_below(k % 2 == 0);
  }
  if (level == MPI_THREAD_MULTIPLE) with_several_threads(jumping, returning);
  refused_message(returning);
  if (rank == 1) return result();
  set_handler(jumping, finalise);
  if (may_jump) fail(jumping);
  else MPI_Finalize();
  return result();
}
