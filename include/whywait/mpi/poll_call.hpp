#ifndef WHYWAIT_MPI_POLL_CALL_HPP
#define WHYWAIT_MPI_POLL_CALL_HPP

#include <whywait/mpi/call.hpp>

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// A call that returns whether or not it found something. Polls that follow one another directly are one record
/// (core::sync_record), which each of them prolongs. Order of use: `ask`, the call, then one of `found_nothing`,
/// `found_unknown` and `found`.
///
/// A poll follows another one directly if no mark was passed in between and the pause was not longer than the poll before
/// it, about 16 readings of the clock, or three calls of sched_yield. After many polls a pause may be as long as all of them, because usually another
/// thread had the processor. Then a record begins, but if the polls find something, the time of all of them is put together
/// in the last record: the pause counts as code, because it may have been work. The others stay as entries into MPI.
///
/// Loops that sleep between polls wait as well. After a pause of 20 us or more the kernel is asked for the processor time of
/// the process and whether the thread slept, which takes at most 4 % of the pause, and 1 % where it finds that the thread works. A pause in which the thread slept and nothing
/// ran is no work: should the polls find something, it is part of the wait (method.md 1.2). The first pause of a run of polls is
/// judged by those that follow from the same call.
class poll_call : public call {
 public:
  using call::call;

  /// Reads the clock before the call.
  __attribute__((always_inline)) void ask() noexcept {
    begin_ = core::cycle_clock::now();
    thread_->open.begin = begin_;
  }

  /// After a call that found nothing. If it follows another one it costs a second reading of the clock and some stores: no
  /// lock, no allocation. `others`: it was only about requests that no wrapper created.
  void found_nothing(bool others) noexcept {
    ++thread_->failed_polls;
    if (!prolong(others)) begin_run(others, judge());
  }

  /// After a call that found only requests that no wrapper created.
  void found_unknown() noexcept {
    if (!process().others_requests) return;  // there was no request at all
    if (!prolong(true)) begin_run(true, gap::worked);
    thread_->polls.record = nullptr;
  }

  /// After a call that found something: the record of it and of the calls before it that found nothing; `index` is its
  /// number. `finish_poll` publishes it. Null as for `store`.
  core::sync_record* found(unsigned flags, uint32_t posting, uint32_t& index) noexcept {
    poll_run& run = thread_->polls;
    if (!prolong(false)) {
      const gap before = judge();
      if (before == gap::slept || before == gap::passed) {
        begin_run(false, before);
        if (run.record != nullptr) --thread_->recorded_polls;
      } else {
        run.record = nullptr;
      }
      if (run.record == nullptr) {
        happened_now();
        index = next_index();
        return store(flags, posting);
      }
    }
    if (run.unjudged != 0) cut(run);
    core::sync_record* const r = run.record;
    run.record = nullptr;
    index = run.index;
    r->begin -= run.earlier;
    r->duration += run.earlier;
    if (run.chain != 0) r->overhead = 0;
    r->completed_by = narrow((run.inside_earlier + run.inside) >> 8);
    for (uint32_t i = 1; i <= run.chain; ++i) {
      core::sync_record& earlier = where().syncs[index - i];
      earlier.duration = 0;
      if (i != run.chain) earlier.overhead = 0;  // passed while the rank waited
      if (earlier.begin > r->begin) earlier.begin = r->begin;
    }
    r->completion = run.pauses;
    r->call = what_;
    r->site = site_;
    r->flags = static_cast<uint16_t>(flags);
    r->posting = posting;
    return r;
  }
  void finish_poll(uint32_t index) noexcept {
    if (index == next_index()) finish();
  }
  /// Further records are about the end of the polls.
  void ended(uint64_t ticks) noexcept {
    begin_ = ticks;
    duration_ = 0;
    steps_ = static_cast<uint32_t>(where().steps.size());
  }

 private:
  static constexpr uint64_t longest_usual_pause = 4096;  // ticks
  static constexpr uint32_t many = 256, established = 8;
  static constexpr double shortest_pause_us = 20, longest_pause_us = 1500;
  static constexpr double most_readings = 24;  // that take as long as the pause before one
  // Parts of a pause: falling asleep and waking up take processor time.
  static constexpr double most_asleep = 0.6, least_worked = 0.75, most_polling = 0.25;

