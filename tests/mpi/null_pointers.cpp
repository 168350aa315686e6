// ranks: 1
// with: observer
// stdout ~ (99|101) calls, 0 differ
//
// Null pointers and other wrong arguments: whywait hands them to MPI, so that a program gets the error of MPI and nothing else.
// Each call is made without and with whywait; a crash counts as an outcome.
#include <mpi.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>

namespace {

sigjmp_buf before_call;
int calls = 0, differ = 0;

extern "C" void crashed(int) { siglongjmp(before_call, 1); }

// The class of the error that a call returns; -1: it crashes.
template <class Call>
int outcome_of(Call&& call) {
  std::signal(SIGSEGV, crashed);
  if (sigsetjmp(before_call, 1) != 0) return -1;
  int outcome = 0;
  MPI_Error_class(call(), &outcome);
  return outcome;
}

void compare(const char* text, int plain, int observed) {
  ++calls;
  if (plain == observed) return;
  ++differ;
  std::printf("MPI_%s: %d without whywait, %d with it\n", text, plain, observed);
}

}  // namespace

#define COMPARE(name, ...)                                                                  \
  compare(#name "(" #__VA_ARGS__ ")", outcome_of([&] { return PMPI_##name(__VA_ARGS__); }), \
          outcome_of([&] { return MPI_##name(__VA_ARGS__); }))

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm w = MPI_COMM_SELF;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
  int x = 0, y = 0, flag = 0, n = 0, indices[2] = {0, 0};
  MPI_Request r = MPI_REQUEST_NULL, q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s;
  MPI_Message m = MPI_MESSAGE_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  void* p = nullptr;
  MPI_Group g;
  MPI_Comm_group(w, &g);

  COMPARE(Isend, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Irecv, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Ssend_init, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Recv_init, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Issend, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Ibsend, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Irsend, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Send_init, &x, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Wait, nullptr, &s);
  COMPARE(Wait, &r, nullptr);
  COMPARE(Waitall, 1, nullptr, &s);
  COMPARE(Waitall, 2, q, nullptr);
  COMPARE(Waitany, 1, nullptr, &x, &s);
  COMPARE(Waitany, 2, q, nullptr, &s);
  COMPARE(Waitany, 2, q, &x, nullptr);
  COMPARE(Waitsome, 2, nullptr, &n, indices, &s);
  COMPARE(Waitsome, 2, q, nullptr, indices, MPI_STATUSES_IGNORE);
  COMPARE(Waitsome, 2, q, &n, nullptr, MPI_STATUSES_IGNORE);
  COMPARE(Test, nullptr, &flag, &s);
  COMPARE(Test, &r, nullptr, &s);
  COMPARE(Test, &r, &flag, nullptr);
  COMPARE(Testall, 2, nullptr, &flag, &s);
  COMPARE(Testall, 2, q, nullptr, MPI_STATUSES_IGNORE);
  COMPARE(Testany, 2, nullptr, &n, &flag, &s);
  COMPARE(Testany, 2, q, nullptr, &flag, &s);
  COMPARE(Testany, 2, q, &n, nullptr, &s);
  COMPARE(Testsome, 2, nullptr, &n, indices, &s);
  COMPARE(Testsome, 2, q, nullptr, indices, MPI_STATUSES_IGNORE);
  COMPARE(Testsome, 2, q, &n, nullptr, MPI_STATUSES_IGNORE);
  COMPARE(Request_get_status, r, nullptr, &s);
  COMPARE(Request_get_status, r, &flag, nullptr);
  COMPARE(Request_free, nullptr);
  COMPARE(Request_free, &r);
  COMPARE(Cancel, nullptr);
  COMPARE(Cancel, &r);
  COMPARE(Start, nullptr);
  COMPARE(Start, &r);
  COMPARE(Startall, 2, nullptr);
  COMPARE(Startall, 2, q);
  COMPARE(Iprobe, 0, 0, w, nullptr, &s);
  COMPARE(Iprobe, 0, 0, w, &flag, nullptr);
  COMPARE(Improbe, 0, 0, w, nullptr, &m, &s);
  COMPARE(Improbe, 0, 0, w, &flag, nullptr, &s);
  COMPARE(Improbe, 0, 0, w, &flag, &m, nullptr);
#ifndef OPEN_MPI  // whose MPI_Mrecv aborts here
  COMPARE(Mrecv, &x, 1, MPI_INT, nullptr, &s);
  COMPARE(Imrecv, &x, 1, MPI_INT, nullptr, &r);
#endif
  COMPARE(Send, &x, 1, MPI_DATATYPE_NULL, 0, 0, w);
  COMPARE(Send, &x, -1, MPI_INT, 0, 0, w);
  COMPARE(Send, &x, 1, MPI_INT, 7, 0, w);
  COMPARE(Send, &x, 1, MPI_INT, 0, -5, w);
  COMPARE(Recv, &x, 1, MPI_INT, 9, 0, w, &s);
  COMPARE(Send, nullptr, 1, MPI_INT, 0, 0, w);
  COMPARE(Comm_dup, w, nullptr);
  COMPARE(Comm_split, w, 0, 0, nullptr);
  COMPARE(Comm_create, w, g, nullptr);
  COMPARE(Comm_create_group, w, g, 0, nullptr);
  COMPARE(Comm_idup, w, nullptr, &r);
  COMPARE(Comm_idup, w, &made, nullptr);
  COMPARE(Comm_split_type, w, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, nullptr);
  COMPARE(Comm_free, nullptr);
  made = MPI_COMM_NULL;
  COMPARE(Comm_free, &made);
  COMPARE(Comm_disconnect, nullptr);
  COMPARE(Comm_disconnect, &made);
  COMPARE(Cart_create, w, 1, nullptr, nullptr, 0, &made);
  COMPARE(Cart_sub, w, nullptr, &made);
  COMPARE(Intercomm_merge, w, 0, nullptr);
  COMPARE(Comm_dup_with_info, w, MPI_INFO_NULL, nullptr);
  COMPARE(Graph_create, w, 1, nullptr, nullptr, 0, &made);
  COMPARE(Dist_graph_create_adjacent, w, 1, nullptr, nullptr, 1, nullptr, nullptr, MPI_INFO_NULL, 0, &made);
  COMPARE(Dist_graph_create, w, 1, nullptr, nullptr, nullptr, nullptr, MPI_INFO_NULL, 0, &made);
  COMPARE(Bcast, nullptr, 1, MPI_INT, 0, w);
  COMPARE(Bcast, &x, 1, MPI_INT, 5, w);
  COMPARE(Reduce, &x, nullptr, 1, MPI_INT, MPI_SUM, 0, w);
  COMPARE(Allreduce, &x, nullptr, 1, MPI_INT, MPI_SUM, w);
  COMPARE(Gatherv, &x, 1, MPI_INT, &y, nullptr, nullptr, MPI_INT, 0, w);
  COMPARE(Allgatherv, &x, 1, MPI_INT, &y, nullptr, nullptr, MPI_INT, w);
  COMPARE(Alltoallv, &x, nullptr, nullptr, MPI_INT, &y, nullptr, nullptr, MPI_INT, w);
  COMPARE(Alltoallw, &x, nullptr, nullptr, nullptr, &y, nullptr, nullptr, nullptr, w);
  COMPARE(Scatterv, &x, nullptr, nullptr, MPI_INT, &y, 1, MPI_INT, 0, w);
  COMPARE(Reduce_scatter, &x, &y, nullptr, MPI_INT, MPI_SUM, w);
  COMPARE(Barrier, MPI_COMM_NULL);
  COMPARE(Bcast, &x, 1, MPI_INT, 0, MPI_COMM_NULL);
  COMPARE(Allreduce, &x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL);
  COMPARE(Send, &x, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
  COMPARE(Isend, &x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &r);
  COMPARE(Comm_dup, MPI_COMM_NULL, &made);
  COMPARE(Alltoallv, &x, nullptr, nullptr, MPI_INT, &y, nullptr, nullptr, MPI_INT, MPI_COMM_NULL);
  COMPARE(Sendrecv, &x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, w, nullptr);
  COMPARE(Recv, nullptr, 1, MPI_INT, MPI_PROC_NULL, 0, w, nullptr);
  COMPARE(Probe, MPI_PROC_NULL, 0, w, nullptr);
  COMPARE(Mprobe, MPI_PROC_NULL, 0, w, nullptr, &s);
  COMPARE(Win_allocate_shared, 8, 1, MPI_INFO_NULL, w, nullptr, &window);
  COMPARE(Win_allocate_shared, 8, 1, MPI_INFO_NULL, w, &p, nullptr);
  COMPARE(Win_free, nullptr);
  window = MPI_WIN_NULL;
  COMPARE(Win_free, &window);
  COMPARE(Waitall, -1, q, MPI_STATUSES_IGNORE);
  COMPARE(Startall, -1, q);
  COMPARE(Testall, -1, q, &flag, MPI_STATUSES_IGNORE);
  COMPARE(Waitany, -1, q, &n, &s);
  COMPARE(Alltoall, &x, -1, MPI_INT, &y, 1, MPI_INT, w);
  COMPARE(Bcast, &x, 1, MPI_DATATYPE_NULL, 0, w);
  std::printf("%d calls, %d differ\n", calls, differ);
  MPI_Group_free(&g);
  MPI_Finalize();
  return differ == 0 ? 0 : 1;
}
