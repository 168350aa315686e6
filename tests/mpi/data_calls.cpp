// ranks: 2 3 4
// timeout: 120
// with: recorder
//
// Every kind of call with a buffer in a registered array leaves exactly the expected data records, with the array, the
// bytes and the peer. The records of all ranks together are consistent.

#include "checks.hpp"

#include <whywait/data.hpp>
#include <whywait/data/analysis/classify.hpp>
#include <whywait/data/finalize/data_history.hpp>
#include <whywait/data/finalize/node_sharing.hpp>
#include <whywait/finalize/mpi_transport.hpp>

#include <cstring>
#include <random>
#include <set>

using namespace checks;

namespace {

namespace core = ww::core;
namespace dflag = ww::core::data_flag;
using core::data_op;
using core::data_record;

int rank, ranks, right, left;
MPI_Comm comm;

constexpr int rows = 24, columns = 16;
double field[rows][columns];
int numbers[256];
double plain[rows * columns];  // not registered
unsigned field_number, numbers_number;

const data_record& record(std::uint64_t i) { return ww::data::this_thread()->records.view()[i]; }
std::uint64_t record_count() { return ww::data::this_thread()->records.size(); }

struct expected {
  data_op op;
  unsigned object;
  std::uint64_t begin, end, stride, piece;
  unsigned flags;
  int peer;
  int tag;
};

std::uint64_t seen = 0;

/// Checks the records since the last call; a failure prints `what`.
bool leaves(const char* what, std::initializer_list<expected> all) {
  ww::data::this_thread()->flush();
  std::uint64_t i = seen;
  bool same = record_count() - seen == all.size();
  for (const expected& e : all) {
    if (i >= record_count()) break;
    const data_record& r = record(i++);
    const bool is_mark = r.op == data_op::read || r.op == data_op::write;  // its tag is the NUMA node
    const bool fits = r.op == e.op && r.object == e.object && r.begin == e.begin && r.end == e.end && r.stride == e.stride &&
                      r.piece == e.piece && r.flags == e.flags && r.peer == e.peer && (is_mark ? r.tag >= 0 : r.tag == e.tag);
    if (!fits)
      std::fprintf(stderr, "rank %d: %s: op %d object %u [%d %d) %d %d flags %d peer %d tag %d\n", rank, what,
                   static_cast<int>(r.op), r.object, static_cast<int>(r.begin), static_cast<int>(r.end),
                   static_cast<int>(r.stride), static_cast<int>(r.piece), r.flags, r.peer, r.tag);
    same = same && fits;
  }
  if (!same)
    std::fprintf(stderr, "rank %d: %s: %d records, %d expected\n", rank, what, static_cast<int>(record_count() - seen),
                 static_cast<int>(all.size()));
  for (std::uint64_t k = seen; k != record_count(); ++k) {
    const data_record& r = record(k);
    if (r.op != data_op::send && r.op != data_op::receive) continue;
    CHECK(r.record != 0 && r.record <= records().size() && r.order != 0);
    if (k != 0) CHECK(r.time >= record(k - 1).time);
  }
  seen = record_count();
  return same;
}
expected bytes(data_op op, unsigned object, std::uint64_t begin, std::uint64_t end, int peer, int tag, unsigned flags = 0) {
  return {op, object, begin, end, 0, 0, flags, peer, tag};
}
expected column(data_op op, std::uint64_t first, int peer, int tag, int count = rows) {
  return {op, field_number, first * 8, first * 8 + static_cast<std::uint64_t>(count - 1) * columns * 8 + 8, columns * 8, 8,
          0,  peer,         tag};
}

void blocking() {
  const auto n = numbers_number;
  MPI_Request past;
  char room[1000];
  MPI_Buffer_attach(room, sizeof room);
  for (int kind = 0; kind != 4; ++kind) {
    PMPI_Irecv(plain, 10, MPI_INT, left, kind, comm, &past);
    PMPI_Barrier(comm);
    if (kind == 0) MPI_Send(numbers + 4, 10, MPI_INT, right, kind, comm);
    if (kind == 1) MPI_Bsend(numbers + 4, 10, MPI_INT, right, kind, comm);
    if (kind == 2) MPI_Ssend(numbers + 4, 10, MPI_INT, right, kind, comm);
    if (kind == 3) MPI_Rsend(numbers + 4, 10, MPI_INT, right, kind, comm);
    PMPI_Wait(&past, MPI_STATUS_IGNORE);
    CHECK(leaves("blocking send", {bytes(data_op::send, n, 16, 56, right, kind)}));
  }
  void* back = nullptr;
  int size = 0;
  MPI_Buffer_detach(&back, &size);
  // a receive from any source that gets less than its buffer holds
  PMPI_Isend(plain, 3, MPI_INT, right, 7, comm, &past);
  MPI_Recv(numbers, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  PMPI_Wait(&past, MPI_STATUS_IGNORE);
  CHECK(leaves("shorter receive", {bytes(data_op::receive, n, 0, 12, left, 7)}));
  CHECK(record(seen - 1).record == records().size());
  PMPI_Isend(plain, 0, MPI_INT, right, 7, comm, &past);
  MPI_Recv(numbers, 10, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE);
  PMPI_Wait(&past, MPI_STATUS_IGNORE);
  MPI_Send(numbers, 10, MPI_INT, MPI_PROC_NULL, 7, comm);
  MPI_Recv(numbers, 10, MPI_INT, MPI_PROC_NULL, 7, comm, MPI_STATUS_IGNORE);
  PMPI_Isend(plain, 1, MPI_INT, right, 7, comm, &past);
  MPI_Recv(plain + 1, 1, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE);
  PMPI_Wait(&past, MPI_STATUS_IGNORE);
  CHECK(leaves("nothing, nobody, elsewhere", {}));
  MPI_Sendrecv(numbers, 2, MPI_INT, right, 8, numbers + 100, 5, MPI_INT, left, 8, comm, MPI_STATUS_IGNORE);
  CHECK(leaves("exchange", {bytes(data_op::send, n, 0, 8, right, 8), bytes(data_op::receive, n, 400, 408, left, 8)}));
  MPI_Sendrecv_replace(numbers, 2, MPI_INT, right, 9, left, 9, comm, MPI_STATUS_IGNORE);
  CHECK(leaves("exchange in place", {bytes(data_op::send, n, 0, 8, right, 9), bytes(data_op::receive, n, 0, 8, left, 9)}));
  MPI_Message message;
  MPI_Status status;
  PMPI_Isend(plain, 3, MPI_INT, right, 10, comm, &past);
  MPI_Mprobe(left, 10, comm, &message, &status);
  MPI_Mrecv(numbers, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
  PMPI_Wait(&past, MPI_STATUS_IGNORE);
  CHECK(leaves("matched receive", {bytes(data_op::receive, n, 0, 12, left, 10)}));
}

void nonblocking() {
  const auto n = numbers_number;
  MPI_Request r[4], past;
  // requests complete in another order than posted, in all possible ways
  for (int way = 0; way != 8; ++way) {
    MPI_Irecv(numbers, 10, MPI_INT, left, 20, comm, &r[0]);
    MPI_Irecv(numbers + 50, 10, MPI_INT, MPI_ANY_SOURCE, 21, comm, &r[1]);
    CHECK(leaves("posting", {}));
    MPI_Isend(numbers + 100, 3, MPI_INT, right, 21, comm, &r[2]);
    MPI_Isend(numbers + 120, 4, MPI_INT, right, 20, comm, &r[3]);
    CHECK(leaves("initiation", {bytes(data_op::send, n, 400, 412, right, 21), bytes(data_op::send, n, 480, 496, right, 20)}));
    const expected first = bytes(data_op::receive, n, 0, 16, left, 20), second = bytes(data_op::receive, n, 200, 212, left, 21);
    int done = 0, which = 0, indices[4];
    if (way == 0) {
      MPI_Wait(&r[1], MPI_STATUS_IGNORE);
      CHECK(leaves("wait", {second}));
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      CHECK(leaves("wait", {first}));
      PMPI_Waitall(2, r + 2, MPI_STATUSES_IGNORE);
    } else if (way == 1) {
      MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
      CHECK(leaves("wait for all", {first, second}));
      CHECK(record(seen - 1).record == record(seen - 2).record);
    } else if (way == 2) {
      for (int i = 0; i != 4; ++i) MPI_Waitany(4, r, &which, MPI_STATUS_IGNORE);
    } else if (way == 3) {
      for (int sum = 0; sum != 4; sum += done) MPI_Waitsome(4, r, &done, indices, MPI_STATUSES_IGNORE);
    } else if (way == 4) {
      for (int i = 0; i != 4; ++i)
        for (done = 0; done == 0;) MPI_Test(&r[i], &done, MPI_STATUS_IGNORE);
      CHECK(leaves("test", {first, second}));
    } else if (way == 5) {
      while (done == 0) MPI_Testall(4, r, &done, MPI_STATUSES_IGNORE);
      CHECK(leaves("test all", {first, second}));
    } else if (way == 6) {
      for (int sum = 0; sum != 4; sum += done) {
        done = 0;
        while (done == 0) MPI_Testany(4, r, &which, &done, MPI_STATUS_IGNORE);
      }
    } else {
      for (int sum = 0; sum != 4;) {
        MPI_Testsome(4, r, &done, indices, MPI_STATUSES_IGNORE);
        sum += done;
      }
    }
    if (way == 2 || way == 3 || way >= 6) {  // in any order
      CHECK(record_count() - seen == 2);
      const bool swapped = record(seen).tag == 21;
      CHECK(leaves("some", {swapped ? second : first, swapped ? first : second}));
    }
    PMPI_Barrier(comm);
  }
  MPI_Irecv(numbers, 10, MPI_INT, left, 25, comm, &r[0]);
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  CHECK(leaves("cancelled", {}));
  MPI_Message message;
  PMPI_Isend(plain, 3, MPI_INT, right, 26, comm, &past);
  MPI_Mprobe(left, 26, comm, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(numbers, 10, MPI_INT, &message, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  PMPI_Wait(&past, MPI_STATUS_IGNORE);
  CHECK(leaves("matched, nonblocking", {bytes(data_op::receive, n, 0, 12, left, 26)}));
  MPI_Recv_init(numbers, 10, MPI_INT, left, 27, comm, &r[0]);
  MPI_Send_init(numbers + 10, 6, MPI_INT, right, 27, comm, &r[1]);
  for (int i = 0; i != 3; ++i) {
    if (i == 0) MPI_Startall(2, r);
    else MPI_Start(&r[0]), MPI_Start(&r[1]);
    CHECK(leaves("started", {bytes(data_op::send, n, 40, 64, right, 27)}));
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(leaves("persistent", {bytes(data_op::receive, n, 0, 24, left, 27)}));
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

void datatypes() {
  double* const at = &field[0][0];
  MPI_Datatype type, resized;
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i != 3; ++i) {  // its pattern is cached at the second use
    MPI_Sendrecv(at + 3, 1, type, right, 30, at + 5, 1, type, left, 30, comm, MPI_STATUS_IGNORE);
    CHECK(leaves("columns", {column(data_op::send, 3, right, 30), column(data_op::receive, 5, left, 30)}));
  }
  CHECK(process().data->patterns.size() == 1);
  MPI_Request r;
  MPI_Irecv(at + 7, 1, type, left, 31, comm, &r);
  PMPI_Send(plain, 5, MPI_DOUBLE, right, 31, comm);
  MPI_Type_free(&type);  // MPI allows this
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(leaves("part of a column, type freed", {column(data_op::receive, 7, left, 31, 5)}));
  MPI_Type_vector(2, 1, columns, MPI_DOUBLE, &type);  // may reuse the handle
  MPI_Type_commit(&type);
  MPI_Sendrecv(at, 1, type, right, 32, at + 5, 1, type, left, 32, comm, MPI_STATUS_IGNORE);
  CHECK(leaves("another column", {column(data_op::send, 0, right, 32, 2), column(data_op::receive, 5, left, 32, 2)}));
  MPI_Type_create_resized(type, 0, 8, &resized);
  MPI_Type_commit(&resized);
  MPI_Sendrecv(at, 1, resized, right, 33, at + 5, 1, resized, left, 33, comm, MPI_STATUS_IGNORE);
  CHECK(leaves("resized", {column(data_op::send, 0, right, 33, 2), column(data_op::receive, 5, left, 33, 2)}));
  MPI_Type_free(&resized);
  MPI_Type_free(&type);
  CHECK(process().data->patterns.size() == 0);
  const int sizes[] = {rows, columns}, sub[] = {4, 3}, starts[] = {2, 5};
  MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(at, 1, type, right, 34, plain, 12, MPI_DOUBLE, left, 34, comm, MPI_STATUS_IGNORE);
  const std::uint64_t first = (2 * columns + 5) * 8;
  CHECK(
      leaves("subarray", {{data_op::send, field_number, first, first + 3 * columns * 8 + 24, columns * 8, 24, 0, right, 34}}));
  MPI_Type_free(&type);
}

/// A random datatype of at most a few hundred bytes; `depth` levels.
MPI_Datatype random_type(std::mt19937& random, int depth) {
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  if (depth == 0) {
    const MPI_Datatype named[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_SHORT};
    return named[number(0, 3)];
  }
  MPI_Datatype inner = random_type(random, depth - 1), made = MPI_DATATYPE_NULL;
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_get_extent(inner, &low, &extent);
  int lengths[3], places[3];
  MPI_Aint far_places[3];
  int at = 0;
  for (int i = 0; i != 3; ++i) {
    lengths[i] = number(0, 3);
    places[i] = at;
    far_places[i] = at * extent + number(0, 1) * 4;
    at += lengths[i] + number(0, 2) + 1;
  }
  switch (number(0, 9)) {
    case 0: MPI_Type_contiguous(number(1, 4), inner, &made); break;
    case 1: {
      const int length = number(1, 3);
      MPI_Type_vector(number(1, 4), length, length + number(0, 2), inner, &made);
      break;
    }
    case 2: MPI_Type_create_hvector(number(1, 4), 1, extent + number(0, 2) * 8, inner, &made); break;
    case 3: MPI_Type_indexed(3, lengths, places, inner, &made); break;
    case 4: MPI_Type_create_hindexed(3, lengths, far_places, inner, &made); break;
    case 5: MPI_Type_create_indexed_block(3, number(1, 2), places, inner, &made); break;
    case 6: MPI_Type_create_hindexed_block(3, 1, far_places, inner, &made); break;
    case 7: {
      const MPI_Datatype types[3] = {inner, MPI_INT, inner};
      const MPI_Aint where[3] = {0, 3 * extent + 8, 3 * extent + 16 + number(0, 2) * 8};
      const int many[3] = {number(0, 3), number(0, 2), number(0, 2)};
      MPI_Type_create_struct(3, many, where, types, &made);
      break;
    }
    case 8: {
      const int whole[3] = {number(2, 4), number(1, 3), number(2, 4)};
      int part[3], start[3];
      for (int d = 0; d != 3; ++d) {
        part[d] = number(1, whole[d]);
        start[d] = number(0, whole[d] - part[d]);
      }
      MPI_Type_create_subarray(3, whole, part, start, number(0, 1) != 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner, &made);
      break;
    }
    default: MPI_Type_create_resized(inner, 0, extent + number(0, 2) * 8, &made); break;
  }
  int x, y, z, kind;
  PMPI_Type_get_envelope(inner, &x, &y, &z, &kind);
  if (kind != MPI_COMBINER_NAMED) MPI_Type_free(&inner);
  return made;
}

/// The record of a random datatype has the bytes that MPI_Unpack writes.
void random_datatypes() {
  static char arena[1u << 16], packed[1u << 16], other[1u << 16];
  WHYWAIT_DATA("arena", arena, sizeof arena);
  const unsigned seed = 20261121u + static_cast<unsigned>(rank);
  std::mt19937 random(seed);
  std::memset(packed, 1, sizeof packed);
  int regular = 0, listed = 0;
  for (int round = 0; round != 600; ++round) {
    MPI_Datatype type = random_type(random, std::uniform_int_distribution<int>(0, 3)(random));
    int size = 0, x, y, z, kind;
    MPI_Aint low = 0, extent = 0;
    PMPI_Type_get_envelope(type, &x, &y, &z, &kind);
    if (kind != MPI_COMBINER_NAMED) MPI_Type_commit(&type);
    const int count = std::uniform_int_distribution<int>(1, 3)(random);
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &low, &extent);
    if (size > 0 && extent * count < 20000 && extent > 0) {
      std::memset(arena, 0, sizeof arena);
      int position = 0;
      PMPI_Unpack(packed, size * count, &position, arena + 1000, count, type, MPI_COMM_SELF);
      std::set<std::uint64_t> touched, recorded;
      for (std::uint64_t i = 0; i != sizeof arena; ++i)
        if (arena[i] != 0) touched.insert(i);
      MPI_Request r;
      PMPI_Irecv(other, static_cast<int>(sizeof other), MPI_BYTE, 0, 1, MPI_COMM_SELF, &r);
      const std::uint64_t before = record_count();
      MPI_Send(arena + 1000, count, type, 0, 1, MPI_COMM_SELF);
      PMPI_Wait(&r, MPI_STATUS_IGNORE);
      CHECK(record_count() == before + 1);
      const data_record& found = record(before);
      bool good = found.begin == *touched.begin() && found.end == *touched.rbegin() + 1;
      if (!found.has(dflag::bounds)) ++(found.list() != nullptr ? listed : regular);
      ww::data::for_each_piece(ww::data::region_of(found, sizeof arena), [&recorded](std::uint64_t begin, std::uint64_t end) {
        for (; begin != end; ++begin) recorded.insert(begin);
      });
      good = good && (recorded == touched || (found.has(dflag::bounds) && process().data->patterns.lists.full()));
      if (!good) std::fprintf(stderr, "rank %d: seed %u, round %d: the wrong bytes\n", rank, seed, round);
      CHECK(good);
    }
    if (kind != MPI_COMBINER_NAMED) MPI_Type_free(&type);
  }
  CHECK(regular > 200 && listed > 100);
  seen = record_count();
}

/// Pieces of 1, 2, 3, ... integers with a gap of one, in several orders, which share one list, and a receive that gets
/// less.
void irregular_datatypes() {
  MPI_Datatype rising, falling, many;
  const int lengths[] = {1, 2, 3, 4}, places[] = {0, 2, 5, 9}, back_lengths[] = {4, 3, 2, 1}, back[] = {9, 5, 2, 0};
  PMPI_Type_indexed(4, lengths, places, MPI_INT, &rising);
  PMPI_Type_indexed(4, back_lengths, back, MPI_INT, &falling);
  std::vector<int> far;
  for (int i = 0; i != 5000; ++i) far.push_back(i * 2 + i % 2);
  std::vector<int> ones(far.size(), 1);
  static int large[12000];
  WHYWAIT_DATA("large", large, 12000);
  PMPI_Type_indexed(5000, ones.data(), far.data(), MPI_INT, &many);
  for (MPI_Datatype* t : {&rising, &falling, &many}) PMPI_Type_commit(t);
  MPI_Request r;
  PMPI_Irecv(plain, 40, MPI_INT, left, 50, comm, &r);
  MPI_Send(numbers + 3, 1, rising, right, 50, comm);
  PMPI_Wait(&r, MPI_STATUS_IGNORE);
  const core::byte_list* const one = record(record_count() - 1).list();
  CHECK(one != nullptr && one->count == 4 && one->bytes == 40 && one->pieces[3].begin == 36 && one->pieces[3].end == 52);
  CHECK(record(record_count() - 1).begin == 12 && record(record_count() - 1).end == 64);
  for (int round = 0; round != 3; ++round) {  // the list is created once for several uses of a type
    PMPI_Irecv(plain, 40, MPI_INT, left, 50, comm, &r);
    MPI_Send(numbers, 3, rising, right, 50, comm);
    PMPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  const data_record& thrice = record(record_count() - 1);
  CHECK(thrice.list() != nullptr && thrice.list() == record(record_count() - 3).list() && thrice.list()->bytes == 120);
  CHECK(thrice.list()->count == 10);  // the last piece of one touches the first of the next
  PMPI_Isend(plain, 7, MPI_INT, right, 51, comm, &r);
  MPI_Recv(numbers, 1, falling, left, 51, comm, MPI_STATUS_IGNORE);
  PMPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(record(record_count() - 1).list() == one);
  PMPI_Isend(plain, 7, MPI_INT, right, 51, comm, &r);
  MPI_Recv(numbers, 1, rising, left, 51, comm, MPI_STATUS_IGNORE);
  PMPI_Wait(&r, MPI_STATUS_IGNORE);
  const data_record& less = record(record_count() - 1);
  CHECK(less.list() == one && less.end == 40);  // 1 + 2 + 3 and the first of 4
  PMPI_Isend(large, 5000, MPI_INT, right, 52, comm, &r);
  MPI_Recv(large, 1, many, left, 52, comm, MPI_STATUS_IGNORE);
  PMPI_Wait(&r, MPI_STATUS_IGNORE);
  const data_record& coarse = record(record_count() - 1);
  CHECK(coarse.list() == nullptr && coarse.flags == dflag::bounds && coarse.begin == 0 && coarse.end == 9999 * 4 + 4);
  for (MPI_Datatype* t : {&rising, &falling, &many}) PMPI_Type_free(t);
  seen = record_count();
}

void collectives() {
  const auto n = numbers_number;
  const auto all = dflag::everyone | dflag::collective;
  const unsigned parted = all | dflag::parted, combines = all | dflag::combines, single = dflag::collective;
  const auto u = [](int x) { return static_cast<std::uint64_t>(x) * 4; };
  const auto send = data_op::send, receive = data_op::receive, from = data_op::copy_from, to = data_op::copy_to;
  MPI_Barrier(comm);
  MPI_Bcast(numbers, 5, MPI_INT, 1, comm);
  CHECK(leaves("bcast", {bytes(rank == 1 ? send : receive, n, 0, 20, rank == 1 ? -1 : 1, 0, rank == 1 ? all : single)}));
  MPI_Scatter(numbers, 2, MPI_INT, numbers + 100, 2, MPI_INT, 0, comm);
  if (rank == 0)
    CHECK(leaves("scatter", {bytes(send, n, 0, u(2 * ranks), -1, 0, parted), bytes(from, n, 0, 8, -1, 0, single),
                             bytes(to, n, 400, 408, -1, 0, single)}));
  else CHECK(leaves("scatter", {bytes(receive, n, 400, 408, 0, 0, single)}));
  MPI_Gather(numbers + 100, 2, MPI_INT, numbers, 2, MPI_INT, 0, comm);
  if (rank == 0)
    CHECK(leaves("gather", {bytes(receive, n, 0, u(2 * ranks), -1, 0, parted), bytes(from, n, 400, 408, -1, 0, single),
                            bytes(to, n, 0, 8, -1, 0, single)}));
  else CHECK(leaves("gather", {bytes(send, n, 400, 408, 0, 0, single)}));
  MPI_Gather(rank == 0 ? MPI_IN_PLACE : numbers + 100, 2, MPI_INT, numbers, 2, MPI_INT, 0, comm);
  if (rank == 0) CHECK(leaves("gather in place", {bytes(receive, n, 0, u(2 * ranks), -1, 0, parted)}));
  else CHECK(leaves("gather in place", {bytes(send, n, 400, 408, 0, 0, single)}));
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, numbers, 3, MPI_INT, comm);
  CHECK(leaves("allgather",
               {bytes(send, n, u(3 * rank), u(3 * rank + 3), -1, 0, all), bytes(receive, n, 0, u(3 * ranks), -1, 0, parted)}));
  MPI_Alltoall(numbers, 2, MPI_INT, numbers + 100, 2, MPI_INT, comm);
  CHECK(leaves("alltoall",
               {bytes(send, n, 0, u(2 * ranks), -1, 0, parted), bytes(receive, n, 400, 400 + u(2 * ranks), -1, 0, parted),
                bytes(from, n, u(2 * rank), u(2 * rank + 2), -1, 0, single),
                bytes(to, n, 400 + u(2 * rank), 400 + u(2 * rank + 2), -1, 0, single)}));
  MPI_Reduce(numbers, numbers + 100, 4, MPI_INT, MPI_SUM, 0, comm);
  CHECK(leaves("reduce", {rank == 0 ? bytes(receive, n, 400, 416, -1, 0, combines) : bytes(send, n, 0, 16, 0, 0, single)}));
  MPI_Allreduce(MPI_IN_PLACE, numbers, 4, MPI_INT, MPI_SUM, comm);
  CHECK(leaves("allreduce", {bytes(send, n, 0, 16, -1, 0, all), bytes(receive, n, 0, 16, -1, 0, combines)}));
  MPI_Reduce_scatter_block(numbers, numbers + 100, 2, MPI_INT, MPI_SUM, comm);
  CHECK(leaves("reduce_scatter_block",
               {bytes(send, n, 0, u(2 * ranks), -1, 0, parted), bytes(receive, n, 400, 408, -1, 0, combines)}));

  // blocks of several sizes; rank i has i + 1 elements at 10 i
  std::vector<int> counts, places;
  for (int i = 0; i != ranks; ++i) counts.push_back(i + 1), places.push_back(10 * i);
  MPI_Scatterv(numbers, counts.data(), places.data(), MPI_INT, plain, 10, MPI_INT, 0, comm);
  if (rank == 0 && ranks == 3)
    CHECK(leaves("scatterv", {bytes(send, n, 40, 48, 1, 0, single), bytes(send, n, 80, 92, 2, 0, single)}));
  if (rank != 0) CHECK(leaves("scatterv", {}));
  seen = record_count();
  MPI_Allgatherv(plain, rank + 1, MPI_INT, numbers, counts.data(), places.data(), MPI_INT, comm);
  if (ranks == 2)
    CHECK(leaves("allgatherv", {rank == 0 ? bytes(receive, n, 40, 48, 1, 0, single) : bytes(receive, n, 0, 4, 0, 0, single)}));
  seen = record_count();
  std::vector<int> equal(static_cast<std::size_t>(ranks), 1), byte_places;
  for (int i = 0; i != ranks; ++i) byte_places.push_back(40 * i);
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(ranks), MPI_INT);
  MPI_Alltoallw(numbers, equal.data(), byte_places.data(), types.data(), plain, equal.data(), byte_places.data(), types.data(),
                comm);
  std::uint64_t sends = 0;
  for (std::uint64_t i = seen; i != record_count(); ++i) {
    const data_record& r = record(i);
    CHECK(r.op == send && r.peer != rank && r.begin == static_cast<std::uint64_t>(40 * r.peer) && r.end == r.begin + 4 &&
          r.flags == single);
    ++sends;
  }
  CHECK(sends == static_cast<std::uint64_t>(ranks - 1));
  seen = record_count();
  MPI_Scan(numbers, numbers + 100, 1, MPI_INT, MPI_SUM, comm);
  CHECK(record_count() - seen == static_cast<std::uint64_t>(ranks - 1));
  if (rank == ranks - 1)
    CHECK(record(seen).op == receive && record(seen).flags == (single | dflag::combines) && record(seen).begin == 400);
  else CHECK(record(seen).op == send && record(seen).peer == rank + 1);
  seen = record_count();
}

/// Random messages. Each carries its number in its channel, with registered or unregistered buffers.
struct letter {
  int from, tag, number;
};
letter letters[1200];
unsigned letters_number;

void random_messages() {
  const unsigned seed = 4711;
  std::mt19937 random(seed);  // the same plan on all ranks
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  static letter out[1200], unregistered[1200];
  std::vector<MPI_Request> requests;
  std::vector<std::vector<int>> sent(static_cast<std::size_t>(ranks * ranks), std::vector<int>(3));
  std::size_t received = 0;
  for (int i = 0; i != 600; ++i) {
    const int from = number(0, ranks - 1), to = number(0, ranks - 1), tag = number(100, 102), known = number(0, 3),
              wild = number(0, 3);
    const int count = ++sent[static_cast<std::size_t>(from * ranks + to)][static_cast<std::size_t>(tag - 100)];
    if (rank == to) {
      letter* const room = (known & 1) != 0 ? letters + i : unregistered + i;
      requests.emplace_back();
      MPI_Irecv(room, 3 + number(0, 2), MPI_INT, from, wild == 0 && tag == 102 ? MPI_ANY_TAG : tag, comm, &requests.back());
      ++received;
    } else {
      number(0, 2);
    }
    if (rank == from) {
      letter* const text = (known & 2) != 0 ? letters + 600 + i : out + i;
      *text = {from, tag, count};
      requests.emplace_back();
      MPI_Isend(text, 3, MPI_INT, to, tag, comm, &requests.back());
    }
  }
  std::mt19937 own(seed + static_cast<unsigned>(rank));
  while (!requests.empty()) {
    const std::size_t some = std::uniform_int_distribution<std::size_t>(1, requests.size())(own);
    int which = 0;
    MPI_Waitany(static_cast<int>(some), requests.data(), &which, MPI_STATUS_IGNORE);
    requests.erase(requests.begin() + which);
  }
  CHECK(received > 50);
  seen = record_count();
}

/// Memory that the ranks of a node share. An array in it is recognised as the same memory on all of them, and
/// collectives that synchronise all ranks order the accesses.
MPI_Win window;
unsigned shared_number;

void windows() {
  MPI_Comm node;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  double* own = nullptr;
  MPI_Win_allocate_shared(64 * (rank + 1), 8, MPI_INFO_NULL, node, &own, &window);
  CHECK(last().call == mpi_call::Win_allocate_shared && last().posting == process().last_posting);
  MPI_Aint size = 0;
  int unit = 0;
  double* base = nullptr;
  PMPI_Win_shared_query(window, 0, &size, &unit, &base);
  CHECK(base != nullptr && size == 64);
  static ww::registered_array array;
  array = ww::registered_array("shared", base, ww::shape(4 * ranks * (ranks + 1)));
  shared_number = array.number();
  CHECK(shared_number != 0);
  WHYWAIT_WRITES("fill", ww::range(own, 8 * (rank + 1)));
  MPI_Barrier(node);
  WHYWAIT_READS("look", ww::range(base, 8));
  const auto begin = static_cast<std::uint64_t>(32 * rank * (rank + 1));
  CHECK(
      leaves("shared memory",
             {bytes(data_op::write, shared_number, begin, begin + 64 * static_cast<std::uint64_t>(rank + 1), -1, 0),
              bytes(data_op::synchronise, record(record_count() - 2).object, 0, 0, -1, 0, dflag::everyone | dflag::collective),
              bytes(data_op::read, shared_number, 0, 64, -1, 0)}));
  CHECK(record(seen - 2).object >= ww::core::site_table::capacity);
  MPI_Bcast(base, 1, MPI_DOUBLE, 0, node);  // the same memory on all ranks; the ranks that it synchronises are unknown
  if (rank == 0)
    CHECK(leaves("bcast", {bytes(data_op::send, shared_number, 0, 8, -1, 0, dflag::everyone | dflag::collective)}));
  MPI_Comm_free(&node);
  seen = record_count();
}

/// The analysis matches a sender to each receive and a receiver to each send.
void together() {
  // from here on only data that both sides know; some buffers were unregistered before
  ww::finalize::process_records all = ww::finalize::collect(process(), ww::finalize::finish_clock(process()));
  ww::core::rank_history& history = all.history;
  history.blocks.resize(ww::core::the_registry()->sites.size());
  for (std::uint32_t i = 1; i != history.blocks.size(); ++i) history.blocks[i] = ww::core::the_registry()->sites[i].key;
  for (std::size_t l = 0; l != all.threads.size(); ++l) {
    const auto* const sites = all.threads[l].sites;
    for (std::uint32_t i = 0; sites != nullptr && i != sites->size(); ++i)
      history.locations[l].call_sites.push_back(core::combine(static_cast<std::uint64_t>((*sites)[i].call), i));
  }
  ww::data::data_history of_process(rank, ranks);
  const ww::data::rank_data& found = of_process.take(*process().registry, history, &ww::data::memory_of_window, &process());
  const ww::data::data_losses lost = of_process.losses(*process().registry);
  CHECK(lost.records == 0 && lost.registrations == 0 && lost.unordered == 0);
  std::int64_t receives = 0, letters_seen = 0;
  for (std::uint64_t i = 0; i != found.locations[0].records.size(); ++i) {
    const data_record& r = found.locations[0].records[i];
    if (r.op != data_op::receive && r.op != data_op::send) continue;
    CHECK(r.order != 0 && r.site < found.sites.size());
    if (r.object == letters_number) {
      const letter& l = letters[r.begin / sizeof(letter)];
      CHECK(r.end - r.begin == sizeof(letter) && r.begin % sizeof(letter) == 0);
      CHECK(r.order == static_cast<std::uint32_t>(l.number) && r.tag == l.tag);
      CHECK(r.op == data_op::send ? l.from == rank : l.from == r.peer);
      ++letters_seen;
    }
    if (r.op == data_op::receive) receives += r.has(dflag::everyone) ? ranks - 1 : 1;
  }
  CHECK(letters_seen > 50);
  std::uint64_t memory[2] = {found.objects[shared_number].memory, ~found.objects[shared_number].memory}, least[2];
  PMPI_Allreduce(memory, least, 2, MPI_UINT64_T, MPI_MIN, comm);
  CHECK(memory[0] != 0 && least[0] == memory[0] && least[1] == memory[1] && found.objects[shared_number].memory_offset == 0);
  CHECK(found.objects[numbers_number].memory == 0);
  std::int64_t total = 0;
  PMPI_Reduce(&receives, &total, 1, MPI_INT64_T, MPI_SUM, 0, comm);
  ww::finalize::mpi_transport transport(process().tool_comm);
  const ww::data::classified sums = ww::data::classify(transport, &found, 1);
  if (rank != 0) return;
  std::int64_t transfers = 0;
  for (const auto& c : sums.classes) transfers += c.sums.count;
  CHECK(total > 0 && transfers == total && sums.dropped == 0);
  std::fprintf(stderr, "%d transfers, %d classes, %d unmatched\n", static_cast<int>(transfers),
               static_cast<int>(sums.classes.size()), static_cast<int>(sums.unmatched));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  right = (rank + 1) % ranks;
  left = (rank + ranks - 1) % ranks;
  // before any registration
  MPI_Sendrecv(numbers, 1, MPI_INT, right, 8, plain, 1, MPI_INT, left, 8, comm, MPI_STATUS_IGNORE);
  const ww::registered_array a("field", &field[0][0], ww::shape(rows, columns)), b("numbers", numbers, ww::shape(256));
  const ww::registered_array c("letters", letters, ww::shape(1200));
  letters_number = c.number();
  field_number = a.number();
  numbers_number = b.number();
  CHECK(field_number != 0 && numbers_number != 0 && ww::data::this_thread() != nullptr);
  blocking();
  nonblocking();
  datatypes();
  collectives();
  irregular_datatypes();
  random_datatypes();
  random_messages();
  windows();
  together();
  MPI_Win_free(&window);
  MPI_Finalize();
  return result();
}
