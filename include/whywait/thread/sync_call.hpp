#ifndef WHYWAIT_THREAD_SYNC_CALL_HPP
#define WHYWAIT_THREAD_SYNC_CALL_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/record/caller.hpp>
#include <whywait/record/close_segment.hpp>
#include <whywait/record/counted_code.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/open_calls.hpp>
#include <whywait/thread/code_owner.hpp>
#include <whywait/thread/slow_calls.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

namespace detail {

/// Adds to a total that only this thread changes, and that others may read meanwhile. Returns the sum.
inline uint64_t count(uint64_t& total, uint64_t more) noexcept {
  const uint64_t sum = total + more;
  __atomic_store_n(&total, sum, __ATOMIC_RELAXED);
  return sum;
}

/// Decides how short a wait leaves no record: 1 us, and more the less memory is left, so that a run with very many waits still
/// keeps the long ones to its end. Called once per thread and some thousand records.
__attribute__((noinline, cold)) inline void decide_least(const core::registry& registry, record::run_facts& run) noexcept {
  const core::clock_anchor now = core::clock_anchor::take(2);
  const bool known = run.start_anchor.ns != 0 && now.ns - run.start_anchor.ns > 100000;
  const double us = known ? 1000 / core::clock_anchor::rate(run.start_anchor, now)
                    : core::cycle_clock::used() == core::clock_source::monotonic ? 1000
                                                                                 : 2500;
  const uint64_t limit = registry.memory.limit(), left = registry.memory.left();
  const double scarce = left > limit / 2    ? 1
                        : left > limit / 4  ? 10
                        : left > limit / 8  ? 100
                        : left > limit / 16 ? 1000
                                            : 10000;
  __atomic_store_n(&run.least_ticks, static_cast<uint64_t>(us * scarce), __ATOMIC_RELAXED);
}

/// A caller: where functions of the C++ library are not inlined, the program's own code is further out.
struct caller_of_library : record::caller {
  static bool goes_on(const record::call_site& site) noexcept {
    return (site.level != 0 || is_of_library(owner_of(site.address))) && is_between(owner_of(site.caller));
  }
};

/// A call site with a caller that is not read from the stack.
struct known_caller {
  const void* address;
  const void* caller;
  const void* read(const record::call_site::return_slot&) const noexcept { return caller; }
  record::found_caller find(uint32_t) const noexcept { return {caller, {}}; }
};

}  // namespace detail

/// One call of a primitive while it is recorded. False: it is not recorded, because nothing is, the call is made inside another
/// one (of MPI, or by a signal handler), or there is no memory. Use: `begin`, the part that blocks, `end`, then a record; or
/// `begin` and a record of an event.
class sync_call {
 public:
  explicit sync_call(const sync_site& site) noexcept : sync_call(site, nullptr) {}
  /// `other`: the location of a thread that the calling one waited for, and that stays out of the program's code meanwhile. Null:
  /// that of the calling thread.
  sync_call(const sync_site& site, record::location* other) noexcept : site_(&site), own_(other == nullptr) {
    core::registry* const registry = core::the_registry();
    if (registry == nullptr) return;
    record::run_facts* const run = record::run_of(*registry);
    if (run == nullptr || !__atomic_load_n(&run->running, __ATOMIC_RELAXED)) return;
    record::location* const at = other != nullptr ? other : record::this_location();
    if (at == nullptr) return;
    record::thread_facts* facts = at->calls;
    if (facts == nullptr) facts = record::open_calls(*registry, *run, *at);
    if (facts == nullptr || facts->open.frame != nullptr) return;
    if (detail::count(facts->primitives, 1) % 4096 == 1) detail::decide_least(*registry, *run);
    registry_ = registry;
    run_ = run;
    at_ = at;
    facts_ = facts;
  }
  ~sync_call() {
    if (open_) withdraw();  // its thread was cancelled
  }
  sync_call(const sync_call&) = delete;
  sync_call& operator=(const sync_call&) = delete;

  explicit operator bool() const noexcept { return facts_ != nullptr; }
  record::location& where() const noexcept { return *at_; }
  const core::registry& registry() const noexcept { return *registry_; }
  uint64_t least_ticks() const noexcept { return __atomic_load_n(&run_->least_ticks, __ATOMIC_RELAXED); }
  uint32_t epoch() const noexcept { return run_->epoch; }

