// Compares the analysis of a run in parts, whose records are dropped, with that of the whole run.
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/diagnoses.hpp>
#include <whywait/data/analysis/examine.hpp>
#include <whywait/data/analysis/sharing_book.hpp>

#include "../../sanitizers.hpp"
#include "ranks.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <utility>

using namespace ranks;

namespace {

/// Random records of two threads on each of several ranks.
class random_run {
 public:
  static constexpr std::uint64_t bytes = 512;

  random_run(std::uint64_t seed, int ranks, int steps) : made_(ranks), random_(seed) {
    for (const char* name : {"u", "v", "w"}) made_.object(name, {bytes / 8}, 8);
    made_.object("buffer", {bytes}, 1, true);
    for (int i = 0; i != steps; ++i) step();
    while (!under_way_.empty()) complete();
    split();
  }

  const whywait::base::vector<data::rank_data>& whole() const { return data_; }
  std::uint64_t end() const { return time_; }

  /// The records up to a time, with only the names that they contain.
  whywait::base::vector<data::rank_data> until(std::uint64_t time, std::deque<whywait::base::vector<core::data_record>>& keep,
                                               std::deque<const core::data_record*>& chunks, std::uint64_t from = 0,
                                               bool all = true) const {
    whywait::base::vector<data::rank_data> out = data_;
    for (std::size_t i = 0; i != data_.size(); ++i) {
      std::uint32_t objects = 0, sites = 0;
      for (std::size_t l = 0; l != data_[i].locations.size(); ++l) {
        const auto& records = data_[i].locations[l].records;
        keep.emplace_back();
        std::uint64_t over = 0;
        for (std::uint64_t k = 0; k != records.size(); ++k) {
          const core::data_record& r = records[k];
          if (r.time > time) continue;
          objects = std::max(objects, r.op == core::data_op::synchronise ? 0 : r.object);
          sites = std::max(sites, r.site);
          if (r.time <= from && r.time + 40 < from) continue;
          over += r.time <= from ? 1 : 0;  // a few completed records lie before the others
          keep.back().push_back(r);
        }
        chunks.push_back(keep.back().data());
        out[i].locations[l].records = {&chunks.back(), 63, keep.back().size()};
        out[i].locations[l].first = over;
      }
      if (all) continue;
      out[i].objects.resize(objects + 1);
      out[i].sites.resize(sites + 1);
    }
    return out;
  }

 private:
  struct message {
    int from, to;
    std::uint32_t order;
    std::uint64_t length;
    int tag;
  };

  std::uint64_t pick(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
  }
  int any_rank() { return static_cast<int>(pick(0, static_cast<std::uint64_t>(made_.ranks()) - 1)); }
  data::region any_region() {
    switch (pick(0, 3)) {
      case 0: return {0, bytes, 0, 0};
      case 1: return {8 * pick(0, 7), bytes, 64, 8 * pick(1, 2)};
      default: {
        const std::uint64_t begin = 8 * pick(0, bytes / 8 - 1);
        return {begin, std::min(bytes, begin + 8 * pick(1, 20)), 0, 0};
      }
    }
  }
  std::string place(const char* what) { return what + std::to_string(pick(0, 2)); }

