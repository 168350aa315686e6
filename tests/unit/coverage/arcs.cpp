#include <whywait/coverage/counters/arcs.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

using namespace whywait;

namespace {

/// Functions with four counters each, and a gap of one word before every tenth.
struct counted_file {
  static constexpr std::uint32_t functions = 60;
  std::vector<std::uint64_t> counters, known;
  std::vector<core::counted_function> all;
  core::code_source source{};
  core::counted_span span{};

  counted_file() : counters(functions * 5), known(counters.size()) {
    std::uint64_t at = 0;
    for (std::uint32_t f = 0; f != functions; ++f) {
      if (f % 10 == 9) ++at;
      all.push_back({f, 0, 4 * f, 4, counters.data() + at});
      at += 4;
    }
    source.first = 1000;
    source.functions = all.data();
    source.function_count = functions;
    span = {counters.data(), known.data(), static_cast<std::uint32_t>(at), 0, functions};
  }
  std::uint32_t offset(std::uint32_t f) const { return static_cast<std::uint32_t>(all[f].counters - counters.data()); }

  std::vector<std::pair<std::uint32_t, std::uint64_t>> changed(std::uint32_t from_function, std::uint32_t from,
                                                               std::uint32_t to) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
    const core::step_sink sink{&found, [](void* self, const core::path_step& step) noexcept {
                                 static_cast<std::vector<std::pair<std::uint32_t, std::uint64_t>>*>(self)->emplace_back(
                                     step.block, step.visits);
                               }};
    coverage::detail::collect_changed(source, span, from_function, from, to, sink);
    return found;
  }
};

}  // namespace

TEST_CASE("changed counters are found in every function, wherever the search begins") {
  for (std::uint32_t f = 0; f != counted_file::functions; ++f)
    for (std::uint32_t begin = 0; begin <= f; ++begin) {
      CAPTURE(f);
      CAPTURE(begin);
      counted_file file;
      const std::uint32_t at = file.offset(f);
      file.counters[at + 2] = 5;
      const auto found = file.changed(begin, at, at + 4);
      REQUIRE(found.size() == 1);
      CHECK(found[0].first == 1000 + 4 * f + 2);
      CHECK(found[0].second == 5);
      CHECK(file.changed(begin, at, at + 4).empty());  // nothing since
    }
}

TEST_CASE("words between functions belong to none") {
  counted_file file;
  file.counters[file.offset(9) - 1] = 7;
  file.counters[file.offset(9)] = 1;
  const auto found = file.changed(0, 0, file.span.words);
  REQUIRE(found.size() == 1);
  CHECK(found[0].first == 1000 + 4 * 9);
}
