#include "sample.hpp"

#include <whywait/rules/calls.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace rules = sample::rules;

const char* const point_types = R"(
declare simple event left parameters ( key = number, value = number );
declare simple event right parameters ( key = number, value = number );
)";

struct world {
  rules::knowledge known;
  rules::event_store store;
  explicit world(const std::string& text) : known(compile(text)), store(known) {}
  static rules::knowledge compile(const std::string& text) {
    rules::compiler all;
    all.add("types.rules", point_types);
    all.add("my.rules", text);
    rules::knowledge k = all.finish();
    for (const auto& d : k.log.list()) MESSAGE(d.text());
    CHECK(k.log.empty());
    return k;
  }
  void event(const char* type, double key, double value, double weight = 1) {
    rules::row_writer(store, type).set("key", key).set("value", value).weight(weight);
  }
  rules::findings run() { return rules::evaluator(store).evaluate(); }
  std::uint32_t rows(const char* type) { return store.table(known.find(type)).rows; }
  double cell(const char* type, std::uint32_t row, const char* column) {
    return store.table(known.find(type)).row(row)[known.types[known.find(type)].find(column)];
  }
};

}  // namespace

TEST_CASE("a member that is not shared belongs to one composite event only, the earliest first") {
  world w(
      "declare composite event pair member (left as l, right as r) when l.key = r.key parameters (a = l.value, b = "
      "r.value);");
  for (int i = 0; i < 3; ++i) w.event("left", 1, i);
  for (int i = 0; i < 2; ++i) w.event("right", 1, 10 + i);
  w.run();
  REQUIRE(w.rows("pair") == 2);
  CHECK(w.cell("pair", 0, "a") == 0);
  CHECK(w.cell("pair", 0, "b") == 10);
  CHECK(w.cell("pair", 1, "a") == 1);
  CHECK(w.cell("pair", 1, "b") == 11);
}

TEST_CASE("a shared member may belong to several composite events") {
  world w(
      "declare composite event pair member (left as l, shared right as r) when l.key = r.key parameters (a = "
      "l.value);");
  for (int i = 0; i < 3; ++i) w.event("left", 1, i);
  w.event("right", 1, 10);
  w.run();
  CHECK(w.rows("pair") == 3);
}

TEST_CASE("two rules may use the same event: adding a rule takes nothing from another") {
  world w(
      "declare composite event p member (left as l, right as r) when l.key = r.key;"
      "declare composite event q member (left as l, right as r) when l.key = r.key;");
  w.event("left", 1, 0);
  w.event("right", 1, 0);
  w.run();
  CHECK(w.rows("p") == 1);
  CHECK(w.rows("q") == 1);
}

TEST_CASE("the rest of a condition is looked at for every candidate, also keys that are computed") {
  world w(
      "declare composite event pair member (left as l, right as r) when l.key + 1 = r.key * 2 and l.value > r.value "
      "and r.value > 0"
      " parameters (b = r.value);");
  w.event("left", 1, 5);
  w.event("right", 1, 9);
  w.event("right", 1, 0);
  w.event("right", 1, 3);
  w.run();
  REQUIRE(w.rows("pair") == 1);
  CHECK(w.cell("pair", 0, "b") == 3);
}

TEST_CASE("composite events may be members of composite events in any order of declaration") {
  world w(
      "declare composite event outer member (inner as i, right as r) when i.k = r.key parameters (v = i.v + r.value);"
      "declare composite event inner member (left as l) when l.value > 1 parameters (k = l.key, v = l.value);");
  w.event("left", 1, 5);
  w.event("left", 2, 1);
  w.event("right", 1, 2);
  w.event("right", 2, 2);
  w.run();
  REQUIRE(w.rows("outer") == 1);
  CHECK(w.cell("outer", 0, "v") == 7);
}