  void step() {
    const int rank = any_rank();
    const auto object = static_cast<std::uint32_t>(pick(1, 3));
    switch (pick(0, 13)) {
      case 0:
      case 1: made_.write(rank, place("loop"), object, any_region()); break;
      case 2: made_.read(rank, place("loop"), object, any_region()); break;
      case 3: made_.add(rank, core::data_op::write, place("sum"), object, any_region()).flags = flag::update; break;
      case 4: {
        const data::region a{8 * pick(0, 30), 8 * pick(31, 60), 0, 0};
        if (pick(0, 1) == 0) made_.copy(rank, "pack", object, a, 4, {0, a.bytes(), 0, 0});
        else made_.copy(rank, "unpack", 4, {0, a.bytes(), 0, 0}, object, a);
        break;
      }
      case 5: {
        core::data_record& r =
            made_.add(rank, core::data_op::iterations, place("loop"), 0, {pick(0, 8), pick(9, 64), pick(1, 3), 0});
        r.piece = 0;
        break;
      }
      case 6: {
        core::data_record& r =
            made_.add(rank, core::data_op::synchronise, place("lock"), static_cast<std::uint32_t>(pick(1, 2)), {0, 0, 0, 0});
        r.flags = 0;
        break;
      }
      case 7: broadcast(rank, object); break;
      case 8:
      case 9:
      case 10: {
        if (under_way_.size() > 6) complete();
        const data::region g = any_region();
        message m{rank, any_rank(), 0, g.bytes(), static_cast<int>(pick(0, 1))};
        m.order = made_.send(m.from, m.to, place("send"), pick(0, 3) == 0 ? 4 : object, g, m.tag);
        under_way_.push_back(m);
        break;
      }
      default: complete();
    }
  }
  void complete() {
    if (under_way_.empty()) return;
    const std::size_t which = static_cast<std::size_t>(pick(0, under_way_.size() - 1));
    const message m = under_way_[which];
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
    if (pick(0, 30) == 0) return;  // received into an unregistered buffer
    const std::uint64_t begin = pick(0, bytes - m.length);
    made_.receive(m.to, m.from, place("receive"), static_cast<std::uint32_t>(pick(1, 4)), {begin, begin + m.length, 0, 0},
                  m.order, m.tag);
  }
  void broadcast(int root, std::uint32_t object) {
    const data::region g = any_region();
    const std::uint32_t order = ++collectives_;
    for (int i = 0; i != made_.ranks(); ++i) {
      const int r = (root + i) % made_.ranks();  // the sender first, in order of time
      core::data_record& x = made_.add(r, i == 0 ? core::data_op::send : core::data_op::receive, "bcast", object, g);
      x.order = order;
      x.peer = i == 0 ? -1 : root;
      x.flags = static_cast<std::uint8_t>(i == 0 ? unsigned{flag::collective} | flag::everyone : unsigned{flag::collective});
    }
  }

  // Splits the work of one thread between two threads; each receive is a separate call.
  void split() {
    data_ = made_.finished();
    for (data::rank_data& d : data_) {
      const auto records = d.locations[0].records;
      whywait::base::vector<core::data_record> of[2];
      whywait::base::vector<data::call_time> calls[2];
      std::size_t thread = 0;
      bool pair = false;
      for (std::uint64_t i = 0; i != records.size(); ++i) {
        core::data_record r = records[i];
        if (!pair && pick(0, 2) == 0) thread = 1 - thread;
        pair = r.op == core::data_op::copy_from;
        if (r.op == core::data_op::receive) {
          calls[thread].push_back({static_cast<std::int64_t>(pick(100, 999)), static_cast<std::int64_t>(pick(0, 99))});
          r.record = static_cast<std::uint32_t>(calls[thread].size());
        }
        of[thread].push_back(r);
        time_ = std::max(time_, r.time);
      }
      d.locations.resize(2);
      for (std::size_t t = 0; t != 2; ++t) {
        kept_.push_back(std::move(of[t]));
        chunks_.push_back(kept_.back().data());
        d.locations[t].records = {&chunks_.back(), 63, kept_.back().size()};
        d.locations[t].calls = calls[t];
      }
    }
  }

