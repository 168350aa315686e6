#include <whywait/core/event_buffer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>
#include <vector>

using namespace whywait::core;

namespace {

constexpr std::uint32_t small_chunk = 64;  // 8 events of 8 bytes

struct adder {
  std::uint64_t* sum;
  std::uint64_t* runs;
  void operator()(const std::uint64_t* first, std::uint64_t count) noexcept {
    ++*runs;
    for (std::uint64_t i = 0; i < count; ++i) *sum += first[i];
  }
};

template <class Policy>
using small_buffer = event_buffer<std::uint64_t, Policy, small_chunk>;

void check_balance(const event_counts& c) { CHECK(c.recorded == c.kept + c.folded + c.drained + c.dropped + c.overwritten); }

}  // namespace

TEST_CASE("events are read back by index in the order they were published") {
  memory_budget budget;
  event_buffer<std::uint64_t> buffer;
  REQUIRE(buffer.open(budget));
  const std::uint64_t count = 3 * buffer.chunk_events + 5;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t* place = buffer.claim();
    REQUIRE(place != nullptr);
    *place = i * i;
    CHECK(buffer.size() == i);  // claimed but not published
    buffer.publish();
  }
  const auto view = buffer.view();
  REQUIRE(view.size() == count);
  bool same = true;
  for (std::uint64_t i = 0; i < count; ++i) same = same && view[i] == i * i && buffer[i] == i * i;
  CHECK(same);
  CHECK(budget.used() == 4 * buffer.chunk_bytes);
  check_balance(buffer.counts());
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("a claim that is not published takes no place") {
  memory_budget budget;
  small_buffer<drop_newest> buffer;
  REQUIRE(buffer.open(budget));
  std::uint64_t* const first = buffer.claim();
  CHECK(buffer.claim() == first);
  CHECK(buffer.size() == 0);
  CHECK(buffer.counts().recorded == 0);
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("claim_at_once returns the same place, and none where a new chunk is needed") {
  memory_budget budget;
  small_buffer<drop_newest> buffer;
  CHECK(buffer.claim_at_once() == nullptr);
  REQUIRE(buffer.open(budget));
  CHECK(buffer.claim_at_once() == nullptr);
  for (std::uint64_t i = 0; i < 8; ++i) {
    std::uint64_t* const place = buffer.claim();
    CHECK(buffer.claim_at_once() == place);
    buffer.publish();
  }
  CHECK(buffer.claim_at_once() == nullptr);
  CHECK(buffer.dropped() == 0);
  CHECK(budget.used() == small_chunk);
  buffer.release();
}

TEST_CASE("a large buffer keeps all events and its budget counts the chunks it has, not those it could cut") {
  memory_budget budget;
  budget.limit(6u << 20);
  event_buffer<std::uint64_t> buffer;
  REQUIRE(buffer.open(budget));
  const std::uint64_t count = (6u << 20) / sizeof(std::uint64_t);
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i == count / 2) CHECK(budget.used() <= (3u << 20) + buffer.chunk_bytes);
    refused += buffer.push(i) ? 0 : 1;
  }
  CHECK(refused == 0);
  CHECK_FALSE(buffer.push(0));
  CHECK(budget.used() == 6u << 20);
  bool same = true;
  for (std::uint64_t i = 0; i < count; ++i) same = same && buffer[i] == i;
  CHECK(same);
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("drop_newest keeps the beginning and counts its losses") {
  memory_budget budget;
  budget.limit(2 * small_chunk);
  small_buffer<drop_newest> buffer;
  REQUIRE(buffer.open(budget));
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(buffer.push(i) == (i < 16));
  const event_counts c = buffer.counts();
  CHECK(c.recorded == 100);
  CHECK(c.kept == 16);
  CHECK(c.dropped == 84);
  check_balance(c);
  for (std::uint64_t i = 0; i < 16; ++i) CHECK(buffer[i] == i);
  buffer.release();
}

