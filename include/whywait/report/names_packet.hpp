#ifndef WHYWAIT_REPORT_NAMES_PACKET_HPP
#define WHYWAIT_REPORT_NAMES_PACKET_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/places.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Serialises a name table for the rank that prints. The same table always gives the same bytes.
inline base::packet pack(const base::names& all) {
  base::packet out;
  for (const auto& [key, p] : all.entries()) {
    base::put(out, std::uint64_t{key});
    base::put(out, p.offset);
    base::put(out, p.line);
    base::put(out, p.last_line);
    base::put(out, p.helps);
    base::put(out, p.own_callers);
    for (const std::string* s : {&p.call, &p.name, &p.kind, &p.region, &p.file, &p.function, &p.module, &p.caller})
      base::put_text(out, *s);
  }
  return out;
}

/// Adds what `pack` wrote. Of a truncated packet it adds the complete entries and returns false.
inline bool unpack(const unsigned char* data, std::size_t size, base::names& into) {
  base::packet_reader from(data, size);
  try {
    while (!from.empty()) {
      base::place p;
      const auto key = from.get<std::uint64_t>();
      p.offset = from.get<std::uint64_t>();
      p.line = from.get<int>();
      p.last_line = from.get<int>();
      p.helps = from.get<bool>();
      p.own_callers = from.get<int>();
      for (std::string* s : {&p.call, &p.name, &p.kind, &p.region, &p.file, &p.function, &p.module, &p.caller})
        *s = from.text();
      into.add(key, std::move(p));
    }
  } catch (const std::out_of_range&) {
    return false;
  }
  return true;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
