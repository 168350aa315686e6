#include "ranks.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/sharing_book.hpp>

#include <doctest/doctest.h>

#include <random>
#include <set>

using namespace ranks;
using data::sharing_pattern;

namespace {

// Threads of one process that access an array `u` of 256 bytes, in granules of 16.
struct threads {
  explicit threads(std::size_t count, std::uint32_t granule = 16, std::uint64_t bytes = 256) : p(1) {
    u = p.object("u", {bytes});
    records.resize(count);
    options.granule_bytes = granule;
  }
  core::data_record& add(std::size_t thread, core::data_op op, const std::string& where, std::uint64_t begin, std::uint64_t end,
                         unsigned flags = 0) {
    core::data_record r;
    r.time = ++time;
    r.op = op;
    r.object = op == core::data_op::synchronise ? 0 : u;
    r.begin = begin;
    r.end = end;
    r.site = p.site(where);
    r.flags = static_cast<std::uint8_t>(flags);
    records[thread].push_back(r);
    return records[thread].back();
  }
  void read(std::size_t t, const std::string& where, std::uint64_t begin, std::uint64_t end, unsigned flags = 0) {
    add(t, core::data_op::read, where, begin, end, flags);
  }
  void write(std::size_t t, const std::string& where, std::uint64_t begin, std::uint64_t end, unsigned flags = 0) {
    add(t, core::data_op::write, where, begin, end, flags);
  }
  void mark(std::size_t t, const std::string& where, std::uint32_t thing = 1) {
    add(t, core::data_op::synchronise, where, 0, 0).object = thing;
  }
  void barrier(const std::string& where = "barrier") {
    ++order;
    for (std::size_t t = 0; t != records.size(); ++t)
      add(t, core::data_op::synchronise, where, 0, 0, flag::everyone).order = order;
  }
  data::sharing_report report() {
    auto& rank = p.finished()[0];
    chunks.clear();
    rank.locations.clear();
    for (auto& r : records) chunks.push_back(r.data());
    for (std::size_t t = 0; t != records.size(); ++t) rank.locations.push_back({{&chunks[t], 63, records[t].size()}, {}});
    data::sharing_book book(rank, options);
    book.take_all();
    return book.result();
  }
  sharing_pattern pattern() {
    const auto r = report();
    REQUIRE(r.groups.size() == 1);
    return r.groups[0].pattern;
  }

  program p;
  std::uint32_t u, order = 0;
  whywait::base::vector<whywait::base::vector<core::data_record>> records;
  whywait::base::vector<const core::data_record*> chunks;
  data::sharing_options options;
  std::uint64_t time = 0;
};

const data::sharing_node* node(const data::sharing_report& r, std::uint32_t n) { return &r.nodes[n]; }

}  // namespace

