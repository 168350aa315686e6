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

/// A location whose buffer of records has used up its memory.
struct full_memory {
  in_pages<record::location> here;
  in_pages<record::thread_facts> thread;
  in_pages<record::run_facts> run;
  core::memory_budget budget;
  full_memory() {
    budget.limit(1 << 20);
    REQUIRE(here.it->syncs.open(budget));
    for (int i = 0; i != 100000; ++i) here.it->syncs.push(core::sync_record{});
  }
  ~full_memory() { here.it->syncs.release(); }
  core::sync_record* claim(std::uint64_t ticks, std::uint32_t posting) {
    return record::claim_again(*here.it, *thread.it, *run.it, ticks, posting);
  }
};

}  // namespace

TEST_CASE("a run is closed when its memory is full, at the first operation that is not recorded on all threads") {
  full_memory memory;
  record::run_facts& run = *memory.run.it;
  REQUIRE(memory.here.it->syncs.size() > 0);
  REQUIRE(memory.here.it->syncs.claim() == nullptr);
  CHECK_FALSE(run.closed);

  CHECK(memory.claim(1000, 5) == nullptr);
  CHECK(run.closed);
  CHECK(run.closed_ticks == 1000);
  CHECK(run.closed_posting == 4);
  CHECK(memory.thread.it->lost_records == 1);

  // another thread had taken an earlier ordinal, and one a later
  CHECK(memory.claim(990, 3) == nullptr);
  CHECK(run.closed_ticks == 990);
  CHECK(run.closed_posting == 2);
  CHECK(memory.claim(1100, 9) == nullptr);
  CHECK(run.closed_ticks == 990);
  CHECK(run.closed_posting == 2);
  CHECK(memory.thread.it->lost_records == 3);
}

TEST_CASE("a record without an ordinal closes the run behind the last operation that was handed over") {
  full_memory memory;
  record::run_facts& run = *memory.run.it;
  const std::uint32_t posted = 17;
  run.last_posted = &posted;
  CHECK(memory.claim(1000, 0) == nullptr);
  CHECK(run.closed);
  CHECK(run.closed_posting == 17);
}
