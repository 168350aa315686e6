// Explores the interleavings of threads that add objects to a table of watches, as interposed functions do.
#include <whywait/thread/watch_table.hpp>

#include "../../sanitizers.hpp"
#if !WHYWAIT_TEST_THREAD_SANITIZER && !defined(__SANITIZE_THREAD__)  // swapcontext
#include "interleaving.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <vector>

namespace {

using interleaving::scheduler;
using whywait::threads::event_watch;

struct table_machine {
  static void step() {
    if (scheduler::current != nullptr) scheduler::current->point();
  }
  template <class Word>
  static Word load(const Word* from) noexcept {
    step();
    return *from;
  }
  static bool exchange_if(uint64_t* at, uint64_t& expected, uint64_t value) noexcept {
    step();
    if (*at != expected) {
      expected = *at;
      return false;
    }
    *at = value;
    return true;
  }
  static void store(uint32_t* to, uint32_t value) noexcept {
    step();
    *to = value;
  }
};
constexpr uint32_t places = 8;  // one row
using table = whywait::threads::watch_table<event_watch, places, table_machine>;

// All schedules with at most `preemptions` in which each thread adds one of `keys` to a table that `fill` has prepared. Returns
// whether `good(table, watches)` held in all of them.
bool explore(const std::vector<uint64_t>& keys, int preemptions, const std::function<void(table&)>& fill,
             const std::function<bool(table&, const std::vector<event_watch*>&)>& good, std::uint64_t least) {
  bool all_good = true;
  const std::uint64_t schedules = interleaving::try_all(preemptions, [&](scheduler& s, const std::vector<int>& prefix) {
    whywait::core::the_registry()->interposed.replaced = 0;  // decides where a search begins: schedules are replayed
    const auto watches_of = std::make_unique<table>();
    fill(*watches_of);
    std::vector<event_watch*> found(keys.size(), nullptr);
    std::vector<std::function<void()>> bodies;
    for (std::size_t i = 0; i != keys.size(); ++i) bodies.push_back([&, i] { found[i] = watches_of->find_or_add(keys[i]); });
    all_good = s.run(prefix, bodies) && good(*watches_of, found);
    return all_good;
  });
  CHECK(schedules > least);
  return all_good;
}

void add(table& to, uint64_t first, uint64_t count, bool pinned) {
  for (uint64_t key = first; key != first + count; ++key)
    if (event_watch* const w = to.find_or_add(key)) w->waiters = pinned ? 1 : 0;
}

bool found_again(table& in, const std::vector<uint64_t>& keys, const std::vector<event_watch*>& found) {
  for (std::size_t i = 0; i != keys.size(); ++i)
    if (found[i] == nullptr || in.find(keys[i]) != found[i]) return false;
  return true;
}

}  // namespace

TEST_CASE("threads that wait for one object get one watch, in every interleaving") {
  const std::vector<uint64_t> keys = {100, 100, 200};
  const auto good = [&](table& t, const std::vector<event_watch*>& found) {
    return found_again(t, keys, found) && found[0] == found[1] && found[0] != found[2];
  };
  CHECK(explore(
      keys, 4, [](table&) {}, good, 1000));
  CHECK(explore(
      keys, 3, [](table& t) { add(t, 1000, 5, false); }, good, 1000));
}

TEST_CASE("the last place of a full row goes to one object, once") {
  const std::vector<uint64_t> keys = {100, 100};
  const auto fill = [](table& t) {
    add(t, 1000, places - 1, true);
    add(t, 2000, 1, false);
  };
  CHECK(explore(
      keys, 3, fill,
      [&](table& t, const std::vector<event_watch*>& found) { return found_again(t, keys, found) && t.find(2000) == nullptr; },
      100));
}

TEST_CASE("watches of objects that threads wait for are never given away") {
  const std::vector<uint64_t> keys = {100, 200};
  const auto fill = [](table& t) { add(t, 1000, places, true); };
  const auto kept = [](table& t, const std::vector<event_watch*>& found) {
    for (uint64_t key = 1000; key != 1000 + places; ++key)
      if (t.find(key) == nullptr) return false;
    return found[0] == nullptr && found[1] == nullptr;
  };
  CHECK(explore(keys, 2, fill, kept, 50));
}

#endif
