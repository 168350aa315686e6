#include "sample.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

bool says(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

std::size_t count(const std::string& text, const char* what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the rule of the paper parses word for word") { CHECK(sample::messages(sample::paper_rule()).empty()); }

TEST_CASE("the paper's rule parses with typographic quotes and blanks that do not break") {
  CHECK(sample::messages("declare problem for\xc2\xa0point_to_point when send_start_time > recv_wait_start_time parameters ("
                         "name = “Поздняя посылка”, duration = send_start_time - recv_wait_start_time);")
            .empty());
}

TEST_CASE("the built-in knowledge base has no errors") {
  const auto known = sample::knowledge();
  for (const auto& d : known.log.list()) MESSAGE(d.text());
  CHECK(known.log.empty());
  CHECK(known.problems.size() >= 15);
}

TEST_CASE("a message has file, line and column, and the line with a caret under the error") {
  CHECK(sample::messages(
            "declare problem for wait\n  when duration > > 2 s\n  parameters (name = \"x\", duration = duration);") ==
        "my.rules:2:19: whywait-R010: expected a value, found '>'\n"
        "      when duration > > 2 s\n"
        "                      ^\n");
}

TEST_CASE("the column counts characters, not bytes") {
  CHECK(says(sample::messages("declare problem for wait parameters (name = \"жёлтый\", duration = durration);"),
             "my.rules:1:66: whywait-R021"));
}

TEST_CASE("one run shows several errors, in every declaration") {
  const auto condition = [](const char* text) {
    return sample::messages(std::string("declare problem for wait when ") + text +
                            " parameters (name = \"x\", duration = duration);");
  };
  CHECK(says(condition("duration => 1 s"), "'=>': write >="));
  CHECK(says(condition("duration =< 1 s"), "'=<': write <="));
  CHECK(says(condition("duration > 1 s && count > 1"), "'&&' means nothing here: write and"));
  CHECK(says(condition("duration > 1 s || count > 1"), "'||' means nothing here: write or"));
  const std::string all = sample::messages(
      "declare problem for wait when duraton > 1 s parameters (name = \"a\", duration = wait);\n"
      "delcare composite event x;\n"
      "declare problem for late_sendr parameters (name = \"b\", advise = \"x\", duration = 1 s);\n"
      "declare problem for wait parameters (name = , duration = 1 s, saving = (2 s);\n");
  CHECK(says(all, "did you mean duration?"));
  CHECK(says(all, "whywait-R043"));
  CHECK(says(all, "did you mean declare?"));
  CHECK(says(all, "did you mean late_sender?"));
  CHECK(says(all, "my.rules:4:45: whywait-R010: expected a value, found ','"));
  CHECK(count(all, "whywait-R") >= 5);
}

TEST_CASE("the name of a call without quotes is a text that lacks them") {
  const char* const rule = "declare problem for wait when operation = MPI_Allreduce parameters (name = \"x\", duration = 1 s);";
  CHECK(says(sample::messages(rule), "a text stands in quotes: 'MPI_Allreduce'"));
}

TEST_CASE("each error has its number") {
  const struct {
    const char* number;
    const char* text;
  } cases[] = {
      {"R001", "declare $ problem;"},
      {"R001", "declare problem for wait parameters (name = \"\xff\", duration = 1 s);"},
      {"R002", "declare problem for wait parameters (name = \"x, duration = 1 s);"},
      {"R003", "declare problem for wait parameters (name = \"\\q\", duration = 1 s);"},
      {"R004", "set threshold = 1e999;"},
      {"R005", "declare problem for wait parameters (name = \"x\", advice = \"{duration\", duration = 1 s);"},
      {"R005", "declare problem for wait parameters (name = \"x\", advice = \"duration}\", duration = 1 s);"},
      {"R010", "declare problem wait parameters (name = \"x\", duration = 1 s);"},
      {"R010", "declare problem for wait parameters (name = \"x\", duration = 1 s)"},
      {"R010", "declare problem for wait when 1 < 2 < 3 parameters (name = \"x\", duration = 1 s);"},
      {"R020", "declare problem for nothing parameters (name = \"x\", duration = 1 s);"},
      {"R021", "declare problem for wait parameters (name = \"x\", duration = nothing);"},
      {"R022", "declare problem for late_sender parameters (name = \"x\", duration = q.duration);"},
      {"R023", "declare problem for wait parameters (name = \"x\", duration = mix(1 s, 2 s));"},
      {"R024", "declare simple event x function MPI_Sned parameters (a = in tag);"},
      {"R025", "declare problem for wait when duration > 2 sec parameters (name = \"x\", duration = 1 s);"},
      {"R025", "declare simple event x parameters (a = float);"},
      {"R026", "remove problem \"late_sendr\";"},
      {"R027", "set treshold = 1 %;"},
      {"R030",
       "declare problem for wait parameters (name = \"x\", duration = 1 s); declare problem for wait parameters (name "
       "= \"x\", duration = 1 s);"},
      {"R030", "declare composite event wait member (block as b);"},
      {"R030", "declare simple event join parameters (x = number);"},
      {"R031", "declare problem for wait parameters (name = \"x\");"},
      {"R031", "declare problem for wait parameters (duration = 1 s);"},
      {"R032", "declare composite event a member (b as x); declare composite event b member (a as x);"},
      {"R040", "declare problem for wait when pattern > 1 parameters (name = \"x\", duration = 1 s);"},
      {"R040", "declare problem for wait when duration parameters (name = \"x\", duration = 1 s);"},
      {"R041", "declare problem for wait when duration > 3 parameters (name = \"x\", duration = 1 s);"},
      {"R041", "declare problem for traffic when bytes > 3 s parameters (name = \"x\", duration = 1 s);"},
      {"R042", "declare problem for wait parameters (name = \"x\", duration = min(1 s));"},
      {"R043", "declare problem for wait parameters (name = \"x\", duration = count);"},
      {"R044", "declare simple event x function MPI_Recv parameters (a = in duration);"},
      {"R046", "declare problem for wait when count() > 1 parameters (name = \"x\", duration = 1 s);"},
      {"R047", "declare composite event x member (wait as a, wait as b) when a.duration < b.duration;"},
      {"R049", "declare problem for wait parameters (name = \"x{wait}\", duration = 1 s);"},
      {"R049", "set threshold = 3 s;"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const std::string found = sample::messages(c.text);
    CAPTURE(found);
    CHECK(says(found, (std::string("whywait-") + c.number).c_str()));
  }
}

TEST_CASE("nesting and size are bounded with clear errors") {
  const std::string head = "declare problem for wait parameters (name = \"x\", duration = ";
  const auto nested = [&](std::size_t depth) {
    return head + std::string(depth, '(') + "1 s" + std::string(depth, ')') + ");";
  };
  CHECK(sample::messages(nested(150)).empty());
  CHECK(says(sample::messages(nested(100000)), "whywait-R011"));
  std::string minus = head;
  for (int i = 0; i < 100000; ++i) minus += "-";
  CHECK(says(sample::messages(minus + "1 s);"), "whywait-R011"));
  std::string sum = head + "1 s";
  for (int i = 0; i < 10000; ++i) sum += "+1 s";
  CHECK(says(sample::messages(sum + ");"), "whywait-R011"));
  CHECK(says(sample::messages(std::string((1 << 20) + 1, ' ')), "whywait-R012"));
  CHECK(says(sample::messages("set x = \"" + std::string(40000, 'a') + "\";"), "whywait-R012"));
}

TEST_CASE("messages about one text are bounded") {
  std::string bad;
  for (int i = 0; i < 1000; ++i) bad += "declare x;\n";
  CHECK(count(sample::messages(bad), "whywait-R") == whywait::rules::diagnostics::most);
}

TEST_CASE("a line break inside a string, with the blanks around it, is one blank") {
  CHECK(sample::value("'a  \n     b'") == "a b");
  CHECK(sample::value("'a  b'") == "a  b");
}

TEST_CASE("a comma may follow the last element, and comments end with their line") {
  CHECK(sample::messages("declare composite event x # a name\n member ( wait as w, ) parameters ( d = w.duration, );").empty());
}

TEST_CASE("a wrong rule keeps the one it would have replaced") {
  const auto known = sample::knowledge("declare problem for wait parameters (name = \"late_sender\", duration = nonsense +);");
  CHECK(!known.log.empty());
  bool found = false;
  for (const auto& p : known.problems) found = found || (p.name == "late_sender" && p.built_in);
  CHECK(found);
}

TEST_CASE("so does one whose expressions are wrong, and a second rule of the same name in one text") {
  const auto source_of = [](const rules::knowledge& known, const char* name) {
    std::string text;
    for (const auto& p : known.problems)
      if (p.name == name) text += text.empty() ? known.log.source(p.source).name : std::string(" and another");
    return text;
  };
  rules::compiler all;
  rules::add_base(all);
  const std::string once = "declare problem for wait parameters (name = \"late\", duration = duration);";
  all.add("first", once);
  all.add("second",
          "declare problem for wait parameters (name = \"late\", duration = durations);"
          "declare problem for wait parameters (name = \"late_sender\", duration = durations);");
  const rules::knowledge known = all.finish();
  CHECK(known.log.list().size() == 2);
  CHECK(source_of(known, "late") == "first");
  CHECK(source_of(known, "late_sender") != "second");
  CHECK(!source_of(known, "late_sender").empty());

  const rules::knowledge twice =
      sample::knowledge(once + "declare problem for wait parameters (name = \"late\", duration = 1 s);");
  CHECK(twice.log.list().size() == 1);
  int count = 0;
  for (const auto& p : twice.problems) count += p.name == "late";
  CHECK(count == 1);
}