TEST_CASE("each sharing pattern is recognised in a program with only that pattern") {
  {
    threads t(2);
    for (int i = 0; i != 4; ++i) t.write(0, "a", 0, 8), t.barrier();
    CHECK(t.pattern() == sharing_pattern::private_data);
  }
  {
    threads t(3);
    t.write(0, "init", 0, 16);
    for (int i = 0; i != 4; ++i) {
      t.barrier();
      for (std::size_t k = 0; k != 3; ++k) t.read(k, "use", 0, 16);
    }
    CHECK(t.pattern() == sharing_pattern::read_only);
  }
  {
    threads t(2);
    for (int i = 0; i != 4; ++i) t.write(0, "count", 0, 8), t.write(1, "count", 8, 16), t.barrier();
    CHECK(t.pattern() == sharing_pattern::false_sharing);
  }
  {
    threads t(3);
    for (std::size_t k = 0; k != 3; ++k) t.mark(k, "lock"), t.write(k, "sum", 0, 8, flag::update), t.mark(k, "unlock");
    t.barrier();
    t.read(0, "use", 0, 8);
    CHECK(t.pattern() == sharing_pattern::reduction);
  }
  {
    threads t(3);
    for (std::size_t i = 0; i != 9; ++i)
      t.mark(i % 3, "lock"), t.read(i % 3, "get", 0, 8), t.write(i % 3, "put", 0, 8), t.mark(i % 3, "unlock");
    CHECK(t.pattern() == sharing_pattern::migratory);
  }
  for (std::size_t readers = 1; readers != 3; ++readers) {
    threads t(3);
    for (int i = 0; i != 4; ++i) {
      t.write(0, "produce", 0, 16);
      t.barrier();
      for (std::size_t k = 1; k <= readers; ++k) t.read(k, "consume", 0, 16);
      t.barrier();
    }
    CHECK(t.pattern() == (readers == 1 ? sharing_pattern::producer_consumer : sharing_pattern::producer_consumers));
  }
  {
    threads t(2);
    for (int i = 0; i != 4; ++i) {
      for (std::size_t k = 0; k != 2; ++k) t.write(k, "ticket", 0, 8, flag::update | flag::atomic);
      t.barrier();
    }
    CHECK(t.pattern() == sharing_pattern::synchronisation);
  }
  {
    threads t(2);
    for (int i = 0; i != 4; ++i) t.write(0, "a", 0, 8), t.write(1, "b", 4, 12), t.barrier();
    CHECK(t.pattern() == sharing_pattern::write_shared);
  }
  {
    threads t(2);
    for (int i = 0; i != 50; ++i) {
      if (i == 20) t.write(0, "set", 0, 8);
      if (i == 40) t.write(1, "set", 0, 8);
      if (i != 20 && i != 40) t.read(0, "get", 0, 8), t.read(1, "get", 0, 8);
      t.barrier();
    }
    CHECK(t.pattern() == sharing_pattern::read_mostly);
  }
}

TEST_CASE("a border row between two threads is a graph of two nodes with its frequencies") {
  threads t(2);
  for (int i = 0; i != 10; ++i) {
    t.write(0, "relax", 0, 16);
    t.barrier("after relax");
    t.read(1, "halo", 0, 16);
    t.barrier("after halo");
  }
  const auto r = t.report();
  REQUIRE(r.groups.size() == 1);
  const auto& g = r.groups[0];
  CHECK(g.array == key("u"));
  CHECK(g.graph.misses() == 11);  // the writer's first access and one by the reader per iteration
  std::int64_t again = 0;
  for (const auto& e : g.graph.edges) {
    const auto* to = node(r, e.to);
    if (to->request != key("halo")) continue;
    CHECK(node(r, e.from)->request == key("relax"));
    CHECK(to->writes == whywait::base::vector<core::stable_key>{key("relax")});
    if (to->invalidation == key("after relax")) again += e.count;
  }
  CHECK(again == 9);
  double leaving = 0;
  for (const auto& e : g.graph.edges) leaving += node(r, e.from)->request == key("relax") ? g.graph.frequency(e.from, e.to) : 0;
  CHECK(leaving == doctest::Approx(1));
}

TEST_CASE("a write is a miss for another thread only after both have synchronised") {
  threads t(2);
  t.read(0, "first", 0, 8);
  t.write(1, "change", 0, 8);
  t.read(0, "early", 0, 8);
  t.mark(0, "mark");
  t.read(0, "still early", 0, 8);
  t.mark(1, "mark");
  t.read(0, "too early", 0, 8);
  t.mark(0, "second mark");
  t.read(0, "late", 0, 8);
  const auto r = t.report();
  std::set<core::stable_key> misses;
  for (const auto& n : r.nodes) misses.insert(n.request);
  CHECK(misses == std::set<core::stable_key>{0, key("first"), key("change"), key("late")});
  CHECK(r.nodes.back().invalidation == key("second mark"));
}

