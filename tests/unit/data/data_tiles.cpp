#include "../record/recorded.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>

namespace core = whywait::core;
namespace data = whywait::data;
using core::data_op;
using core::data_record;
using way = data::access;  // access() is a system call

namespace {

/// Maps (op, flags, object) to bytes.
using touched = std::map<std::tuple<int, int, std::uint32_t>, std::set<std::uint64_t>>;

void put(touched& all, const data_record& r) {
  const std::uint64_t stride = r.stride != 0 ? r.stride : r.end - r.begin, piece = r.stride != 0 ? r.piece : r.end - r.begin;
  for (std::uint64_t p = r.begin; p < r.end; p += stride)
    for (std::uint64_t b = p; b < p + piece; ++b) all[{static_cast<int>(r.op), r.flags, r.object}].insert(b);
}
void put(touched& all, way how, std::uint32_t object, std::uint64_t begin, std::uint64_t end) {
  const int op = static_cast<int>(how == way::read ? data_op::read : data_op::write);
  for (std::uint64_t b = begin; b < end; ++b)
    all[{op, how == way::update ? int(core::data_flag::update) : 0, object}].insert(b);
}

touched recorded_since(std::uint64_t first) {
  data::data_thread* const here = data::this_thread();
  here->flush();
  touched all;
  for (std::uint64_t i = first; i != here->records.size(); ++i) put(all, here->records[i]);
  return all;
}
std::uint64_t begin_here() {
  data::data_thread* const here = data::this_thread();
  REQUIRE(here != nullptr);
  here->flush();
  return here->records.size();
}

template <unsigned Bytes>
struct some {
  char bytes[Bytes];
};
struct pair {
  double a, b;
};
struct eights {
  std::uint64_t all[7];
};

template <class T>
void touch_as(way how, const char* at) {
  data::touch(how, reinterpret_cast<const T*>(at));
}

}  // namespace

TEST_CASE("accesses of 1 to 64 bytes anywhere are exact, across ends of tiles and of arrays") {
  const unsigned seed = 4096;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random);
  };
  constexpr std::size_t size = 5 * data::tile::bytes;
  alignas(4096) static char memory[size];
  for (int round = 0; round != 60; ++round) {
    // arrays at arbitrary places that may overlap, where the newest owns the bytes
    struct piece {
      std::uint64_t base = 0;
      std::uint32_t object = 0;
    };
    whywait::base::vector<piece> whose(size);
    whywait::base::vector<std::unique_ptr<whywait::registered_array>> arrays;
    for (std::size_t i = number(0, 12); i != 0; --i) {
      const std::size_t begin = number(0, size - 2), end = number(begin + 1, std::min(size, begin + number(1, size)));
      arrays.emplace_back(new whywait::registered_array("tiled", memory + begin, whywait::shape(end - begin)));
      for (std::size_t b = begin; b != end; ++b) whose[b] = {begin, arrays.back()->number()};
    }
    if (arrays.empty()) continue;
    const std::uint64_t before = begin_here();
    touched plain;
    const auto tell = [&](way how, std::size_t at, std::size_t bytes) {
      for (std::size_t b = at; b != at + bytes; ++b)
        if (whose[b].object != 0) put(plain, how, whose[b].object, b - whose[b].base, b - whose[b].base + 1);
    };
    for (int i = 0; i != 400; ++i) {
      const auto how = static_cast<way>(number(0, 2));
      const std::size_t near = number(0, 3) == 0 ? number(1, 4) * data::tile::bytes - 32 : number(0, size - 64);
      std::size_t at = near + number(0, 31);
      at = std::min(at, size - 64);
      switch (number(0, 8)) {
        case 0: touch_as<char>(how, memory + at), tell(how, at, 1); break;
        case 1: touch_as<short>(how, memory + at / 2 * 2), tell(how, at / 2 * 2, 2); break;
        case 2: touch_as<float>(how, memory + at / 4 * 4), tell(how, at / 4 * 4, 4); break;
        case 3: touch_as<double>(how, memory + at / 8 * 8), tell(how, at / 8 * 8, 8); break;
        case 4: touch_as<pair>(how, memory + at / 8 * 8), tell(how, at / 8 * 8, 16); break;
        case 5: touch_as<eights>(how, memory + at / 8 * 8), tell(how, at / 8 * 8, 56); break;
        case 6: touch_as<some<3>>(how, memory + at), tell(how, at, 3); break;
        case 7: touch_as<some<40>>(how, memory + at), tell(how, at, 40); break;
        default: {
          const std::size_t bytes = number(1, 64);
          data::this_thread()->touch(how, memory + at, bytes), tell(how, at, bytes);
        }
      }
    }
    REQUIRE(recorded_since(before) == plain);
  }
}