TEST_CASE("gathering events makes one for each key, with weights") {
  world w(
      "declare composite event g member (all left as l) when l.value >= 0 by (l.key)"
      " parameters (k = l.key, n = count(), s = sum(l.value), m = mean(l.value), a = least(l.value), b = most(l.value),"
      " d = distinct(l.value), twice = s * 2);");
  w.event("left", 1, 2, 3);
  w.event("left", 2, 7);
  w.event("left", 1, 4);
  w.event("left", 1, 4);
  w.event("left", 1, -1);
  w.run();
  REQUIRE(w.rows("g") == 2);
  CHECK(w.cell("g", 0, "n") == 5);
  CHECK(w.cell("g", 0, "s") == 14);
  CHECK(w.cell("g", 0, "m") == doctest::Approx(2.8));
  CHECK(w.cell("g", 0, "a") == 2);
  CHECK(w.cell("g", 0, "b") == 4);
  CHECK(w.cell("g", 0, "d") == 2);
  CHECK(w.cell("g", 0, "twice") == 28);
  CHECK(w.cell("g", 1, "k") == 2);
}

TEST_CASE("a rule that divides by zero is reported once and skips only the affected event") {
  world w(
      "declare composite event p member (left as l) parameters (q = 1 / l.value);"
      "declare problem for p parameters (name = \"x\", duration = q * 1 s);");
  w.event("left", 1, 0);
  w.event("left", 1, 4);
  w.event("left", 1, 0);
  const rules::findings f = w.run();
  REQUIRE(f.troubles.size() == 1);
  CHECK(f.troubles[0].number == rules::code::division_by_zero);
  CHECK(f.troubles[0].times == 2);
  REQUIRE(f.list.size() == 1);
  CHECK(f.list[0].seconds == 0.25);
}

TEST_CASE("a condition that selects too little is stopped instead of trying all pairs") {
  world w(
      "declare composite event p member (shared left as l, shared right as r) when l.key = r.key and l.value + r.value "
      "< 0;");
  for (int i = 0; i < 20000; ++i) {
    w.event("left", 1, i);
    w.event("right", 1, i);
  }
  const rules::findings f = w.run();
  REQUIRE(f.troubles.size() == 1);
  CHECK(f.troubles[0].number == rules::code::too_many_tries);
}

TEST_CASE("rules over rules cannot eat up the memory") {
  world w("declare composite event p member (shared left as l, shared right as r) when l.key = r.key;");
  w.store.composite_cells = 1000;
  for (int i = 0; i < 100; ++i) {
    w.event("left", 1, i);
    w.event("right", 1, i);
  }
  const rules::findings f = w.run();
  REQUIRE(f.troubles.size() == 1);
  CHECK(f.troubles[0].number == rules::code::too_many_events);
  CHECK(w.rows("p") <= 1000);
}

TEST_CASE("a composite event stands for as many as its members do, from the first on") {
  world w(
      "declare composite event p member (left as l, right as r) when l.key = r.key parameters (v = l.value);"
      "declare problem for p parameters (name = \"x\", duration = v * 1 s);");
  w.event("left", 1, 2, 100);
  w.event("right", 1, 0, 100);
  w.event("left", 2, 3);
  w.event("right", 2, 0);
  const rules::findings f = w.run();
  REQUIRE(f.list.size() == 1);
  CHECK(f.list[0].seconds == 203);
  CHECK(f.list[0].instances == 101);
}

TEST_CASE("minus zero and zero are the same key") {
  world w("declare composite event p member (left as l, right as r) when l.key = r.key;");
  w.event("left", -0.0, 0);
  w.event("right", 0.0, 0);
  w.run();
  CHECK(w.rows("p") == 1);
}

TEST_CASE("findings of one problem are merged by their actions and weighted") {
  world w(
      "declare problem for left when value > 0 parameters (name = \"x\", description = \"{instances}: {value}\", "
      "duration = value * 1 s);");
  const auto a = w.store.add_action({"a", "", "", 0, "a"}), b = w.store.add_action({"b", "", "", 0, "b"});
  rules::row_writer(w.store, "left").set("value", 1).actions(a).weight(10);
  rules::row_writer(w.store, "left").set("value", 3).actions(b);
  rules::row_writer(w.store, "left").set("value", 2).actions(a);
  const rules::findings f = w.run();
  REQUIRE(f.list.size() == 2);
  CHECK(f.list[0].seconds == 12);
  CHECK(f.list[0].description == "11: 2");
  REQUIRE(f.list[0].actions.size() == 1);
  CHECK(f.list[0].actions[0].text == "a");
  CHECK(f.list[1].seconds == 3);
}