TEST_CASE("a primitive makes writes visible from a release to a later acquisition, and in no other way") {
  const auto misses_after = [](unsigned first, unsigned second, std::uint64_t other = 0) {
    threads t(2);
    const auto primitive = [&t](std::size_t thread, unsigned how, std::uint64_t address) {
      t.add(thread, core::data_op::synchronise, "call", address, 0, how).object = 0;
    };
    t.read(1, "get", 0, 8);
    t.write(0, "put", 0, 8);
    primitive(0, first, 0x1000);
    primitive(1, second, 0x1000 + other);
    t.read(1, "get", 0, 8);
    const auto r = t.report();
    REQUIRE(r.groups.size() == 1);
    return r.groups[0].graph.misses();
  };
  CHECK(misses_after(flag::releases, flag::acquires) == 3);
  CHECK(misses_after(flag::releases, flag::releases) == 2);
  CHECK(misses_after(flag::acquires, flag::acquires) == 2);
  CHECK(misses_after(flag::releases, flag::acquires, 64) == 2);  // another primitive
  // A barrier of which the first thread only arrives, and whose end the second one waits for.
  CHECK(misses_after(flag::everyone | flag::releases, flag::everyone | flag::acquires) == 3);
  CHECK(misses_after(flag::everyone | flag::releases, flag::everyone | flag::releases) == 2);
}

TEST_CASE("locks that are seen give the graph that marks around them give") {
  data::sharing_report found[2];
  for (const bool marks : {true, false}) {
    threads t(3);
    const auto lock = [&](std::size_t thread, unsigned how) {
      if (marks) t.mark(thread, how == flag::acquires ? "lock" : "unlock");
      else t.add(thread, core::data_op::synchronise, how == flag::acquires ? "lock" : "unlock", 0x1000, 0, how).object = 0;
    };
    for (std::size_t i = 0; i != 9; ++i) {
      lock(i % 3, flag::acquires);
      t.read(i % 3, "get", 0, 8), t.write(i % 3, "put", 0, 8);
      lock(i % 3, flag::releases);
      t.write(i % 3, "own", 16 * (i % 3 + 1), 16 * (i % 3 + 2));
    }
    found[marks ? 0 : 1] = t.report();
  }
  CHECK(found[0].nodes.size() == found[1].nodes.size());
  REQUIRE(found[0].groups.size() == found[1].groups.size());
  for (std::size_t g = 0; g != found[0].groups.size(); ++g) {
    CHECK(found[0].groups[g].pattern == found[1].groups[g].pattern);
    CHECK(found[0].groups[g].graph.misses() == found[1].groups[g].graph.misses());
    CHECK(distance(found[0].groups[g].graph, found[1].groups[g].graph) == 0);
  }
}

TEST_CASE("granules that are shared alike are one group") {
  threads t(2);
  for (int i = 0; i != 5; ++i) {
    t.write(0, "left", 0, 128);
    t.write(1, "right", 128, 256);
    t.barrier();
    t.read(1, "look", 112, 128);
    t.barrier();
  }
  const auto r = t.report();
  REQUIRE(r.groups.size() == 3);
  std::uint64_t granules = 0;
  for (const auto& g : r.groups) granules += g.granules;
  CHECK(granules == 16);
  for (const auto& g : r.groups) {
    const bool border = g.pattern == sharing_pattern::producer_consumer;
    CHECK(g.granules == (border ? 1 : g.first_granule == 0 ? 7 : 8));
    CHECK(g.first_granule == (border ? 7 : g.granules == 7 ? 0 : 8));
  }
}

TEST_CASE("of a large array a sample is watched, and its error is stated") {
  threads t(2, 64, 64 * 100000);
  t.options.most_granules = 1000;
  for (int i = 0; i != 3; ++i) {
    t.write(0, "a", 0, 64 * 25000);
    t.barrier();
    t.read(1, "b", 0, 64 * 25000);
    t.write(1, "b", 64 * 25000, 64 * 100000);
    t.barrier();
  }
  const auto r = t.report();
  REQUIRE(r.arrays.size() == 1);
  CHECK(r.arrays[0].granules == 100000);
  CHECK(r.arrays[0].watched == 1000);
  CHECK(r.arrays[0].standard_error == doctest::Approx(0.5 * std::sqrt(0.99 / 1000)));
  double shared = 0;
  for (const auto& g : r.groups)
    shared += g.pattern == sharing_pattern::producer_consumer ? static_cast<double>(g.granules) : 0;
  CHECK(std::fabs(shared / 1000 - 0.25) <= 3 * r.arrays[0].standard_error);
}