  program made_;
  std::mt19937_64 random_;
  whywait::base::vector<message> under_way_;
  std::uint32_t collectives_ = 0;
  std::uint64_t time_ = 0;
  whywait::base::vector<data::rank_data> data_;
  std::deque<whywait::base::vector<core::data_record>> kept_;
  std::deque<const core::data_record*> chunks_;
};

std::string words(const data::classified& all) {
  std::ostringstream s;
  s << all.unmatched << " " << all.dropped << " " << all.coarse << " " << all.ranks << "\n";
  for (const data::transfer_class& c : all.classes) {
    s << c.key() << " " << c.chain.loop;
    std::int64_t numbers[sizeof(data::class_sums) / 8];
    std::memcpy(numbers, &c.sums, sizeof numbers);
    for (const std::int64_t n : numbers) s << " " << n;
    for (const auto* list : {&c.senders, &c.receivers}) {
      std::map<std::int32_t, std::int64_t> ranks;
      for (const auto& r : list->list()) ranks[r.rank] += r.count;
      s << " |";
      for (const auto& r : ranks) s << " " << r.first << ":" << r.second;
    }
    s << "\n";
  }
  for (const data::mixed_share& m : all.mixed) {
    s << m.data << " " << m.from << " " << m.producer << " " << m.bytes << " " << m.region << " " << static_cast<int>(m.kind)
      << "\n";
  }
  struct keys : data::naming {
    std::string data(core::stable_key k) const override { return std::to_string(k); }
    std::string place(core::stable_key k) const override { return std::to_string(k); }
  };
  for (const auto& f : data::diagnose(all, keys())) s << f.text << f.advice << f.saving_ns << "\n";
  return s.str();
}

std::string words(const data::placement_report& all) {
  std::ostringstream s;
  for (const auto& a : all.arrays)
    s << a.array << " " << a.space.extent[0] << " " << a.placed.text() << " " << a.agreement << "\n";
  for (const auto& l : all.loops) s << l.block << " " << l.schedule.text() << " " << l.agreement << "\n";
  for (const auto& u : all.uses) {
    s << u.loop << " " << u.array << " " << u.access.text() << " " << u.remote.remote << " " << u.measured_remote << "\n";
  }
  for (const auto& b : all.better) s << b.use << " " << b.schedule.text() << " " << b.placed.text() << " " << b.remote << "\n";
  return s.str();
}

std::string words(const data::sharing_report& all) {
  std::ostringstream s;
  s << all.dropped << "\n";
  for (const auto& n : all.nodes) {
    s << n.request << " " << n.invalidation;
    for (const auto w : n.writes) s << " " << w;
    s << "\n";
  }
  for (const auto& a : all.arrays) s << a.array << " " << a.granules << " " << a.watched << "\n";
  for (const auto& g : all.groups) {
    s << g.array << " " << static_cast<int>(g.pattern) << " " << g.granules << " " << g.first_granule;
    for (const auto& e : g.graph.edges) s << " " << e.from << ">" << e.to << ":" << e.count;
    for (const auto& t : g.graph.threads) s << " " << t.node << ":" << t.readers << ":" << t.writers;
    s << "\n";
  }
  return s.str();
}

/// The first line in which two texts differ; empty if there is none.
std::string apart(const std::string& one, const std::string& other) {
  std::istringstream a(one), b(other);
  std::string x, y;
  while (true) {
    const bool more = static_cast<bool>(std::getline(a, x)), too = static_cast<bool>(std::getline(b, y));
    if (!more && !too) return "";
    if (more != too || x != y) return (more ? x : "nothing") + " instead of " + (too ? y : "nothing");
  }
}

/// Analyses a run in parts; only the books persist between parts.
class folder {
 public:
  explicit folder(const random_run& run) : run_(run), data_(run.whole().size()) {
    for (std::size_t i = 0; i != data_.size(); ++i) {
      const data::rank_data& of = run.whole()[i];
      data_[i].rank = of.rank;
      data_[i].ranks = of.ranks;
      data_[i].locations.resize(of.locations.size());
      classes_.emplace_back(new data::classifier(data_[i]));
      footprints_.emplace_back(new data::footprint_book(data_[i]));
      sharing_.emplace_back(new data::sharing_book(data_[i]));
    }
  }

