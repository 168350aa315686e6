#include <whywait/coverage/names/gcov_notes.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace coverage = whywait::coverage;

namespace {

// Writes the format of g++ 12 (lengths in bytes) or of clang (lengths in words).
struct writer {
  bool clang;
  std::string bytes;

  void word(std::uint32_t w) { bytes.append(reinterpret_cast<const char*>(&w), 4); }
  void text(std::string t) {
    t += '\0';
    while (clang && t.size() % 4 != 0) t += '\0';
    word(static_cast<std::uint32_t>(clang ? t.size() / 4 : t.size()));
    bytes += t;
  }
  template <class Content>
  void record(std::uint32_t tag, Content content) {
    word(tag);
    word(0);
    const std::size_t begin = bytes.size();
    content();
    const auto length = static_cast<std::uint32_t>((bytes.size() - begin) / (clang ? 4 : 1));
    bytes.replace(begin - 4, 4, reinterpret_cast<const char*>(&length), 4);
  }
};

std::string sample(bool clang, std::uint32_t version = 0x4232322a) {
  writer w{clang, {}};
  w.word(0x67636e6f);
  w.word(clang ? 0x3430382a : version);
  w.word(4711);
  if (!clang) {
    w.word(0);
    w.text("/somewhere");
    w.word(1);
  }
  w.record(0x01000000, [&] {
    w.word(7);
    w.word(100);
    w.word(200);
    w.text("_Z1fi");
    if (!clang) w.word(0);
    w.text("a.cpp");
    w.word(3);
    for (int i = 0; !clang && i < 3; ++i) w.word(1);
  });
  w.record(0x01410000, [&] {
    if (!clang) return w.word(4);
    for (int i = 0; i < 4; ++i) w.word(0);
  });
  w.record(0x01430000, [&] { w.word(0), w.word(2), w.word(4); });
  w.record(0x01430000, [&] { w.word(2), w.word(3), w.word(1), w.word(1), w.word(3); });
  w.record(0x01430000, [&] { w.word(3), w.word(1), w.word(1); });
  w.record(0x7fff0000, [&] { w.word(0); });  // an unknown record
  w.record(0x01450000, [&] {
    w.word(2);
    w.word(0);
    w.text("a.cpp");
    w.word(3);
    w.word(4);
    w.word(0);
    w.text("inlined.hpp");
    w.word(99);
    w.word(0);
    w.word(0);
  });
  return w.bytes;
}

}  // namespace

TEST_CASE("a notes file of g++ or clang gives blocks, arcs and lines") {
  for (const bool clang : {false, true}) {
    coverage::gcov_notes notes;
    std::string problem;
    REQUIRE(coverage::read_gcov_notes(sample(clang), notes, problem));
    CHECK(notes.stamp == 4711);
    REQUIRE(notes.functions.size() == 1);
    const coverage::noted_function& f = notes.functions[0];
    CHECK(f.ident == 7);
    CHECK(f.checksum == (clang ? 100 : 200));
    CHECK(f.name == "_Z1fi");
    CHECK(f.file == "a.cpp");
    CHECK(f.line == 3);
    REQUIRE(f.flow.blocks.size() == 4);
    CHECK(f.flow.blocks[2].lines == whywait::base::pod_vector<int>{3, 4});
    REQUIRE(f.flow.arcs.size() == 4);
    CHECK(f.flow.arcs[0].counted);
    CHECK_FALSE(f.flow.arcs[1].counted);
    CHECK(f.flow.arcs[2].fake);
  }
}

TEST_CASE("files that are not notes or have an unknown version are refused with a reason") {
  coverage::gcov_notes notes;
  std::string problem;
  CHECK_FALSE(coverage::read_gcov_notes("", notes, problem));
  CHECK(problem == "is no notes file");
  CHECK_FALSE(coverage::read_gcov_notes(sample(false, 0x4135302a), notes, problem));  // "A50*"
  CHECK(problem == "was written by another compiler than g++ 10 to 13 or clang");
}

TEST_CASE("a notes file that was cut anywhere is read without harm") {
  for (const bool clang : {false, true}) {
    const std::string whole = sample(clang);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      coverage::gcov_notes notes;
      std::string problem;
      coverage::read_gcov_notes(whole.substr(0, length), notes, problem);
      CHECK(notes.functions.size() <= 1);
      for (const coverage::noted_function& f : notes.functions)
        for (const coverage::flow_graph::arc& a : f.flow.arcs)
          CHECK((a.from < f.flow.blocks.size() && a.to < f.flow.blocks.size()));
    }
  }
}
