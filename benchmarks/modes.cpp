// Measures the optional modes per mark, WHYWAIT_PATH=order (`ordered_...`) and WHYWAIT_TIMELINE (`timeline_...`), in
// one run with the floor (two clock readings and two 16-byte stores) and with plain marks. See harness.hpp for the
// timing. Flags are --rounds=N and --json=FILE.
//
// `..._region` is an empty WHYWAIT_REGION. `..._block` is WHYWAIT_BLOCK; ten blocks with different names run in a loop
// that folds. `slow_...` takes the slow path of the modes with all of them off. `ordered_random` visits blocks in an
// order that does not fold, the maximum cost of the mode, with a synchronisation every 1000 blocks. `timeline_...`
// overwrites 16 MiB repeatedly.
#include <whywait/record.hpp>
#include <whywait/record/kept_details.hpp>
#include <whywait/record/listen.hpp>

#include "harness.hpp"

#include <cstdint>
#include <cstdio>
#include <thread>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;
using choice = core::settings::timeline_choice;

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    WHYWAIT_REGION("benchmark region");
    harness::barrier();
  }
}

void block(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; i += 10) {
    WHYWAIT_BLOCK("0");
    WHYWAIT_BLOCK("1");
    WHYWAIT_BLOCK("2");
    WHYWAIT_BLOCK("3");
    WHYWAIT_BLOCK("4");
    WHYWAIT_BLOCK("5");
    WHYWAIT_BLOCK("6");
    WHYWAIT_BLOCK("7");
    WHYWAIT_BLOCK("8");
    WHYWAIT_BLOCK("9");
    harness::barrier();
  }
}

void random_blocks(std::uint64_t times) {
  using whywait::site_kind;
  static whywait::site places[16] = {
      {site_kind::step, "a"}, {site_kind::step, "b"}, {site_kind::step, "c"}, {site_kind::step, "d"},
      {site_kind::step, "e"}, {site_kind::step, "f"}, {site_kind::step, "g"}, {site_kind::step, "h"},
      {site_kind::step, "i"}, {site_kind::step, "j"}, {site_kind::step, "k"}, {site_kind::step, "l"},
      {site_kind::step, "m"}, {site_kind::step, "n"}, {site_kind::step, "o"}, {site_kind::step, "p"}};
  static std::uint64_t random = 88172645463325252u;
  record::location& here = *record::this_location();
  for (std::uint64_t i = 0; i < times; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    whywait::visit(places[random & 15]);
    if (i % 1000 == 999) here.syncs.push(core::sync_record{});  // like an MPI call
  }
}

/// A location of a thread with the given modes.
record::location* keeping(bool order, choice timeline) {
  core::registry& registry = *core::the_registry();
  registry.config.path_order = order;
  registry.config.timeline = timeline;
  registry.config.timeline_blocks = true;
  registry.order_memory.limit(~std::uint64_t(0));
  record::location* made = nullptr;
  std::thread([&made] { made = record::this_location(); }).join();
  if (made != nullptr && timeline != choice::none)
    for (int i = 0; i < (1 << 21); ++i) record::kept_details::of(*made)->line.visit(1);  // touches all of its memory
  return made;
}

// Runs the marks of this thread on the slow path, into another location.
template <void (*Run)(std::uint64_t)>
void in(record::location* other, std::uint64_t times) {
  record::path_head* const mine = record::detail::here();
  record::detail::set_here(other->decoy);
  Run(times);
  record::detail::set_here(mine);
}

record::location *slow, *ordered, *timed;

}  // namespace

int main(int argc, char** argv) {
  record::listen();
  std::thread([] { slow = record::this_location(); }).join();
  if (slow == nullptr || !record::detail::make_decoy(*slow)) return std::fprintf(stderr, "no memory\n"), 1;
  record::this_location();
  record::keep_details();
  ordered = keeping(true, choice::none);
  timed = keeping(false, choice::overwrite_oldest);
  if (ordered == nullptr || timed == nullptr || slow->more != nullptr || !ordered->more->ordered ||
      !record::kept_details::of(*timed)->timed)
    return std::fprintf(stderr, "the modes are not on\n"), 1;

  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("region", region);
  rows.add("block", block, 20000);
  rows.add("slow_region", [](std::uint64_t times) { in<region>(slow, times); });
  rows.add(
      "slow_block", [](std::uint64_t times) { in<block>(slow, times); }, 20000);
  rows.add("ordered_region", [](std::uint64_t times) { in<region>(ordered, times); });
  rows.add(
      "ordered_block", [](std::uint64_t times) { in<block>(ordered, times); }, 20000);
  rows.add("ordered_random", [](std::uint64_t times) { in<random_blocks>(ordered, times); });
  rows.add("timeline_region", [](std::uint64_t times) { in<region>(timed, times); });
  rows.add(
      "timeline_block", [](std::uint64_t times) { in<block>(timed, times); }, 20000);
  const int failed = rows.main(argc, argv);
  const record::kept_details& order = *record::kept_details::of(*ordered);
  std::printf("%llu segments, %llu without memory for their order\n",
              static_cast<unsigned long long>(order.order.segments().size()),
              static_cast<unsigned long long>(order.order.lost_segments()));
  return failed;
}