namespace {

// The same definitions, evaluated on the list of all events. Visibility is a search in the synchronisation graph, and
// patterns follow from sets of bytes.
struct event {
  std::size_t thread;
  core::data_record r;
  std::uint32_t epoch = 0;
};

class slow {
 public:
  slow(const whywait::base::vector<event>& all, std::size_t threads, std::uint64_t granule_bytes)
      : all_(all), threads_(threads), size_(granule_bytes) {
    whywait::base::vector<std::uint32_t> epoch(threads, 0);
    std::map<std::uint32_t, std::uint32_t> thing;
    std::map<std::uint32_t, std::uint32_t> arrived;          // barrier order to largest epoch
    whywait::base::vector<std::uint32_t> waits(threads, 0);
    for (event& e : all_) {
      if (waits[e.thread] != 0) {
        epoch[e.thread] = std::max(epoch[e.thread], arrived[waits[e.thread]] + 1);
        waits[e.thread] = 0;
      }
      e.epoch = epoch[e.thread];
      if (e.r.op != core::data_op::synchronise) continue;
      if (e.r.has(flag::everyone)) {
        arrived[e.r.order] = std::max(arrived[e.r.order], epoch[e.thread]);
        waits[e.thread] = e.r.order;
      } else {
        epoch[e.thread] = thing[e.r.object] = std::max(thing[e.r.object], epoch[e.thread]) + 1;
      }
    }
  }

  // Whether event `a` is visible to the thread of event `b` before `b`.
  bool known(std::size_t a, std::size_t b) const {
    const auto cached = reached_.find(a);
    if (cached != reached_.end()) return cached->second.count(b) != 0;
    std::set<std::size_t>& reached = reached_[a];
    whywait::base::vector<std::size_t> open = {a};
    // An event reaches all later events of its thread; a synchronisation reaches those that it releases.
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      const auto reach = [&](std::size_t to) {
        if (reached.insert(to).second) open.push_back(to);
      };
      for (std::size_t i = 0; i != all_.size(); ++i) {
        const event& e = all_[i];
        if (e.thread == all_[at].thread && i > at) reach(i);
        if (all_[at].r.op != core::data_op::synchronise || e.r.op != core::data_op::synchronise || i == at) continue;
        const bool both = all_[at].r.has(flag::everyone) && e.r.has(flag::everyone);
        if (both && all_[at].r.order == e.r.order) {
          for (std::size_t j = i + 1; j < all_.size(); ++j) {  // after the barrier, not at it
            if (all_[j].thread == e.thread) {
              reach(j);
              break;
            }
          }
        }
        if (!all_[at].r.has(flag::everyone) && !e.r.has(flag::everyone) && all_[at].r.object == e.r.object && i > at) reach(i);
      }
    }
    return reached.count(b) != 0;
  }

  // The first synchronisation after which write `w` is visible to the thread of event `i`.
  std::size_t learned(std::size_t w, std::size_t i) const {
    for (std::size_t s = w; s != i; ++s) {
      if (all_[s].thread != all_[i].thread || all_[s].r.op != core::data_op::synchronise) continue;
      std::size_t after = s;
      if (all_[s].r.has(flag::everyone)) {
        for (++after; all_[after].thread != all_[i].thread;) ++after;
      }
      if (known(w, after)) return s;
    }
    return i;
  }

  // How often a miss (request, invalidation, writes) follows another one, for one granule.
  std::map<std::string, std::int64_t> edges(std::uint64_t g, const whywait::base::vector<core::stable_key>& sites) const {
    std::map<std::string, std::int64_t> out;
    whywait::base::vector<int> last(threads_, -1);
    whywait::base::vector<std::string> at(threads_), node_of(all_.size());
    for (std::size_t i = 0; i != all_.size(); ++i) {
      const event& e = all_[i];
      if (e.r.op == core::data_op::synchronise || !touches(e, g)) continue;
      std::set<core::stable_key> writes;
      std::set<std::string> sources;
      std::size_t first = i;
      for (std::size_t w = 0; w != i; ++w) {
        const event& o = all_[w];
        if (o.thread == e.thread || o.r.op != core::data_op::write || !touches(o, g) || !known(w, i)) continue;
        if (last[e.thread] >= 0 && known(w, static_cast<std::size_t>(last[e.thread]))) continue;
        writes.insert(sites[o.r.site]);
        sources.insert(node_of[w]);
        first = std::min(first, learned(w, i));
      }
      if (last[e.thread] < 0 || !writes.empty()) {
        const bool cold = last[e.thread] < 0;
        std::string name = std::to_string(sites[e.r.site]) + "," + std::to_string(cold ? 0 : sites[all_[first].r.site]);
        for (const core::stable_key w : writes) name += "," + std::to_string(w);
        at[e.thread] = name;
        if (sources.empty()) sources.insert("0,0");
        for (const std::string& from : sources) ++out[from + " -> " + name];
      }
      node_of[i] = at[e.thread];
      last[e.thread] = static_cast<int>(i);
    }
    return out;
  }