  // A call that found something at once leaves a record without duration: what was before that is MPI's as well.
  void happened_now() noexcept {
    begin();
    if (__builtin_expect(entered_ != 0, 0)) entered_ = given_ = begin_;
    open_ = false;
    duration_ = 0;
    where().path.resume(begin_);
    site_ = thread_->sites.count(from(), what_, where().path, 0);
  }

  // Whether there was nothing but time since the last poll.
  bool only_pause() const noexcept {
    const poll_run& run = thread_->polls;
    return run.record != nullptr && run.index + 1 == where().syncs.size() && where().path.undisturbed();
  }
  // What happened since the last poll, if more than a usual pause has passed.
  enum class gap : uint8_t {
    worked,  // or cannot be known: the polls before it are about something else
    slept,  // belongs to polling
    unknown,  // may belong to polling, which the next one tells
    passed  // so short beside many polls that these are probably about the same; counts as code
  };

  // Asks the kernel if that costs little beside the pause.
  gap judge() noexcept {
    poll_run& run = thread_->polls;
    if (!only_pause()) return gap::worked;
    const uint64_t ticks = begin_ - run.left, before = run.earlier + run.record->duration;
    const bool passes = (run.many || run.record->completion >= many) && ticks <= before;
    const double per_us = process().calibrated.ticks_per_us;
    const double shortest = shortest_pause_us * per_us, longest = longest_pause_us * per_us;
    const double cost = most_readings * static_cast<double>(run.reading);
    const auto pause = static_cast<double>(ticks);
    const gap otherwise = passes ? gap::passed : gap::worked;
    if (per_us <= 0 || from_ != run.from) return otherwise;
    if (pause < cost) run.reading -= run.reading / 8;  // may have been interrupted
    if (pause < shortest || pause < cost) {  // part of polling beside much longer pauses
      if ((passes || run.pauses != 0) && 16 * (run.unread + ticks) <= before) {
        run.unread += ticks;
        return gap::slept;
      }
      return 8 * ticks <= run.unjudged ? gap::unknown : otherwise;
    }
    if (pause > longest && (run.pauses == 0 || pause > static_cast<double>(before) + 4 * longest)) return otherwise;
    if (run.worked > 2 && (++run.worked & 7) > 1) return otherwise;  // two readings that follow each other, of eight
    const use seen = ask_kernel(run, pause);
    if (seen == use::slept) {
      run.worked = 0;
      run.sleeps_from = from_;
      run.usual_sleep = ticks;
      if (run.unjudged > 2 * ticks) cut(run);
      return gap::slept;
    }
    if (seen == use::unknown) {
      if (from_ == run.sleeps_from && ticks <= 2 * run.usual_sleep) return gap::slept;
      return passes ? gap::passed : run.unjudged == 0 ? gap::unknown : gap::worked;
    }
    if (passes || (run.pauses >= established && established * ticks <= before)) return gap::passed;
    if (seen == use::interrupted) return otherwise;
    run.usual_sleep = 0;
    ++run.worked;
    return gap::worked;
  }

  // What a thread did between two polls.
  enum class use : uint8_t { slept, worked, interrupted, unknown };

