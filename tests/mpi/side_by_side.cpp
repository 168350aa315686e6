// ranks: 2 4
// with: observer late_snapshot.cpp comes_last.cpp
// environment: WHYWAIT_PATH=order WHYWAIT_OUTPUT=order
// stderr ~ side by side, since both were last in step, the longest of these waits:
// stderr ~ rank 1 \(waited [\d.]+ m?s\) +\| rank 0 \(came late\)
// stderr ~ 3 times .*\| .*3 times
// stderr ~ 4 cell +\| +12 cell
// stderr ~ ^ +\| +snapshot +[\d.]+ m?s$
//
// The picture of a wait with two known columns. Both sides have the same three rounds, the late one has more cells, and
// only it takes a snapshot. Times are compared with time stamps of the program.
#include "parts/late_snapshot.hpp"

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

int failures = 0;

void expect(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const late_times truth = late_snapshot();
  MPI_Finalize();
  if (rank != 0) return 0;

  std::ifstream file("order.json");
  expect(static_cast<bool>(file), "order.json was written");
  const nlohmann::json report = nlohmann::json::parse(file);
  nlohmann::json picture;
  for (const auto& wait : report["waits"])
    if (wait["pattern"] == "late_sender" && wait.contains("picture") && picture.is_null()) picture = wait["picture"];
  expect(!picture.is_null(), "the late sender has a picture");
  if (picture.is_null()) return 1;
  std::fprintf(stderr, "%s\n", picture.dump(1).c_str());
  expect(picture["waiter"]["rank"] == 1 && picture["causer"]["rank"] == 0, "rank 1 waited for rank 0");
  expect(picture["cut"] == false, "all of it was kept");

  // Columns are kind, name, depth, waiter:count and causer:count, where 0 is absent. The time outside all regions is
  // negligible.
  std::string rows;
  double snapshot = 0, smooth_left = 0, smooth_right = 0;
  for (const auto& row : picture["rows"]) {
    if (row["kind"] == "unmarked") continue;
    const auto count = [&row](const char* side) { return row.contains(side) ? row[side]["count"].get<int>() : 0; };
    rows += row["kind"].get<std::string>() + " " + row.value("name", row.value("call", "")) + " " +
            std::to_string(row["depth"].get<int>()) + " " + std::to_string(count("waiter")) + ":" +
            std::to_string(count("causer")) + "\n";
    if (row.value("name", "") == "snapshot") snapshot = row["causer"]["seconds"].get<double>();
    if (row.value("name", "") == "smooth") {
      smooth_left = row["waiter"]["seconds"].get<double>();
      smooth_right = row["causer"]["seconds"].get<double>();
    }
  }
  const std::string expected =
      "region round 0 1:1\n"
      "loop  1 3:3\n"
      "region smooth 2 1:1\n"
      "step cell 3 4:12\n"
      "region pack 2 1:1\n"
      "region snapshot 1 0:1\n"
      "region write 2 0:3\n";
  // The last alignment varies by nanoseconds. It is at the last barrier, or in an earlier round, which both sides ran
  // alike, perhaps folded into a loop. The rows after the last barrier are known.
  const std::size_t barrier = rows.rfind("call MPI_Barrier");
  expect((barrier == std::string::npos ? rows : rows.substr(rows.find('\n', barrier) + 1)) == expected,
         "the rows are those of the program");
  if (failures != 0) std::fprintf(stderr, "found:\n%s", rows.c_str());
  // 10 %, because the process may be descheduled between a stamp and its event
  expect(std::abs(snapshot - truth.snapshot) < 0.1 * truth.snapshot, "the snapshot took as long as the program says");
  const double waited = picture["waiter"]["seconds"].get<double>();
  expect(std::abs(waited - truth.wait) < 0.1 * truth.wait, "the wait was as long as the program says");
  expect(smooth_left >= 0.003 && smooth_right >= 0.003, "three times 1 ms of smoothing on both sides");
  return failures == 0 ? 0 : 1;
}
