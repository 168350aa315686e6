#include <whywait/explain/same_code.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

using namespace histories;

namespace {

core::stable_key key_of_site(const char* words) { return core::key_of(words); }

explain::residual_sums sums(std::int64_t causer_visits, std::int64_t causer_ns, std::int64_t waiter_visits,
                            std::int64_t waiter_ns) {
  explain::residual_sums s;
  s.causer_visits = causer_visits;
  s.waiter_visits = waiter_visits;
  s.causer_ns = causer_ns;
  s.waiter_ns = waiter_ns;
  s.total_ns = causer_ns - waiter_ns;
  s.visits_ns = s.total_ns;
  return s;
}

/// Two ranks exchange halos, 40 steps, without marks. Rank 1 is slow. `words(rank)`: the calls of a step.
run unmarked(const std::function<std::vector<std::string>(int)>& words) {
  run r(2);
  std::uint64_t now[2] = {0, 0};
  for (int k = 0; k != 40; ++k) {
    std::uint64_t begin[2];
    for (int rank = 0; rank != 2; ++rank) {
      const auto calls = words(rank);
      for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
        now[rank] += 5;
        r[rank].call(mpi_call::Barrier, now[rank], now[rank], calls[i]).comm = 9;  // synchronises nothing
      }
      begin[rank] = now[rank] + (rank == 1 ? 60 : 20);
    }
    for (int rank = 0; rank != 2; ++rank) {
      now[rank] = std::max(begin[0], begin[1]) + 1;
      r[rank].collective(mpi_call::Allreduce, begin[rank], now[rank]);
    }
  }
  return r;
}

}  // namespace

TEST_CASE("unmarked code that begins at other lines on the two sides is the same code") {
  run r = unmarked([](int rank) { return std::vector<std::string>{rank == 0 ? "line 1810" : "line 1824", "end"}; });
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  const explain::explanation& e = out.waits[0];
  REQUIRE(e.residual.size() == 1);
  const explain::residual_term& t = e.residual[0];
  CHECK(t.block == explain::between_key(key_of_site("line 1824"), key_of_site("MPI_Allreduce")));
  CHECK(t.visits_ns == 0);
  CHECK(t.speed_ns == e.wait_ns);
  CHECK(t.causer_visits == 40);
  CHECK(t.waiter_visits == 40);
  CHECK(t.total_ns + e.unexplained_ns == e.wait_ns);
}

TEST_CASE("one side passes a further call: a piece that takes as long as that of the other side is the same code") {
  for (const std::uint64_t more : {std::uint64_t(30), std::uint64_t(10)}) {
    run r(2);
    std::uint64_t now[2] = {0, 0};
    for (int k = 0; k != 40; ++k) {
      now[1] += more;  // only rank 1
      r[1].call(mpi_call::Barrier, now[1], now[1], "write").comm = 9;  // synchronises nothing
      std::uint64_t begin[2];
      for (int rank = 0; rank != 2; ++rank) begin[rank] = now[rank] + (rank == 1 && more == 10 ? 40 : 60);
      for (int rank = 0; rank != 2; ++rank) {
        now[rank] = std::max(begin[0], begin[1]) + 1;
        r[rank].collective(mpi_call::Allreduce, begin[rank], now[rank]);
      }
    }
    const auto out = r.explain();
    REQUIRE(!out.waits.empty());
    const explain::explanation& e = out.waits[0];
    REQUIRE(!e.residual.empty());
    const auto alone = explain::between_key(key_of_site("MPI_Allreduce"), key_of_site("write"));
    CHECK((e.residual[0].block == alone && e.residual[0].waiter_visits == 0) == (more == 30));
  }
}

TEST_CASE("one side passes a further call in the same code: the pieces are compared with the whole") {
  run r = unmarked([](int rank) {
    return rank == 0 ? std::vector<std::string>{"first", "end"} : std::vector<std::string>{"first", "further", "end"};
  });
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  REQUIRE(out.waits[0].residual.size() == 1);
  const explain::residual_term& t = out.waits[0].residual[0];
  CHECK(t.block == explain::between_key(key_of_site("further"), key_of_site("MPI_Allreduce")));
  CHECK(t.visits_ns == 0);
  CHECK(t.causer_visits == 40);
  CHECK(t.waiter_visits == 40);
  CHECK(t.total_ns == 40 * 45);
}

