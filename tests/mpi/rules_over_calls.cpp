// ranks: 2 4
// with: observer
// environment: WHYWAIT_OUTPUT=out WHYWAIT_MEMORY=1M
// stderr !~ whywait-R
// json out.json
// file out.json ~ "text": "40000 messages of MPI_Isend in halo, tag 3 to ranks 0 to 1, 2\.44 MiB"
// file out.json ~ "text": "20 messages of 64 KiB"
// file out.json ~ "text": "40020 receives from ranks 0 to 1"
// file out.json ~ "text": "60 sums of 16 bytes"
// file out.json !~ "problem": "never"
//
// Rules over calls see what the records hold, over several epochs: numbers, sizes and tags of messages, and operations of
// all ranks.
#include <whywait/record.hpp>
#include <whywait/rules.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>

namespace {

constexpr int steps = 10, small = 2000, large = 1;

void halo(int other) {
  WHYWAIT_REGION("halo");
  static std::array<char, 65536> in, out;
  std::array<char, 64> a{}, b{};
  for (int i = 0; i < small + large; ++i) {
    MPI_Request requests[2];
    const bool is_small = i < small;
    const int bytes = is_small ? 64 : 65536;
    MPI_Irecv(is_small ? a.data() : in.data(), bytes, MPI_CHAR, other, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(is_small ? b.data() : out.data(), bytes, MPI_CHAR, other, is_small ? 3 : 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  whywait::rules::add(R"(
declare composite event small member ( all send as s ) when s.bytes < 1 KiB by ( s.function, s.region, s.tag )
  parameters ( n = count(), f = s.function, r = s.region, t = s.tag, b = sum(s.bytes), low = least(s.destination),
               high = most(s.destination) );
declare problem for small parameters ( name = "small", duration = 0.25 ms, threshold = 0 %,
  advice = "{n} messages of {f} in {r}, tag {t} to ranks {low} to {high}, {b}" );
declare composite event large member ( all send as s ) when s.bytes >= 1 KiB by ( s.bytes )
  parameters ( n = count(), b = s.bytes );
declare problem for large parameters ( name = "large", duration = 0.25 ms, threshold = 0 %, advice = "{n} messages of {b}" );
declare composite event received member ( all receive as r ) when r.buffer_bytes > 0 B
  parameters ( n = count(), low = least(r.source), high = most(r.source) );
declare problem for received parameters ( name = "received", duration = 0.25 ms, threshold = 0 %,
  advice = "{n} receives from ranks {low} to {high}" );
declare composite event sums member ( all arrival as a ) when a.function = 'MPI_Allreduce' and a.rank < 2 by ( a.bytes )
  parameters ( n = count(), b = a.bytes );
declare problem for sums parameters ( name = "sums", duration = 0.25 ms, threshold = 0 %, advice = "{n} sums of {b}" );
declare problem for send when bytes = 65 B parameters ( name = "never", duration = 0.25 ms, threshold = 0 % );
)",
                      "test");
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < steps; ++step) {
    if (rank < 2) halo(1 - rank);
    double in[2] = {1, 2}, out[2];
    for (int i = 0; i < 3; ++i) MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
