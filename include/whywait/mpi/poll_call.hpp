#ifndef WHYWAIT_MPI_POLL_CALL_HPP
#define WHYWAIT_MPI_POLL_CALL_HPP

#include <whywait/mpi/call.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// A call that returns whether or not it found something. Polls that follow one another directly are one record
/// (core::sync_record), which each of them prolongs. Order of use: `ask`, the call, then one of `found_nothing`,
/// `found_unknown` and `found`.
///
/// A poll follows another one directly if no mark was passed in between and the pause was not longer than the poll before
/// it, or about 16 readings of the clock. After many polls a pause may be as long as all of them, because usually another
/// thread had the processor. Then a record begins, but if the polls find something, the time of all of them is put together
/// in the last record: the pause counts as code, because it may have been work. The others stay as entries into MPI.
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
    if (!prolong(others)) begin_run(others);
  }

  /// After a call that found only requests that no wrapper created.
  void found_unknown() noexcept {
    if (!process().others_requests) return;  // there was no request at all
    if (!prolong(true)) begin_run(true);
    thread_->polls.record = nullptr;
  }

  /// After a call that found something: the record of it and of the calls before it that found nothing; `index` is its
  /// number. `finish_poll` publishes it. Null as for `store`.
  core::sync_record* found(unsigned flags, uint32_t posting, uint32_t& index) noexcept {
    poll_run& run = thread_->polls;
    if (!prolong(false)) {
      if (goes_on()) {
        begin_run(false);
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
    core::sync_record* const r = run.record;
    run.record = nullptr;
    index = run.index;
    r->begin -= run.earlier;
    r->duration += run.earlier;
    for (uint32_t i = 1; i <= run.chain; ++i) {
      core::sync_record& earlier = where().syncs[index - i];
      earlier.duration = 0;
      if (earlier.begin > r->begin) earlier.begin = r->begin;
    }
    --r->completion;
    r->call = what_;
    r->site = site_;
    r->flags = static_cast<uint16_t>(flags);
    r->posting = posting;
    return r;
  }
  void finish_poll(uint32_t index) noexcept {
    if (index == next_index()) finish();
  }

 private:
  static constexpr uint64_t longest_usual_pause = 4096;  // ticks
  static constexpr uint32_t many = 256;

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
  // Whether a pause that is not usual is no reason to believe that these polls are about something else.
  bool goes_on() const noexcept {
    const poll_run& run = thread_->polls;
    return only_pause() && (run.chain != 0 || run.record->completion >= many) &&
           begin_ - run.left <= run.earlier + run.record->duration;
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

  __attribute__((noinline)) void begin_run(bool others) noexcept {
    const uint64_t asked = begin_;
    poll_run& run = thread_->polls;
    const bool more = goes_on();
    const uint64_t earlier = more ? run.earlier + run.record->duration : 0;
    const uint32_t chain = more ? run.chain + 1 : 0;
    run = poll_run{};
    run.earlier = earlier;
    run.chain = chain;
    run.least_pause = static_cast<uint64_t>(16 * process().calibrated.reading_ticks) + 16;
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
