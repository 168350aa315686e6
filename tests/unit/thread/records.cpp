// What thread primitives record, called in an order that is known.
#include <whywait/data.hpp>
#include <whywait/thread.hpp>
#include <whywait/thread/look_at_holder.hpp>
#include <whywait/thread/record_events.hpp>
#include <whywait/thread/record_locks.hpp>
#include <whywait/thread/record_threads.hpp>
#include <whywait/thread/teams.hpp>

#include "recorded_thread.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <thread>
#include <utility>

using namespace whywait;
using core::mpi_call;
using recorded_thread::on_new_thread;
using recorded_thread::on_recorded_thread;
using recorded_thread::site_of;

namespace {

int give_up(threads::lock_watch& watch, std::uint32_t& lock) {
  auto part = [] { return 0; };
  return threads::detail::release(site_of(mpi_call::mutex_unlock), watch, &lock, threads::as_part(part));
}

}  // namespace

TEST_CASE("a thread that drops out of a barrier records that it came") {
  on_recorded_thread([](record::location& own, std::uint64_t before) {
    whywait::barrier<> meeting(2);
    const std::uint64_t begun = core::cycle_clock::now();
    meeting.arrive_and_drop();
    REQUIRE(own.syncs.size() == before + 1);
    CHECK(own.syncs[before].call == mpi_call::barrier_arrive);
    CHECK(own.syncs[before].peer == 2);
    CHECK(own.syncs[before].tag == 0);
    CHECK(own.syncs[before].bytes == reinterpret_cast<std::uintptr_t>(&meeting));
    CHECK(own.syncs[before].begin >= begun);
    CHECK(own.syncs[before].begin <= core::cycle_clock::now());
    meeting.arrive_and_drop();  // the last one, which ends the waits of all others
    REQUIRE(own.syncs.size() == before + 2);
    CHECK(own.syncs[before + 1].call == mpi_call::barrier_wait);
  });
}

TEST_CASE("a notification lets as many threads want the lock as it wakes") {
  on_recorded_thread([](record::location&, std::uint64_t) {
    const auto notify = [](threads::condition_watch& watch, bool all) {
      threads::detail::notify(site_of(all ? mpi_call::condition_notify_all : mpi_call::condition_notify_one), watch, &watch,
                              all);
    };
    threads::lock_watch lock{};
    threads::condition_watch watch{};
    watch.lock = &lock;
    for (const bool all : {false, true}) {
      notify(watch, all);  // no thread waits
      CHECK(watch.credits == 0);
      CHECK(lock.waiters == 0);
    }
    watch.waiting = 5;
    for (std::uint32_t woken = 1; woken != 3; ++woken) {
      notify(watch, false);
      CHECK(watch.credits == woken);
      CHECK(lock.waiters == woken);
    }
    for (const bool all : {true, true, false}) {
      notify(watch, all);
      CHECK(watch.credits == 5);
      CHECK(lock.waiters == 5);
    }
  });
}

TEST_CASE("a release names the record with which its thread took the lock, and only that one") {
  on_recorded_thread([](record::location& own, std::uint64_t before) {
    threads::lock_watch watch{};
    std::uint32_t lock = 0;
    const std::uint64_t begun = core::cycle_clock::now();
    threads::detail::took(site_of(mpi_call::mutex_lock), watch, &lock);
    REQUIRE(own.syncs.size() == before + 1);
    CHECK(own.syncs[before].call == mpi_call::mutex_lock);
    CHECK(own.syncs[before].begin >= begun);
    CHECK(own.syncs[before].begin <= core::cycle_clock::now());
    CHECK(own.syncs[before].duration == 0);
    give_up(watch, lock);
    REQUIRE(own.syncs.size() == before + 2);
    CHECK(own.syncs[before + 1].call == mpi_call::mutex_unlock);
    CHECK(own.syncs[before + 1].peer == 1);  // one record before
    watch.event = 0;  // as if the next hold, which began without a record, had been a long one
    give_up(watch, lock);
    REQUIRE(own.syncs.size() == before + 3);
    CHECK(own.syncs[before + 2].peer == -1);
  });
}

TEST_CASE("of a holder's open segment as many blocks are seen as there is room for") {
  for (const bool fits : {true, false}) {
    CAPTURE(fits);
    on_recorded_thread([fits](record::location& holder, std::uint64_t) {
      constexpr std::uint32_t room = threads::holder_view::room;
      core::path_step seen[room];
      const auto blocks = [&] { return holder.path.glimpse(core::cycle_clock::now(), seen, room); };
      for (std::uint32_t block = 2000; blocks() < room; ++block) holder.path.visit(block);
      if (!fits) holder.path.visit(1999);
      CHECK(blocks() == room + (fits ? 0 : 1));
      on_new_thread([&] {
        threads::sync_call call(site_of(mpi_call::mutex_lock));
        REQUIRE(call);
        record::location& own = call.where();
        REQUIRE(&own != &holder);
        const std::uint64_t before = own.cuts.is_open() ? own.cuts.size() : 0;
        threads::holder_view view;
        threads::lock_watch watch{};
        watch.holder = &holder.path.head();
        view.look(watch, call.begin());
        view.keep(call);
        REQUIRE(own.cuts.is_open());
        REQUIRE(own.cuts.size() == before + 1);
        CHECK(own.cuts[before].location == holder.index);
        CHECK(own.cuts[before].whole == (fits ? 1 : 0));
        CHECK(own.cuts[before].steps == (fits ? room : 0));
        CHECK(own.cut_steps.size() >= (fits ? room : 0));
      });
    });
  }
}

