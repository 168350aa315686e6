#ifndef WHYWAIT_REPORT_NAMES_PACKET_HPP
#define WHYWAIT_REPORT_NAMES_PACKET_HPP

#include <whywait/base/places.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace report {

/// A name table as bytes, to send to the rank that prints. For ranks of one job only: the byte order is the machine's.
/// The same table always gives the same bytes.
inline std::string pack(const base::names& all) {
  std::string out;
  const auto number = [&out](std::uint64_t n) { out.append(reinterpret_cast<const char*>(&n), sizeof n); };
  const auto text = [&](const std::string& s) {
    number(s.size());
    out += s;
  };
  for (const auto& [key, p] : all.entries()) {
    number(key);
    number(static_cast<std::uint64_t>(p.line));
    number(static_cast<std::uint64_t>(p.last_line));
    number(p.offset);
    for (const std::string* s : {&p.call, &p.name, &p.kind, &p.region, &p.file, &p.function, &p.module}) text(*s);
  }
  return out;
}

/// Adds what `pack` made. False when the bytes end too early; what came before is kept.
inline bool unpack(std::string_view bytes, base::names& into) {
  const auto number = [&bytes](std::uint64_t& n) {
    if (bytes.size() < sizeof n) return false;
    std::memcpy(&n, bytes.data(), sizeof n);
    bytes.remove_prefix(sizeof n);
    return true;
  };
  const auto text = [&](std::string& s) {
    std::uint64_t size = 0;
    if (!number(size) || size > bytes.size()) return false;
    s.assign(bytes.substr(0, static_cast<std::size_t>(size)));
    bytes.remove_prefix(static_cast<std::size_t>(size));
    return true;
  };
  while (!bytes.empty()) {
    std::uint64_t key = 0;
    std::uint64_t line = 0, last_line = 0;
    base::place p;
    if (!number(key) || !number(line) || !number(last_line) || !number(p.offset)) return false;
    p.line = static_cast<int>(line);
    p.last_line = static_cast<int>(last_line);
    for (std::string* s : {&p.call, &p.name, &p.kind, &p.region, &p.file, &p.function, &p.module})
      if (!text(*s)) return false;
    into.add(key, std::move(p));
  }
  return true;
}

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
