// Any text is a report or refused with its place; a report compared with itself did not change, and can be printed.
//
// corpus: compare_reports.corpus
// options: -max_len=2000 -timeout=20
// compiled with: -O0
#include <whywait/compare.hpp>
#include <whywait/comparison/badge.hpp>
#include <whywait/comparison/compare_json.hpp>
#include <whywait/comparison/compare_markdown.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whywait::comparison;
  try {
    const compared_run run = run_from_json(std::string(reinterpret_cast<const char*>(data), size), "input");
    const changes same = whywait::compare(run, run);
    if (same.worse() || same.better()) std::abort();
    compared_run other = run;
    other.seconds *= 2;
    for (listed_wait& w : other.waits) w.seconds *= 2;
    const changes found = whywait::compare(run, other);
    if (text_of(found).empty() || markdown_of(found).empty() || badge_of(found).empty() || badge_of(run).empty()) std::abort();
    parse_json(json_of(found));
  } catch (const unreadable&) {
  }
  return 0;
}
