// ranks: 2 3 4
// with: recorder
//
// Makes every call of the table once. Compares its results with those of the same call without the wrappers, and checks
// its records.

#include "checks.hpp"

#include <cstring>
#include <ctime>
#include <set>

using namespace checks;

namespace {

int rank, ranks, right, left;
MPI_Comm comm;

double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

bool same(const MPI_Status& a, const MPI_Status& b) {
  int na = 0, nb = 0, ca = 0, cb = 0;
  PMPI_Get_count(&a, MPI_INT, &na);
  PMPI_Get_count(&b, MPI_INT, &nb);
  PMPI_Test_cancelled(&a, &ca);
  PMPI_Test_cancelled(&b, &cb);
  return a.MPI_SOURCE == b.MPI_SOURCE && a.MPI_TAG == b.MPI_TAG && na == nb && ca == cb;
}

void blocking_sends() {
  int out[4] = {1, 2, 3, rank}, in[4], plain[4];
  MPI_Status status, other;
  std::memset(&status, 0x5a, sizeof status);
  std::memset(&other, 0x5a, sizeof other);
  char room[1000];
  MPI_Buffer_attach(room, sizeof room);
  for (int kind = 0; kind < 4; ++kind) {
    MPI_Request past;
    PMPI_Irecv(plain, 4, MPI_INT, left, 1, comm, &past);
    PMPI_Send(out, 3, MPI_INT, right, 1, comm);
    PMPI_Wait(&past, &other);
    MPI_Request request;
    MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request);
    const auto posted = records().size() - 1;
    PMPI_Barrier(comm);  // a ready send requires a posted receive
    if (kind == 0) MPI_Send(out, 3, MPI_INT, right, 1, comm);
    if (kind == 1) MPI_Bsend(out, 3, MPI_INT, right, 1, comm);
    if (kind == 2) MPI_Ssend(out, 3, MPI_INT, right, 1, comm);
    if (kind == 3) MPI_Rsend(out, 3, MPI_INT, right, 1, comm);
    const mpi_call expected[] = {mpi_call::Send, mpi_call::Bsend, mpi_call::Ssend, mpi_call::Rsend};
    CHECK(last().call == expected[kind] && last().peer == right && last().tag == 1 && last().bytes == 12);
    CHECK(last().flags == (flag::posts_send | flag::complete | (kind == 2 ? flag::synchronous : 0)));
    CHECK(last().completion == records().size() - 1);
    MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL && same(status, other) && std::memcmp(in, plain, 12) == 0);
    const sync_record& r = records()[posted];
    CHECK(r.call == mpi_call::Irecv && r.peer == left && r.tag == 1 && r.completion == records().size() - 1);
    CHECK(r.has(flag::complete) && r.has(flag::any_source) && !r.has(flag::any_tag) && r.has(flag::posts_receive));
    CHECK(last().call == mpi_call::Wait && last().posting == 0 && last().begin >= r.begin + r.duration);
  }
  void* back = nullptr;
  int size = 0;
  MPI_Buffer_detach(&back, &size);
  MPI_Request request;
  MPI_Isend(out, 3, MPI_INT, right, 2, comm, &request);
  MPI_Recv(in, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  CHECK(last().call == mpi_call::Recv && last().peer == left && last().tag == 2);
  CHECK(last().has(flag::any_source) && last().has(flag::any_tag) && last().has(flag::complete));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void null_peers() {
  int x = 7;
  MPI_Status status, other;
  MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 5, comm, &status);
  PMPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 5, comm, &other);
  CHECK(same(status, other) && x == 7);
  CHECK(last().has(flag::proc_null) && last().peer == -1);
  MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 5, comm);
  CHECK(last().has(flag::proc_null) && last().has(flag::posts_send));
  MPI_Request requests[2], past[2];
  PMPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 5, comm, &past[0]);
  PMPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 5, comm, &past[1]);
  MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 5, comm, &requests[0]);
  CHECK(last().has(flag::complete) && last().has(flag::proc_null));
  MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 5, comm, &requests[1]);
  CHECK(requests[0] == past[0] && requests[1] == past[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  PMPI_Waitall(2, past, MPI_STATUSES_IGNORE);
  CHECK(process().requests.size() == 0);
  MPI_Message message;
  MPI_Mprobe(MPI_PROC_NULL, 1, comm, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC && last().has(flag::proc_null));
  MPI_Mrecv(&x, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL && last().has(flag::proc_null));
  CHECK(process().messages.size() == 0);
}

void exchanges() {
  int out = rank, in = -1;
  MPI_Status status;
  const auto first = records().size();
  MPI_Sendrecv(&out, 1, MPI_INT, right, 3, &in, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &status);
  CHECK(in == left && status.MPI_SOURCE == left && records().size() == first + 3);
  const sync_record &send = records()[first], &receive = records()[first + 1], &call = records()[first + 2];
  CHECK(send.begin == call.begin && receive.begin == call.begin && send.duration == 0 && receive.duration == 0);
  CHECK(send.completion == first + 2 && receive.completion == first + 2 && call.duration > 0);
  CHECK(send.has(flag::posts_send) && send.peer == right && receive.has(flag::posts_receive) && receive.peer == left);
  CHECK(receive.posting == send.posting + 1 && call.posting == 0);
  int both = rank;
  MPI_Sendrecv_replace(&both, 1, MPI_INT, right, 4, left, 4, comm, MPI_STATUS_IGNORE);
  CHECK(both == left && last().call == mpi_call::Sendrecv_replace && last(1).peer == left && last(2).peer == right);
  MPI_Sendrecv(&out, 1, MPI_INT, rank, 3, &in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == rank);
}

void probes() {
  int out = 5, in = 0, found = 0;
  MPI_Request request;
  MPI_Isend(&out, 1, MPI_INT, right, 8, comm, &request);
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, 8, comm, &status);
  CHECK(status.MPI_SOURCE == left && last().call == mpi_call::Probe && last().peer == left);
  const auto probe = last().posting;
  while (found == 0) MPI_Iprobe(left, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
  CHECK(last().call == mpi_call::Iprobe && last().tag == 8);
  const auto before = records().size();
  found = 1;
  MPI_Iprobe(left, 99, comm, &found, MPI_STATUS_IGNORE);
  CHECK(found == 0 && records().size() == before + 1 && whywait::core::polled_in_vain(last()));
  MPI_Recv(&in, 1, MPI_INT, left, 8, comm, MPI_STATUS_IGNORE);
  CHECK(in == 5 && last().posting > probe);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  MPI_Isend(&out, 1, MPI_INT, right, 9, comm, &request);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(left, 9, comm, &message, MPI_STATUS_IGNORE);
  const sync_record matched = last();
  CHECK(matched.has(flag::matched) && !matched.has(flag::posts_receive) && matched.posting != 0);
  MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL && status.MPI_TAG == 9);
  CHECK(last().has(flag::matched) && last().has(flag::posts_receive) && last().posting == matched.posting);
  CHECK(last().peer == left && last().tag == 9 && last().comm == matched.comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  MPI_Isend(&out, 1, MPI_INT, right, 10, comm, &request);
  found = 0;
  while (found == 0) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &message, MPI_STATUS_IGNORE);
  const auto ordinal = last().posting;
  MPI_Request receive;
  MPI_Imrecv(&in, 1, MPI_INT, &message, &receive);
  const auto posted = records().size() - 1;
  CHECK(last().posting == ordinal && last().tag == 10);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  CHECK(records()[posted].has(flag::complete) && records()[posted].completion == posted + 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(process().messages.size() == 0);
}

void persistent() {
  int out = rank, in = -1;
  MPI_Request requests[2];
  MPI_Ssend_init(&out, 1, MPI_INT, right, 11, comm, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 11, comm, &requests[1]);
  const MPI_Request kept[2] = {requests[0], requests[1]};
  MPI_Status status, plain;
  MPI_Wait(&requests[1], &status);  // inactive, so it returns an empty status at once
  PMPI_Wait(&requests[1], &plain);
  CHECK(same(status, plain));
  for (int i = 0; i < 3; ++i) {
    in = -1;
    const auto first = records().size();
    MPI_Startall(2, requests);
    CHECK(records().size() == first + 2);
    const sync_record &send = records()[first], &receive = records()[first + 1];
    CHECK(send.has(flag::synchronous) && send.has(flag::posts_send) && send.begin == receive.begin);
    CHECK(!send.has(flag::ambiguous) && !receive.has(flag::ambiguous) && receive.posting == send.posting + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == left && requests[0] == kept[0] && requests[1] == kept[1]);
    CHECK(send.completion == first + 2 && receive.completion == first + 2 && receive.peer == left);
  }
  MPI_Start(&requests[0]);
  MPI_Start(&requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  CHECK(requests[0] == MPI_REQUEST_NULL && process().requests.size() == 0 && process().open_wildcards == 0);

  int a = 1, b = 2, c = 0, d = 0;
  MPI_Request twins[4];
  MPI_Send_init(&a, 1, MPI_INT, right, 12, comm, &twins[0]);
  MPI_Send_init(&b, 1, MPI_INT, right, 12, comm, &twins[1]);
  MPI_Recv_init(&c, 1, MPI_INT, left, 12, comm, &twins[2]);
  MPI_Recv_init(&d, 1, MPI_INT, left, 12, comm, &twins[3]);
  const auto first = records().size();
  MPI_Startall(4, twins);
  for (unsigned i = 0; i < 4; ++i) CHECK(records()[first + i].has(flag::ambiguous));
  MPI_Waitall(4, twins, MPI_STATUSES_IGNORE);
  CHECK(c + d == 3);
  for (auto& t : twins) MPI_Request_free(&t);
  MPI_Bsend_init(&a, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &twins[0]);
  MPI_Rsend_init(&a, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &twins[1]);
  MPI_Startall(2, twins);
  CHECK(last().has(flag::proc_null));
  MPI_Waitall(2, twins, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&twins[i]);
}

/// A persistent request of a library that calls PMPI functions, started together with one that is known.
void foreign_requests() {
  int a = 1, b = 0;
  MPI_Request requests[2];
  PMPI_Send_init(&a, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[0]);
  MPI_Recv_init(&b, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[1]);
  const auto before = records().size();
  MPI_Startall(2, requests);
  CHECK(records().size() == before + 1 && last().has(flag::posts_receive));
  PMPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  PMPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

void completions() {
  int in[3] = {0, 0, 0}, out[3] = {rank, rank + 100, rank + 200};
  char room[1000];
  MPI_Buffer_attach(room, sizeof room);
  MPI_Request none = MPI_REQUEST_NULL;
  int done = 7, flag_ = 0;
  MPI_Status status, plain;
  MPI_Waitany(1, &none, &done, &status);
  CHECK(done == MPI_UNDEFINED);
  PMPI_Waitany(1, &none, &done, &plain);
  CHECK(same(status, plain));
  int indices[3];
  MPI_Waitsome(1, &none, &done, indices, MPI_STATUSES_IGNORE);
  CHECK(done == MPI_UNDEFINED);
  MPI_Test(&none, &flag_, &status);
  CHECK(flag_ == 1);
  MPI_Testall(0, nullptr, &flag_, MPI_STATUSES_IGNORE);
  CHECK(flag_ == 1);
  MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE);
  MPI_Wait(&none, &status);

  MPI_Request receives[3], sends[3];
  for (int i = 0; i < 3; ++i) MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 20 + i, comm, &receives[i]);
  const auto polls = whywait::mpi::recording_thread()->failed_polls;
  const auto before = records().size();
  MPI_Testany(3, receives, &done, &flag_, MPI_STATUS_IGNORE);
  CHECK(flag_ == 0);
  MPI_Testsome(3, receives, &done, indices, MPI_STATUSES_IGNORE);
  CHECK(done == 0);
  MPI_Testall(3, receives, &flag_, MPI_STATUSES_IGNORE);
  CHECK(flag_ == 0);
  MPI_Test(&receives[0], &flag_, MPI_STATUS_IGNORE);
  CHECK(flag_ == 0);
  MPI_Request_get_status(receives[0], &flag_, MPI_STATUS_IGNORE);
  CHECK(flag_ == 0 && whywait::mpi::recording_thread()->failed_polls == polls + 5);
  // Polls that follow one another are one record, unless another thread had the processor in between.
  std::uint64_t in_vain = 0;
  for (std::uint64_t i = before; i < records().size(); ++i) {
    CHECK(whywait::core::polled_in_vain(records()[i]) && !records()[i].has(flag::of_others) && records()[i].duration != 0);
    in_vain += records()[i].completion;
  }
  CHECK(in_vain == 5);
  PMPI_Barrier(comm);
  MPI_Isend(&out[0], 1, MPI_INT, right, 20, comm, &sends[0]);
  MPI_Ibsend(&out[1], 1, MPI_INT, right, 21, comm, &sends[1]);
  CHECK(last().call == mpi_call::Ibsend);
  MPI_Irsend(&out[2], 1, MPI_INT, right, 22, comm, &sends[2]);
  CHECK(last().call == mpi_call::Irsend);
  flag_ = 0;
  while (flag_ == 0) MPI_Request_get_status(receives[2], &flag_, &status);
  CHECK(status.MPI_TAG == 22 && records()[before - 1].has(flag::complete) && records()[before - 1].peer == left);
  const auto completed = records()[before - 1].completion;
  CHECK(records()[completed].call == mpi_call::Request_get_status && !records()[completed].has(flag::found_nothing));
  MPI_Waitany(3, receives, &done, &status);
  CHECK(done >= 0 && done < 3 && status.MPI_TAG == 20 + done && receives[done] == MPI_REQUEST_NULL);
  MPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) CHECK(in[i] == left + 100 * i && records()[before - 3 + unsigned(i)].peer == left);
  CHECK(records()[before - 1].completion == completed);  // the call that completed it first
  MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);

  MPI_Issend(&out[0], 1, MPI_INT, right, 23, comm, &sends[0]);
  const auto ssend = records().size() - 1;
  CHECK(last().has(flag::synchronous) && !last().has(flag::complete));
  MPI_Irecv(&in[0], 1, MPI_INT, left, 23, comm, &receives[0]);
  flag_ = 0;
  while (flag_ == 0) MPI_Test(&receives[0], &flag_, MPI_STATUS_IGNORE);
  CHECK(last().call == mpi_call::Test && !last().has(flag::found_nothing));
  CHECK(records()[ssend + 1].completion == records().size() - 1);
  MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
  CHECK(records()[ssend].has(flag::complete) && records()[ssend].completion == records().size() - 1);

  MPI_Irecv(&in[0], 1, MPI_INT, left, 99, comm, &receives[0]);
  const auto cancelled = records().size() - 1;
  MPI_Cancel(&receives[0]);
  MPI_Wait(&receives[0], &status);
  MPI_Test_cancelled(&status, &flag_);
  CHECK(flag_ == 1 && records()[cancelled].has(flag::cancelled) && records()[cancelled].has(flag::complete));

  MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 24, comm, &receives[0]);
  const auto freed = records().size() - 1;
  MPI_Request_free(&receives[0]);
  CHECK(receives[0] == MPI_REQUEST_NULL && records()[freed].has(flag::ambiguous));
  MPI_Send(&out[0], 1, MPI_INT, right, 24, comm);
  PMPI_Barrier(comm);
  int size = 0;
  void* back = nullptr;
  MPI_Buffer_detach(&back, &size);
  CHECK(process().requests.size() == 0 && process().open_wildcards == 0);
}

