#include <whywait/base/vector.hpp>
#include <whywait/explain/merging.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

using namespace histories;

namespace {

// Rank 0 waits for rank 1 once per entry at the same two sites; only the sender's block differs.
run waits_for(const whywait::base::vector<std::string>& guilty) {
  run r(2);
  std::uint64_t t = 0;
  for (const std::string& block : guilty) {
    r[1].step(block, 100);
    r[1].send(t + 100, t + 100, 0);
    r[0].receive(t, t + 100, 1);
    t += 100;
  }
  return r;
}

}  // namespace

TEST_CASE("waits of one shape are one explanation, other shapes have their own") {
  run r = waits_for({"a", "a", "b", "a"});
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 2);
  CHECK(out.waits[0].count == 3);
  CHECK(total(out.waits[0].residual, "a") == 300);
  CHECK(out.waits[1].count == 1);
  CHECK(total(out.waits[1].residual, "b") == 100);
}

TEST_CASE("disjoint paths are as far apart as can be, equal ones not at all") {
  const whywait::base::vector<explain::shape_entry> a = {{1, 0, 0.5}, {2, 0, 0.5}}, b = {{3, 0, 1.0}}, c = {{1, 0, 1.0}};
  CHECK(explain::distance(a, b) == doctest::Approx(1));
  CHECK(explain::distance(a, a) == doctest::Approx(0));
  CHECK(explain::distance(a, c) == doctest::Approx(0.5));
  CHECK(explain::distance(c, a) == doctest::Approx(0.5));
}

TEST_CASE("more shapes than are kept apart share the last class") {
  whywait::base::vector<std::string> blocks;
  for (int i = 0; i != 20; ++i) blocks.push_back("block" + std::to_string(i));
  run r = waits_for(blocks);
  const auto out = r.explain();
  CHECK(out.waits.size() == 9);
  std::int64_t count = 0, wait = 0;
  for (const auto& e : out.waits) {
    count += e.count;
    wait += e.wait_ns;
    CHECK(sum(e.residual) + e.unexplained_ns == e.wait_ns);
  }
  CHECK(count == 20);
  CHECK(wait == 2000);
}

TEST_CASE("classes of several ranks meet under one leader, the earliest") {
  run r(6);
  for (int i = 0; i != 3; ++i) {
    const auto late = static_cast<std::uint64_t>(100 * (i + 1));
    r[2 * i + 1].step("work", late);
    r[2 * i + 1].send(late, late, 2 * i);
    r[2 * i].receive(static_cast<std::uint64_t>(10 - i), late, 2 * i + 1);
  }
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].count == 3);
  CHECK(out.waits[0].first_ns == 8);
  CHECK(out.waits[0].longest_ns == 292);
  CHECK(out.waits[0].waiters.size() == 3);
  CHECK(out.waits[0].waiters[0].rank == 4);
}

namespace {

// A packet of random classes, with keys and slots from small ranges and a few locations and blocks.
base::packet random_classes(std::mt19937_64& random) {
  std::map<std::pair<core::stable_key, std::uint32_t>, int> names;
  for (auto n = random() % 5; n != 0; --n) names[{random() % 3, static_cast<std::uint32_t>(random() % 3)}] = 0;
  base::packet out;
  for (const auto& name : names) {
    explain::packed_class head;
    head.key = name.first.first;
    head.slot = name.first.second;
    head.sums.count = static_cast<std::int64_t>(1 + random() % 4);
    head.sums.wait_ns = static_cast<std::int64_t>(random() % 1000);
    head.sums.longest_ns = static_cast<std::int64_t>(random() % 1000);
    head.sums.first_ns = static_cast<std::int64_t>(random() % 1000);
    std::map<core::stable_key, std::int64_t> terms;
    for (auto n = random() % 6; n != 0; --n) terms[random() % 8] = static_cast<std::int64_t>(random() % 99);
    explain::location_share waiters[3], causers[3];
    for (int i = 0; i != 3; ++i) {
      waiters[i] = {static_cast<std::int32_t>(3 * (random() % 40) + static_cast<std::uint64_t>(i)), 0, 7};
      causers[i] = {static_cast<std::int32_t>(3 * (random() % 90) + static_cast<std::uint64_t>(i)), 1, 5};
    }
    head.terms = static_cast<std::uint32_t>(terms.size());
    head.waiters = static_cast<std::uint32_t>(random() % 4);
    head.causers = static_cast<std::uint32_t>(random() % 4);
    put(out, head);
    for (const auto& t : terms) {
      explain::residual_term term;
      term.block = t.first;
      term.within = 1;
      term.causer_ns = t.second;
      term.waiter_ns = 1;
      put(out, term);
    }
    for (std::uint32_t i = 0; i != head.waiters; ++i) put(out, waiters[i]);
    for (std::uint32_t i = 0; i != head.causers; ++i) put(out, causers[i]);
  }
  return out;
}

whywait::base::vector<explain::merged_class> read_all(const base::packet& p) {
  whywait::base::vector<explain::merged_class> all;
  for (explain::class_reader in(p.data(), p.size()); !in.done(); in.next()) all.emplace_back(in);
  return all;
}

}  // namespace

