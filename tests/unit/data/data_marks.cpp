#include "../../sanitizers.hpp"
#include "../record/recorded.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>

namespace core = whywait::core;
using core::data_op;
using core::data_record;
using whywait::array_view;
using whywait::box;
using whywait::range;

namespace {

/// The records of this thread since construction.
class since {
 public:
  since() : thread_(whywait::data::this_thread()) {
    REQUIRE(thread_ != nullptr);
    thread_->flush();
    first_ = thread_->records.size();
  }
  whywait::base::vector<data_record> all() const {
    thread_->flush();
    whywait::base::vector<data_record> list;
    for (std::uint64_t i = first_; i != thread_->records.size(); ++i) list.push_back(thread_->records[i]);
    return list;
  }

 private:
  whywait::data::data_thread* thread_;
  std::uint64_t first_ = 0;
};

std::string name_of(std::uint32_t site) { return core::the_registry()->sites[site].name; }

/// A set of byte indices with a low cost per byte.
class byte_set {
 public:
  void insert(std::uint64_t byte) {
    if (byte >= has_.size()) has_.resize(byte + 1);
    has_[byte] = 1;
  }
  bool empty() const { return has_.empty(); }
  friend bool operator==(const byte_set& a, const byte_set& b) { return a.has_ == b.has_; }  // no trailing zeros

 private:
  whywait::base::vector<char> has_;
};

void put(byte_set& all, const data_record& r) {
  const std::uint64_t stride = r.stride != 0 ? r.stride : r.end - r.begin, piece = r.stride != 0 ? r.piece : r.end - r.begin;
  for (std::uint64_t p = r.begin; p < r.end; p += stride)
    for (std::uint64_t b = p; b < std::min(p + piece, r.end); ++b) all.insert(b);
}

}  // namespace

TEST_CASE("a loop leaves one record for each range") {
  static double u[10][20];
  WHYWAIT_DATA("u", &u[0][0], 10, 20);
  since here;
  WHYWAIT_READS("sweep", range(&u[0][0], 200), range(&u[0][3], 10, 20));
  WHYWAIT_WRITES("sweep", range(&u[0][0], box({1, 9}, {1, 19})).updated());
  WHYWAIT_ITERATIONS("sweep", 1, 9);
  WHYWAIT_ITERATIONS("sweep", 0, 100, 8, 2);
  WHYWAIT_ITERATIONS("sweep", range(&u[2][0], 20));
  const whywait::base::vector<data_record> r = here.all();
  REQUIRE(r.size() == 6);
  CHECK((r[0].op == data_op::read && r[0].begin == 0 && r[0].end == 1600 && r[0].stride == 0));
  CHECK(
      (r[1].op == data_op::read && r[1].begin == 24 && r[1].end == 24 + 9 * 160 + 8 && r[1].stride == 160 && r[1].piece == 8));
  CHECK((r[2].op == data_op::write && r[2].begin == 168 && r[2].end == 168 + 7 * 160 + 144 && r[2].stride == 160 &&
         r[2].piece == 144));
  CHECK(r[2].flags == core::data_flag::update);
  CHECK((r[3].op == data_op::iterations && r[3].object == 0 && r[3].begin == 1 && r[3].end == 9 && r[3].stride == 0));
  CHECK((r[4].begin == 0 && r[4].end == 100 && r[4].stride == 8 && r[4].piece == 2));
  CHECK((r[5].op == data_op::iterations && r[5].object == r[0].object && r[5].begin == 320 && r[5].end == 480));
  for (const data_record& each : r) {
    CHECK(each.site == r[0].site);  // one block for all lines
    CHECK(name_of(each.site) == "sweep");
  }
  for (std::size_t i = 1; i != r.size(); ++i) CHECK(r[i].time >= r[i - 1].time);
}

TEST_CASE("accesses have the node on which the thread was seen last") {
  static double u[64];
  WHYWAIT_DATA("u", u, 64);
  array_view<double, 1> view(u, 64);
  since here;
  whywait::record::location& at = *whywait::record::this_location();
  const std::uint32_t before = at.node;
  at.node = 2;
  WHYWAIT_READS("sweep", range(u, 64));
  view(3) = 1;
  const whywait::base::vector<data_record> r = here.all();
  at.node = before;
  REQUIRE(r.size() == 2);
  CHECK(r[0].tag == 2);
  CHECK(r[1].tag == 2);
}

