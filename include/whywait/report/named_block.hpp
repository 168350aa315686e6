#ifndef WHYWAIT_REPORT_NAMED_BLOCK_HPP
#define WHYWAIT_REPORT_NAMED_BLOCK_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// A block of code with its name and place.
struct named_block {
  std::string kind;    ///< region, step, waiting, between, call, startup, other
  std::string block;   ///< name, or for derived blocks a phrase: "between MPI_Waitall at step (halo.cpp:20) and ..."
  std::string within;  ///< region around an untimed step
  base::place where;         ///< place of the block; of a derived block the call site at its end
  std::optional<base::place> from;  ///< between: the call site at its begin (empty: MPI_Init)

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  named_block() = default;
  [[gnu::noinline]] named_block(const named_block&) = default;
  [[gnu::noinline]] named_block(named_block&&) = default;
  [[gnu::noinline]] named_block& operator=(const named_block&) = default;
  [[gnu::noinline]] named_block& operator=(named_block&&) = default;
  [[gnu::noinline]] ~named_block() = default;
};

/// Whether `between` code has no call at its end: its thread still ran when the run ended.
inline bool ends_openly(const named_block& b) noexcept { return b.kind == "between" && b.block.compare(0, 6, "after ") == 0; }

/// Lines that name a block. They have at most `columns` if the file name fits, otherwise at most `room`.
inline base::vector<std::string> label_of(const named_block& b, std::size_t columns, std::size_t room) {
  if (b.kind == "between") {
    const bool open = ends_openly(b);
    const std::string before = open ? "after " : "between ";
    base::vector<std::string> lines = {before + base::start_text()};
    if (b.from) lines = call_lines(*b.from, room, before);
    if (open) return lines;
    for (std::string& line : call_lines(b.where, room, "    and ")) lines.push_back(std::move(line));
    return lines;
  }
  if (b.kind == "call") return call_lines(b.where, room, "inside ");
  const std::string name = base::printable(b.block);
  std::string code = code_text(b.where);
  if (!code.empty()) code = " (" + code + ")";
  const std::size_t left = columns > base::display_width(code) ? columns - base::display_width(code) : 0;
  if (base::display_width(name) <= left || left >= 12)
    return {base::shorten_middle(name, std::max<std::size_t>(left, 12)) + code};
  return {base::shorten_middle(name, room), code.substr(code.empty() ? 0 : 1)};
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