TEST_CASE("joining up to 60 random packets one by one equals merging their classes, 200 times") {
  std::mt19937_64 random(5);
  explain::class_scratch scratch;
  for (int round = 0; round != 200; ++round) {
    CAPTURE(round);
    base::packet joined;
    std::map<std::pair<core::stable_key, std::uint32_t>, explain::merged_class> plain;
    for (auto n = random() % 60; n != 0; --n) {
      const base::packet more = random_classes(random);
      for (const explain::merged_class& c : read_all(more)) {
        const auto known = plain.emplace(std::make_pair(c.key, c.slot), c);
        if (!known.second) known.first->second.merge(c.sum);
      }
      explain::join_classes(joined, more.data(), more.size(), scratch);
    }
    const whywait::base::vector<explain::merged_class> all = read_all(joined);
    REQUIRE(all.size() == plain.size());
    std::size_t at = 0;
    for (const auto& expected : plain) {
      const explain::explanation &a = all[at].sum, &b = expected.second.sum;
      CHECK(all[at++].same(expected.second));
      CHECK(a.count == b.count);
      CHECK(a.wait_ns == b.wait_ns);
      CHECK(a.longest_ns == b.longest_ns);
      CHECK(a.first_ns == b.first_ns);
      REQUIRE(a.residual.size() == b.residual.size());
      for (std::size_t i = 0; i != a.residual.size(); ++i) {
        CHECK(a.residual[i].block == b.residual[i].block);
        CHECK(a.residual[i].total_ns == b.residual[i].total_ns);
        CHECK(a.residual[i].speed_ns == b.residual[i].speed_ns);
      }
      for (const auto list : {&explain::explanation::waiters, &explain::explanation::causers}) {
        CHECK((a.*list).size() <= explain::most_shares + 1);
        REQUIRE((a.*list).size() == (b.*list).size());
        for (std::size_t i = 0; i != (a.*list).size(); ++i) {
          CHECK((a.*list)[i].rank == (b.*list)[i].rank);
          CHECK((a.*list)[i].ns == (b.*list)[i].ns);
        }
      }
    }
  }
}

TEST_CASE("a packet of classes that was cut anywhere but between two of them is refused") {
  std::mt19937_64 random(6);
  base::packet p;
  while (read_all(p).size() < 3) p = random_classes(random);
  whywait::base::vector<std::size_t> whole{0};
  for (explain::class_reader in(p.data(), p.size()); !in.done(); in.next()) whole.push_back(whole.back() + in.size());
  CHECK(whole.back() == p.size());
  for (std::size_t size = 0; size != p.size(); ++size) {
    const base::packet cut(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(size));
    if (std::find(whole.begin(), whole.end(), size) == whole.end()) {
      CHECK_THROWS_AS(read_all(cut), std::out_of_range);
    } else {
      CHECK_NOTHROW(read_all(cut));
    }
  }
}

TEST_CASE("many locations are added to a bounded list at once as one by one") {
  std::mt19937_64 random(7);
  for (int round = 0; round != 500; ++round) {
    whywait::base::vector<explain::location_share> at_once, one_by_one;
    for (int part = 0; part != 3; ++part) {
      whywait::base::vector<explain::location_share> more;
      const auto base = random() % 2 * static_cast<std::uint64_t>(part) * 60;
      for (auto n = random() % 70; n != 0; --n) {
        explain::add_share(more,
                           {static_cast<std::int32_t>(base + random() % 60) - 1, static_cast<std::int32_t>(random() % 2), 3});
      }
      explain::add_shares(at_once, more);
      for (const explain::location_share& s : more) explain::add_share(one_by_one, s);
    }
    const auto plain = [](const whywait::base::vector<explain::location_share>& list) {
      std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> all;
      for (const auto& s : list) all[{s.rank, s.rank < 0 ? 0 : s.thread}] += s.ns;
      return all;
    };
    CHECK(plain(at_once) == plain(one_by_one));
  }
}

