#include "sample.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/rules/composite.hpp>
#include <whywait/rules/own_event.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

namespace rules = sample::rules;

rules::evaluation with_own(const rules::knowledge& known, const whywait::base::vector<rules::own_packet>& packets) {
  return rules::evaluate(known, sample::outcome({}), 4, sample::names(), {},
                         [&](rules::event_store& store, rules::trouble&, auto&) {
                           for (std::size_t rank = 0; rank < packets.size(); ++rank)
                             CHECK(rules::add_own_events(packets[rank], static_cast<std::int64_t>(rank), store));
                         });
}

/// Enables own events, like <whywait/mpi.hpp>.
struct listening {
  listening() { __atomic_store_n(&whywait::core::the_registry()->listening, 1u, __ATOMIC_RELEASE); }
  ~listening() { __atomic_store_n(&whywait::core::the_registry()->listening, 0u, __ATOMIC_RELEASE); }
};

}  // namespace

TEST_CASE("what ranks lose at the same time is saved once") {
  const listening on;
  static whywait::event<whywait::seconds> stalled("stalled", {"lost"});
  for (int i = 0; i < 4; ++i) stalled({0.05});  // within some microseconds, so that nearly all of it is the same time
  const rules::own_packet packet = rules::pack_own_events();
  const rules::knowledge known = rules::active_rules(
      {}, {packet}, {{"library", R"(declare problem for stalled parameters ( name = "stalls", duration = lost );)"}});
  REQUIRE(known.log.empty());
  const auto e = with_own(known, {packet, packet, packet});
  const rules::finding* const f = sample::find(e.problems, "stalls");
  REQUIRE(f != nullptr);
  CHECK(f->seconds == doctest::Approx(12 * 0.05));
  CHECK(f->saving >= 0.05);
  CHECK(f->saving < 0.1);
}

TEST_CASE("own events are inert unless recording is enabled") {
  static whywait::event<double> unheard("unheard", {"n"});
  unheard(1);
  for (const auto& d : rules::own_declarations(rules::pack_own_events())) CHECK(d.name != "unheard");
}

TEST_CASE("a library's own events reach its own rules: solver restarted 40 times because tolerance was unreachable") {
  const listening on;
  static whywait::event<double, double, whywait::seconds, const char*> restarted("solver_restart",
                                                                                 {"residual", "tolerance", "lost", "method"});
  for (int i = 0; i < 40; ++i) restarted(1e-7, 1e-12, {0.05}, "cg");
  restarted(1e-13, 1e-12, {0.05}, "cg");
  rules::add(rules::own_event("solver_restart")
                     .with("residual", "number")
                     .with("tolerance", "number")
                     .with("lost", "seconds")
                     .with("method", "text")
                     .text() +
                 rules::composite("unreachable")
                     .all("solver_restart", "r")
                     .when("r.residual > r.tolerance")
                     .by("r.method")
                     .with("method", "r.method")
                     .with("restarts", "count()")
                     .with("lost", "sum(r.lost)")
                     .with("best", "least(r.residual)")
                     .text() +
                 rules::problem("unreachable")
                     .when("restarts >= 10")
                     .name("solver_restarts")
                     .description("solver restarted {restarts} times because tolerance was unreachable")
                     .advice("ask {method} for {best} or more")
                     .duration("lost")
                     .text(),
             "solver library");
  const rules::own_packet packet = rules::pack_own_events();
  const rules::knowledge known = rules::active_rules({}, {packet, packet});
  for (const auto& d : known.log.list()) MESSAGE(d.text());
  REQUIRE(known.log.empty());
  const auto e = with_own(known, {packet});
  const rules::finding* const f = sample::find(e.problems, "solver_restarts");
  REQUIRE(f != nullptr);
  CHECK(f->description == "solver restarted 40 times because tolerance was unreachable");
  CHECK(f->seconds == doctest::Approx(2.0));
  REQUIRE(!f->actions.empty());
  CHECK(f->actions[0].text.find("solver_restart (extend.cpp:") == 0);
  // Without restarts or calls of the library the rule is inert.
  CHECK(with_own(known, {}).problems.empty());
  CHECK(rules::active_rules({}).log.empty());
}

TEST_CASE("the same text added twice counts once") {
  rules::add("declare composite event only_once member (wait as w);", "twice");
  rules::add("declare composite event only_once member (wait as w);", "twice");
  CHECK(rules::active_rules({}).log.empty());
}