TEST_CASE("without memory for more tiles the table is flushed repeatedly") {
  // 64 tiles are always available and 3000 are touched, twice more than a table may hold
  const std::unique_ptr<data::data_objects> arrays(new data::data_objects());
  REQUIRE(arrays->open());
  struct pages {
    data::tile_table* table = static_cast<data::tile_table*>(core::map_pages(sizeof(data::tile_table), false));
    ~pages() { core::unmap_pages(table, sizeof(data::tile_table)); }
  } room;
  REQUIRE(room.table != nullptr);
  core::memory_budget none;
  none.limit(0);
  data::tile_table& tiles = *new (room.table) data::tile_table;
  REQUIRE(tiles.open(*arrays, none));
  const std::uint64_t base = std::uint64_t{1} << 40;  // never dereferenced
  core::data_object shape;
  shape.key = 1;
  shape.extent[0] = 3000 * data::tile::bytes;
  const std::uint32_t number = arrays->add(1, reinterpret_cast<const void*>(base), shape);
  REQUIRE(number != 0);
  whywait::record::path_entry region{};
  std::set<std::uint64_t> plain, found;
  unsigned drops = 0;
  const unsigned seed = 5;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto take = [&] {
    std::uint64_t last = 0;
    tiles.take([&](std::uint32_t order, data::tile& t) {
      CHECK(order == 7);
      CHECK(t.first > last);
      last = t.first;
      data::sweep(t, [&](const data::tile_part& part, std::uint64_t begin, std::uint64_t end) {
        CHECK(part.object == number);
        for (std::uint64_t b = begin; b != end; ++b) found.insert(b - part.base);
      });
    });
  };
  for (int i = 0; i != 3000; ++i) {
    const std::uint64_t address = base + random() % shape.extent[0];
    const std::uint64_t key = data::tile_table::key_of(address, &region);
    if (!tiles.enter(way::write, address, &region, 7)) {
      ++drops;
      take();
      CHECK(found == plain);
      tiles.drop();
      REQUIRE(tiles.enter(way::write, address, &region, 7));
    }
    REQUIRE(tiles.shows(way::write, data::tile_table::place_of(key), key));
    tiles.mark<1>(way::write, data::tile_table::place_of(key), address);
    plain.insert(address - base);
  }
  take();
  CHECK(found == plain);
  CHECK(drops > 20);
  CHECK(none.used() == 0);
  arrays->release();
}

