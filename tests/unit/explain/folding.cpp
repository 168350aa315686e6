#include <whywait/base/vector.hpp>
#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/folding.hpp>

#include "reference_simulation.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace histories;

namespace {

bool synchronises(const sync_record& r) {
  return r.comm == 0 && (r.call == mpi_call::Barrier || r.call == mpi_call::Allreduce) && r.has(flag::contributes) &&
         r.has(flag::consumes);
}

/// Cuts a run at some of the operations that synchronise all ranks, like the recorder, and explains the pieces in
/// order.
class cutter {
 public:
  cutter(run& whole, explain::options settings) : whole_(whole), settings_(std::move(settings)) {
    const std::size_t ranks = static_cast<std::size_t>(whole.ranks());
    memories_.resize(ranks);
    carried_.resize(ranks);
    from_.resize(ranks, 0);
    for (std::size_t i = 0; i != ranks; ++i) begin_ns_.push_back(of(i).begin_ns);
    whywait::base::vector<whywait::base::vector<std::uint32_t>> found(ranks);
    for (std::size_t i = 0; i != ranks; ++i) {
      const auto& records = of(i).locations[0].records;
      for (std::uint32_t k = 0; k != records.size(); ++k) {
        if (synchronises(records[k])) found[i].push_back(k);
      }
    }
    for (std::size_t n = 0; n != found[0].size(); ++n) {
      whywait::base::vector<std::uint32_t> at;
      for (std::size_t i = 0; i != ranks; ++i) at.push_back(found[i].at(n));
      cuts_.push_back(at);
    }
  }

  std::size_t cuts() const { return cuts_.size(); }
  std::size_t carried = 0, met = 0;  ///< postings that were carried over

  explain::outcome explained(std::size_t every = 1) {
    for (std::size_t n = every - 1; n < cuts_.size(); n += every) epoch(&cuts_[n]);
    return epoch(nullptr);
  }

 private:
  rank_data& of(std::size_t i) { return whole_[static_cast<int>(i)]; }

  explain::outcome epoch(const whywait::base::vector<std::uint32_t>* until) {
    const std::size_t ranks = memories_.size();
    std::deque<rank_data> pieces;
    whywait::base::vector<whywait::base::vector<std::uint32_t>> origin(ranks);
    std::int64_t end_ns = 0;
    for (std::size_t i = 0; until != nullptr && i != ranks; ++i)
      end_ns = std::max(end_ns, static_cast<std::int64_t>(of(i).locations[0].records[(*until)[i]].begin));
    whywait::base::vector<explain::rank_history> views;
    for (std::size_t i = 0; i != ranks; ++i) {
      pieces.push_back(of(i));
      rank_data& d = pieces.back();
      const location_data& all = of(i).locations[0];
      location_data& l = d.locations[0];
      const std::uint32_t last = until != nullptr ? (*until)[i] : static_cast<std::uint32_t>(all.records.size()) - 1;
      const std::size_t before = carried_[i].size() + (from_[i] != 0 ? 1 : 0);
      const auto place = [&](std::uint32_t record) {  // index of a record of this epoch
        return static_cast<std::uint32_t>(record - from_[i] + before);
      };
      l.records.clear();
      const auto add = [&](std::uint32_t index, sync_record r) {
        const bool posts = r.has(flag::posts_send | flag::posts_receive);
        if (posts && r.has(flag::complete) && core::role_of(r.call) != core::call_role::send &&
            core::role_of(r.call) != core::call_role::receive) {
          if (r.completion > last) {
            r.flags = static_cast<std::uint16_t>((r.flags & ~flag::complete) | flag::resolved);
            r.completion = 0;
          } else {
            r.completion = r.completion < from_[i] ? static_cast<std::uint32_t>(l.records.size()) : place(r.completion);
          }
        }
        l.records.push_back(r);
        origin[i].push_back(index);
      };
      for (const auto& c : carried_[i]) {
        sync_record r = all.records[c.first];
        r.duration = 0;
        r.steps = 0;
        if (c.second) r.flags = static_cast<std::uint16_t>(r.flags | flag::met);
        add(c.first, r);
      }
      std::uint32_t steps = 0, posting = 0;
      if (from_[i] != 0) {
        sync_record r = all.records[from_[i] - 1];
        steps = r.steps;
        posting = r.posting;
        r.call = mpi_call::none;
        r.flags = 0;
        r.steps = 0;
        add(from_[i] - 1, r);
      }
      for (std::uint32_t k = from_[i]; k <= last; ++k) {
        sync_record r = all.records[k];
        r.steps -= steps;
        add(k, r);
      }
      l.steps.assign(all.steps.begin() + steps, all.steps.end());
      if (until != nullptr) l.steps.resize(all.records[last].steps - steps);
      d.begin_ns = begin_ns_[i];
      d.end_ns = until != nullptr ? end_ns : of(i).end_ns;
      views.push_back(d.view(static_cast<int>(ranks)));
      views.back().continued = from_[i] != 0;
      views.back().continues = until != nullptr;
      views.back().before_ns = begin_ns_[i] - of(i).begin_ns;
      views.back().posted_before = posting;
      views.back().locations[0].carried = before;
    }
    explain::simulated_transport transport(static_cast<std::int32_t>(ranks));
    const explain::outcome out = explain::explain_epoch(transport, views.data(), memories_.data(), ranks, settings_);
    for (std::size_t i = 0; until != nullptr && i != ranks; ++i) {
      carried_[i].clear();
      for (const explain::carried_posting& c : memories_[i].carried) {
        carried_[i].emplace_back(origin[i][c.record], c.met);
        ++carried;
        met += c.met ? 1 : 0;
      }
      std::sort(carried_[i].begin(), carried_[i].end());
      from_[i] = (*until)[i] + 1;
      begin_ns_[i] = end_ns;
    }
    return out;
  }

