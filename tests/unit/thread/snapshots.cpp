// What a waiting thread copies of the open segment of a lock's holder, while the holder records.
#include <whywait/core/clock.hpp>
#include <whywait/record/code_counter.hpp>
#include <whywait/thread.hpp>
#include <whywait/thread/look_at_holder.hpp>
#include <whywait/thread/record_events.hpp>

#include "recorded_thread.hpp"
#include "single_steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#ifdef WHYWAIT_TEST_SINGLE_STEPS

namespace {

namespace core = whywait::core;
using single_steps::stepped;

constexpr std::uint32_t block_1 = 2101, block_2 = 2102, late_block = 2103, open_region = 2104;

/// A look at the holder, and how much the holder had recorded when it began and when it ended.
struct watched_look {
  whywait::threads::holder_view view;
  std::uint64_t records, steps, records_at_end, steps_at_end;
  std::optional<stepped> body;
};

/// A thread that ends one segment after the other, and looks at it. All run on the holder's thread, in steps.
class watched_holder {
 public:
  // Looks by what they saw: the holder before its record or after it, or a segment that is marked as not whole.
  enum outcome { after, marked, before };
  long seen[3] = {};
  bool in_order = true;  // by the instruction of the look that the record came before
  // Faults of looks that are not marked; `torn`: of parts of two states.
  long visits_twice = 0, blocks_missing = 0, torn = 0, marked_without_reason = 0;

  explicit watched_holder(whywait::record::location& holder) : holder_(holder) {
    watch_.holder = &holder.path.head();
    holder.path.enter(open_region, core::cycle_clock::now());
    record();
    core::code_counts counts;  // of the kernel: not due again while the thread is stepped, which takes long
    holder.calls->counter.end_code(~std::uint64_t(0) / 4, 0, counts);
    begin_segment();  // once, so that functions are bound
    look();
    end_segment().finish();
    compare(0);
  }
  ~watched_holder() { holder_.path.leave(core::cycle_clock::now()); }
  watched_holder(const watched_holder&) = delete;
  watched_holder& operator=(const watched_holder&) = delete;

  void begin_segment() {
    record();
    records_ = holder_.syncs.size();
    steps_ = holder_.steps.size();
    looks_.clear();
    holder_.path.visit(block_1);
    holder_.path.visit(block_2);
    holder_.path.visit(block_2);
  }
  /// Visits a block that is new in the segment, records, and visits a block in the next segment.
  stepped& end_segment() {
    return record_.emplace([this] {
      holder_.path.visit(late_block);
      record();
      holder_.path.visit(block_1);
    });
  }

  void look() {
    watched_look& l = add_look();
    l.view.look(watch_, core::cycle_clock::now());
    note_end(l);
  }
  stepped& begin_look() {
    watched_look& l = add_look();
    return l.body.emplace([this, &l, now = core::cycle_clock::now()] { l.view.look(watch_, now); });
  }
  std::size_t looks() const { return looks_.size(); }
  void end_look(std::size_t number) {
    watched_look& l = looks_[number];
    l.body->finish();
    note_end(l);
  }

  /// Compares all looks with what the holder has recorded since. At most so many blocks may be missing; 0: the record was made
  /// between two instructions of the look, so that times are exact.
  void compare(long most_missing) {
    std::fill(seen, seen + 3, 0);
    in_order = true;
    recorded_thread::on_new_thread([&] {
      int last = after;
      for (watched_look& l : looks_) {
        whywait::threads::sync_call call(recorded_thread::site_of(core::mpi_call::mutex_lock));
        REQUIRE(call);
        l.view.keep(call);
        REQUIRE(call.where().cuts.is_open());
        const outcome is = compare(l, call.where(), most_missing);
        in_order = in_order && is >= last;
        last = is;
        ++seen[is];
      }
    });
  }

 private:
  void record() { whywait::threads::detail::event(recorded_thread::site_of(core::mpi_call::promise_set), &holder_, nullptr); }

  watched_look& add_look() {
    watched_look& l = looks_.emplace_back();
    l.records = holder_.syncs.size();
    l.steps = holder_.steps.size();
    return l;
  }
  void note_end(watched_look& l) const {
    l.records_at_end = holder_.syncs.size();
    l.steps_at_end = holder_.steps.size();
  }

