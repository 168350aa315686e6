// ranks: 2 8
// ranks of mpich: 2
// timeout: 120
// beside: nothing
// tries 3
// with: observer
// environment: WHYWAIT_OUTPUT=files
// json files.json
//
// Calls on files. Rank 1 comes late to the collective ones: where the library holds up the others, they wait for it. The rest of
// the time in these calls, and all time in independent ones, is input and output, which the report names. With the argument
// "every" all calls on files are made.
#include "slept_cases.hpp"

#include <fstream>

namespace {

using namespace slept;

constexpr int rounds = 4, late = 30, many = 1 << 16, blocks = 200;
constexpr double explained = 0.95;

MPI_File file;
MPI_Request request;
std::vector<int> data(many);
double in_files = 0;  // of this rank

/// All calls on files, and those that complete their requests.
template <class Call>
void timed(const Call& call) {
  const double begin = now();
  call();
  in_files += now() - begin;
}

MPI_Offset own_place() { return static_cast<MPI_Offset>(rank) * many * static_cast<MPI_Offset>(sizeof(int)); }
void wait() {
  timed([] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
}
void nothing() {}

/// The file exists before: Open MPI 4.1 lets ranks open it while rank 0 has not created it yet, and hangs. Another one each time,
/// because a rank may still be closing the last one.
constexpr int most_files = 120;
int opened;
std::string name_of(int number) { return "files." + std::to_string(ranks) + "." + std::to_string(number); }
void open_now() {
  timed([] { MPI_File_open(MPI_COMM_WORLD, name_of(opened++).c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file); });
}
void close_now() {
  timed([] { MPI_File_close(&file); });
}
// Where they are not the case itself.
void open_file() {
  WHYWAIT_REGION("around");
  open_now();
}
void close_file() {
  WHYWAIT_REGION("around");
  close_now();
}
void set_view() {
  timed([] { MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL); });
}
void set_size() {
  timed([] { MPI_File_set_size(file, 1 << 20); });
}
#ifdef MPICH_VERSION  // Open MPI 4.1 leaves the call early on some ranks, and hangs in a later one
void preallocate() {
  timed([] { MPI_File_preallocate(file, 1 << 20); });
}
#endif
void sync_file() {
  timed([] { MPI_File_sync(file); });
}
void write_at_all() {
  timed([] { MPI_File_write_at_all(file, rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE); });
}
void read_all() {
  int read = -1;
  timed([&] { MPI_File_read_all(file, &read, 1, MPI_INT, MPI_STATUS_IGNORE); });
}
void begin_and_end() {
  timed([] { MPI_File_write_at_all_begin(file, rank, &rank, 1, MPI_INT); });
  timed([] { MPI_File_write_at_all_end(file, &rank, MPI_STATUS_IGNORE); });
}
void iwrite() {
  timed([] { MPI_File_iwrite_at_all(file, rank, &rank, 1, MPI_INT, &request); });
}
void write_ordered() {
  timed([] { MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE); });
}

