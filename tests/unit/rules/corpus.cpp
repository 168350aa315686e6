// The corpus of the fuzz targets of this room, without a fuzzer: inputs that once found something stay harmless.
#define LLVMFuzzerTestOneInput parse_one
#include "../../fuzz/rules_parse.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput evaluate_one
#include "../../fuzz/rules_evaluate.cpp"
#undef LLVMFuzzerTestOneInput
#include "../../fuzz/corpus.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include <string>

TEST_CASE("every text of the fuzzers' corpus is read and run without harm") {
  const auto entries = read_corpus(WHYWAIT_TEST_SOURCE_DIR "/tests/fuzz/rules.corpus");
  for (const std::string& text : entries) {
    CAPTURE(text);
    CHECK(replay(parse_one, text) == 0);
    CHECK(replay(evaluate_one, text) == 0);
  }
  CHECK(entries.size() >= 692);
}

TEST_CASE("a corpus file with a line that is no entry is refused with its place") {
  const auto message = [](const std::string& line) -> std::string {
    const std::string path = "/tmp/whywait_corpus_" + std::to_string(getpid());
    std::ofstream(path) << "# a comment\n" << line << "\n";
    std::string told;
    try {
      for (const std::string& entry : read_corpus(path)) told += "[" + entry + "]";
    } catch (const std::runtime_error& problem) {
      told = problem.what() + path.size();
    }
    std::remove(path.c_str());
    return told;
  };
  CHECK(message(R"("a\n\t\\\"\x01\xff")") == "[a\n\t\\\"\x01\xff]");
  CHECK(message("\"\"") == "[]");
  const std::string refused = ":2: expected one input in double quotes";
  for (const char* line : {"", "a", "\"", "\"a", "\"\\\"", "\"\\q\"", "\"\\x1\"", "\"\\xfg\"", "\"a\"b\""}) {
    CAPTURE(line);
    CHECK(message(line) == refused);
  }
}
