// ranks: 2
// with: recorder
//
// Errors are returned unchanged, handlers run once, and MPI calls inside callbacks bypass the wrappers.

#include "checks.hpp"

#include <csetjmp>

using namespace checks;

namespace {

int handled = 0, last_code = 0;
std::uint64_t records_inside = 0;
bool jump = false;
std::jmp_buf back;

void handler(MPI_Comm*, int* code, ...) {
  ++handled;
  last_code = *code;
  int rank = 0, x = 0, y = 0;
  MPI_Comm_rank(MPI_COMM_SELF, &rank);
  MPI_Sendrecv(&x, 1, MPI_INT, 0, 1, &y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  records_inside = records().size();
  if (jump) std::longjmp(back, 1);
}

void add(void* in, void* out, int* n, MPI_Datatype*) {
  int x = 0, y = 0;
  MPI_Sendrecv(&x, 1, MPI_INT, 0, 1, &y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  for (int i = 0; i < *n; ++i) static_cast<int*>(out)[i] += static_cast<int*>(in)[i];
}

int copied = 0;
int copy_attribute(MPI_Comm comm, int, void*, void* value, void* result, int* keep) {
  int x = 0, y = 0;
  MPI_Sendrecv(&x, 1, MPI_INT, 0, 1, &y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  static_cast<void>(comm);
  ++copied;
  *static_cast<void**>(result) = value;
  *keep = 1;
  return MPI_SUCCESS;
}

int class_of(int code) {
  int c = -1;
  PMPI_Error_class(code, &c);
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, x = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);

  CHECK(class_of(MPI_Send(&x, 1, MPI_INT, 77, 1, comm)) == class_of(PMPI_Send(&x, 1, MPI_INT, 77, 1, comm)));
  CHECK(last().has(flag::failed) && last().posting == 0 && !last().has(flag::posts_send));
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(class_of(MPI_Irecv(&x, 1, MPI_INT, 77, 1, comm, &request)) == MPI_ERR_RANK);
  CHECK(last().has(flag::failed) && process().requests.size() == 0);
  CHECK(class_of(MPI_Bcast(&x, 1, MPI_INT, 77, comm)) == MPI_ERR_ROOT && last().has(flag::failed));
  MPI_Comm bad = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Comm_dup(MPI_COMM_NULL, &bad)) == class_of(PMPI_Comm_dup(MPI_COMM_NULL, &bad)));
  CHECK(class_of(MPI_Barrier(MPI_COMM_NULL)) == MPI_ERR_COMM && last().has(flag::failed));

  // MPICH raises errors of completed requests on MPI_COMM_WORLD. Truncated messages are consumed nevertheless and count
  // in the matching.
  int out[4] = {1, 2, 3, 4}, in[4] = {0, 0, 0, 0};
  for (int kind = 0; kind < 5; ++kind) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    std::uint64_t posted = 0;
    MPI_Barrier(comm);
    if (rank == 0) {
      PMPI_Send(out, 4, MPI_INT, other, 3, comm);
    } else if (kind == 0) {
      posted = records().size();
      CHECK(class_of(MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    } else {
      posted = records().size();
      MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &requests[0]);
      int done = 0, index = -1;
      if (kind == 1) CHECK(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
      if (kind == 2) CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_ERR_IN_STATUS);
      if (kind == 3) {
        CHECK(MPI_Waitsome(2, requests, &done, &index, statuses) == MPI_ERR_IN_STATUS);
        CHECK(done == 1 && index == 0 && class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
      }
      if (kind == 4) {
        int code = MPI_SUCCESS;
        while (done == 0 && code == MPI_SUCCESS) code = MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
        CHECK(class_of(code) == MPI_ERR_TRUNCATE);
      }
      CHECK(requests[0] == MPI_REQUEST_NULL && process().requests.size() == 0);
    }
    if (rank == 1) {
      const sync_record& r = records()[posted];
      if (!CHECK(r.has(flag::complete) && !r.has(flag::failed) && r.posting != 0))
        std::fprintf(stderr, "kind %d flags %x\n", kind, r.flags);
      if (kind != 2) CHECK(r.peer == 0 && r.tag == 3);
    }
  }
  CHECK(process().open_wildcards == 0);

  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);

  // A handler of the program runs once per error, and its own calls leave no records.
  MPI_Errhandler own;
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(comm, own);
  auto before = records().size();
  MPI_Send(&x, 1, MPI_INT, 77, 1, comm);
  CHECK(handled == 1 && class_of(last_code) == MPI_ERR_RANK);
  CHECK(records_inside == before && records().size() == before + 1);
  // a handler that leaves by longjmp does not stop the recording
  jump = true;
  before = records().size();
  if (setjmp(back) == 0) MPI_Send(&x, 1, MPI_INT, 77, 1, comm);
  jump = false;
  CHECK(handled == 2);
  MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &x, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE);
  CHECK(x == other && records().size() == before + 3);

  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  before = records().size();
  int value = rank + 1, sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, op, comm);
  CHECK(sum == 3 && records().size() == before + 1 && last().call == mpi_call::Allreduce);
  MPI_Op_free(&op);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(comm, key, &x);
  before = records().size();
  MPI_Comm twin;
  MPI_Comm_dup(comm, &twin);
  CHECK(copied == 1 && records().size() == before + 1);
  MPI_Comm_delete_attr(comm, key);
  MPI_Comm_delete_attr(twin, key);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&twin);
  MPI_Errhandler_free(&own);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  const auto count = records().size();
  int finalized = 0;
  MPI_Finalized(&finalized);
  CHECK(finalized == 1 && records().size() == count);
  return result();
}
