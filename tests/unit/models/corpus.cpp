// The corpus of the fuzz target of this room, without a fuzzer: inputs that once found something stay harmless.
#define LLVMFuzzerTestOneInput graph_one
#include "../../fuzz/models_graph.cpp"
#undef LLVMFuzzerTestOneInput
#include "../../fuzz/corpus.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("every graph of the fuzzers' corpus is solved or refused") {
  const auto entries = read_corpus(WHYWAIT_TEST_SOURCE_DIR "/tests/fuzz/models_graph.corpus");
  for (const std::string& graph : entries) {
    CAPTURE(graph);
    CHECK(replay(graph_one, graph) == 0);
  }
  CHECK(entries.size() >= 246);
}
