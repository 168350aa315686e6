#ifndef WHYWAIT_REPORT_JSON_PLACE_HPP
#define WHYWAIT_REPORT_JSON_PLACE_HPP

#include <whywait/base/places.hpp>
#include <whywait/report/named_block.hpp>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Writes the known members of a place; the four stable members of a call site are always written.
template <class Writer>
void write_place_members(Writer& out, const base::place& p, bool is_call) {
  if (is_call) out.member("call", p.call);
  out.member("region", p.region).member("file", p.file).member("line", p.line);
  if (p.last_line > p.line) out.member("last_line", p.last_line);
  if (!p.function.empty()) out.member("function", p.function);
  if (!p.module.empty()) out.member("module", p.module).member("offset", p.offset);
  if (!p.caller.empty()) out.member("caller", p.caller);
}

template <class Writer>
void write_place(Writer& out, const char* name, const base::place& p) {
  out.key(name).begin_object();
  write_place_members(out, p, true);
  out.end_object();
}

/// Opens an object and writes the members that name a block.
template <class Writer>
void write_block(Writer& out, const named_block& b) {
  out.begin_object().member("block", b.block).member("kind", b.kind);
  write_place_members(out, b.where, b.kind == "call" || b.kind == "between");
  if (!b.within.empty()) out.member("within", b.within);
  if (b.from) write_place(out, "from", *b.from);
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
