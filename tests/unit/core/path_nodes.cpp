#include <whywait/core/path_nodes.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace {

/// A list of complete nodes without bodies.
class complete_nodes : public whywait::core::detail::path_nodes {
 public:
  complete_nodes() { REQUIRE(open(16)); }
  ~complete_nodes() { release(); }
  complete_nodes(const complete_nodes&) = delete;
  complete_nodes& operator=(const complete_nodes&) = delete;

  std::uint32_t add(std::uint32_t symbol) {
    push(symbol);
    keep();
    return size_ - 1;
  }
  void remove_last() { forget(--size_); }
  /// The last node like that at `place`.
  std::uint32_t last_like(std::uint32_t place) { return head(list_[place].hash) / 2 - 1; }
  /// The last node like it before the one at `place`; -1 if there is none.
  std::uint32_t one_before(std::uint32_t place) const { return list_[place].same / 2 - 1; }
};

}  // namespace

TEST_CASE("complete nodes are found by their hash, the last one first, until they are removed") {
  complete_nodes nodes;
  const std::uint32_t first = nodes.add(7), other = nodes.add(9), second = nodes.add(7);
  CHECK(nodes.last_like(first) == second);
  CHECK(nodes.last_like(other) == other);
  CHECK(nodes.one_before(second) == first);
  CHECK(nodes.one_before(first) == ~std::uint32_t(0));
  nodes.remove_last();
  CHECK(nodes.last_like(first) == first);
  CHECK(nodes.last_like(other) == other);
}