TEST_CASE("polls that found nothing do not divide unmarked code") {
  run r(2);
  std::uint64_t now = 0;
  for (int k = 0; k != 20; ++k) {
    for (int rank = 0; rank != 2; ++rank) {
      const int polls = rank == 0 ? k % 3 : 4 + k % 2;  // how often they come is chance
      const std::uint64_t work = rank == 0 ? 2000 : 6000;
      for (int i = 1; i <= polls; ++i) {
        const std::uint64_t at = now + work * std::uint64_t(i) / std::uint64_t(polls + 1);
        r[rank].call(mpi_call::Test, at, at + 2).flags = flag::found_nothing;
      }
      r[rank].collective(mpi_call::Allreduce, now + work, now + 6001);
    }
    now += 6001;
  }
  const auto out = r.explain();
  const core::stable_key step = explain::between_key(key_of_site("MPI_Allreduce"), key_of_site("MPI_Allreduce"));
  explain::residual_sums sum;
  for (const auto& e : out.waits)
    for (const auto& t : e.residual) {
      if (t.block != step) continue;
      sum.causer_visits += t.causer_visits;
      sum.waiter_visits += t.waiter_visits;
      sum.visits_ns += t.visits_ns;
      sum.speed_ns += t.speed_ns;
    }
  CHECK(sum.causer_visits == 19);
  CHECK(sum.waiter_visits == 19);
  CHECK(sum.visits_ns == 0);
  CHECK(sum.speed_ns == doctest::Approx(19.0 * 4000).epsilon(0.01));
  CHECK(out.waiting_ns == 20 * 4000);
}

TEST_CASE("code without a common call stays apart, and so does code that only one side has") {
  explain::explanation e;
  e.count = 5;
  const auto add = [&e](const char* first, const char* second, const explain::residual_sums& s) {
    explain::residual_term t;
    static_cast<explain::residual_sums&>(t) = s;
    t.block = explain::between_key(key_of_site(first), key_of_site(second));
    e.residual.push_back(t);
  };
  whywait::base::vector<explain::block_meaning> meanings;
  const auto mean = [&meanings](const char* first, const char* second) {
    meanings.push_back({explain::between_key(key_of_site(first), key_of_site(second)), explain::block_kind::between,
                        key_of_site(first), key_of_site(second)});
  };
  mean("a", "b"), mean("c", "d"), mean("a", "x");
  std::sort(meanings.begin(), meanings.end(), [](const auto& x, const auto& y) { return x.key < y.key; });
  add("a", "b", sums(10, 500, 0, 0));
  add("c", "d", sums(0, 0, 10, 300));
  add("a", "x", sums(10, 100, 0, 0));
  explain::merge_same_code(e, meanings);
  CHECK(e.residual.size() == 3);
  add("a", "y", sums(0, 0, 10, 50));
  explain::merge_same_code(e, meanings);
  CHECK(e.residual.size() == 4);  // its meaning is unknown
  mean("a", "y");
  std::sort(meanings.begin(), meanings.end(), [](const auto& x, const auto& y) { return x.key < y.key; });
  explain::merge_same_code(e, meanings);
  REQUIRE(e.residual.size() == 2);
  CHECK(e.residual[0].total_ns == 550);
  CHECK(e.residual[0].visits_ns + e.residual[0].speed_ns == 550);
  CHECK(e.residual[0].causer_visits == 20);
  CHECK(e.residual[0].waiter_visits == 10);
}

namespace {

/// Two call sites, "line 7" and "line 7 again", lie in one line.
class one_line final : public explain::function_names {
 public:
  explain::source_keys source_of(core::stable_key site) override {
    ++asked;
    return site == key_of_site("no line") ? explain::source_keys{1, 0} : explain::source_keys{1, 7};
  }
  bool contains(core::stable_key site) const override {
    return site == key_of_site("line 7") || site == key_of_site("line 7 again") || site == key_of_site("no line");
  }
  int asked = 0;
};

}  // namespace

