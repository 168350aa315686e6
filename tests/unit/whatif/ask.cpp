#include <whywait/base/vector.hpp>
#include <whywait/whatif/ask.hpp>

#include "../../sanitizers.hpp"
#include "../models/support.hpp"
#include "relaxed_log.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using namespace whywait::whatif;
using test::near;

namespace {

/// A program with known truth. It can be run again with changes and other random numbers.
struct imagined {
  std::uint32_t ranks = 8, steps = 200;
  double compute = 1.0, pack = 0.3;  // mean seconds per step
  double cv = 0.2;
  double imbalance = 0.0;  // rank 0 does 1 + imbalance, decreasing linearly to 1 - imbalance
  double latency = 0.01, collective = 0.02;
  bool barrier = true, halo = false;

  double load(std::uint32_t rank) const {
    return ranks == 1 ? 1.0 : 1.0 + imbalance * (1.0 - 2.0 * static_cast<double>(rank) / static_cast<double>(ranks - 1));
  }

  run_log run(std::uint64_t seed) const {
    random_source random(seed);
    auto draw = [&](double mean) {
      const int phases = static_cast<int>(std::lround(1.0 / (cv * cv)));
      double sum = 0.0;
      for (int i = 0; i != phases; ++i) sum += random.exponential();
      return mean * sum / phases;
    };
    run_log log;
    const std::uint32_t step = log.label("step"), exchange = log.label("exchange"), sync = log.label("MPI_Barrier");
    const std::uint32_t c = log.block("compute"), p = log.block("pack");
    whywait::base::vector<place> sent(ranks);
    for (std::uint32_t i = 0; i != steps; ++i) {
      sync_edge s{sync, {}, {}, collective};
      for (std::uint32_t r = 0; r != ranks; ++r) {
        activity a;
        a.label = halo ? exchange : step;
        const double first = draw(compute * load(r)), second = draw(pack);
        a.work_seconds = first + second;
        a.blocks = {{c, first}, {p, second}};
        const place at = log.add(r, a);
        if (halo) {
          sent[r] = at;
          log.add(r, {step, 0.0, 0.0});
        }
        const place last{r, static_cast<std::uint32_t>(log.lines[r].size() - 1)};
        s.in.push_back(last);
        s.out.push_back(last);
      }
      if (halo)
        for (std::uint32_t r = 0; r != ranks; ++r)
          for (const int d : {-1, 1}) {
            const std::uint32_t to = static_cast<std::uint32_t>(static_cast<int>(r + ranks) + d) % ranks;
            log.messages.push_back({sent[r], {to, sent[to].index + 1}, 1000.0, latency});
          }
      if (barrier) log.syncs.push_back(s);
    }
    log.measured_seconds = seconds_by_relaxation(log);
    return log;
  }
};

struct score {
  int questions = 0, inside = 0, close = 0;
  double worst = 0.0;
};

void put(score& s, const imagined& now, const imagined& then, const question& q, std::uint64_t seed) {
  const run_log log = now.run(seed);
  double truth = 0.0;
  for (std::uint64_t k = 0; k != 3; ++k) truth += then.run(seed * 1000 + k).measured_seconds / 3.0;
  const answer a = ask(log, {q}).front();
  CAPTURE(a.question);
  REQUIRE_MESSAGE(a.answered, a.refusal);
  const double off = a.seconds / truth - 1.0;
  ++s.questions;
  s.inside += truth >= a.low_seconds && truth <= a.high_seconds;
  s.close += std::fabs(off) <= 0.05;
  if (!(truth >= a.low_seconds && truth <= a.high_seconds))
    MESSAGE(a.question << ": " << off << " " << a.sampling << " " << a.spread << " " << a.baseline_error << " cv " << now.cv
                       << " imb " << now.imbalance << " halo " << now.halo);
  s.worst = std::max(s.worst, std::fabs(off));
  CHECK(a.low_seconds <= a.seconds);
  CHECK(a.seconds <= a.high_seconds);
  CHECK(a.engines.size() == 3);
}

question about(question::kind what, double factor = 1.0, const std::string& name = {}, bool fixed_total = true) {
  question q;
  q.what = what;
  q.factor = factor;
  q.name = name;
  q.fixed_total = fixed_total;
  return q;
}

}  // namespace