// The collective calls that only the argument "every" makes: their name, that of the call that waits, and what they do.
struct collective {
  const char *name, *waits;
  void (*call)();
};
int word;
#define ONCE(...) [] { timed([] { __VA_ARGS__; }); }
#define SPLIT(Name, ...)                                                    \
  {                                                                         \
    #Name "_begin", "MPI_File_" #Name "_begin", [] {                        \
      timed([] { MPI_File_##Name##_begin(file, __VA_ARGS__); });            \
      timed([] { MPI_File_##Name##_end(file, &word, MPI_STATUS_IGNORE); }); \
    }                                                                       \
  }
#define REQUESTED(Name, ...)                                       \
  {                                                                \
    #Name, "MPI_Wait", [] {                                        \
      timed([] { MPI_File_##Name(file, __VA_ARGS__, &request); }); \
      wait();                                                      \
    }                                                              \
  }
const collective others[] = {
    {"set_info", "MPI_File_set_info", ONCE(MPI_File_set_info(file, MPI_INFO_NULL))},
    {"set_atomicity", "MPI_File_set_atomicity", ONCE(MPI_File_set_atomicity(file, 0))},
    {"seek_shared", "MPI_File_seek_shared", ONCE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET))},
    {"write_all", "MPI_File_write_all", ONCE(MPI_File_write_all(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE))},
    {"read_at_all", "MPI_File_read_at_all", ONCE(MPI_File_read_at_all(file, rank, &word, 1, MPI_INT, MPI_STATUS_IGNORE))},
    {"read_ordered", "MPI_File_read_ordered", ONCE(MPI_File_read_ordered(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE))},
    SPLIT(read_all, &word, 1, MPI_INT),
    SPLIT(write_all, &word, 1, MPI_INT),
    SPLIT(read_at_all, rank, &word, 1, MPI_INT),
    SPLIT(read_ordered, &word, 1, MPI_INT),
    SPLIT(write_ordered, &word, 1, MPI_INT),
    REQUESTED(iread_all, &word, 1, MPI_INT),
    REQUESTED(iwrite_all, &word, 1, MPI_INT),
    REQUESTED(iread_at_all, rank, &word, 1, MPI_INT),
};
#undef SPLIT
#undef REQUESTED
/// Independent ones.
void each_alone(std::vector<stamp>&) {
  MPI_Offset offset = 0;
  ONCE(MPI_File_seek(file, 0, MPI_SEEK_SET))();
  timed([&] { MPI_File_get_size(file, &offset); });
  timed([&] { MPI_File_get_position_shared(file, &offset); });
  ONCE(MPI_File_write(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE))();
  ONCE(MPI_File_read(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE))();
  ONCE(MPI_File_write_shared(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE))();
  ONCE(MPI_File_read_shared(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE))();
  ONCE(MPI_File_iread(file, &word, 1, MPI_INT, &request))(), wait();
  ONCE(MPI_File_iwrite(file, &word, 1, MPI_INT, &request))(), wait();
  ONCE(MPI_File_iread_at(file, rank, &word, 1, MPI_INT, &request))(), wait();
  ONCE(MPI_File_iread_shared(file, &word, 1, MPI_INT, &request))(), wait();
  ONCE(MPI_File_iwrite_shared(file, &word, 1, MPI_INT, &request))(), wait();
}
#undef ONCE

/// `call` in each round, to which rank 1 comes late; `before` and `after` are not part of it.
std::function<void(std::vector<stamp>&)> late_call(std::function<void()> call, std::function<void()> before = nothing,
                                                   std::function<void()> after = nothing) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      before();
      PMPI_Barrier(MPI_COMM_WORLD);
      innocent(3);
      if (rank == 1) guilty(late);
      stamp s;
      s.enter = now();
      call();
      s.leave = now();
      at.push_back(s);
      after();
    }
  };
}
/// Every rank that left after rank 1 had come waited for it. Those that left before did not.
double for_rank_1(const stamps& all) {
  double sum = 0;
  for (std::size_t p = 0; p != all.size(); ++p)
    for (std::size_t k = 0; k != all[p].size(); ++k)
      if (all[p][k].leave > all[1][k].enter) sum += std::max(0.0, all[1][k].enter - all[p][k].enter);
  return sum;
}
double for_no_rank(const stamps&) { return 0; }

/// Writes and reads without other ranks, now and later.
void own_data(std::vector<stamp>&) {
  for (int k = 0; k < blocks; ++k) {
    timed([] { MPI_File_write_at(file, own_place(), data.data(), many, MPI_INT, MPI_STATUS_IGNORE); });
    timed([] { MPI_File_read_at(file, own_place(), data.data(), many, MPI_INT, MPI_STATUS_IGNORE); });
    timed([] { MPI_File_iwrite_at(file, own_place(), data.data(), many, MPI_INT, &request); });
    wait();
  }
}
/// Whether writing together holds up the ranks, without whywait.
bool writing_synchronises() {
  open_file();
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) nap(20);
  double took = now();
  PMPI_File_write_at_all(file, own_place(), data.data(), many, MPI_INT, MPI_STATUS_IGNORE);
  took = rank == 0 ? now() - took : 0;
  PMPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  close_file();
  return took > 0.01;
}
/// All write their own data at the same time, and no rank waits for another.
void side_by_side(std::vector<stamp>&) {
  for (int k = 0; k < 4; ++k) {
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) nap(1);
    for (int i = 0; i < 8; ++i)
      timed([] { MPI_File_write_at_all(file, own_place(), data.data(), many, MPI_INT, MPI_STATUS_IGNORE); });
  }
}

