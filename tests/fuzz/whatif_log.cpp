// Any traced calls become a log and answers, or an error with a number; so do damaged bytes of them.
//
// corpus: whatif_log.corpus
// options: -max_len=400 -timeout=20
#include <whywait/whatif/ask.hpp>
#include <whywait/whatif/records.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whywait::models;
  using namespace whywait::whatif;
  if (size < 8) return 0;
  whywait::base::vector<traced_line> lines(1u + data[0] % 5);
  for (std::size_t l = 0; l != lines.size(); ++l) {
    lines[l].rank = static_cast<std::int32_t>(data[1] % 7 == 0 ? l / 2 : l);
    lines[l].thread = static_cast<std::int32_t>(data[1] % 7 == 0 ? l % 2 : 0);
  }
  std::int64_t now = 0;
  for (std::size_t i = 8; i + 8 <= size; i += 8) {
    const std::uint8_t* b = data + i;
    traced_line& l = lines[b[0] % lines.size()];
    traced_call c;
    c.enter_ns = now += b[1];
    c.leave_ns = c.enter_ns + b[2] * (b[2] > 250 ? -1 : 1);
    c.site = b[3] % 4;
    c.communicator = b[3] / 4 % 3;
    c.members = static_cast<std::int32_t>(lines.size()) - (b[3] > 250);
    c.comm_rank = l.rank;
    c.bytes = static_cast<std::uint64_t>(b[4]) << (b[4] % 16);
    c.posting = static_cast<std::uint32_t>(l.calls.size());
    c.completion = static_cast<std::uint32_t>(l.calls.size()) + b[5] % 3;
    c.completed_by = b[5] / 64;
    c.peer = static_cast<std::int32_t>(b[6] % (lines.size() + 2)) - 1;
    c.call = static_cast<whywait::core::mpi_call>(b[7] % 80);
    c.flags = static_cast<std::uint16_t>(b[5] % 4 | (b[6] & 0xf8) << 1);
    c.first_block = static_cast<std::uint32_t>(l.blocks.size()) + (b[6] == 255);
    c.blocks = b[6] % 2;
    if (c.blocks != 0) l.blocks.push_back({1u + b[4] % 2, b[1] * 1e-9});
    l.calls.push_back(c);
  }
  for (traced_line& l : lines) l.end_ns = now;
  auto bytes = pack(lines);
  whywait::base::vector<traced_line> back;
  unpack(bytes.data(), bytes.size(), back);
  if (back.size() != lines.size()) std::abort();
  if (!bytes.empty()) bytes[data[2] % bytes.size()] ^= data[3];
  try {
    whywait::base::vector<traced_line> damaged;
    unpack(bytes.data(), bytes.size(), damaged);
  } catch (const prediction_error&) {
  }
  try {
    ask_options o;
    o.resamples = 5;
    o.copies = 2;
    const run_log log = join(back, [](whywait::core::stable_key k) { return "k" + std::to_string(k); });
    log.check();
    for (const answer& a : ask(log,
                               parse_questions("block k1 x2; balance; balance steps; ranks x2; ranks x1.5 weak; "
                                               "network x2; without MPI_Barrier"),
                               o)) {
      if (a.answered != a.refusal.empty()) std::abort();
      if (a.answered && !(std::isfinite(a.seconds) && a.low_seconds <= a.seconds && a.seconds <= a.high_seconds)) std::abort();
    }
  } catch (const prediction_error&) {
  }
  return 0;
}