  run& whole_;
  explain::options settings_;
  whywait::base::vector<explain::epoch_memory> memories_;
  whywait::base::vector<whywait::base::vector<std::uint32_t>> cuts_;
  /// record index in the run, whether it is met
  whywait::base::vector<whywait::base::vector<std::pair<std::uint32_t, bool>>> carried_;
  whywait::base::vector<std::uint32_t> from_;
  whywait::base::vector<std::int64_t> begin_ns_;
};

// All results about waits. The order in which late senders' messages were received is not tracked across cuts.
std::string words(const explain::outcome& out) {
  std::ostringstream s;
  const auto shares = [&](const whywait::base::vector<explain::location_share>& list) {
    for (const auto& l : list) s << " " << l.rank << ":" << l.ns;
  };
  s << out.waiting_ns << " " << out.records << " " << out.location_ns << " " << out.longest_ns << " " << out.clock_violations
    << " " << out.unmatched << " " << out.locations << "\n";
  for (const auto& e : out.waits) {
    s << explain::name_of(e.why) << " " << e.operation << " " << e.cause << " " << e.count << " " << e.wait_ns << " "
      << e.longest_ns << " " << e.indirect_ns << " " << e.unexplained_ns << " " << e.first_ns << " "
      << static_cast<int>(e.trust);
    shares(e.waiters);
    shares(e.causers);
    for (const auto& t : e.residual) {
      s << " [" << t.block << " " << t.within << " " << t.total_ns << " " << t.visits_ns << " " << t.inherited_ns << "]";
    }
    s << "\n";
  }
  return s.str();
}

// The visits of both sides at the same place, in the order of `words`. That place lies between two visits, so they are
// rounded.
whywait::base::vector<std::int64_t> visits(const explain::outcome& out) {
  whywait::base::vector<std::int64_t> all;
  for (const auto& e : out.waits) {
    for (const auto& t : e.residual) {
      all.push_back(t.causer_visits);
      all.push_back(t.waiter_visits);
    }
  }
  return all;
}
std::int64_t most_apart(const whywait::base::vector<std::int64_t>& a, const whywait::base::vector<std::int64_t>& b) {
  std::int64_t most = a.size() == b.size() ? 0 : INT64_MAX;
  for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

reference::shape shape_with_cuts(std::uint64_t seed) {
  reference::shape s;
  s.ranks = 2 + static_cast<int>(seed % 7);
  s.events = 40 + static_cast<int>(seed % 83);
  s.tails = seed % 4 != 0;
  s.apart = seed % 3 == 0;
  return s;
}

}  // namespace

TEST_CASE("on 1,000 random programs the folded epochs equal the whole run, to the nanosecond") {
  std::size_t cuts = 0, carried = 0, met = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(1000u); ++seed) {
    reference::program truth(seed, shape_with_cuts(seed));
    explain::options settings = run::exact();
    if (seed % 2 == 0) settings.classes_per_key = 2;  // forces some classes to be dropped
    const explain::outcome expected = truth.histories().explain(settings);
    cutter pieces(truth.histories(), settings);
    CAPTURE(seed);
    const explain::outcome folded = pieces.explained(1 + seed % 3);
    REQUIRE(words(folded) == words(expected));
    REQUIRE(most_apart(visits(folded), visits(expected)) <= 1);
    cuts += pieces.cuts();
    carried += pieces.carried;
    met += pieces.met;
  }
  CHECK(cuts > repetitions(1000u));
  CHECK(met > repetitions(100u));
  CHECK(carried - met > repetitions(100u));
}

