// Any bytes as rules. There must be no crash, hang or leak, and every message must have a position in the text.
//
// corpus: rules.corpus
// options: -dict={source}/rules.dict -max_len=8192 -timeout=20
#include <whywait/rules/compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whywait::rules;
  compiler rules;
  rules.add("fuzz.rules", std::string(reinterpret_cast<const char*>(data), size));
  const knowledge known = rules.finish();
  if (known.log.list().size() > diagnostics::most) std::abort();
  for (const diagnostic& d : known.log.list()) {
    if (d.line == 0 || d.column == 0 || d.message.empty() || d.excerpt.find('^') == std::string::npos) std::abort();
    const std::string text = d.text();
    for (std::size_t at = 0; at < text.size();) {
      const whywait::base::code_point point = whywait::base::code_point_at(text, at);
      if (!point.valid()) std::abort();  // messages must be UTF-8 for any input
      at += point.bytes;
    }
  }
  return 0;
}
