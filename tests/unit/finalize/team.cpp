#include <whywait/finalize/shared_rings.hpp>
#include <whywait/finalize/team.hpp>

#include "threads_as_ranks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using threads_as_ranks::run;
using whywait::base::pod_vector;
using whywait::finalize::peer_failed;
using whywait::finalize::shared_rings;
using whywait::finalize::team;

namespace {

constexpr auto round_bytes = static_cast<std::size_t>(team::round_bytes);

/// What rank r gives: as many bytes, each another one.
pod_vector<unsigned char> bytes_of(int r, std::size_t size) {
  pod_vector<unsigned char> out;
  out.resize(size);
  for (std::size_t i = 0; i != size; ++i) out[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(r) + i / 251);
  return out;
}

}  // namespace

TEST_CASE("ranks agree on the largest word, and on the lowest rank of those that have something") {
  for (const int size : {1, 2, 3, 8})
    run(size, [size](int r) {
      const team all(MPI_COMM_WORLD);
      CHECK(all.rank() == r);
      CHECK(all.size() == size);
      CHECK(all.agree(100 - r) == 100);
      CHECK(all.lowest_of(false) == -1);
      for (int here = 0; here != size; ++here) CHECK(all.lowest_of(r >= here) == here);
    });
}

TEST_CASE("rank 0 shares what it has, in pieces if it is large") {
  for (const std::size_t bytes : {std::size_t(0), std::size_t(1), round_bytes, round_bytes + 5})
    run(3, [bytes](int r) {
      const team all(MPI_COMM_WORLD);
      pod_vector<unsigned char> data = bytes_of(r, r == 0 ? bytes : 3);
      all.share(data);
      const pod_vector<unsigned char> truth = bytes_of(0, bytes);
      CHECK(data.size() == bytes);
      CHECK(std::equal(data.begin(), data.end(), truth.begin(), truth.end()));
    });
}

TEST_CASE("rank 0 takes what all others have, in the order of ranks, without those that have nothing") {
  const auto size_of = [](int r) { return r == 2 ? std::size_t(0) : r == 3 ? round_bytes * 2 + 1 : std::size_t(10 * r); };
  for (const int size : {1, 2, 5})
    run(size, [&](int r) {
      const team all(MPI_COMM_WORLD);
      const pod_vector<unsigned char> mine = bytes_of(r, size_of(r));
      std::vector<int> from;
      int next = 0;
      all.gather(mine.data(), mine.size(), [&](const unsigned char* data, std::size_t bytes) {
        do ++next;
        while (size_of(next) == 0);
        from.push_back(next);
        const pod_vector<unsigned char> truth = bytes_of(next, size_of(next));
        CHECK(std::equal(data, data + bytes, truth.begin(), truth.end()));
      });
      CHECK(from == (r != 0 || size == 1 ? std::vector<int>{} : size == 2 ? std::vector<int>{1} : std::vector<int>{1, 3, 4}));
    });
}

TEST_CASE("a reduction adds the lists of all ranks on rank 0") {
  for (const int size : {1, 2, 3, 6, 8, 9})
    run(size, [size](int r) {
      const team all(MPI_COMM_WORLD);
      pod_vector<std::int64_t> list;
      for (int i = 0; i <= r; ++i) list.push_back(std::int64_t(1) << r);
      all.reduce_list(list, [&list] {
        const std::int64_t sum = std::accumulate(list.begin(), list.end(), std::int64_t(0));
        list.clear();
        list.push_back(sum);
      });
      if (r != 0 || size == 1) return;
      std::int64_t truth = 0;
      for (int i = 0; i != size; ++i) truth += (std::int64_t(1) << i) * (i + 1);
      REQUIRE(list.size() == 1);
      CHECK(list[0] == truth);
    });
}

TEST_CASE("a rank that fails takes all others along, whatever they do, and they can go on together") {
  enum class place { before, in_pack, in_merge };
  const auto work = [](const team& all, int failing, place where, int operation) {
    const auto fail_at = [&](place here) {
      if (all.rank() == failing && where == here) throw std::runtime_error("no memory");
    };
    all.together([&] {
      fail_at(place::before);
      pod_vector<std::int64_t> list;
      list.push_back(all.rank());
      if (operation == 0) {
        all.reduce(
            [&] {
              fail_at(place::in_pack);
              return team::packet(8);
            },
            [&](const unsigned char*, std::size_t) { fail_at(place::in_merge); });
      } else if (operation == 1) {
        all.gather(list.data(), 8, [&](const unsigned char*, std::size_t) { fail_at(place::in_merge); });
      } else {
        all.share(list);
      }
    });
  };
  for (const int size : {2, 3, 5})
    for (int failing = 0; failing != size; ++failing)
      for (const place where : {place::before, place::in_pack, place::in_merge})
        for (const int operation : {0, 1, 2}) {
          const bool happens = where == place::before || (operation == 0 && where == place::in_pack && failing != 0) ||
                               (where == place::in_merge && failing == 0 && operation != 2);
          if (!happens) continue;
          CAPTURE(size);
          CAPTURE(failing);
          CAPTURE(operation);
          const std::string reason = "rank " + std::to_string(failing) + ": no memory";
          run(size, [&](int) {
            const team all(MPI_COMM_WORLD);
            std::string what;
            try {
              work(all, failing, where, operation);
            } catch (const peer_failed& problem) {
              what = problem.what();
              CHECK(problem.known_to(MPI_COMM_WORLD));
            }
            CHECK(what == reason);
            work(all, -1, where, operation);
          });
        }
}