TEST_CASE("the region of that name is the block, if it is the innermost") {
  static int a[4];
  WHYWAIT_DATA("a", a, 4);
  since here;
  std::uint32_t region = 0;
  {
    WHYWAIT_REGION("work on a");
    region = recorded().here().path.innermost();
    WHYWAIT_READS("work on a", range(a, 4));
    WHYWAIT_READS("", range(a, 4));
    WHYWAIT_READS("other", range(a, 4));
  }
  const whywait::base::vector<data_record> r = here.all();
  REQUIRE(r.size() == 3);
  CHECK(r[0].site == region);
  CHECK(r[1].site == region);
  CHECK(r[2].site != region);
}

TEST_CASE("random boxes of random arrays are recorded to the byte") {
  const unsigned seed = 31;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](unsigned low, unsigned high) { return std::uniform_int_distribution<unsigned>(low, high)(random); };
  static short room[8 * 8 * 8 * 8];
  for (int round = 0; round != 400; ++round) {
    const unsigned e[4] = {number(1, 8), number(1, 8), number(1, 8), number(1, 8)};
    const whywait::registered_array array("boxed", room, whywait::shape(e[0], e[1], e[2], e[3]));
    unsigned low[4], high[4];
    for (int d = 0; d != 4; ++d) {
      low[d] = number(0, e[d] - 1);
      high[d] = number(low[d], e[d] + 1);
    }
    since here;
    whywait::writes("boxes", range(room, box({low[0], high[0]}, {low[1], high[1]}, {low[2], high[2]}, {low[3], high[3]})));
    byte_set plain, found;
    for (unsigned i = low[0]; i < std::min(high[0], e[0]); ++i)
      for (unsigned j = low[1]; j < std::min(high[1], e[1]); ++j)
        for (unsigned k = low[2]; k < std::min(high[2], e[2]); ++k)
          for (unsigned l = low[3]; l < std::min(high[3], e[3]); ++l)
            for (unsigned b = 0; b != 2; ++b) plain.insert((((i * e[1] + j) * e[2] + k) * e[3] + l) * 2 + b);
    for (const data_record& r : here.all()) {
      CHECK((r.flags & core::data_flag::bounds) == 0);
      put(found, r);
    }
    REQUIRE(found == plain);
  }
}

TEST_CASE("packing names what the buffer carries, piece by piece in order") {
  static double u[6][5], out[40];
  WHYWAIT_DATA("u", &u[0][0], 6, 5);
  const whywait::registered_array buffer("out", out, whywait::shape(40));
  since here;
  WHYWAIT_PACKS(out + 1, &u[0][4], 6, 5);
  WHYWAIT_UNPACKS(out + 10, &u[0][0], box({0, 2}, {1, 3}));
  static double elsewhere[2];
  WHYWAIT_PACKS(out, elsewhere, 1);  // in no array, so only counted
  const whywait::base::vector<data_record> r = here.all();
  REQUIRE(r.size() == 4);
  CHECK((r[0].op == data_op::copy_from && r[0].begin == 32 && r[0].stride == 40 && r[0].piece == 8));
  CHECK((r[1].op == data_op::copy_to && r[1].object == buffer.number() && r[1].begin == 8 && r[1].end == 56));
  CHECK((r[2].op == data_op::copy_from && r[2].object == buffer.number() && r[2].begin == 80 && r[2].end == 112));
  CHECK((r[3].op == data_op::copy_to && r[3].begin == 8 && r[3].stride == 40 && r[3].piece == 16));
  CHECK(whywait::data::known_state()->objects[buffer.number()].shape.buffer);
}

TEST_CASE("accesses outside registered arrays are counted only") {
  static int a[4], b[4];
  WHYWAIT_DATA("a", a, 4);
  since here;
  const std::uint64_t before = whywait::data::known_state()->unknown_ranges;
  WHYWAIT_READS("x", range(b, 4));
  CHECK(here.all().empty());
  CHECK(whywait::data::known_state()->unknown_ranges == before + 1);
  WHYWAIT_READS("x", range(a + 2, 100));  // exceeds the array
  REQUIRE(here.all().size() == 1);
  CHECK(here.all()[0].end == 16);
}