TEST_CASE("a class book adds up 3000 random waits class by class and block by block") {
  std::mt19937_64 random(9);
  explain::options settings;
  settings.classes_per_key = 4;
  explain::class_scratch scratch;
  explain::wait_classes book;
  book.use(settings, scratch);
  struct plain_class {
    std::int64_t count = 0, wait_ns = 0, unexplained_ns = 0, indirect_ns = 0, first_ns = INT64_MAX;
    std::map<std::uint32_t, std::int64_t> terms;
    std::map<std::int32_t, std::int64_t> causers;
  };
  std::map<std::uint32_t, plain_class> plain;
  for (int k = 0; k != 3000; ++k) {
    explain::wait_instance w;
    w.why = random() % 2 == 0 ? explain::pattern::late_sender : explain::pattern::wait_at_nxn;
    w.location = static_cast<std::uint32_t>(random() % 2);
    w.causer_rank = static_cast<std::int32_t>(random() % 40);
    w.begin_ns = static_cast<std::int64_t>(random() % 100000);
    w.explained = random() % 8 != 0;
    whywait::base::vector<std::uint32_t> blocks;
    if (w.explained) {
      for (std::uint32_t b = 0; b != 12; ++b) {
        if (random() % 3 == 0) blocks.push_back(b);
      }
      if (random() % 4 == 0) std::shuffle(blocks.begin(), blocks.end(), random);
      for (std::size_t i = 0; i != blocks.size(); ++i) {
        explain::residual_term t;
        t.causer_ns = static_cast<std::int64_t>(random() % 300);
        t.waiter_ns = static_cast<std::int64_t>(random() % 30);
        t.total_ns = t.causer_ns - t.waiter_ns;
        t.inherited_ns = static_cast<std::int64_t>(random() % 5);
        w.wait_ns += t.total_ns;
        w.terms.push_back(t);
      }
    } else {
      w.wait_ns = 5;
    }
    const std::uint32_t number = w.explained ? book.add(w, 1 + random() % 2, 3, blocks, 12) : book.add_unexplained(w, 1, 3);
    plain_class& c = plain[number];
    ++c.count;
    c.wait_ns += w.wait_ns;
    c.first_ns = std::min(c.first_ns, w.begin_ns);
    if (!w.explained) c.unexplained_ns += w.wait_ns;
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      c.terms[blocks[i]] += w.terms[i].causer_ns;
      c.indirect_ns += w.terms[i].inherited_ns;
    }
    c.causers[w.causer_rank] += w.wait_ns;
  }
  REQUIRE(book.size() == plain.size());
  std::map<std::pair<core::stable_key, std::uint32_t>, std::uint32_t> shaped;
  for (const auto& p : plain) {
    CAPTURE(p.first);
    const explain::class_sums& sums = book.sums(p.first);
    CHECK(sums.count == p.second.count);
    CHECK(sums.wait_ns == p.second.wait_ns);
    CHECK(sums.first_ns == p.second.first_ns);
    CHECK(sums.unexplained_ns == p.second.unexplained_ns);
    CHECK(sums.indirect_ns == p.second.indirect_ns);
    std::map<std::uint32_t, std::int64_t> terms;
    std::uint32_t last = 0;
    book.each_term(p.first, [&](std::uint32_t block, const explain::residual_sums& t) {
      CHECK(terms.emplace(block, t.causer_ns).second);
      CHECK(block >= last);
      last = block;
    });
    CHECK(terms == p.second.terms);
    std::map<std::int32_t, std::int64_t> causers;
    book.each_causer(p.first, [&](const explain::location_share& s) { CHECK(causers.emplace(s.rank, s.ns).second); });
    CHECK(causers == p.second.causers);
    if (book.kind(p.first) == explain::wait_classes::shaped) ++shaped[{book.key(p.first), book.location(p.first)}];
  }
  for (const auto& s : shaped) CHECK(s.second <= 4);
  CHECK(std::all_of(scratch.parts.begin(), scratch.parts.end(), [](double part) { return part == 0; }));
}

TEST_CASE("merging 300 pairs of random residuals adds block by block and keeps the order") {
  std::mt19937_64 random(11);
  for (int round = 0; round != 300; ++round) {
    CAPTURE(round);
    std::map<std::pair<core::stable_key, core::stable_key>, std::int64_t> plain;
    explain::merged_class all;
    all.sum.count = 1;
    for (int side = 0; side != 3; ++side) {
      std::map<std::pair<core::stable_key, core::stable_key>, std::int64_t> one;
      for (auto n = random() % 9; n != 0; --n) one[{random() % 8, random() % 2}] += static_cast<std::int64_t>(random() % 99);
      explain::explanation e;
      for (const auto& t : one) {
        e.residual.emplace_back();
        e.residual.back().block = t.first.first;
        e.residual.back().within = t.first.second;
        e.residual.back().causer_ns = t.second;
        plain[t.first] += t.second;
      }
      all.merge(e);
    }
    REQUIRE(all.sum.residual.size() == plain.size());
    std::size_t at = 0;
    for (const auto& t : plain) {
      const explain::residual_term& r = all.sum.residual[at++];
      CHECK(r.block == t.first.first);
      CHECK(r.within == t.first.second);
      CHECK(r.causer_ns == t.second);
    }
  }
}