TEST_CASE("random places of an array that needs more tiles than there may be are all recorded") {
  // never dereferenced; 200 MB, 50000 tiles
  const auto base = reinterpret_cast<const double*>(std::uintptr_t{1} << 41);
  const std::size_t size = std::size_t{25} << 20;
  const whywait::registered_array array("huge", base, whywait::shape(size));
  const std::uint64_t before = begin_here();
  const unsigned seed = 8;
  CAPTURE(seed);
  std::mt19937 random(seed);
  whywait::base::vector<std::uint64_t> plain, found;
  for (int i = 0; i != 30000; ++i) {
    const std::size_t at = random() % size;
    data::touch(way::read, base + at);
    plain.push_back(at * 8);
  }
  data::data_thread* const here = data::this_thread();
  here->flush();
  for (std::uint64_t i = before; i != here->records.size(); ++i) {
    const data_record& r = here->records[i];
    REQUIRE(r.object == array.number());
    for (std::uint64_t p = r.begin; p < r.end; p += r.stride != 0 ? r.stride : r.end - r.begin)
      for (std::uint64_t b = p; b < p + (r.stride != 0 ? r.piece : r.end - r.begin); b += 8) found.push_back(b);
  }
  const auto tidy = [](whywait::base::vector<std::uint64_t>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  tidy(plain);
  tidy(found);
  CHECK(found == plain);
  CHECK(here->process().memory.used() <= here->process().memory.limit());
}

TEST_CASE("a registration by another thread at the same address starts a new array") {
  alignas(64) static double memory[64];
  std::atomic<int> step{0};
  const auto reach = [&](int n) {
    while (step < n) std::this_thread::yield();
  };
  std::unique_ptr<whywait::registered_array> first(new whywait::registered_array("first", memory, whywait::shape(64)));
  const std::uint32_t one = first->number();
  std::uint32_t two = 0;
  touched found;
  std::thread other([&] {
    const std::uint64_t before = begin_here();
    const whywait::array_view<double> v(memory, 64);
    for (int i = 0; i != 10; ++i) v[i] = 1;
    step = 1;
    reach(2);
    for (int i = 5; i != 15; ++i) v[i] = 1;  // in no array
    step = 3;
    reach(4);
    for (int i = 12; i != 30; ++i) v[i] = 1;
    step = 5;
    reach(6);
    v[40] = 1;
    found = recorded_since(before);
  });
  reach(1);
  first.reset();
  step = 2;
  reach(3);
  {
    const whywait::registered_array second("second", memory + 4, whywait::shape(60));
    two = second.number();
    step = 4;
    reach(5);
  }
  const whywait::registered_array again("third", memory, whywait::shape(41));
  step = 6;
  other.join();
  touched plain;
  put(plain, way::write, one, 0, 80);
  put(plain, way::write, two, 64, 208);
  put(plain, way::write, again.number(), 320, 328);
  CHECK(found == plain);
}

TEST_CASE("threads record the same array separately while others register arrays") {
  alignas(4096) static int memory[6000];
  const whywait::registered_array array("shared", memory, whywait::shape(4000));
  std::atomic<bool> over{false};
  std::thread registers([&] {
    while (!over) {
      const whywait::registered_array beside("beside", memory + 4000, whywait::shape(1000));
      std::this_thread::yield();
    }
  });
  whywait::base::vector<std::thread> threads;
  whywait::base::vector<touched> plain(3), found(3);
  for (unsigned n = 0; n != 3; ++n)
    threads.emplace_back([&, n] {
      const std::uint64_t before = begin_here();
      std::mt19937 random(n);
      const whywait::array_view<int> v(memory, 6000);
      for (int i = 0; i != 3000; ++i) {
        const std::size_t at = random() % 4000;
        const int value = v[at];
        if (value != 0) FAIL("nobody writes");
        put(plain[n], way::read, array.number(), at * 4, at * 4 + 4);
      }
      found[n] = recorded_since(before);
    });
  for (std::thread& t : threads) t.join();
  over = true;
  registers.join();
  for (unsigned n = 0; n != 3; ++n) CHECK(found[n] == plain[n]);
}

TEST_CASE("a child process continues, and its parent does not record it") {
  static double memory[2000];
  const whywait::registered_array array("forked", memory, whywait::shape(2000));
  const whywait::array_view<double> v(memory, 2000);
  const std::uint64_t before = begin_here();
  v[0] = 1;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (int i = 0; i != 2000; ++i) v[i] = 2;
    const whywait::registered_array own("of the child", memory, whywait::shape(1000));
    for (int i = 0; i != 2000; ++i) v[i] += 2;
    _exit(memory[1999] == 4 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  v[1] = 1;
  touched plain;
  put(plain, way::write, array.number(), 0, 16);
  CHECK(recorded_since(before) == plain);
}