TEST_CASE("answers come true within 5 %, and 9 of 10 intervals hold the truth") {
  constexpr int least = repetitions(40);
  const std::vector<double> variations = least == 40 ? std::vector<double>{0.05, 0.2, 0.5} : std::vector<double>{0.2};
  score s;
  std::uint64_t seed = 1;
  for (const bool halo : {false, true})
    for (const double cv : variations)
      for (const double imbalance : {0.0, 0.4}) {
        imagined now;
        now.halo = halo;
        now.cv = cv;
        now.imbalance = imbalance;
        imagined then = now;
        then.compute /= 2.0;
        put(s, now, then, about(question::kind::block, 2.0, "compute"), seed++);
        then = now;
        then.imbalance = 0.0;
        put(s, now, then, about(question::kind::balance), seed++);
        then = now;
        then.latency /= 4.0;
        then.collective /= 4.0;
        put(s, now, then, about(question::kind::network, 4.0), seed++);
        if (halo) {
          then = now;
          then.barrier = false;
          put(s, now, then, about(question::kind::without, 1.0, "MPI_Barrier"), seed++);
        } else if (imbalance <= 0.0) {
          then = now;
          then.ranks *= 2;
          then.collective *= 4.0 / 3.0;  // a tree of 16 is deeper than one of 8
          put(s, now, then, about(question::kind::ranks, 2.0, "", false), seed++);
          then.compute /= 2.0;
          then.pack /= 2.0;
          put(s, now, then, about(question::kind::ranks, 2.0), seed++);
        }
      }
  MESSAGE(s.questions << " questions: " << s.close << " within 5 %, worst " << 100 * s.worst << " %, " << s.inside
                      << " intervals hold");
  CHECK(s.questions >= least);
  CHECK(s.close == s.questions);
  CHECK(s.inside * 10 >= s.questions * 9);
}

TEST_CASE("engines that do not apply give the reason") {
  imagined now;
  now.halo = true;
  const answer with_messages = ask(now.run(3), {about(question::kind::balance)}).front();
  REQUIRE(with_messages.engines.size() == 3);
  CHECK(with_messages.engines[0].answered);
  CHECK_FALSE(with_messages.engines[1].answered);
  CHECK(with_messages.engines[1].refusal.find("messages") != std::string::npos);
  now.halo = false;
  const answer steady = ask(now.run(3), {about(question::kind::balance)}).front();
  CHECK(steady.engines[1].answered);
  CHECK_FALSE(steady.engines[2].answered);
  CHECK(steady.engines[2].refusal.find("varies less") != std::string::npos);
  now.cv = 1.0;
  now.pack = 0.001;
  const answer wild = ask(now.run(3), {about(question::kind::block, 2.0, "compute")}).front();
  REQUIRE(wild.engines[2].answered);
  CHECK(near(wild.engines[2].seconds, wild.seconds, 0.08));
}

TEST_CASE("questions about missing blocks are refused with the reason") {
  const run_log log = imagined().run(5);
  const whywait::base::vector<answer> a =
      ask(log, {about(question::kind::block, 2.0, "nowhere"), about(question::kind::without, 1.0, "MPI_Bcast"),
                about(question::kind::ranks, 1.3)});
  for (const answer& x : a) {
    CHECK_FALSE(x.answered);
    CHECK_FALSE(x.refusal.empty());
  }
  CHECK(a[0].refusal.find("'nowhere'") != std::string::npos);
}

TEST_CASE("a run that the model does not reproduce gets no answer") {
  run_log log = imagined().run(5);
  log.measured_seconds *= 1.3;
  const answer a = ask(log, {about(question::kind::balance)}).front();
  CHECK_FALSE(a.answered);
  CHECK(a.refusal.find("10 %") != std::string::npos);
  CHECK(near(a.engines[0].baseline_error, 1.0 / 1.3 - 1.0));
}