  // Compares the processor time of all threads since the last reading with the time since then and with the pause. The
  // polls since then may have used it as well. A thread that only lost the processor did not sleep.
  __attribute__((noinline)) use ask_kernel(poll_run& run, double pause) noexcept {
    timespec t;
    rusage r;
    const uint64_t asked = core::cycle_clock::now();
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0 || getrusage(RUSAGE_THREAD, &r) != 0) return use::interrupted;
    const uint64_t now = core::cycle_clock::now(), reading = run.read_at != 0 ? now - asked : 0;
    const double spent_us = static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
    const double used = (spent_us - run.spent_us) * process().calibrated.ticks_per_us;
    const double others = static_cast<double>(now - run.read_at) - pause;
    const bool known = run.read_at != 0, slept = r.ru_nvcsw != run.sleeps;
    run.spent_us = spent_us;
    run.sleeps = r.ru_nvcsw;
    run.read_at = now;
    run.reading = run.reading == 0 || reading < run.reading ? reading : run.reading + run.reading / 8;  // may be interrupted
    note_own_time(reading);
    if (!known) return use::unknown;
    if (used - others > least_worked * pause) return use::worked;
    if (!slept) return use::interrupted;
    const double polls = others < most_polling * pause ? others : most_polling * pause;
    return used - polls <= most_asleep * pause ? use::slept : use::unknown;
  }

  // That time is no time of the program.
  void note_own_time(uint64_t ticks) noexcept {
    begin_ += ticks;
    const uint64_t sum = overhead_ + ticks;
    overhead_ = sum < ~uint32_t(0) ? static_cast<uint32_t>(sum) : ~uint32_t(0);
  }

  // The polls before the last record are about something else.
  static void cut(poll_run& run) noexcept {
    run.earlier = run.unjudged = run.unread = run.inside_earlier = 0;
    run.chain = run.pauses = 0;
    run.many = false;
  }

  // Adds this call to the open record. False: there is none that it follows directly.
  bool prolong(bool others) noexcept {
    poll_run& run = thread_->polls;
    if (!only_pause() || static_cast<int64_t>(begin_ - run.left) > static_cast<int64_t>(run.usual_pause)) return false;
    core::sync_record* const r = run.record;
    leave_poll(run);
    r->duration = run.left - r->begin;
    r->completed_by = narrow(run.inside >> 8);
    if (__builtin_expect(r->completion != ~uint32_t(0), 1)) ++r->completion;
    if (__builtin_expect(r->has(flag::of_others) && !others, 0)) r->flags = flag::found_nothing;
    return true;
  }

  // `before`: what was between the last poll and this one.
  __attribute__((noinline)) void begin_run(bool others, gap before) noexcept {
    poll_run& run = thread_->polls;
    const uint64_t asked = begin_, pause = asked - run.left;
    if (before == gap::worked) {
      cut(run);
      run.from = from_;
    } else {
      run.earlier += run.record->duration;
      run.inside_earlier += run.inside;
      ++run.chain;
      run.many = run.many || run.record->completion >= many;
      if (before == gap::unknown) run.unjudged += pause;
      if (before == gap::slept) {
        run.earlier += pause + run.unjudged;
        run.pauses += run.unjudged != 0 ? 2 : 1;
        run.unjudged = 0;
      }
    }
    run.record = nullptr;
    run.inside = 0;
    const calibration& found = process().calibrated;
    run.least_pause = static_cast<uint64_t>(16 * found.reading_ticks) + 16;
    if (run.least_pause < 3 * found.yield_ticks) run.least_pause = 3 * found.yield_ticks;
    make_room();
    begin_ = asked;
    core::sync_record* const r =
        process().closed ? nullptr : store(flag::found_nothing | (others ? unsigned(flag::of_others) : 0u), 0);
    if (r != nullptr) {
      ++thread_->recorded_polls;
      r->completion = 1;
      run.record = r;
      run.index = next_index();
      finish();
    }
    leave_poll(run);  // at the end, so that none of this is a pause before the next poll
    if (r == nullptr) return;
    r->duration = duration_;
    r->site = site_;
    r->completed_by = narrow(run.inside >> 8);
  }

  void leave_poll(poll_run& run) noexcept {
    run.left = core::cycle_clock::now();
    duration_ = run.left - begin_;
    run.inside += duration_;
    const uint64_t most = duration_ < longest_usual_pause ? duration_ : longest_usual_pause;
    run.usual_pause = most > run.least_pause ? most : run.least_pause;
    where().path.resume(run.left);
    site_ = thread_->sites.count(from(), what_, where().path, duration_);
  }

  static uint32_t narrow(uint64_t ticks) noexcept { return ticks < ~uint32_t(0) ? static_cast<uint32_t>(ticks) : ~uint32_t(0); }
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