TEST_CASE("packets of the rings between ranks arrive whole, in order, and only where there is room") {
  constexpr int packets = 300, size = 4;
  const auto size_of = [](int from, int to, int number) {
    const int kind = (number * 7 + from * 3 + to) % 11;
    return kind == 0   ? std::size_t(0)
           : kind == 1 ? std::size_t(shared_rings::largest_packet)
                       : std::size_t(kind * 137 + number);
  };
  const auto is_notice = [](int from, int to, int number) { return (number + from + to) % 13 == 5; };
  run(size, [&](int r) {
    const team all(MPI_COMM_WORLD);
    shared_rings rings(all, true);
    REQUIRE(rings);
    CHECK(rings.reaches_all());
    CHECK_FALSE(rings.reaches(r));
    std::vector<int> sent(size), received(size);
    int left = 2 * packets * (size - 1), refused = 0;
    team::packet buffer;
    int fetched = -1;  // the rank whose packet the notice at hand has announced
    while (left != 0) {
      for (int to = 0; to != size; ++to) {
        int& number = sent[static_cast<std::size_t>(to)];
        if (to == r || number == packets) continue;
        bool done = false;
        if (is_notice(r, to, number)) {
          done = rings.has_room(to);
          if (done) rings.write_notice(to);
        } else {
          const pod_vector<unsigned char> data = bytes_of(r * size + to + number, size_of(r, to, number));
          done = rings.write(to, data.data(), data.size());
        }
        refused += done ? 0 : 1;
        if (!done) continue;
        ++number;
        --left;
      }
      if (refused % 3 == 2) std::this_thread::yield();
      rings.read(
          buffer,
          [&](std::int32_t from, const unsigned char* data, std::size_t bytes) {
            const int number = received[static_cast<std::size_t>(from)]++;
            --left;
            CHECK(is_notice(from, r, number) == (fetched == from));
            fetched = -1;
            const pod_vector<unsigned char> truth = bytes_of(from * size + r + number, size_of(from, r, number));
            CHECK(std::equal(data, data + bytes, truth.begin(), truth.end()));
          },
          [&](std::int32_t from, team::packet& in) {
            const int number = received[static_cast<std::size_t>(from)];
            in = bytes_of(from * size + r + number, size_of(from, r, number));
            fetched = from;
          });
    }
    all.agree();
    CHECK_FALSE(rings.read(
        buffer, [](std::int32_t, const unsigned char*, std::size_t) {}, [](std::int32_t, team::packet&) {}));
  });
}

TEST_CASE("a ring that is full refuses packets until they are read or dropped") {
  run(2, [](int r) {
    const team all(MPI_COMM_WORLD);
    shared_rings rings(all, true);
    REQUIRE(rings.reaches(1 - r));
    const pod_vector<unsigned char> data = bytes_of(r, 1000);
    int written = 0, notices = 0, dropped = 0;
    for (; rings.write(1 - r, data.data(), data.size()); ++written) {
    }
    for (; rings.has_room(1 - r); ++notices) rings.write_notice(1 - r);
    CHECK(written == static_cast<int>(shared_rings::capacity / 1008));
    CHECK(notices == static_cast<int>(shared_rings::capacity % 1008 / 8));
    all.agree();
    rings.drop([&](std::int32_t from) { dropped += from == 1 - r ? 1 : 0; });
    CHECK(dropped == notices);
    all.agree();
    CHECK(rings.write(1 - r, data.data(), data.size()));
    rings.write_notice(1 - r);
    all.agree();
    team::packet buffer;
    int taken = 0;
    CHECK_THROWS_AS(rings.read(
                        buffer, [&](std::int32_t, const unsigned char*, std::size_t) { ++taken; },
                        [](std::int32_t, team::packet&) { throw std::bad_alloc(); }),
                    std::bad_alloc);
    CHECK(taken == 1);
    rings.drop([&](std::int32_t) { ++dropped; });
    CHECK(dropped == notices + 1);  // what could not be fetched is still announced
    all.agree();
  });
  run(2, [](int r) {
    const team all(MPI_COMM_WORLD);
    const shared_rings none(all, false);
    CHECK_FALSE(none);
    CHECK_FALSE(none.reaches(1 - r));
  });
}