TEST_CASE("marks of synchronisation name the thing, barriers count their turns") {
  static int a[4];
  WHYWAIT_DATA("a", a, 4);
  since here;
  WHYWAIT_SYNC("lock");
  WHYWAIT_SYNC("lock");
  WHYWAIT_SYNC_ALL("step");
  WHYWAIT_SYNC_ALL("step");
  const whywait::base::vector<data_record> r = here.all();
  REQUIRE(r.size() == 4);
  CHECK(r[0].op == data_op::synchronise);
  CHECK(r[0].object == r[1].object);
  CHECK(r[0].site != r[1].site);
  CHECK(r[2].object == r[3].object);
  CHECK(r[2].object != r[0].object);
  CHECK((r[0].flags == 0 && r[2].flags == core::data_flag::everyone && r[2].order + 1 == r[3].order));
  std::uint32_t other = 0, turn = 0;
  std::thread([&] {
    since there;
    WHYWAIT_SYNC_ALL("step");
    other = there.all()[0].object;
    turn = there.all()[0].order;
  }).join();
  CHECK(other == r[2].object);
  CHECK(turn == 1);
}

TEST_CASE("accesses through a view are recorded as they are made, by random programs") {
  const unsigned seed = 20261122;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random);
  };
  static double first[64 * 70], second[5000];
  static whywait::site place_a(core::site_kind::region, "block a"), place_b(core::site_kind::region, "block b");
  const whywait::registered_array one("first", first, whywait::shape(64, 70)), two("second", second, whywait::shape(5000));
  const array_view<double, 2> u(first, 64, 70);
  const array_view<double> v(second, 5000);
  std::size_t records = 0, accesses = 0;
  for (int round = 0; round != repetitions(150); ++round) {
    // maps (op, flags, object, block) to bytes, in one segment between two marks
    std::map<std::tuple<int, int, std::uint32_t, std::string>, byte_set> plain, found;
    const auto touch = [&](int kind, std::uint32_t object, const char* block, std::uint64_t index) {
      auto& bytes = plain[{kind == 0 ? 0 : 1, kind == 2 ? static_cast<int>(core::data_flag::update) : 0, object, block}];
      for (std::uint64_t b = index * 8; b != index * 8 + 8; ++b) bytes.insert(b);
      ++accesses;
    };
    since here;
    for (int part = 0; part != 3; ++part) {
      const bool in_a = number(0, 1) == 0;
      const char* const block = in_a ? "block a" : "block b";
      const whywait::region region(in_a ? place_a : place_b);
      const std::size_t pattern = number(0, 4), rows = number(1, 62), columns = number(1, 68);
      if (pattern == 0) {  // stencil
        for (std::size_t i = 1; i <= rows; ++i)
          for (std::size_t j = 1; j <= columns; ++j) {
            v[i * 70 + j] = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1);
            touch(0, one.number(), block, (i - 1) * 70 + j), touch(0, one.number(), block, (i + 1) * 70 + j);
            touch(0, one.number(), block, i * 70 + j - 1), touch(0, one.number(), block, i * 70 + j + 1);
            touch(1, two.number(), block, i * 70 + j);
          }
      } else if (pattern == 1) {  // column by column
        for (std::size_t j = 0; j != columns; ++j)
          for (std::size_t i = 0; i != rows; ++i) {
            u(i, j) += 1;
            touch(2, one.number(), block, i * 70 + j);
          }
      } else if (pattern == 2) {  // descending
        for (std::size_t i = rows * 70; i-- != 0;) {
          const double x = v[i];
          touch(0, two.number(), block, i);
          if (x > 1e9) CHECK(false);
        }
      } else if (pattern == 3) {  // random
        for (std::size_t k = 0; k != 500; ++k) {
          const std::size_t i = number(0, 4999);
          v[i] = 1;
          touch(1, two.number(), block, i);
        }
      } else {  // assignment between elements
        for (std::size_t i = 0; i < rows * columns; i += 3) {
          v[i] = u(i / 70, i % 70);
          touch(0, one.number(), block, i), touch(1, two.number(), block, i);
        }
      }
    }
    for (const data_record& r : here.all()) {
      ++records;
      put(found[{static_cast<int>(r.op), r.flags, r.object, name_of(r.site)}], r);
    }
    REQUIRE(found == plain);
  }
  CHECK(records * 10 < accesses);
}