TEST_CASE("an outside answer is preferred, compared with replay, and may cover more of the run") {
  run_log log = imagined().run(5);
  const whywait::base::vector<question> asked = parse_questions("balance; block compute x2");
  const answer by_replay = ask(log, asked)[1];
  ask_options o;
  o.outside = {{1, "clocks", log.measured_seconds, by_replay.seconds * 1.1}};
  const whywait::base::vector<answer> a = ask(log, asked, o);
  CHECK(a[0].engine == "replay");
  CHECK(a[1].engine == "clocks");
  CHECK(near(a[1].seconds, by_replay.seconds * 1.1));
  CHECK(near(a[1].spread, 1.0 - 1.0 / 1.1, 0.2));  // the algebra may be closer
  CHECK(a[1].low_seconds < by_replay.seconds);
  o.outside[0] = {1, "clocks", 10 * log.measured_seconds, 10 * by_replay.seconds};  // the log covers the beginning only
  const answer whole = ask(log, asked, o)[1];
  REQUIRE(whole.answered);
  CHECK(near(whole.measured_seconds, 10 * log.measured_seconds));
  CHECK(near(whole.engines[0].seconds, 10 * by_replay.seconds));
  CHECK(near(whole.spread, by_replay.spread));
  o.outside[0].after_seconds = 2 * by_replay.seconds;
  CHECK(ask(log, asked, o)[1].refusal.find("disagree") != std::string::npos);
  log.measured_seconds *= 1.3;  // replay has an error, so that the interval is wider by that error
  o.outside[0] = {1, "clocks", log.measured_seconds, log.measured_seconds / 2};
  const answer alone = ask(log, asked, o)[1];
  REQUIRE(alone.answered);
  CHECK(alone.high_seconds / alone.seconds > 1.2);
}

TEST_CASE("several changes at once save more than each of them") {
  imagined now;
  now.cv = 0.05;
  const run_log log = now.run(5);
  const whywait::base::vector<answer> a =
      ask(log, parse_questions("compute=0.5; pack=0; compute=0.5,pack=0,network=0; block pack x2"));
  for (const answer& x : a) REQUIRE_MESSAGE(x.answered, x.refusal);
  CHECK(a[2].question == "compute=0.5,pack=0,network=0");
  CHECK(a[0].question == "block compute x2");
  imagined then = now;
  then.compute /= 2;
  then.pack = 0;
  then.latency = then.collective = 0;
  CHECK(near(a[2].seconds, then.run(77).measured_seconds, 0.05));
  CHECK(a[2].seconds < std::min(a[0].seconds, a[1].seconds));
}

TEST_CASE("alternating load is left alone by balance and evened out by balance steps") {
  run_log log;
  const std::uint32_t step = log.label("step"), sync = log.label("MPI_Barrier");
  for (std::uint32_t i = 0; i != 20; ++i) {
    sync_edge s{sync, {}, {}, 0.0};
    for (std::uint32_t r = 0; r != 2; ++r) {
      const place p = log.add(r, {step, (i + r) % 2 == 0 ? 1.0 : 3.0, 0.0});
      s.in.push_back(p);
      s.out.push_back(p);
    }
    log.syncs.push_back(s);
  }
  const whywait::base::vector<answer> a = ask(log, parse_questions("balance; balance steps"));
  REQUIRE(a[0].answered);
  REQUIRE(a[1].answered);
  CHECK(near(a[0].measured_seconds, 60.0));
  CHECK(near(a[0].seconds, 60.0));
  CHECK(near(a[1].seconds, 40.0));
  log.lines[1].back().label = log.label("another");
  CHECK(ask(log, parse_questions("balance steps")).front().refusal.find("same number of steps") != std::string::npos);
}

TEST_CASE("work of one rank only is not spread over ranks that have no such step") {
  run_log log;
  const std::uint32_t write = log.label("write"), step = log.label("step");
  log.add(0, {write, 4.0, 0.0});
  log.add(0, {step, 1.0, 0.0});
  log.add(1, {step, 3.0, 0.0});
  log.measured_seconds = 5.0;
  CHECK(near(ask(log, parse_questions("balance")).front().seconds, 6.0));
}

TEST_CASE("models that disagree give no answer") {
  ask_options o;
  o.engines = {{"oracle", [](const run_log&, const run_log&, double& before, double& after, std::string&) {
                  before = 240.0;
                  after = 480.0;
                  return true;
                }}};
  imagined now;
  now.cv = 0.05;
  now.steps = 20;
  run_log log = now.run(5);
  const double scale = 240.0 / log.measured_seconds;
  for (auto& line : log.lines)
    for (activity& a : line) a.work_seconds *= scale;
  log.measured_seconds = replay(log).seconds;
  const answer a = ask(log, {about(question::kind::balance)}, o).front();
  REQUIRE(a.engines.size() == 4);
  CHECK(a.engines[3].engine == "oracle");
  CHECK_FALSE(a.answered);
  CHECK(a.refusal.find("disagree") != std::string::npos);
}

TEST_CASE("a program whose order depends on time is refused") {
  run_log log = imagined().run(5);
  log.open = "rank 0 answers the first rank that asks";
  CHECK(ask(log, {about(question::kind::balance)}).front().refusal == log.open);
}