TEST_CASE("after a loss drop_newest stays closed when memory returns, until the reader has taken all") {
  memory_budget budget;
  budget.limit(2 * small_chunk);
  small_buffer<drop_newest> buffer;
  REQUIRE(buffer.open(budget));
  for (std::uint64_t i = 0; i < 17; ++i) buffer.push(i);
  budget.limit(100 * small_chunk);
  CHECK_FALSE(buffer.push(17));  // otherwise the kept events would have a gap at an unknown place
  CHECK(buffer.drain([](const std::uint64_t*, std::uint64_t) {}) == 16);
  CHECK(buffer.push(18));
  std::uint64_t seen = 0;
  CHECK(buffer.drain([&](const std::uint64_t* first, std::uint64_t) { seen = *first; }) == 1);
  CHECK(seen == 18);
  CHECK(buffer.counts().dropped == 2);
  check_balance(buffer.counts());
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("overwrite_oldest keeps the end and counts its losses") {
  memory_budget budget;
  budget.limit(3 * small_chunk);
  small_buffer<overwrite_oldest> buffer;
  REQUIRE(buffer.open(budget));
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(buffer.push(i));
  const event_counts c = buffer.counts();
  CHECK(c.recorded == 100);
  CHECK(c.dropped == 0);
  CHECK(c.overwritten == 80);  // chunks 0 to 9; chunks 10, 11 and part of 12 are kept
  CHECK(c.kept == 20);
  check_balance(c);
  std::vector<std::uint64_t> seen;
  buffer.drain([&](const std::uint64_t* first, std::uint64_t count) { seen.insert(seen.end(), first, first + count); });
  REQUIRE(seen.size() == 20);
  CHECK(seen.front() == 80);
  CHECK(seen.back() == 99);
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("overwrite_oldest does not count events as lost that the reader has taken") {
  memory_budget budget;
  budget.limit(2 * small_chunk);
  small_buffer<overwrite_oldest> buffer;
  REQUIRE(buffer.open(budget));
  for (std::uint64_t i = 0; i < 5; ++i) buffer.push(i);
  CHECK(buffer.drain([](const std::uint64_t*, std::uint64_t) {}) == 5);
  for (std::uint64_t i = 5; i < 17; ++i) buffer.push(i);  // reuses the chunk of which 5 of 8 events were drained
  CHECK(buffer.counts().overwritten == 3);
  check_balance(buffer.counts());
  buffer.release();
}

TEST_CASE("overwrite_oldest never writes into the chunk that the reader is in: it drops instead") {
  memory_budget budget;
  budget.limit(small_chunk);
  small_buffer<overwrite_oldest> buffer;
  REQUIRE(buffer.open(budget));
  for (std::uint64_t i = 0; i < 7; ++i) buffer.push(i);
  buffer.drain([&](const std::uint64_t* first, std::uint64_t count) {
    if (*first != 0) return;
    REQUIRE(count == 7);
    CHECK(buffer.push(7));        // still fits into the chunk
    CHECK_FALSE(buffer.push(8));  // would reuse the chunk being read
    for (std::uint64_t i = 0; i < count; ++i) CHECK(first[i] == i);
  });
  CHECK(buffer.counts().dropped == 1);
  check_balance(buffer.counts());
  buffer.release();
}

TEST_CASE("fold hands every event to the folder once, in chunks, in constant memory") {
  std::uint64_t sum = 0, runs = 0;
  memory_budget budget;
  event_buffer<std::uint64_t, fold<adder>> buffer;
  REQUIRE(buffer.open(budget, adder{&sum, &runs}));
  constexpr std::uint64_t count = 100'000'000;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < count; ++i) refused += buffer.push(i) ? 0 : 1;
  CHECK(refused == 0);
  CHECK(budget.used() == buffer.chunk_bytes);
  CHECK(runs == (count - 1) / buffer.chunk_events);
  check_balance(buffer.counts());
  CHECK(buffer.counts().kept == count - runs * buffer.chunk_events);
  buffer.fold_rest();
  CHECK(sum == count / 2 * (count - 1));
  CHECK(buffer.counts().folded == count);
  CHECK(buffer.counts().kept == 0);
  buffer.fold_rest();  // nothing is folded twice
  CHECK(sum == count / 2 * (count - 1));
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("without memory every policy drops and counts, and none blocks") {
  memory_budget none;
  none.limit(0);
  std::uint64_t sum = 0, runs = 0;
  small_buffer<drop_newest> drops;
  small_buffer<overwrite_oldest> overwrites;
  small_buffer<block> waits;
  small_buffer<fold<adder>> folds;
  REQUIRE((drops.open(none) && overwrites.open(none) && waits.open(none) && folds.open(none, adder{&sum, &runs})));
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK_FALSE(drops.push(i));
    CHECK_FALSE(overwrites.push(i));
    CHECK_FALSE(waits.push(i));
    CHECK_FALSE(folds.push(i));
  }
  for (const event_counts& c : {drops.counts(), overwrites.counts(), waits.counts(), folds.counts()}) {
    CHECK(c.dropped == 3);
    check_balance(c);
  }
  folds.fold_rest();
  CHECK(runs == 0);
}

TEST_CASE("a buffer that was never opened drops") {
  event_buffer<std::uint64_t> buffer;
  CHECK_FALSE(buffer.push(1));
  CHECK(buffer.dropped() == 1);
  buffer.release();
}

TEST_CASE("block waits for the reader and loses nothing") {
  memory_budget budget;
  budget.limit(2 * small_chunk);
  small_buffer<block> buffer;
  REQUIRE(buffer.open(budget));
  constexpr std::uint64_t count = 20'000;
  std::uint64_t next = 0;
  bool in_order = true;
  std::thread reader([&] {
    while (next < count) {
      const std::uint64_t taken = buffer.drain([&](const std::uint64_t* first, std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) in_order = in_order && first[i] == next++;
      });
      if (taken == 0) std::this_thread::yield();
    }
  });
  for (std::uint64_t i = 0; i < count; ++i) buffer.push(i);
  reader.join();
  CHECK(in_order);
  CHECK(buffer.counts().drained == count);
  CHECK(buffer.counts().dropped == 0);
  check_balance(buffer.counts());
  CHECK(budget.used() <= 2 * small_chunk);
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("when the reader leaves, block drops instead of blocking") {
  memory_budget budget;
  budget.limit(small_chunk);
  small_buffer<block> buffer;
  REQUIRE(buffer.open(budget));
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 20; ++i) buffer.push(i);
  });
  while (buffer.size() < 8) std::this_thread::yield();
  buffer.reader_left();
  writer.join();
  CHECK(buffer.counts().kept == 8);
  CHECK(buffer.counts().dropped == 12);
  buffer.release();
}