TEST_CASE("the distributed leader search of up to three processes equals a plain search") {
  std::mt19937_64 random(13);
  for (int round = 0; round != 300; ++round) {
    CAPTURE(round);
    explain::options settings;
    settings.classes_per_key = static_cast<std::uint32_t>(random() % 5);
    struct looking {
      core::stable_key key;
      explain::class_sums sums;
      whywait::base::vector<explain::shape_entry> shape;  // sorted by name
      whywait::base::vector<explain::class_scratch::share> numbered;
      std::size_t process;
      std::uint32_t number, slot;
    };
    explain::class_scratch scratch;
    const explain::shape_leaders none;
    const std::size_t processes = 1 + random() % 3;
    whywait::base::vector<explain::block_table> tables(2 * processes);  // two ranks each, with their own block numbers
    for (explain::block_table& t : tables) {
      for (int i = 0; i != 6; ++i) t.intern(1 + random() % 9);
    }
    whywait::base::vector<looking> all(random() % 60);
    whywait::base::vector<explain::leader_search> searches;
    for (std::size_t p = 0; p != processes; ++p) searches.emplace_back(settings, none, scratch);
    for (looking& c : all) {
      const std::size_t rank = random() % tables.size();
      c.key = 1 + random() % 3;
      c.process = rank / 2;
      c.slot = settings.classes_per_key;
      c.sums.first_ns = static_cast<std::int64_t>(random() % 20);
      c.sums.wait_ns = static_cast<std::int64_t>(random() % 2);
      c.sums.count = 1;
      std::map<core::stable_key, double> parts;
      for (int k = 0; k != 4; ++k) parts[1 + random() % 9] += 0.25;
      for (const auto& p : parts) {
        c.shape.push_back({p.first, 0, p.second});
        c.numbered.push_back({tables[rank].intern(p.first), p.second});
      }
      std::shuffle(c.numbered.begin(), c.numbered.end(), random);
      if (random() % 8 == 0) searches[c.process].add(7);
      c.number = searches[c.process].size();
      searches[c.process].add(c.key, c.sums, c.numbered.data(), c.numbered.size(), tables[rank]);
    }
    explain::shape_leaders no_leaders;
    explain::class_merger joining(settings, 0, no_leaders, scratch);
    for (std::uint32_t r = 0; r != settings.classes_per_key; ++r) {
      for (explain::leader_search& s : searches) {
        base::packet proposed;
        s.propose(proposed);
        joining.merge_proposals(proposed.data(), proposed.size());
      }
      const base::packet leaders = joining.take_proposals();
      for (explain::leader_search& s : searches) s.join_leaders(leaders);
      for (core::stable_key key = 1; key != 4; ++key) {
        const looking* first = nullptr;
        for (const looking& c : all) {
          if (c.key != key || c.slot != settings.classes_per_key) continue;
          const auto order = [](const looking& l) {
            whywait::base::vector<std::pair<core::stable_key, double>> shape;
            for (const auto& e : l.shape) shape.emplace_back(e.block, e.share);
            return std::make_tuple(l.sums.first_ns, l.sums.wait_ns, shape);
          };
          if (first == nullptr || order(c) < order(*first)) first = &c;
        }
        if (first == nullptr) continue;
        const whywait::base::vector<explain::shape_entry> leader = first->shape;
        for (looking& c : all) {
          const bool open = c.key == key && c.slot == settings.classes_per_key;
          if (open && explain::distance(c.shape, leader) <= settings.class_distance) c.slot = r;
        }
      }
    }
    for (const looking& c : all) {
      const std::uint32_t found = searches[c.process].slot(c.number);
      CHECK((found == explain::leader_search::open ? settings.classes_per_key : found) == c.slot);
    }
    CHECK(std::all_of(scratch.parts.begin(), scratch.parts.end(), [](double part) { return part == 0; }));
  }
}

TEST_CASE("adding up residual lines adds each of their figures") {
  constexpr std::size_t figures = sizeof(explain::residual_sums) / sizeof(std::int64_t);
  CHECK(figures == 11);
  std::int64_t one[figures], other[figures], sum[figures];
  for (std::size_t i = 0; i != figures; ++i) {
    one[i] = std::int64_t(1) << i;
    other[i] = 1000000 * static_cast<std::int64_t>(i + 1);
  }
  explain::residual_sums a, b;
  std::memcpy(&a, one, sizeof a);
  std::memcpy(&b, other, sizeof b);
  a.add(b);
  std::memcpy(sum, &a, sizeof a);
  for (std::size_t i = 0; i != figures; ++i) {
    CAPTURE(i);
    CHECK(sum[i] == one[i] + other[i]);
  }
}