void collective_calls() {
  const int n = ranks;
  std::vector<int> a(std::size_t(n), rank), b(std::size_t(n), 0), ones(std::size_t(n), 1), places(std::size_t(n), 0);
  for (int i = 0; i < n; ++i) places[std::size_t(i)] = i;
  const auto flags = [](bool contributes, bool consumes) {
    return (last().flags & (flag::contributes | flag::consumes)) ==
           ((contributes ? flag::contributes : 0) | (consumes ? flag::consumes : 0));
  };
  const bool root = rank == n - 1;
  MPI_Barrier(comm);
  CHECK(last().call == mpi_call::Barrier && flags(true, true) && last().posting != 0);
  MPI_Bcast(a.data(), 1, MPI_INT, n - 1, comm);
  CHECK(a[0] == n - 1 && flags(root, !root) && last().peer == n - 1);
  MPI_Bcast(a.data(), 0, MPI_INT, n - 1, comm);
  CHECK(flags(false, false));
  a.assign(std::size_t(n), rank);
  MPI_Scatter(a.data(), 1, MPI_INT, b.data(), 1, MPI_INT, n - 1, comm);
  CHECK(b[0] == n - 1 && flags(root, !root) && last().bytes == (root ? 4u * unsigned(n) : 0u));
  MPI_Scatterv(root ? a.data() : nullptr, root ? ones.data() : nullptr, root ? places.data() : nullptr, MPI_INT, b.data(), 1,
               MPI_INT, n - 1, comm);
  CHECK(flags(root, !root));
  MPI_Reduce(a.data(), root ? b.data() : nullptr, 1, MPI_INT, MPI_SUM, n - 1, comm);
  CHECK((!root || b[0] == n * (n - 1) / 2) && flags(true, root));
  MPI_Gather(a.data(), 1, MPI_INT, root ? b.data() : nullptr, root ? 1 : -5, root ? MPI_INT : MPI_DATATYPE_NULL, n - 1, comm);
  CHECK((!root || b[std::size_t(n - 2)] == n - 2) && flags(true, root));
  MPI_Gatherv(root ? MPI_IN_PLACE : a.data(), 1, MPI_INT, root ? b.data() : nullptr, root ? ones.data() : nullptr,
              root ? places.data() : nullptr, MPI_INT, n - 1, comm);
  CHECK(flags(true, root));
  MPI_Allreduce(MPI_IN_PLACE, a.data(), 1, MPI_INT, MPI_SUM, comm);
  CHECK(a[0] == n * (n - 1) / 2 && flags(true, true) && last().bytes == 4);
  a.assign(std::size_t(n), rank);
  MPI_Allgather(a.data(), 1, MPI_INT, b.data(), 1, MPI_INT, comm);
  CHECK(b[std::size_t(n - 1)] == n - 1 && flags(true, true));
  MPI_Allgatherv(a.data(), 1, MPI_INT, b.data(), ones.data(), places.data(), MPI_INT, comm);
  CHECK(flags(true, true));
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.data(), 1, MPI_INT, comm);
  CHECK(flags(true, true) && last().bytes == 4);
  MPI_Alltoall(a.data(), 1, MPI_INT, b.data(), 1, MPI_INT, comm);
  CHECK(b[0] == 0 && flags(true, true) && last().bytes == 4u * unsigned(n));
  // all send to their right neighbour only
  std::vector<int> sends(std::size_t(n), 0), receives(std::size_t(n), 0);
  sends[std::size_t(right)] = 1;
  receives[std::size_t(left)] = 1;
  const auto first = whywait::record::this_location()->needs.size();
  MPI_Alltoallv(a.data(), sends.data(), places.data(), MPI_INT, b.data(), receives.data(), places.data(), MPI_INT, comm);
  CHECK(b[std::size_t(left)] == left && flags(true, true));
  if (n > 2) {
    CHECK(last().has(flag::sparse) && last().peer == 1 && last().tag == int(first));
    CHECK(whywait::record::this_location()->needs[first] == left);
  } else {
    CHECK(!last().has(flag::sparse));
  }
  std::vector<MPI_Datatype> types(std::size_t(n), MPI_INT);
  std::vector<int> bytes(std::size_t(n), 0);
  MPI_Alltoallw(a.data(), sends.data(), bytes.data(), types.data(), b.data(), receives.data(), bytes.data(), types.data(),
                comm);
  CHECK(last().has(flag::sparse) == (n > 2));
  MPI_Alltoallv(a.data(), ones.data(), places.data(), MPI_INT, b.data(), ones.data(), places.data(), MPI_INT, comm);
  CHECK(!last().has(flag::sparse));
  MPI_Reduce_scatter(a.data(), b.data(), ones.data(), MPI_INT, MPI_SUM, comm);
  CHECK(b[0] == n * (n - 1) / 2 && flags(true, true));
  MPI_Reduce_scatter_block(a.data(), b.data(), 1, MPI_INT, MPI_SUM, comm);
  CHECK(flags(true, true));
  MPI_Scan(a.data(), b.data(), 1, MPI_INT, MPI_SUM, comm);
  CHECK(b[0] == rank * (rank + 1) / 2 && flags(true, rank != 0));
  MPI_Exscan(a.data(), b.data(), 1, MPI_INT, MPI_SUM, comm);
  CHECK(flags(true, rank != 0));
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Bcast(a.data(), 1, pair, 0, comm);
  CHECK(rank != 0 || last().bytes == 8);
  MPI_Type_free(&pair);
  MPI_Type_contiguous(n, MPI_INT, &pair);  // often reuses the handle
  MPI_Type_commit(&pair);
  MPI_Bcast(a.data(), 1, pair, 0, comm);
  CHECK(rank != 0 || last().bytes == 4u * unsigned(n));
  MPI_Type_free(&pair);
}