TEST_CASE_TEMPLATE("with a concurrent reader every event is drained, kept or counted as lost, once and in order", Policy,
                   drop_newest, overwrite_oldest, block) {
  memory_budget budget;
  budget.limit(4 * small_chunk);
  small_buffer<Policy> buffer;
  REQUIRE(buffer.open(budget));
  constexpr std::uint64_t count = 200'000;
  bool done = false;
  std::uint64_t seen = 0, last = 0;
  bool rising = true;
  const auto sink = [&](const std::uint64_t* first, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      rising = rising && first[i] > last;
      last = first[i];
      ++seen;
    }
  };
  std::thread reader([&] {
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
      if (buffer.drain(sink) == 0) std::this_thread::yield();
  });
  std::uint64_t refused = 0;
  for (std::uint64_t i = 1; i <= count; ++i) {
    refused += buffer.push(i) ? 0 : 1;
    if (i % 1000 == 0) std::this_thread::yield();
  }
  __atomic_store_n(&done, true, __ATOMIC_RELEASE);
  reader.join();
  const event_counts before = buffer.counts();
  check_balance(before);
  CHECK(before.recorded == count);
  CHECK(before.dropped == refused);
  CHECK(before.drained == seen);
  CHECK(buffer.drain(sink) == before.kept);
  CHECK(rising);
  CHECK(seen + refused + buffer.counts().overwritten == count);
  buffer.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("many readers may read published events while the buffer grows") {
  memory_budget budget;
  small_buffer<drop_newest> buffer;
  REQUIRE(buffer.open(budget));
  constexpr std::uint64_t count = 50'000;
  bool right[2] = {true, true};
  std::vector<std::thread> readers;
  for (bool& ok : right)
    readers.emplace_back([&buffer, &ok] {
      for (std::uint64_t size = 0; size < count;) {
        const auto view = buffer.view();
        if (view.size() == size) std::this_thread::yield();
        for (; size < view.size(); ++size) ok = ok && view[size] == size + 1;
      }
    });
  for (std::uint64_t i = 1; i <= count; ++i) buffer.push(i);
  for (std::thread& reader : readers) reader.join();
  CHECK(right[0]);
  CHECK(right[1]);
  buffer.release();
}