namespace {

/// What primitives recorded of the order of threads since the last look: objects and data_flag bits.
class order_of_thread {
 public:
  order_of_thread() : thread_(data::this_thread()), next_(thread_ != nullptr ? thread_->records.size() : 0) {}
  bool is(std::initializer_list<std::pair<const void*, unsigned>> expected) {
    if (thread_ == nullptr || thread_->records.size() != next_ + expected.size()) return false;
    bool same = true;
    for (const auto& e : expected) {
      const core::data_record& r = thread_->records[next_++];
      same = same && r.of_primitive() && r.begin == reinterpret_cast<std::uintptr_t>(e.first) && r.flags == e.second;
    }
    return same;
  }

 private:
  data::data_thread* thread_;
  std::uint64_t next_;
};

}  // namespace

TEST_CASE("code of two parallel regions is parted for a member that hardly waits between them") {
  on_recorded_thread([](record::location&, std::uint64_t) {
    record::run_facts* const run = record::run_of(*core::the_registry());
    REQUIRE(run != nullptr);
    constexpr std::uint64_t least = std::uint64_t(1) << 22;  // a millisecond or more: shorter waits leave no record
    const void* const place = __builtin_return_address(0);
    std::atomic<int> begun{0}, inside{0}, ended{0};
    std::atomic<threads::team*> team{nullptr};
    std::atomic<record::location*> its{nullptr};
    std::uint64_t records[2] = {};  // of the member, when it is in each region
    std::thread member([&] {
      its = record::this_location();
      for (int region = 1; region != 3; ++region) {
        while (begun != region) std::this_thread::yield();
        threads::begin_member(team, 1, 2);
        inside = region;
        const std::uint64_t until = core::cycle_clock::now() + 21 * least;
        while (core::cycle_clock::now() < until) {
        }
        threads::end_member();
        ended = region;
      }
    });
    const std::uint64_t before = run->least_ticks;
    for (int region = 1; region != 3; ++region) {
      team = threads::fork(place);
      threads::begin_member(team, 0, 2);
      begun = region;
      while (inside != region) std::this_thread::yield();  // the first call of a thread decides how long a wait has to be
      __atomic_store_n(&run->least_ticks, least, __ATOMIC_RELAXED);
      records[region - 1] = its.load()->syncs.size();
      while (ended != region) std::this_thread::yield();  // the member comes to the barrier first, and is soon followed
      threads::come_to_barrier(threads::team_site(mpi_call::omp_parallel_end, place));
      threads::join(team);
    }
    member.join();
    __atomic_store_n(&run->least_ticks, before, __ATOMIC_RELAXED);
    CHECK(records[1] > records[0]);
  });
}

TEST_CASE("primitives record the order of threads while arrays are registered, also if no thread waits") {
  using namespace core::data_flag;
  on_recorded_thread([](record::location& own, std::uint64_t before) {
    double values[8] = {};
    WHYWAIT_DATA("values", values, 8);
    REQUIRE(threads::orders_data());
    order_of_thread left;

    whywait::mutex mutex;
    mutex.lock();
    CHECK(left.is({{mutex.native_handle(), acquires}}));
    CHECK_FALSE(mutex.try_lock());
    CHECK(left.is({}));
    mutex.unlock();
    CHECK(left.is({{mutex.native_handle(), releases}}));
    CHECK(mutex.try_lock());
    mutex.unlock();
    CHECK(left.is({{mutex.native_handle(), acquires}, {mutex.native_handle(), releases}}));

    whywait::recursive_mutex again;  // only the outermost hold orders threads
    again.lock(), again.lock(), again.unlock(), again.unlock();
    CHECK(left.is({{again.native_handle(), acquires}, {again.native_handle(), releases}}));

    whywait::shared_mutex shared;
    const void* const writers = shared.native_handle();
    const void* const readers = static_cast<const char*>(writers) + 1;
    shared.lock(), shared.unlock();
    CHECK(left.is({{writers, acquires}, {readers, acquires}, {writers, releases}}));
    shared.lock_shared(), shared.unlock_shared();
    CHECK(left.is({{writers, acquires}, {readers, releases}}));

    whywait::counting_semaphore<> semaphore(0);
    CHECK_FALSE(semaphore.try_acquire());
    semaphore.release(), semaphore.acquire();
    CHECK(left.is({{&semaphore, releases}, {&semaphore, acquires}}));

    whywait::latch latch(1);
    CHECK_FALSE(latch.try_wait());
    latch.count_down(), latch.wait();
    CHECK(left.is({{&latch, releases}, {&latch, acquires}}));

    whywait::barrier<> barrier(1);
    barrier.arrive_and_wait();
    CHECK(left.is({{&barrier, everyone | releases | acquires}}));
    barrier.wait(barrier.arrive());
    CHECK(left.is({{&barrier, everyone | releases}, {&barrier, everyone | acquires}}));

    CHECK(own.syncs.size() == before + 3);  // the end of the latch and of two phases, as without arrays
  });
}