/// The number of records since `before`, of which the last one is of `call` and on the window `made`.
std::uint64_t since(std::uint64_t& before, mpi_call call, std::uint32_t made) {
  CHECK(last().call == call && last().comm == made);
  const std::uint64_t count = records().size() - before;
  before = records().size();
  return count;
}

void windows() {
  std::vector<int> memory(8, 0), value(8, rank);
  int result = 0, one = 1, over = 0;
  MPI_Win window;
  const std::uint32_t communicators = process().communicators.size();
  MPI_Win_create(memory.data(), 32, 4, MPI_INFO_NULL, comm, &window);
  CHECK(last().call == mpi_call::Win_create && communicator(last()).size == ranks && last().comm != 0);
  const std::uint32_t made = communicators;
  CHECK(process().communicators.size() == communicators + 1 && process().communicators[made].size == ranks);
  std::uint64_t before = records().size();
  MPI_Win_fence(0, window);
  CHECK(since(before, mpi_call::Win_fence, made) == 1 && last().posting != 0);
  MPI_Put(value.data(), 2, MPI_INT, right, 0, 2, MPI_INT, window);
  CHECK(since(before, mpi_call::Put, made) == 1 && last().peer == right && last().bytes == 8 && last().posting == 0);
  MPI_Put(value.data(), 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, window);
  CHECK(since(before, mpi_call::Put, made) == 1 && last().has(flag::proc_null) && last().bytes == 0);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  since(before, mpi_call::Win_fence, made);

  MPI_Group all, from, to;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &left, &from);
  MPI_Group_incl(all, 1, &right, &to);
  for (const bool polls : {false, true}) {
    MPI_Win_post(from, 0, window);
    CHECK(since(before, mpi_call::Win_post, made) == 2 && last(1).has(flag::posts_send) && last(1).peer == left);
    MPI_Win_start(to, 0, window);
    CHECK(since(before, mpi_call::Win_start, made) == 2 && last(1).has(flag::posts_receive) && last(1).peer == right);
    CHECK(last(1).completion == records().size() - 1 && last(1).begin == last().begin && last(1).duration == 0);
    MPI_Accumulate(value.data(), 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, window);
    since(before, mpi_call::Accumulate, made);
    MPI_Win_complete(window);
    CHECK(since(before, mpi_call::Win_complete, made) == 3 && last(1).has(flag::posts_send) && last(2).has(flag::posts_send));
    if (polls) {
      for (over = 0; over == 0;) MPI_Win_test(window, &over);
      CHECK(last().call == mpi_call::Win_test && last().has(flag::posts_receive) && last(1).has(flag::posts_receive));
      CHECK(records()[last().completion].call == mpi_call::Win_test && !records()[last().completion].has(flag::posts_receive));
      before = records().size();
    } else {
      MPI_Win_wait(window);
      CHECK(since(before, mpi_call::Win_wait, made) == 3 && last(1).has(flag::posts_receive) && last(1).peer == left);
    }
  }
  MPI_Win_post(MPI_GROUP_EMPTY, 0, window);
  CHECK(since(before, mpi_call::Win_post, made) == 1);
  MPI_Win_wait(window);
  CHECK(since(before, mpi_call::Win_wait, made) == 1);

  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
  CHECK(since(before, mpi_call::Win_lock, made) == 1 && last().peer == right && last().tag == 1);
  MPI_Get(value.data(), 1, MPI_INT, right, 0, 1, MPI_INT, window);
  MPI_Win_flush(right, window);
  CHECK(since(before, mpi_call::Win_flush, made) == 2 && last().peer == right);
  MPI_Win_unlock(right, window);
  CHECK(since(before, mpi_call::Win_unlock, made) == 1 && last().peer == right);
  MPI_Win_lock_all(0, window);
  CHECK(since(before, mpi_call::Win_lock_all, made) == 1 && last().peer == -1 && last().tag == 0);
  MPI_Fetch_and_op(&one, &result, MPI_INT, right, 7, MPI_SUM, window);
  CHECK(since(before, mpi_call::Fetch_and_op, made) == 1 && last().peer == right && last().bytes == 4);
  MPI_Win_flush_local_all(window);
  MPI_Win_flush_all(window);
  CHECK(since(before, mpi_call::Win_flush_all, made) == 2);
  MPI_Request request;
  const auto open_requests = process().requests.size();
  const bool others_before = process().others_requests;
  MPI_Rput(value.data(), 1, MPI_INT, right, 6, 1, MPI_INT, window, &request);
  CHECK(last().call == mpi_call::Rput && process().others_requests == others_before);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; ++i) {
    MPI_Request several[2];
    int done = 0;
    MPI_Rget(value.data(), 1, MPI_INT, right, 0, 1, MPI_INT, window, &several[0]);
    MPI_Raccumulate(&one, 1, MPI_INT, right, 5, 1, MPI_INT, MPI_SUM, window, &several[1]);
    if (i % 2 == 0) MPI_Waitall(2, several, MPI_STATUSES_IGNORE);
    else
      while (done == 0) MPI_Testall(2, several, &done, MPI_STATUSES_IGNORE);
  }
  CHECK(process().requests.size() == open_requests);
  before = records().size();
  MPI_Win_unlock_all(window);
  CHECK(since(before, mpi_call::Win_unlock_all, made) == 1);
  PMPI_Barrier(comm);
  // Debian's MPICH 4.0.2 delivers nothing between processes here, with whywait or without.
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  CHECK((memory[0] == left && memory[7] == 1) || std::strstr(library, "MPICH") != nullptr);
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  MPI_Group_free(&all);
  const std::uint64_t freed = whywait::mpi::handle_of(window);
  CHECK(process().groups->find(freed) != nullptr);  // of the last epochs
  MPI_Win_free(&window);
  CHECK(window == MPI_WIN_NULL && since(before, mpi_call::Win_free, made) == 1 && last().posting != 0);
  CHECK(process().groups->find(freed) == nullptr);
  // The handle may be used again.
  MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window);
  MPI_Win_fence(0, window);
  CHECK(last().call == mpi_call::Win_fence && last().comm == made + 1);
  CHECK(communicator(last()).id != process().communicators[made].id);
  MPI_Win_free(&window);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(whywait::mpi::the_state() == nullptr);
  const double begin = now_ns();
  int flag_ = 1;
  MPI_Initialized(&flag_);
  CHECK(flag_ == 0);
  CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  CHECK(records().size() == 1 && last().call == mpi_call::Init);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  right = (rank + 1) % ranks;
  left = (rank + ranks - 1) % ranks;
  blocking_sends();
  null_peers();
  exchanges();
  probes();
  persistent();
  completions();
  collective_calls();
  windows();

  // Invariants of every recording: no overlap, no gaps in ordinals, each posting once.
  std::set<std::uint32_t> postings;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < records().size(); ++i) {
    const sync_record& r = records()[i];
    CHECK(r.begin >= end || (r.begin == records()[i - 1].begin && records()[i - 1].duration == 0));
    end = r.begin + r.duration;
    if (r.posting != 0 && !(r.has(flag::matched) && r.has(flag::posts_receive))) CHECK(postings.insert(r.posting).second);
    CHECK(!r.has(flag::failed));
    CHECK(r.site != 0);
  }
  CHECK(postings.size() == process().last_posting && *postings.rbegin() == process().last_posting);
  foreign_requests();  // leaves a gap in the ordinals
  MPI_Comm_free(&comm);
  const whywait::core::shared_clock clock = whywait::finalize::finish_clock(process());
  const auto all = whywait::finalize::collect(process(), clock);
  const whywait::core::rank_history& history = all.history;
  CHECK(history.locations.size() == 1 && all.threads.size() == 1 && all.threads[0].sites != nullptr);
  CHECK(history.ranks == ranks && !all.closed);
  CHECK(history.communicators[0].size == ranks && history.communicators[1].size == 1 && history.communicators[1].rank == 0);
  CHECK(all.calls >= history.locations[0].records.size() / 3 && all.lost_records == 0);
  CHECK(clock.ns_per_tick > 0 && 2 * clock.error_ns < now_ns() - begin);
  MPI_Finalize();
  CHECK(last().call == mpi_call::Finalize && last().comm == 0 && last().posting != 0);
  return result();
}