TEST_CASE("under load each event is folded or dropped: four threads, memory for the chunks of two") {
  struct padded {
    alignas(64) std::uint64_t sum = 0;
    std::uint64_t runs = 0;
    event_counts counts{};
    std::uint64_t refused = 0;
  } results[4];
  constexpr std::uint64_t each = 200'000;
  memory_budget budget;
  budget.limit(2 * small_chunk);
  std::vector<std::thread> threads;
  for (padded& mine : results)
    threads.emplace_back([&mine, &budget] {
      small_buffer<fold<adder>> buffer;
      REQUIRE(buffer.open(budget, adder{&mine.sum, &mine.runs}));
      for (std::uint64_t i = 0; i < each; ++i) mine.refused += buffer.push(1) ? 0 : 1;
      buffer.fold_rest();
      mine.counts = buffer.counts();
      buffer.release();  // another thread may now reuse the memory
    });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t folded = 0;
  for (const padded& result : results) {
    CHECK(result.counts.recorded == each);
    CHECK(result.counts.recorded == result.counts.folded + result.counts.dropped);
    CHECK(result.counts.dropped == result.refused);
    CHECK(result.counts.folded == result.sum);
    folded += result.counts.folded;
  }
  CHECK(folded >= 2 * small_chunk / sizeof(std::uint64_t));
  CHECK(budget.used() == 0);
}

TEST_CASE("a rewound buffer reuses the chunks of the last round and releases the others") {
  memory_budget budget;
  budget.limit(small_chunk * 8);
  small_buffer<drop_newest> first, second;
  REQUIRE(first.open(budget));
  REQUIRE(second.open(budget));
  const auto fill = [](small_buffer<drop_newest>& buffer, std::uint64_t chunks, std::uint64_t from) {
    for (std::uint64_t i = 0; i < chunks * buffer.chunk_events; ++i) buffer.push(from + i);
    bool right = buffer.view().size() == buffer.size();
    for (std::uint64_t i = 0; i < buffer.size(); ++i) right = right && buffer[i] == from + i;
    return right;
  };
  CHECK(fill(first, 4, 100));
  for (int round = 0; round < 10; ++round) {  // alternate, so that neither keeps chunks that the other needs
    small_buffer<drop_newest>& much = round % 2 == 0 ? second : first;
    small_buffer<drop_newest>& little = round % 2 == 0 ? first : second;
    much.rewind();
    little.rewind();
    CHECK(much.size() == 0);
    CHECK(fill(much, 4, 1000));
    CHECK(much.dropped() == 0);
    CHECK(fill(little, 1, 2000));
    CHECK(little.dropped() == 0);
    CHECK(budget.used() <= small_chunk * 8);
  }
  first.rewind();
  CHECK(fill(first, 9, 0));  // more than the capacity, so that a prefix is kept
  CHECK(first.dropped() > 0);
  first.rewind();
  CHECK(first.dropped() == 0);
  CHECK(fill(first, 2, 7));
  first.release();
  second.release();
  CHECK(budget.used() == 0);
}

TEST_CASE("a reader takes any number of events, the rest keeps its indices, and rewinding drops all") {
  memory_budget budget;
  budget.limit(small_chunk * 4);
  small_buffer<drop_newest> buffer;
  REQUIRE(buffer.open(budget));
  std::uint64_t pushed = 0, taken = 0;
  for (int round = 0; round != 50; ++round) {
    while (pushed < taken + 20) buffer.push(pushed++);
    const std::uint64_t until = taken + 1 + static_cast<std::uint64_t>(round * 7 % 19);
    std::uint64_t expected = taken;
    bool right = true;
    CHECK(buffer.drain(
              [&](const std::uint64_t* first, std::uint64_t count) {
                for (std::uint64_t i = 0; i != count; ++i) right = right && first[i] == expected++;
              },
              until) == until - taken);
    CHECK(expected == until);
    taken = until;
    for (std::uint64_t i = taken; i != pushed; ++i) right = right && buffer[i] == i;
    CHECK(right);
  }
  CHECK(buffer.dropped() == 0);
  CHECK(buffer.drain([](const std::uint64_t*, std::uint64_t) {}, taken) == 0);
  check_balance(buffer.counts());
  CHECK(buffer.counts().kept == pushed - taken);
  buffer.rewind();
  CHECK(buffer.size() == 0);
  CHECK(buffer.counts().drained == 0);
  for (std::uint64_t i = 0; i != 32; ++i) CHECK(buffer.push(i + 5));
  CHECK(buffer[0] == 5);
  CHECK(buffer[31] == 36);
  CHECK(buffer.drain([](const std::uint64_t*, std::uint64_t) {}) == 32);
  buffer.release();
  CHECK(budget.used() == 0);
}
