#ifndef WHYWAIT_DATA_ANALYSIS_CLASS_NAMES_HPP
#define WHYWAIT_DATA_ANALYSIS_CLASS_NAMES_HPP

#include <whywait/data/analysis/class_totals.hpp>

#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace data {

/// What the program calls its arrays, blocks and calls; the report has one of its own, tests another.
class naming {
 public:
  virtual ~naming() = default;
  virtual std::string data(core::stable_key array) const = 0;   ///< "u"
  virtual std::string place(core::stable_key site) const = 0;   ///< "MPI_Send (halo.cpp:131)" or "update"
};

namespace detail {

/// "1,234,567".
inline std::string grouped(std::int64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t at = out.size(); at > 3 + (n < 0 ? 1u : 0u);) out.insert(at -= 3, 1, ',');
  return out;
}
/// Bytes with two or three digits: "512 B", "1.5 KiB", "20 MiB".
inline std::string size_text(std::int64_t bytes) {
  static const char* const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  double value = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; value >= 999.5 && unit != 4; ++unit) value /= 1024;
  const auto tenths = static_cast<std::int64_t>(value * 10 + 0.5);
  if (unit == 0 || tenths >= 100) return std::to_string((tenths + 5) / 10) + units[unit];
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + units[unit];
}
/// A share: "75 %", "0.4 %"; never a rounded 0 % or 100 % of what is neither.
inline std::string percent_text(double share) {
  const auto tenths = static_cast<std::int64_t>(share * 1000 + 0.5);
  if (share > 0 && tenths == 0) return "less than 0.1 %";
  if (share < 1 && tenths >= 1000) return "over 99.9 %";
  const bool exact = tenths % 10 == 0 || (tenths >= 10 && tenths < 990);
  return exact ? std::to_string((tenths + 5) / 10) + " %" : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}
/// "1 rank", "3 ranks".
inline std::string count_text(std::int64_t n, const char* one, const char* many) { return grouped(n) + " " + (n == 1 ? one : many); }

}  // namespace detail

/// "`u`", "`u` (low side of dimension 1)".
inline std::string data_text(const transfer_base& b, const naming& names) {
  const kind_of_region k = kind_of_region::from(b.kind);
  const std::string array = "`" + names.data(b.data) + "`", dimension = std::to_string(k.dimension);
  switch (k.kind) {
    case region_kind::whole: return array;
    case region_kind::low_side: return array + " (low side of dimension " + dimension + ")";
    case region_kind::high_side: return array + " (high side of dimension " + dimension + ")";
    case region_kind::slab: return array + " (slab of dimension " + dimension + ")";
    case region_kind::part: break;
  }
  return array + " (part)";
}

/// Why the sender had the data: "there from the beginning", "produced by `update`", "received at MPI_Recv (a.cpp:3), ...".
inline std::string origin_text(const class_chain& c, const naming& names) {
  std::string out;
  for (unsigned i = 1; i < c.depth; ++i) out += (i == 1 ? "received at " : ", before that at ") + names.place(c.base[i].to);
  if (c.loop) out += ", again and again";
  if (!out.empty()) out += ", ";
  switch (c.end) {
    case origin_kind::init: return out + (c.depth > 1 ? "and there from the beginning" : "there from the beginning");
    case origin_kind::produced: return out + "produced by `" + names.place(c.producer) + "`";
    case origin_kind::mixed: return out + "of several origins";
    case origin_kind::unknown: return out + "from a place that is not registered";
    case origin_kind::deep: return out + "and further back";
    case origin_kind::relay: break;
  }
  return out;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
