// The corpora of the fuzz targets of this room, without a fuzzer: inputs that once found something stay harmless.
#define LLVMFuzzerTestOneInput question_one
#include "../../fuzz/whatif_question.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput log_one
#include "../../fuzz/whatif_log.cpp"
#undef LLVMFuzzerTestOneInput
#include "../../fuzz/corpus.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("every question of the fuzzers' corpus is read, and written and read again") {
  const auto entries = read_corpus(WHYWAIT_TEST_SOURCE_DIR "/tests/fuzz/whatif_question.corpus");
  for (const std::string& text : entries) {
    CAPTURE(text);
    CHECK(replay(question_one, text) == 0);
  }
  CHECK(entries.size() >= 260);
}

TEST_CASE("every log of the fuzzers' corpus is answered or refused") {
  const auto entries = read_corpus(WHYWAIT_TEST_SOURCE_DIR "/tests/fuzz/whatif_log.corpus");
  for (const std::string& log : entries) {
    CAPTURE(log);
    CHECK(replay(log_one, log) == 0);
  }
  CHECK(entries.size() >= 323);
}