  /// Reads the clock.
  uint64_t begin() noexcept {
    begin_ = core::cycle_clock::now();
    if (__builtin_expect(own_ && facts_->counter.is_due(begin_), 0)) read_counter(*at_, *facts_, *run_, begin_);
    return begin_;
  }
  uint64_t begun() const noexcept { return begin_; }
  /// The calling thread has just begun: its counters count from there. Maps memory for its records first, for which threads that begin
  /// together wait in the kernel.
  void begin_counting() noexcept {
    if (!run_->closed) {
      static_cast<void>(at_->syncs.claim());
      static_cast<void>(at_->steps.claim());
    }
    facts_->counter.begin_thread();
    at_->node = facts_->counter.node();
  }
  /// Reads the counters of a thread that is about to wait; another one may store the record of that.
  __attribute__((noinline, cold)) static void read_counter(record::location& at, record::thread_facts& facts,
                                                           const record::run_facts& run, uint64_t now) noexcept {
    const uint64_t left = at.syncs.size() != 0 ? end_of_last(at) : run.begin_ticks;
    record::end_counted_code(at, facts, run, now, now > left ? now - left : 0);
  }
  /// A wait that has begun before, at the earliest at the end of the last record.
  void begin_at(uint64_t ticks) noexcept {
    begin_ = ticks;
    if (const uint64_t last = end_of_last(*at_); last > begin_) begin_ = last;
  }
  /// The same after a wait whose record another thread has stored: the two are long together.
  void begin_after_wait(uint64_t ticks) noexcept {
    begin_at(ticks);
    follows_wait_ = true;
  }
  /// Shows readers of other threads what this one waits for, until `end`.
  void show_wait() noexcept {
    record::open_call& open = facts_->open;
    core::mpi_call name = site_->call;
    open.address = site_->address;
    __atomic_store_n(&open.begin, begin_, __ATOMIC_RELAXED);
    __atomic_store(&open.call, &name, __ATOMIC_RELAXED);
    __atomic_store_n(&open.site, site_number(), __ATOMIC_RELAXED);
    open.peer = open.tag = -1;
    open.comm = 0;
    __atomic_store_n(&open.frame, site_->frame, __ATOMIC_RELEASE);
    open_ = true;
  }
  /// Ends what `show_wait` began; without `end` the time of the call is that of the code around it.
  void withdraw() noexcept {
    __atomic_store_n(&facts_->open.frame, static_cast<const void*>(nullptr), __ATOMIC_RELEASE);
    open_ = false;
  }
  /// Whether code behind this call can be told from code ahead of it only by a record here: much of it ran since the last one, or that
  /// is the end of a task.
  bool parts_code() const noexcept {
    const uint64_t records = at_->syncs.size();
    return records == 0 || at_->syncs[records - 1].call == core::mpi_call::omp_task_end ||
           begin_ > end_of_last(*at_) + 20 * least_ticks();
  }
  /// Reads the clock. Returns whether the wait is long enough for a record, which `always` asks for; else it is counted.
  bool end() noexcept { return end_at(core::cycle_clock::now()); }
  bool end_at(uint64_t now, bool always = false) noexcept {
    end_ = now > begin_ ? now : begin_;
    withdraw();
    const uint64_t ticks = end_ - begin_;
    record::call_site& site = facts_->sites[site_number()];
    ++site.count;
    site.ticks += ticks;
    if (always || ticks >= least_ticks()) return true;
    detail::count(facts_->short_waits, 1);
    detail::count(facts_->short_ticks, ticks);
    return false;
  }
  /// The call site counts the time since `begin`, which stays that of the code around it.
  void count(uint64_t now) noexcept {
    record::call_site& site = facts_->sites[site_number()];
    ++site.count;
    site.ticks += now > begin_ ? now - begin_ : 0;
  }
  uint64_t ended() const noexcept { return end_; }
  /// Number of the call site in the location. It is looked up when it is first needed, because that takes up to a millisecond if it is new:
  /// of a wait after it has begun, of a release once it is done.
  uint32_t site_number() noexcept {
    if (number_ != unknown_site) return number_;
    record::call_site_table& sites = facts_->sites;
    if (site_->outer != nullptr || gomp::is_member_code(site_->address)) {
      const void* const address = site_->outer != nullptr ? site_->address : gomp::region_place;
      return number_ = sites.find_or_add(detail::known_caller{address, site_->outer}, site_->call, at_->path);
    }
    const detail::caller_of_library from{{site_->address, site_->frame}};
    return number_ = sites.find_outer(sites.find_or_add(from, site_->call, at_->path), from, at_->path);
  }

