// Any text is a list of questions or an error with a number; what is read can be written and read again.
// Built and run as predict_graph.cpp.
#include <whywait/predict/question.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whywait::predict;
  try {
    for (const question& q : parse_questions(std::string(reinterpret_cast<const char*>(data), size))) {
      const std::vector<question> again = parse_questions(q.text());
      if (again.size() != 1 || again[0].name != q.name || again[0].what != q.what) std::abort();
    }
  } catch (const prediction_error&) {
  }
  return 0;
}