/// All that calls took which were about files, except waits, is named as input and output, and nothing else is.
void check_files(const whywait::result& r, double truth) {
  double waits = 0;
  for (const whywait::result::wait& w : r.waits)
    if (w.operation.call.compare(0, 8, "MPI_File") == 0 || w.operation.call == "MPI_Wait") waits += w.seconds;
  const double found = r.files_seconds;
  const bool right = found + waits <= 1.01 * truth + 0.002 && found + waits >= 0.97 * truth - 0.005 && found > 0.01;
  std::printf("%s input and output: %.4f s, waits %.4f s, truth of both %.4f s\n", right ? "ok" : "FAILED", found, waits,
              truth);
  failures += right ? 0 : 1;
  for (const whywait::result::unknown_call& c : r.unknown_calls) {
    if (c.where.call.compare(0, 8, "MPI_File") != 0) continue;
    std::printf("FAILED %s is not understood\n", c.where.call.c_str());
    ++failures;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; rank == 0 && i != most_files; ++i)
    std::ofstream(name_of(i)) << std::string(4096, ' ');  // Open MPI 4.1 hangs in MPI_File_read_all_end at the end of a file
  PMPI_Barrier(MPI_COMM_WORLD);
  const char *const makes = "wait_at_create", *const all = "wait_at_nxn", *const later = "nonblocking_collective";

  std::vector<slept_case> cases;
  cases.push_back({"opened", "MPI_File_open", makes, late_call(open_now, nothing, close_file), for_rank_1});
  cases.push_back({"closed", "MPI_File_close", makes, late_call(close_now, open_file), for_rank_1});
  const auto with_file = [&](const char* name, const char* call, const char* pattern, std::function<void()> what) {
    cases.push_back({name, call, pattern,
                     [=](std::vector<stamp>& at) {
                       open_file();
                       late_call(what)(at);
                       PMPI_Barrier(MPI_COMM_WORLD);
                       close_file();
                     },
                     for_rank_1});
  };
  with_file("view", "MPI_File_set_view", all, set_view);
  with_file("size", "MPI_File_set_size", all, set_size);
#ifdef MPICH_VERSION
  with_file("preallocated", "MPI_File_preallocate", all, preallocate);
#endif
  with_file("synced", "MPI_File_sync", all, sync_file);
  with_file("written", "MPI_File_write_at_all", all, write_at_all);
  with_file("read", "MPI_File_read_all", all, read_all);
  with_file("split", "MPI_File_write_at_all_begin", all, begin_and_end);
  with_file("requested", "MPI_Wait", later, [] {
    iwrite();
    wait();
  });
  with_file("ordered", "MPI_File_write_ordered", all, write_ordered);
  const auto with_data = [&](const char* name, void (*what)(std::vector<stamp>&)) {
    cases.push_back({name, "MPI_File_write_at_all", all,
                     [=](std::vector<stamp>& at) {
                       open_file();
                       PMPI_Barrier(MPI_COMM_WORLD);
                       what(at);
                       PMPI_Barrier(MPI_COMM_WORLD);
                       close_file();
                     },
                     for_no_rank});
    cases.back().least = 1e-9;
  };
  with_data("own_data", own_data);
  const bool every = argc > 1 && std::string(argv[1]) == "every";
  for (const collective& c : others) {
    if (!every) break;
    const std::string waits = c.waits;
    with_file(c.name, c.waits, waits == "MPI_Wait" ? later : all, c.call);
#ifdef OPEN_MPI  // a broadcast of rank 0, in which rank 1 holds up only the ranks below it in the tree: input and output
    if (ranks > 2 && waits == "MPI_File_set_atomicity") cases.back().truth = for_no_rank;
#endif
  }
  if (every) with_data("each_alone", each_alone);
  if (!writing_synchronises()) with_data("side_by_side", side_by_side);

  const whywait::result r = run(cases, explained, 0.97, 2);
  double truth = 0;
  PMPI_Reduce(&in_files, &truth, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) check_files(r, truth);
  for (int i = 0; rank == 0 && i != most_files; ++i) std::remove(name_of(i).c_str());
  MPI_Finalize();
  return failures;
}