  sharing_pattern pattern(std::uint64_t g) const {
    struct use {
      std::set<std::uint64_t> read, written;
      bool plain_write = false, read_first = false;
    };
    std::map<std::uint32_t, std::map<std::size_t, use>> epochs;
    std::set<std::size_t> threads, writers, updaters, plain_readers;
    bool atomic = true, plain_writes = false;
    for (const event& e : all_) {
      if (e.r.op == core::data_op::synchronise || !touches(e, g)) continue;
      const bool update = e.r.has(flag::update), write = e.r.op == core::data_op::write;
      use& u = epochs[e.epoch][e.thread];
      if (!write && u.written.empty()) u.read_first = true;
      for (std::uint64_t b = std::max(e.r.begin, g * size_); b != std::min(e.r.end, (g + 1) * size_); ++b) {
        if (!write || update) u.read.insert(b);
        if (write) u.written.insert(b);
      }
      threads.insert(e.thread);
      if (write) writers.insert(e.thread);
      if (update) updaters.insert(e.thread);
      if (!write && !e.r.has(flag::atomic)) plain_readers.insert(e.thread);
      atomic = atomic && e.r.has(flag::atomic);
      plain_writes = plain_writes || (write && !update);
      u.plain_write = u.plain_write || (write && !update);
    }
    if (threads.empty()) return sharing_pattern::untouched;
    if (threads.size() == 1) return sharing_pattern::private_data;
    const auto meets = [](const std::set<std::uint64_t>& a, const std::set<std::uint64_t>& b) {
      for (const std::uint64_t x : a) {
        if (b.count(x) != 0) return true;
      }
      return false;
    };
    int written = 0, written_later = 0, contended = 0, apart = 0, overlapping = 0, several = 0, read_write = 0, handed_on = 0;
    std::set<std::size_t> before, consumers, last;
    bool first = true;
    for (const auto& e : epochs) {
      std::set<std::size_t> here;
      bool disjoint = true, overlap = false;
      for (const auto& u : e.second) {
        if (!u.second.written.empty()) here.insert(u.first);
        for (const auto& o : e.second) {
          if (o.first == u.first) continue;
          if (meets(u.second.written, o.second.written) || meets(u.second.written, o.second.read)) disjoint = false;
          if (meets(u.second.written, o.second.written) && (u.second.plain_write || o.second.plain_write)) overlap = true;
        }
        for (const std::size_t w : before) {
          if (w != u.first && !u.second.read.empty()) consumers.insert(u.first);
        }
      }
      several += e.second.size() > 1 ? 1 : 0;
      if (e.second.size() > 1 && !here.empty()) ++contended, apart += disjoint ? 1 : 0;
      overlapping += overlap ? 1 : 0;
      if (!here.empty()) {
        ++written;
        written_later += first ? 0 : 1;
        read_write += e.second.size() == 1 && e.second.begin()->second.read_first ? 1 : 0;
        handed_on += !last.empty() && last != here ? 1 : 0;
        last = here;
      }
      before.insert(here.begin(), here.end());
      first = false;
    }
    const int count = static_cast<int>(epochs.size());
    if (written_later == 0) return sharing_pattern::read_only;
    if (contended != 0 && apart * 10 >= contended * 9) return sharing_pattern::false_sharing;
    if (updaters.size() > 1 && !plain_writes && plain_readers.size() == 1) return sharing_pattern::reduction;
    if (writers.size() > 1 && several * 10 <= count && handed_on != 0 && read_write * 10 >= written * 9)
      return sharing_pattern::migratory;
    if (writers.size() == 1) consumers.erase(*writers.begin());
    if (writers.size() == 1 && !consumers.empty() && contended == 0) {
      return consumers.size() == 1 ? sharing_pattern::producer_consumer : sharing_pattern::producer_consumers;
    }
    if (atomic) return sharing_pattern::synchronisation;
    if (overlapping != 0) return sharing_pattern::write_shared;
    return written * 20 < count ? sharing_pattern::read_mostly : sharing_pattern::mixed;
  }