TEST_CASE("the fields of a call have the names that tracing rules use") {
  const auto& columns = rules::call_columns();
  REQUIRE(columns.size() == static_cast<std::size_t>(rules::call_field::count_));
  const auto name = [&](rules::call_field f) { return columns[static_cast<std::size_t>(f)].name; };
  CHECK(name(rules::call_field::function) == "function");
  CHECK(name(rules::call_field::bytes) == "bytes");
  CHECK(name(rules::call_field::destination) == "destination");
  CHECK(name(rules::call_field::site) == "site");
  CHECK(name(rules::call_field::duration) == "duration");
  CHECK(name(rules::call_field::count) == "count");
}

TEST_CASE("a value of shared members counts once, however many events share them") {
  const char* const pair =
      "declare composite event pair member (left as l, shared right as r) when l.key = r.key parameters (a = l.value, b = "
      "r.value);";
  const auto fill = [](world& w) {
    w.event("left", 1, 2, 100);
    w.event("left", 1, 3, 50);
    w.event("left", 2, 1);
    w.event("right", 1, 7);
    w.event("right", 2, 11);
  };
  SUBCASE("in a problem") {
    world w(std::string(pair) + "declare problem for pair parameters (name = \"x\", duration = b * 1 s);");
    fill(w);
    const rules::findings f = w.run();
    REQUIRE(f.list.size() == 1);
    CHECK(f.list[0].seconds == 18);
    CHECK(f.list[0].instances == 2);
  }
  SUBCASE("as the member's own parameter") {
    world w(std::string(pair) + "declare problem for pair parameters (name = \"x\", duration = r.value * 1 s);");
    fill(w);
    CHECK(w.run().list.at(0).seconds == 18);
  }
  SUBCASE("in an event of events") {
    world w(std::string(pair) +
            "declare composite event outer member (pair as p) parameters (v = p.b + 1);"
            "declare problem for outer parameters (name = \"x\", duration = v * 1 s);");
    fill(w);
    CHECK(w.run().list.at(0).seconds == 20);
  }
  SUBCASE("in a sum") {
    world w(std::string(pair) + "declare composite event g member (all pair as p) parameters (s = sum(p.b), n = sum(p.a));");
    fill(w);
    w.run();
    CHECK(w.cell("g", 0, "s") == 18);
    CHECK(w.cell("g", 0, "n") == 351);
  }
  SUBCASE("other values count with each event") {
    world w(std::string(pair) + "declare problem for pair parameters (name = \"x\", duration = a * 1 s);");
    fill(w);
    const rules::findings f = w.run();
    CHECK(f.list.at(0).seconds == 351);
    CHECK(f.list[0].instances == 151);
  }
}

TEST_CASE("what no run records is refused with the reason") {
  const auto refused = [](const std::string& text, const char* what) {
    const std::string said = sample::messages(text);
    CAPTURE(said);
    CHECK(said.find("whywait-R028") != std::string::npos);
    CHECK(said.find(what) != std::string::npos);
    CHECK(said.find("whywait-", said.find("whywait-R028") + 1) == std::string::npos);  // one message
  };
  refused("declare simple event e function MPI_Send parameters (n = in ordinal);", "no run records 'ordinal' here");
  refused("declare problem for send when start_time > 1 s parameters (name = \"x\", duration = duration);", "'start_time'");
  refused("declare composite event e member (receive as r) when r.end_time > 0 s;", "'end_time'");
  refused("declare problem for point_to_point when bytes < 1 KiB parameters (name = \"x\", duration = 1 s);", "'bytes'");
  refused("declare problem for lock parameters (name = \"x\", duration = 1 s);", "no run has events 'lock'");
  refused("declare composite event e member (collective as c);", "no run has events 'collective'");
}