TEST_CASE("a packet that is cut off is refused, never read beyond its end") {
  const listening on;
  static whywait::event<double, const char*> cut("cut_event", {"n", "text"});
  cut(1, "hello");
  const rules::own_packet whole = rules::pack_own_events();
  const rules::knowledge known = rules::active_rules({}, {whole});
  rules::event_store store(known);
  CHECK(rules::add_own_events(whole, 0, store));
  int refused = 0;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const rules::own_packet part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    rules::event_store other(known);
    refused += rules::add_own_events(part, 0, other) ? 0 : 1;
    (void)rules::own_declarations(part);
  }
  CHECK(refused > 0);
}

TEST_CASE("an own event with the wrong number of names records nothing") {
  const listening on;
  static whywait::event<double, double> wrong("wrong_event", {"only_one"});
  wrong(1, 2);
  for (const auto& d : rules::own_declarations(rules::pack_own_events())) CHECK(d.name != "wrong_event");
}

TEST_CASE("two shapes of one own event are a clash with a number") {
  const listening on;
  static whywait::event<double> first("clashing", {"a"});
  static whywait::event<double, bool> second("clashing", {"a", "b"});
  first(1);
  second(1, true);
  const rules::knowledge known = rules::active_rules({}, {rules::pack_own_events()});
  REQUIRE(!known.log.empty());
  CHECK(known.log.list()[0].text().find("whywait-R048") != std::string::npos);
}

TEST_CASE("WHYWAIT_RULES names files and the word list") {
  const auto s = rules::rules_setting::parse("a.rules::b.rules:list");
  CHECK(s.list);
  REQUIRE(s.files.size() == 2);
  CHECK(s.files[1] == "b.rules");
  CHECK(rules::rules_setting::parse(nullptr).files.empty());
}

TEST_CASE("a file of rules is read; one that cannot be read gives one clear line") {
  char path[] = "whywait_rules_XXXXXX";
  const int fd = mkstemp(path);
  REQUIRE(fd >= 0);
  const std::string text = "set threshold = 7 %;\n";
  REQUIRE(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(fd);
  rules::rules_setting setting;
  setting.files = {path, "no/such/file.rules", "."};
  const rules::knowledge known = rules::active_rules(setting);
  std::remove(path);
  CHECK(known.threshold == doctest::Approx(0.07));
  std::string all;
  for (const auto& d : known.log.list()) all += d.text() + "\n";
  CHECK(all.find("no/such/file.rules: whywait-R070: cannot be read: No such file or directory\n") != std::string::npos);
  CHECK(all.find(".: whywait-R070: cannot be read: Is a directory\n") != std::string::npos);
}

TEST_CASE("the list names every problem and where it is declared") {
  const rules::knowledge known =
      sample::knowledge("declare problem for wait parameters (name = \"mine\", duration = duration);");
  const std::string list = rules::list_text(known);
  CHECK(list.find("late_sender                for late_sender (built-in/messages)") != std::string::npos);
  CHECK(list.find("mine                       for wait (more.rules)") != std::string::npos);
}

TEST_CASE("if there are too many own events, the first are kept and the rest is counted") {
  const listening on;
  static whywait::event<double> numbered("numbered", {"n"});
  const std::uint64_t before = rules::dropped_events(rules::pack_own_events());
  for (int i = 0; i < 100; ++i) numbered(i);
  const rules::own_packet all = rules::pack_own_events();
  CHECK(rules::dropped_events(all) == before);
  const rules::own_packet part = rules::pack_own_events(all.size() / 2);
  CHECK(part.size() < all.size());
  const std::uint64_t dropped = rules::dropped_events(part) - before;
  CHECK(dropped > 0);
  const rules::knowledge known = rules::active_rules({}, {all}, {});
  const auto rows = [&known](const rules::own_packet& packet) {
    rules::event_store store(known);
    CHECK(rules::add_own_events(packet, 0, store));
    return store.plain_rows();
  };
  CHECK(rows(part) + dropped == rows(all));
  CHECK(rules::dropped_events(rules::pack_own_events(0)) == before + rows(all));
}

TEST_CASE("an own event with the name of an event of the analysis is left out, and one line tells") {
  const listening on;
  static whywait::event<double> composite("join", {"n"}), fact("run", {"n"});
  composite(1);
  fact(1);
  const rules::own_packet packet = rules::pack_own_events();
  const rules::knowledge known = rules::active_rules({}, {packet}, {});
  std::string all;
  for (const auto& d : known.log.list()) all += d.text() + "\n";
  for (const char* name : {"join", "run"}) CHECK(all.find(std::string("whywait::event ") + name) != std::string::npos);
  rules::event_store store(known);
  CHECK(rules::add_own_events(packet, 0, store));
  for (const char* name : {"join", "run"}) CHECK(store.table(known.find(name)).rows == 0);
  (void)with_own(known, {packet});
}