TEST_CASE("virtual clocks of the epochs add up to those of the whole run") {
  std::size_t cuts = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(150u); ++seed) {
    reference::shape shape = shape_with_cuts(seed);
    shape.certain = true;
    shape.overhead = true;
    reference::program truth(seed, shape);
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    explain::what_if network;
    network.changes.push_back({explain::network_key(), 0.0});
    settings.questions.push_back(network);
    const explain::outcome whole = truth.histories().explain(settings);
    settings.watch = nullptr;
    cutter pieces(truth.histories(), settings);
    const explain::outcome folded = pieces.explained(1 + seed % 3);
    cuts += pieces.cuts();
    CAPTURE(seed);
    REQUIRE(words(folded) == words(whole));
    REQUIRE(folded.total_ns == whole.total_ns);
    CHECK(folded.without_overhead.total_ns == whole.without_overhead.total_ns);
    CHECK(folded.without_overhead.waiting_ns == whole.without_overhead.waiting_ns);
    CHECK(folded.without_overhead.overhead_ns == whole.without_overhead.overhead_ns);
    REQUIRE(folded.answers.size() == 1);
    CHECK(folded.answers[0].total_ns == whole.answers[0].total_ns);
    CHECK(folded.efficiency.parallel == doctest::Approx(whole.efficiency.parallel));
    CHECK(folded.efficiency.transfer == doctest::Approx(whole.efficiency.transfer));
    CHECK(folded.efficiency.load_balance <= whole.efficiency.load_balance + 1e-9);
    std::int64_t path = 0;
    for (const auto& c : folded.critical_path) path += c.ns;
    CHECK(path == folded.total_ns);
  }
  CHECK(cuts > repetitions(150u));
}