TEST_CASE("a tracked value records its reads, writes and updates") {
  whywait::tracked<int> x[8];
  const whywait::registered_array array("x", x, whywait::shape(8));
  CHECK(sizeof x == 8 * sizeof(int));
  since here;
  x[1] = 5;
  x[2] = x[1];
  x[3] += 2;
  ++x[4];
  const int sum = x[2] + x[3];
  x[7] /= 2;
  CHECK(sum == 7);
  byte_set read, written, updated;
  for (const data_record& r : here.all())
    put(r.op == data_op::read ? read : r.flags == core::data_flag::update ? updated : written, r);
  const auto elements = [](std::initializer_list<std::uint64_t> list) {
    byte_set all;
    for (const std::uint64_t i : list)
      for (std::uint64_t b = i * 4; b != i * 4 + 4; ++b) all.insert(b);
    return all;
  };
  CHECK(read == elements({1, 2, 3, 7}));
  CHECK(written == elements({1, 2, 7}));
  CHECK(updated == elements({3, 4}));
}

TEST_CASE("of a sampled array exactly the accesses to the sample are recorded") {
  const unsigned seed = 99;
  CAPTURE(seed);
  std::mt19937 random(seed);
  constexpr std::size_t size = 150000;  // 18750 cache lines
  static double large[size];
  const whywait::registered_array array = whywait::registered_array::sampled("large", large, whywait::shape(size));
  const core::data_sample sample(sizeof large);
  CHECK(sample.every() == 5);
  std::set<std::uint64_t> watched;
  for (std::uint64_t row = 0; row != sample.rows(); ++row) watched.insert(sample.chosen(array.number(), row));
  CHECK(watched.size() == 3750);
  const array_view<double> v(large, size);
  for (int way = 0; way != 4; ++way) {
    since here;
    byte_set plain, found;
    const auto touch = [&](std::size_t i) {
      v[i] = 1;
      if (watched.count(i / 8) != 0)
        for (std::uint64_t b = i * 8; b != i * 8 + 8; ++b) plain.insert(b);
    };
    if (way == 0) {
      for (std::size_t i = 0; i != size; ++i) touch(i);
    } else if (way == 1) {
      for (std::size_t i = size; i-- != 0;) touch(i);
    } else if (way == 2) {
      for (std::size_t i = 3; i < size; i += 37) touch(i);
    } else {
      for (int k = 0; k != 50000; ++k) touch(std::uniform_int_distribution<std::size_t>(0, size - 1)(random));
    }
    for (const data_record& r : here.all()) {
      CHECK(r.flags == core::data_flag::sampled);
      put(found, r);
    }
    REQUIRE(found == plain);
    CHECK(!plain.empty());
  }
}

TEST_CASE("an ended array is no longer recorded, but earlier accesses are kept") {
  static int a[100];
  std::uint32_t number = 0;
  since here;
  {
    const whywait::registered_array array("passing", a, whywait::shape(100));
    number = array.number();
    const array_view<int> v(a, 100);
    v[3] = 1;
  }
  const array_view<int> v(a, 100);
  v[4] = 1;
  const whywait::base::vector<data_record> r = here.all();
  REQUIRE(r.size() == 1);
  CHECK((r[0].object == number && r[0].begin == 12 && r[0].end == 16));
}

TEST_CASE("distributed arrays record their local part") {
  static float a[3][7];
  const whywait::registered_array array("part", &a[0][0], whywait::shape(whywait::part(3, 6, 12), 7));
  const core::data_object& o = whywait::data::known_state()->objects[array.number()].shape;
  CHECK((o.global && o.dimensions == 2 && o.extent[0] == 3 && o.first[0] == 6 && o.whole[0] == 12 && o.whole[1] == 7 &&
         o.element_bytes == 4));
}