  /// Number that the next record will have, and its name for other threads.
  uint64_t next_index() const noexcept { return at_->syncs.size(); }
  uint64_t next_name() const noexcept { return core::record_name::pack(next_index(), at_->index, run_->epoch); }

  /// Stores the record of the wait from `begin` to `end`: what the thread ran before belongs to the segment before it, what it
  /// runs from now on to the next. Null without memory.
  core::sync_record* store_wait(unsigned flags) noexcept {
    const record::code_counter& counter = facts_->counter;
    const bool is_long = follows_wait_ ? counter.is_due(end_) : own_ && counter.is_long(end_ - begin_);
    const bool counted = is_long && end_counted_wait();
    core::sync_record* const r = store(end_ - begin_, flags);
    if (counted) record::detail::keep_restart(*at_, *run_);
    at_->path.resume(end_);
    return r;
  }
  /// Stores the record of an event at `begin`.
  core::sync_record* store_event(unsigned flags) noexcept {
    ++facts_->sites[site_number()].count;
    return store(0, flags);
  }
  /// Makes the record visible. What was spent since the clock was read is cost of measuring.
  void finish(const core::sync_record* r) noexcept {
    const uint64_t done = r->begin + r->duration;
    at_->syncs.publish();
    if (!__atomic_load_n(&run_->uses_threads, __ATOMIC_RELAXED)) __atomic_store_n(&run_->uses_threads, true, __ATOMIC_RELEASE);
    facts_->spent += core::cycle_clock::now() - done;
  }
  /// Names the record that ended the wait, if it is one of this epoch.
  void set_cause(core::sync_record* r, uint64_t name) const noexcept {
    const core::record_name cause = core::record_name::unpack(name);
    if (name == 0 || cause.epoch != (run_->epoch & 0xffffu)) return;
    r->completion = cause.record;
    r->completed_by = cause.location;
    r->flags = static_cast<uint16_t>(r->flags | core::thread_flag::caused);
  }

 private:
  // 0: there is no record.
  static uint64_t end_of_last(record::location& at) noexcept {
    const uint64_t records = at.syncs.size();
    return records != 0 ? at.syncs[records - 1].begin + at.syncs[records - 1].duration : 0;
  }
  // The wait lasts until the counters are read, so that what the thread loses its processor for is either in it or counted.
  __attribute__((noinline, cold)) bool end_counted_wait() noexcept {
    if (!facts_->counter.reads_calls()) return false;
    facts_->counter.end_call(end_);
    end_ = core::cycle_clock::now();
    return true;
  }

  core::sync_record* store(uint64_t duration, unsigned flags) noexcept {
    const uint32_t site = site_number();
    if (!at_->path.close_if_outside(begin_) || registry_->sources != nullptr)
      record::close_segment(*at_, *facts_, *run_, *registry_, begin_);
    core::sync_record* r = run_->closed ? nullptr : at_->syncs.claim_at_once();
    if (__builtin_expect(r == nullptr, 0)) r = record::claim_again(*at_, *facts_, *run_, begin_, 0);
    if (r == nullptr) return nullptr;
    const uint64_t spent = facts_->spent;
    facts_->spent = 0;
    r->begin = begin_;
    r->duration = duration;
    r->bytes = 0;
    r->overhead = spent < ~uint32_t(0) ? static_cast<uint32_t>(spent) : ~uint32_t(0);
    r->site = site;
    r->steps = static_cast<uint32_t>(at_->steps.size());
    r->posting = 0;
    r->completion = 0;
    r->completed_by = 0;
    r->peer = -1;
    r->tag = -1;
    r->comm = 0;
    r->call = site_->call;
    r->flags = static_cast<uint16_t>(flags);
    return r;
  }

  static constexpr uint32_t unknown_site = ~uint32_t(0);

  const sync_site* site_;
  const bool own_;  // of the calling thread
  core::registry* registry_ = nullptr;
  record::run_facts* run_ = nullptr;
  record::location* at_ = nullptr;
  record::thread_facts* facts_ = nullptr;
  uint64_t begin_ = 0, end_ = 0;
  uint32_t number_ = unknown_site;
  bool open_ = false, follows_wait_ = false;
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
