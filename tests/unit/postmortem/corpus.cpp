// The corpus of the fuzz target of this room, without a fuzzer: damage that once found something stays harmless.
#include "../../fuzz/corpus.hpp"
#define WHYWAIT_TEST_SCENARIOS_ELSEWHERE
#include "../../fuzz/kept_files.cpp"

#include <string>

TEST_CASE("every damaged file of the fuzzers' corpus is read or refused in clear lines") {
  const auto entries = read_corpus(WHYWAIT_TEST_SOURCE_DIR "/tests/fuzz/kept_files.corpus");
  for (const std::string& damage : entries) {
    CAPTURE(damage);
    CHECK(replay(LLVMFuzzerTestOneInput, damage) == 0);
  }
  CHECK(entries.size() >= 70);
}
