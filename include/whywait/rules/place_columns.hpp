#ifndef WHYWAIT_RULES_PLACE_COLUMNS_HPP
#define WHYWAIT_RULES_PLACE_COLUMNS_HPP

#include <whywait/rules/event_store.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Where something is in the program. Facts are made from any struct with these members: the report has one of its own.
struct place {
  std::string call;    ///< "MPI_Recv"; empty for regions and steps
  std::string name;    ///< of a region or step
  std::string kind;    ///< of a region or step: "region", "step", "waiting"
  std::string region;  ///< path of enclosing regions, "main/exchange"
  std::string file;
  int line = 0;
  std::string function;  ///< without return type, parameters and template arguments
  std::string module;
  std::uint64_t offset = 0;
};

namespace detail {

inline std::string after_last_slash(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

/// "halo.cpp:131", without debug information "app+0x1234", else empty.
template <class Place>
std::string code_of(const Place& p) {
  if (!p.file.empty()) return after_last_slash(p.file) + (p.line > 0 ? ":" + std::to_string(p.line) : "");
  if (p.module.empty()) return {};
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, p.offset, 16);
  return p.module + "+0x" + std::string(digits, end.ptr);
}

/// What is long loses its middle: "compute_the_num...tructured_mesh". A sentence names things, it does not dump them.
inline std::string shortened(const std::string& text) {
  constexpr std::size_t most = 48, dots = 3;
  if (base::columns_in(text) <= most) return text;
  std::size_t head = (most - dots + 1) / 2, tail = text.size() - (most - dots) / 2;
  while (head > 0 && (static_cast<unsigned char>(text[head]) & 0xc0u) == 0x80) --head;
  while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xc0u) == 0x80) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

/// The innermost region, else the function.
template <class Place>
std::string within_of(const Place& p) {
  if (!p.region.empty()) return after_last_slash(p.region);
  return p.function;
}

/// A call as advice names it: "MPI_Send (halo.cpp:131)"; "the call" if nothing is known.
template <class Place>
std::string call_of(const Place* p) {
  if (p == nullptr || p->call.empty()) return "the call";
  const std::string code = code_of(*p);
  return base::clean(p->call + (code.empty() ? "" : " (" + code + ")"));
}

template <class Place>
action action_at(const Place* p) {
  action a;
  if (p == nullptr) {
    a.text = "a call at an unknown place";
    return a;
  }
  a.call = base::clean(p->call);
  a.region = base::clean(within_of(*p));
  a.file = base::clean(p->file);
  a.line = p->line;
  const std::string code = base::clean(code_of(*p));
  a.text = (a.call.empty() ? "a call" : a.call) + (a.region.empty() ? "" : " in " + a.region) + (code.empty() ? "" : " (" + code + ")");
  return a;
}

}  // namespace detail
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
