// Any text is a list of questions or an error with a number; what is read can be written and read again.
//
// corpus: whatif_question.corpus
// options: -max_len=400 -timeout=20
#include <whywait/whatif/question.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whywait::models;
  using namespace whywait::whatif;
  whywait::base::vector<question> all;
  try {
    all = parse_questions(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const prediction_error&) {
  }
  for (const question& q : all) {
    const whywait::base::vector<question> again = parse_questions(q.text());
    if (again.size() != 1 || again[0].name != q.name || again[0].what != q.what || again[0].text() != q.text() ||
        again[0].also.size() != q.also.size())
      std::abort();
  }
  return 0;
}