  void take(std::uint64_t until, bool last) {
    std::deque<whywait::base::vector<core::data_record>> records;
    std::deque<const core::data_record*> chunks;
    whywait::base::vector<data::rank_data> part = run_.until(until, records, chunks, from_, last);
    for (std::size_t i = 0; i != data_.size(); ++i) data_[i] = std::move(part[i]);
    explain::simulated_transport transport(ranks());
    data::follow(transport, all());
    for (std::size_t i = 0; i != data_.size(); ++i) {
      footprints_[i]->take_all();
      sharing_[i]->begin_part();
      sharing_[i]->take_all();
    }
    for (data::rank_data& d : data_) {
      for (data::location_data& l : d.locations) l = data::location_data();
    }
    from_ = until;
  }

  data::classified classes(bool over) {
    explain::simulated_transport transport(ranks());
    return data::classes_so_far(transport, all(), over);
  }
  data::placement_report placement() {
    explain::simulated_transport transport(ranks());
    whywait::base::vector<whywait::base::vector<data::footprint>> found;
    for (const auto& f : footprints_) found.push_back(f->result());
    return data::examine_together(transport, std::move(found), 0, ranks());
  }
  data::sharing_report sharing(std::size_t rank) const { return sharing_[rank]->result(); }

 private:
  std::int32_t ranks() const { return static_cast<std::int32_t>(data_.size()); }
  whywait::base::vector<data::classifier*> all() const {
    whywait::base::vector<data::classifier*> out;
    for (const auto& c : classes_) out.push_back(c.get());
    return out;
  }

  const random_run& run_;
  whywait::base::vector<data::rank_data> data_;
  whywait::base::vector<std::unique_ptr<data::classifier>> classes_;
  whywait::base::vector<std::unique_ptr<data::footprint_book>> footprints_;
  whywait::base::vector<std::unique_ptr<data::sharing_book>> sharing_;
  std::uint64_t from_ = 0;
};

}  // namespace

TEST_CASE("on 60 random programs the folded parts equal the whole run, and after each part the run until then") {
  std::size_t parts = 0, classes = 0, unmatched = 0, under_way = 0, loops = 0, groups = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(60u); ++seed) {
    CAPTURE(seed);
    const random_run run(seed, 2 + static_cast<int>(seed % 4), 40 + static_cast<int>(seed % 9) * 40);
    std::mt19937_64 random(seed);
    std::set<std::uint64_t> cuts;
    for (std::uint64_t n = seed % 7; n != 0; --n)
      cuts.insert(std::uniform_int_distribution<std::uint64_t>(1, run.end())(random));
    cuts.insert(run.end());
    folder pieces(run);
    for (const std::uint64_t cut : cuts) {
      ++parts;
      pieces.take(cut, cut == run.end());
      std::deque<whywait::base::vector<core::data_record>> records;
      std::deque<const core::data_record*> chunks;
      const whywait::base::vector<data::rank_data> until = run.until(cut, records, chunks);
      explain::simulated_transport transport(static_cast<std::int32_t>(until.size()));
      const data::classified whole = data::classify(transport, until);
      REQUIRE(apart(words(pieces.classes(true)), words(whole)) == "");
      const std::int64_t followed = pieces.classes(false).unmatched;
      CHECK(followed <= whole.unmatched);
      under_way += static_cast<std::size_t>(cut != run.end() ? whole.unmatched - followed : 0);
      const data::placement_report placed = data::examine(transport, until);
      REQUIRE(apart(words(pieces.placement()), words(placed)) == "");
      if (cut != run.end()) continue;
      classes += whole.classes.size();
      unmatched += static_cast<std::size_t>(whole.unmatched);
      loops += placed.loops.size();
      for (std::size_t i = 0; i != until.size(); ++i) {
        data::sharing_book book(until[i]);
        book.take_all();
        const data::sharing_report shared = book.result();
        REQUIRE(apart(words(pieces.sharing(i)), words(shared)) == "");
        groups += shared.groups.size();
      }
    }
  }
  CHECK(parts > repetitions(180u));
  CHECK(classes > repetitions(600u));
  CHECK(unmatched > repetitions(60u));
  CHECK(under_way > repetitions(180u));
  CHECK(loops > repetitions(60u));
  CHECK(groups > repetitions(180u));
}