TEST_CASE("one line may be several call sites, of which each side passes another one") {
  explain::explanation e;
  e.count = 5;
  whywait::base::vector<explain::block_meaning> meanings;
  const auto add = [&](const char* first, const char* second, const explain::residual_sums& s) {
    explain::residual_term t;
    static_cast<explain::residual_sums&>(t) = s;
    t.block = explain::between_key(key_of_site(first), key_of_site(second));
    e.residual.push_back(t);
    meanings.push_back({t.block, explain::block_kind::between, key_of_site(first), key_of_site(second)});
    std::sort(meanings.begin(), meanings.end(), [](const auto& x, const auto& y) { return x.key < y.key; });
  };
  add("line 7", "line 7", sums(10, 500, 0, 0));
  add("line 7 again", "line 7 again", sums(0, 0, 10, 300));
  add("no line", "elsewhere", sums(10, 40, 0, 0));
  add("also elsewhere", "unknown", sums(0, 0, 10, 10));
  explain::explanation apart = e;
  explain::merge_same_code(apart, meanings);
  CHECK(apart.residual.size() == 4);
  one_line lines;
  explain::merge_same_code(e, meanings, &lines);
  CHECK(lines.asked > 0);
  REQUIRE(e.residual.size() == 3);
  CHECK(e.residual[0].total_ns == 200);
  CHECK(e.residual[0].speed_ns == 200);
  CHECK(e.residual[0].causer_visits == 10);
  CHECK(e.residual[0].waiter_visits == 10);
}

TEST_CASE("a few waits in the opposite direction do not distort the visits, but their time counts") {
  explain::residual_sums main = sums(400, 4000, 100, 1000);
  explain::add_direction(main, sums(10, 100, 40, 400));
  CHECK(main.causer_visits == 400);
  CHECK(main.waiter_visits == 100);
  CHECK(main.causer_ns == 4000);
  CHECK(main.total_ns == 2700);
  CHECK(main.visits_ns == 2700);
  // either direction may be the rare one
  explain::residual_sums few = sums(40, 400, 10, 100);
  explain::add_direction(few, sums(100, 1000, 400, 4000));
  CHECK(few.causer_visits == 100);
  CHECK(few.waiter_visits == 400);
  CHECK(few.total_ns == -2700);
  // noise in both directions adds up
  explain::residual_sums noise = sums(101, 1010, 100, 1000);
  explain::add_direction(noise, sums(100, 1000, 101, 1010));
  CHECK(noise.causer_visits == 201);
  CHECK(noise.waiter_visits == 201);
}

TEST_CASE("a single wait whose parts have leads that cancel names sides that differ by its time") {
  explain::explanation e;
  e.count = 1;
  whywait::base::vector<explain::block_meaning> meanings;
  const auto add = [&](const char* second, explain::residual_sums s, std::int64_t lead, std::int64_t lead_ns) {
    explain::residual_term t;
    s.lead_visits = lead;
    s.total_ns -= lead_ns;
    s.visits_ns = s.total_ns;
    static_cast<explain::residual_sums&>(t) = s;
    t.block = explain::between_key(key_of_site("a"), key_of_site(second));
    e.residual.push_back(t);
    meanings.push_back({t.block, explain::block_kind::between, key_of_site("a"), key_of_site(second)});
  };
  add("x", sums(10, 500, 0, 0), -1, -20);
  add("y", sums(0, 0, 10, 300), 1, 50);
  std::sort(meanings.begin(), meanings.end(), [](const auto& x, const auto& y) { return x.key < y.key; });
  explain::merge_same_code(e, meanings);
  explain::join_directions(e.residual, e.count);
  REQUIRE(e.residual.size() == 1);
  const explain::residual_term& t = e.residual[0];
  CHECK(t.lead_visits == 0);
  CHECK(t.total_ns == 500 + 20 - 300 - 50);
  CHECK(t.causer_ns == 500);
  CHECK(t.waiter_ns == 330);
  CHECK(t.visits_ns == 0);
  CHECK(t.speed_ns == t.total_ns);
}

TEST_CASE("both parts of a single wait count, also where one has fewer visits") {
  whywait::base::vector<explain::residual_term> one(2), several;
  static_cast<explain::residual_sums&>(one[0]) = sums(10, 100, 1, 10);
  static_cast<explain::residual_sums&>(one[1]) = sums(1, 10, 2, 30);
  several = one;
  explain::join_directions(one, 1);
  REQUIRE(one.size() == 1);
  CHECK(one[0].total_ns == 70);
  CHECK(one[0].causer_ns - one[0].waiter_ns == 70);
  CHECK(one[0].causer_visits == 11);
  explain::join_directions(several, 2);
  CHECK(several[0].causer_visits == 10);
}
