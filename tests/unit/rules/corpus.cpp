// The corpus of the fuzzers, without a fuzzer: what was once interesting stays harmless.
#define LLVMFuzzerTestOneInput parse_one
#include "../../fuzz/rules_parse.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput evaluate_one
#include "../../fuzz/rules_evaluate.cpp"
#undef LLVMFuzzerTestOneInput

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

TEST_CASE("every text of the fuzzers' corpus is read and run without harm") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(WHYWAIT_TEST_SOURCE_DIR) + "/tests/fuzz/corpus/rules")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    CAPTURE(entry.path().filename().string());
    CHECK(parse_one(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) == 0);
    CHECK(evaluate_one(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) == 0);
    ++files;
  }
  CHECK(files > 100);
}