 private:
  bool touches(const event& e, std::uint64_t g) const { return e.r.begin < (g + 1) * size_ && e.r.end > g * size_; }

  whywait::base::vector<event> all_;
  std::size_t threads_;
  std::uint64_t size_;
  mutable std::map<std::size_t, std::set<std::size_t>> reached_;
};

}  // namespace

TEST_CASE("in random programs patterns and misses are those of the whole history") {
  std::map<sharing_pattern, int> seen;
  for (std::uint64_t seed = 1; seed != 250; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t low, std::uint64_t high) {
      return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    const std::size_t count = static_cast<std::size_t>(pick(2, 4));
    threads t(count, 16, 64);
    t.options.group_distance = -1;  // each granule separately
    const std::uint64_t style = pick(0, 3), only = pick(0, 2);
    for (std::uint64_t n = pick(20, 55); n != 0; --n) {
      const std::size_t who = static_cast<std::size_t>(pick(0, count - 1));
      const std::uint64_t what = pick(0, 9);
      const std::uint64_t begin = style == 0 ? 16 * pick(0, 3) + 4 * (who % 4) : 4 * pick(0, 15),
                          end = style == 0 ? begin + 4 : std::min<std::uint64_t>(64, begin + 4 * pick(1, 3));
      const unsigned flags = style == 1 ? only == 0 ? unsigned{flag::update} | flag::atomic : unsigned{flag::update} : 0u;
      if (what == 0) t.barrier("b" + std::to_string(pick(0, 1)));
      else if (what < 4) t.mark(who, "m" + std::to_string(pick(0, 1)), static_cast<std::uint32_t>(1 + pick(0, 1)));
      else if (what < 7 && (style != 2 || who == 0)) t.write(who, "w" + std::to_string(pick(0, 1)), begin, end, flags);
      else if (style != 1 || only == 2) t.read(who, "r" + std::to_string(pick(0, 1)), begin, end);
    }
    whywait::base::vector<event> all;
    for (std::size_t k = 0; k != count; ++k) {
      for (const auto& r : t.records[k]) all.push_back({k, r});
    }
    std::sort(all.begin(), all.end(), [](const event& a, const event& b) { return a.r.time < b.r.time; });
    const slow truth(all, count, 16);
    const auto r = t.report();
    std::map<std::uint64_t, const data::sharing_group*> of;
    for (const auto& g : r.groups) of[g.first_granule] = &g;
    const auto& sites = t.p.finished()[0].sites;
    for (std::uint64_t g = 0; g != 4; ++g) {
      CAPTURE(g);
      const sharing_pattern expected = truth.pattern(g);
      ++seen[expected];
      if (expected == sharing_pattern::untouched) {
        CHECK(of.count(g) == 0);
        continue;
      }
      REQUIRE(of.count(g) == 1);
      CHECK(std::string(data::name_of(of[g]->pattern)) == data::name_of(expected));
      std::map<std::string, std::int64_t> found;
      const auto name = [&r](std::uint32_t n) {
        std::string out = std::to_string(r.nodes[n].request) + "," + std::to_string(r.nodes[n].invalidation);
        for (const core::stable_key w : r.nodes[n].writes) out += "," + std::to_string(w);
        return out;
      };
      for (const auto& e : of[g]->graph.edges) found[name(e.from) + " -> " + name(e.to)] += e.count;
      CHECK(found == truth.edges(g, sites));
    }
  }
  CHECK(seen.size() >= 9);
}