TEST_CASE("reset orders drop pending messages and never confuse them with later ones") {
  program first(2), second(2);
  for (program* p : {&first, &second}) p->object("u", {64});
  first.send(0, 1, "lost.send", 1, {0, 8, 0, 0});
  first.transfer(0, 1, "a", 1, {8, 16, 0, 0});
  second.site("lost.send");
  second.site("a.send");
  second.site("a.receive");
  second.transfer(0, 1, "b", 1, {16, 24, 0, 0});
  whywait::base::vector<data::rank_data> data = first.finished();
  whywait::base::vector<std::unique_ptr<data::classifier>> own;
  whywait::base::vector<data::classifier*> all;
  for (const data::rank_data& d : data) {
    own.emplace_back(new data::classifier(d));
    all.push_back(own.back().get());
  }
  explain::simulated_transport transport(2);
  data::follow(transport, all);
  for (data::classifier* c : all) c->restart_orders();
  for (std::size_t i = 0; i != 2; ++i) data[i] = second.finished()[i];
  data::follow(transport, all);
  const data::classified out = data::classes_so_far(transport, all, true);
  CHECK(out.unmatched == 1);
  REQUIRE(out.classes.size() == 2);
  REQUIRE(sent_at(out, "a.send") != nullptr);
  REQUIRE(sent_at(out, "b.send") != nullptr);
  CHECK(sent_at(out, "b.send")->sums.count == 1);
}

TEST_CASE("a thread that starts in a later part shares earlier data") {
  data::rank_data d;
  core::data_object u;
  u.key = key("u");
  u.extent[0] = 64;
  d.objects = {core::data_object(), u};
  d.sites = {0, key("write"), key("meet"), key("read")};
  d.locations.resize(1);
  data::sharing_book book(d);
  whywait::base::vector<core::data_record> records[2];
  const core::data_record* chunks[2];
  std::uint64_t time = 0;
  const auto add = [&](std::size_t thread, core::data_op op, std::uint32_t site, std::uint32_t object) {
    core::data_record r;
    r.time = ++time;
    r.op = op;
    r.site = site;
    r.object = object;
    r.end = 64;
    records[thread].push_back(r);
  };
  const auto fold = [&] {
    for (std::size_t t = 0; t != d.locations.size(); ++t) {
      chunks[t] = records[t].data();
      d.locations[t].records = {&chunks[t], 63, records[t].size()};
    }
    book.begin_part();
    book.take_all();
    for (auto& r : records) r.clear();
  };
  add(0, core::data_op::write, 1, 1);
  add(0, core::data_op::synchronise, 2, 7);
  fold();
  d.locations.resize(2);
  add(1, core::data_op::synchronise, 2, 7);
  add(1, core::data_op::read, 3, 1);
  add(0, core::data_op::write, 1, 1);
  fold();
  const data::sharing_report found = book.result();
  REQUIRE(found.groups.size() == 1);
  CHECK(found.groups[0].pattern == data::sharing_pattern::producer_consumer);
  REQUIRE(found.nodes.size() == 3);
  CHECK(found.nodes[2].request == key("read"));
  CHECK(found.nodes[2].writes == whywait::base::vector<core::stable_key>{key("write")});
}

TEST_CASE("exhausted stamps only lose the knowledge of unchanged data") {
  data::ownership o(64);
  o.assign({0, 32, 0, 0}, {data::origin(data::origin_kind::produced, 1), 0, 0xfffffff0u, 0, false});
  o.forget_stamps();
  CHECK(o.look({0, 8, 0, 0}).state.stamp == 0);
  CHECK(o.look({0, 8, 0, 0}).state.from == data::origin(data::origin_kind::produced, 1));
}
