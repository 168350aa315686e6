#include <whywait/record/close_segment.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <new>

using namespace whywait;

namespace {

template <class T>
struct in_pages {
  void* pages = core::map_pages(sizeof(T), false);
  T* it = nullptr;
  in_pages() {
    REQUIRE(pages != nullptr);
    it = new (pages) T();
  }
  ~in_pages() { core::unmap_pages(pages, sizeof(T)); }
  in_pages(const in_pages&) = delete;
  in_pages& operator=(const in_pages&) = delete;
};

}  // namespace

TEST_CASE("a run is closed when its memory is full, at the first operation that is not recorded on all threads") {
  in_pages<record::location> here;
  in_pages<record::thread_facts> thread;
  in_pages<record::run_facts> run;
  core::memory_budget budget;
  budget.limit(1 << 20);
  REQUIRE(here.it->syncs.open(budget));
  for (int i = 0; i != 100000; ++i) here.it->syncs.push(core::sync_record{});
  REQUIRE(here.it->syncs.size() > 0);
  REQUIRE(here.it->syncs.claim() == nullptr);
  CHECK_FALSE(run.it->closed);

  CHECK(record::claim_again(*here.it, *thread.it, *run.it, 1000, 5) == nullptr);
  CHECK(run.it->closed);
  CHECK(run.it->closed_ticks == 1000);
  CHECK(run.it->closed_posting == 4);
  CHECK(thread.it->lost_records == 1);

  // another thread had taken an earlier ordinal, and one a later
  CHECK(record::claim_again(*here.it, *thread.it, *run.it, 990, 3) == nullptr);
  CHECK(run.it->closed_ticks == 990);
  CHECK(run.it->closed_posting == 2);
  CHECK(record::claim_again(*here.it, *thread.it, *run.it, 1100, 9) == nullptr);
  CHECK(run.it->closed_ticks == 990);
  CHECK(run.it->closed_posting == 2);
  CHECK(thread.it->lost_records == 3);
  here.it->syncs.release();
}

TEST_CASE("a record without an ordinal closes the run behind the last operation that was handed over") {
  in_pages<record::location> here;
  in_pages<record::thread_facts> thread;
  in_pages<record::run_facts> run;
  core::memory_budget budget;
  budget.limit(1 << 20);
  REQUIRE(here.it->syncs.open(budget));
  for (int i = 0; i != 100000; ++i) here.it->syncs.push(core::sync_record{});
  const std::uint32_t posted = 17;
  run.it->last_posted = &posted;
  CHECK(record::claim_again(*here.it, *thread.it, *run.it, 1000, 0) == nullptr);
  CHECK(run.it->closed);
  CHECK(run.it->closed_posting == 17);
  here.it->syncs.release();
}