  outcome compare(const watched_look& l, whywait::record::location& waiter, long most_missing) {
    const core::thread_cut& cut = waiter.cuts[waiter.cuts.size() - 1];
    if (cut.whole == 0) {
      marked_without_reason += l.records == l.records_at_end && l.steps == l.steps_at_end ? 1 : 0;
      return marked;
    }
    const core::sync_record& record = holder_.syncs[records_];
    const bool later = cut.record != records_;
    torn += later && (cut.record != records_ + 1 || cut.segment != record.steps) ? 1 : 0;

    std::uint64_t visits[3] = {}, ticks = 0;
    const auto add = [&](const core::path_step& s) {
      if (s.block >= block_1 && s.block < open_region) visits[s.block - block_1] += s.visits;
      if (s.block == open_region) ticks += s.ticks;
    };
    for (std::uint64_t i = later ? record.steps : steps_; i < cut.segment; ++i) add(holder_.steps[i]);
    for (std::uint64_t i = waiter.cut_steps.size() - cut.steps; i < waiter.cut_steps.size(); ++i) add(waiter.cut_steps[i]);

    const std::uint64_t expected[] = {1, later ? 0u : 2u, later ? 0u : 1u};
    long missing = 0;
    for (std::uint32_t i = 0; i != 3; ++i) {
      const bool may_come =
          i == (later ? block_1 : late_block) - block_1;  // that visit is a step of the holder that is looked at
      if (visits[i] > expected[i]) ++visits_twice;
      else if (visits[i] < expected[i] && !may_come) ++(visits[i] == 0 ? missing : torn);
    }
    const std::uint64_t begin = later ? record.begin : holder_.syncs[records_ - 1].begin;
    const bool up_to_record = !later && most_missing != 0 && ticks == record.begin - begin;
    if (ticks != std::max(cut.ticks, begin) - begin && !up_to_record) ++(ticks == 0 ? missing : torn);
    blocks_missing += missing > most_missing ? 1 : 0;
    return later ? after : before;
  }

  whywait::record::location& holder_;
  whywait::threads::lock_watch watch_{};
  std::uint64_t records_ = 0, steps_ = 0;  // of the holder when the segment began
  std::deque<watched_look> looks_;
  std::optional<stepped> record_;
};

void check_no_fault(const watched_holder& holder) {
  CHECK(holder.visits_twice == 0);
  CHECK(holder.blocks_missing == 0);
  CHECK(holder.torn == 0);
  CHECK(holder.marked_without_reason == 0);
}

void interleave(watched_holder& holder) {
  // A look, which changes nothing, before each instruction of a record and behind the last.
  long record_length = 0;
  holder.begin_segment();
  for (stepped& record = holder.end_segment(); !record.go(1); ++record_length) holder.look();
  holder.look();
  holder.compare(1);  // the block that is moved from the open segment to the records
  CHECK(holder.seen[watched_holder::before] > 100);
  CHECK(holder.seen[watched_holder::marked] == 0);
  CHECK(holder.seen[watched_holder::after] > 1);
  check_no_fault(holder);

  // Looks that are stopped in as many places: before the first instruction, before the last, and evenly spread in between.
  constexpr long places = 41;  // a prime number
  long look_length = 0;
  holder.begin_segment();
  for (stepped& look = holder.begin_look(); !look.go(1);) ++look_length;
  const auto begin_looks = [&] {
    holder.begin_segment();
    for (long i = 0; i != places; ++i) REQUIRE_FALSE(holder.begin_look().go(1 + (look_length - 1) * i / (places - 1)));
  };

  // A record between two instructions of a look.
  begin_looks();
  holder.end_segment().finish();
  for (std::size_t i = 0; i != holder.looks(); ++i) holder.end_look(i);
  holder.compare(0);
  CHECK(holder.in_order);
  for (const long& n : holder.seen) CHECK(n > 0);
  check_no_fault(holder);

  // A part of a record between two instructions of a look.
  begin_looks();
  stepped& record = holder.end_segment();
  for (long i = 0; i != places; ++i) {
    record.go(record_length / places);
    holder.end_look(static_cast<std::size_t>(i * 15 % places));
  }
  record.finish();
  holder.compare(1);
  check_no_fault(holder);
}

}  // namespace

#endif

TEST_CASE("what a waiting thread sees of a lock's holder is complete, or marked, in interleavings of its look with a record") {
#ifdef WHYWAIT_TEST_SINGLE_STEPS
  const single_steps::trap_handler handler;
  if (core::cycle_clock::used() != core::clock_source::monotonic && single_steps::work()) {
    recorded_thread::on_recorded_thread([](whywait::record::location& location, std::uint64_t) {
      watched_holder holder(location);
      interleave(holder);
    });
    return;
  }
#endif
  MESSAGE("skipped: it needs x86-64 with a trap flag and a cycle counter, Linux, and no sanitizer");
}