TEST_CASE("the maps of the epochs add up to those of the whole run") {
  for (std::uint64_t seed = 1; seed <= repetitions(150u); ++seed) {
    CAPTURE(seed);
    reference::program truth(seed, shape_with_cuts(seed));
    explain::options settings = run::exact();
    settings.maps = true;
    const explain::run_maps whole = truth.histories().explain(settings).maps;
    cutter pieces(truth.histories(), settings);
    const explain::outcome folded = pieces.explained(1 + seed % 3);
    const explain::run_maps& maps = folded.maps;
    REQUIRE(maps.rows() == whole.rows());
    REQUIRE(maps.width_ns == whole.width_ns);
    std::int64_t all = 0;
    for (std::int32_t row = 0; row != static_cast<std::int32_t>(maps.rows()); ++row) {
      const explain::time_bins &a = maps.at(row, explain::run_maps::waiting), &b = whole.at(row, explain::run_maps::waiting);
      for (std::size_t i = 0; i != 128; ++i) REQUIRE(a[i] == b[i]);
      for (std::size_t s = 0; s != maps.series_count(); ++s)
        for (std::size_t i = 0; i != 128; ++i) all += maps.at(row, s)[i];
    }
    CHECK(all == folded.location_ns);
    const auto same = [](const whywait::base::pod_vector<explain::row_pair>& a,
                         const whywait::base::pod_vector<explain::row_pair>& b) {
      REQUIRE(a.size() == b.size());
      for (std::size_t i = 0; i != a.size(); ++i) {
        CHECK(a[i].from == b[i].from);
        CHECK(a[i].to == b[i].to);
        CHECK(a[i].count == b[i].count);
        CHECK(a[i].amount == b[i].amount);
      }
    };
    same(maps.messages, whole.messages);
    same(maps.waits, whole.waits);
  }
}

TEST_CASE("messages under way at the end of an epoch are as exact as others") {
  // Rank 0 has sent 1 (buffered), 2 and 3 (unfinished; a receive for one of them is posted late). Rank 1 has posted
  // receive 4.
  run r(2);
  r[0].send(100, 110, 1, 1);
  const std::uint32_t second = r[0].post_send(120, 130, 1, 2);
  const std::uint32_t third = r[0].post_send(140, 150, 1, 3);
  const std::uint32_t fourth = r[1].post_receive(10, 20, 0, 4);
  const std::uint32_t of_third = r[1].post_receive(200, 210, 0, 3);
  for (int i = 0; i != 2; ++i) r[i].collective(mpi_call::Barrier, i == 0 ? 300 : 500, 520);
  r[0].step("slow", 1000);
  r[0].send(1600, 1610, 1, 4);
  r[1].call(mpi_call::Wait, 700, 1620);  // waits for the send of 4 from 700 to 1600
  r[1].completes(fourth);
  r[1].call(mpi_call::Wait, 1640, 1650);
  r[1].completes(of_third);
  r[1].step("slower", 1300);
  r[1].receive(3000, 3020, 0, 2);
  r[1].receive(3030, 3040, 0, 1);
  r[0].call(mpi_call::Waitall, 2000, 3020);  // waits for the receive of 2 until 3000
  r[0].completes(second);
  r[0].completes(third);
  for (int i = 0; i != 2; ++i) {
    r[i].collective(mpi_call::Finalize, 4000, 4000);
    r[i].end_ns = 4000;
  }
  const explain::outcome whole = r.explain();
  CHECK(whole.unmatched == 0);
  CHECK(whole.waiting_ns == 200 + 900 + 1000);
  cutter pieces(r, run::exact());
  CHECK(words(pieces.explained()) == words(whole));
  CHECK(pieces.carried == 5);
  CHECK(pieces.met == 2);
}

TEST_CASE("a message that is never received is unmatched once, however often it is carried over") {
  run r(2);
  r[0].send(100, 110, 1, 1);
  for (std::uint64_t t = 200; t != 600; t += 100) {
    for (int i = 0; i != 2; ++i) r[i].collective(mpi_call::Barrier, t, t + 10);
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = 600;
  cutter pieces(r, run::exact());
  CHECK(pieces.explained().unmatched == 1);
  CHECK(pieces.carried == 4);
}

TEST_CASE("the error bounds of all epochs add up, and one calibrated epoch suffices to report them") {
  explain::outcome run, first, second;
  first.without_overhead.error_ns = 30;
  second.without_overhead.error_ns = 12;
  second.without_overhead.calibrated = true;
  explain::detail::add_epoch(run, first);
  CHECK(run.without_overhead.error_ns == 30);
  CHECK_FALSE(run.without_overhead.calibrated);
  explain::detail::add_epoch(run, second);
  CHECK(run.without_overhead.error_ns == 42);
  CHECK(run.without_overhead.calibrated);
  explain::detail::add_epoch(run, first);
  CHECK(run.without_overhead.calibrated);
}
