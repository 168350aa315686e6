#ifndef WHYWAIT_REPORT_NAME_RESOLVER_HPP
#define WHYWAIT_REPORT_NAME_RESOLVER_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/places.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/named_block.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace report {

inline const char* name_of(explain::block_kind k) noexcept {
  switch (k) {
    case explain::block_kind::region:
      return "region";
    case explain::block_kind::step:
      return "step";
    case explain::block_kind::waiting:
      return "waiting";
    case explain::block_kind::between:
      return "between";
    case explain::block_kind::call:
      return "call";
    case explain::block_kind::startup:
      return "startup";
    case explain::block_kind::other:
      return "other";
  }
  return "other";
}

namespace detail {

/// Names and places for the keys of one outcome.
class name_resolver {
 public:
  name_resolver(const explain::outcome& found, const base::names& known) : found_(found), known_(known) {
    for (std::uint32_t i = 0; i != found.meanings.size(); ++i) meanings_.intern(found.meanings[i].key, i);
  }

  base::place site(core::stable_key key) const {
    const base::place* p = known_.find(key);
    return p != nullptr ? *p : base::place{};
  }

  /// `within`: of an untimed step the region around it, else 0.
  void describe(core::stable_key block, core::stable_key within, named_block& out) const {
    const std::uint32_t meaning = meanings_.find(block);
    explain::block_meaning m{block, within != 0 ? explain::block_kind::step : explain::block_kind::region, block, 0};
    if (meaning != base::key_map::none) m = found_.meanings[meaning];
    out.kind = report::name_of(m.kind);
    const base::place* const marked = known_.find(m.first);
    if (m.kind == explain::block_kind::region && marked != nullptr && !marked->kind.empty()) out.kind = marked->kind;
    if (within != 0) {
      const std::uint32_t around = meanings_.find(within);
      out.within = around != base::key_map::none && found_.meanings[around].kind == explain::block_kind::between
                       ? interval_name(found_.meanings[around])
                       : block_name(within);
    }
    switch (m.kind) {
      case explain::block_kind::region:
      case explain::block_kind::step:
      case explain::block_kind::waiting:
        out.where = site(m.first);
        out.block = block_name(m.first);
        break;
      case explain::block_kind::between:
        out.where = site(m.second);
        if (m.first != 0) out.from = site(m.first);
        out.block = interval_name(m);
        break;
      case explain::block_kind::call:
        out.where = site(m.first);
        out.block = "inside " + call_text(out.where);
        break;
      case explain::block_kind::startup:
        out.block = "start-up, before MPI_Init returned";
        break;
      case explain::block_kind::other:
        out.block = "all other code";
        break;
    }
  }

  /// For what is not listed one by one.
  void rest(named_block& out) const {
    out.kind = report::name_of(explain::block_kind::other);
    out.block = "all other code";
  }

 private:
  std::string interval_name(const explain::block_meaning& m) const {
    return "between " + (m.first != 0 ? call_text(site(m.first), "at") : std::string("MPI_Init")) + " and " +
           call_text(site(m.second), "at");
  }

  std::string block_name(core::stable_key key) const {
    const base::place* p = known_.find(key);
    if (p != nullptr && !p->name.empty()) return p->name;
    if (p != nullptr && !p->region.empty()) return std::string(base::last_of(p->region));
    if (p != nullptr && !p->function.empty()) return base::short_name(p->function);
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, key, 16);
    return "unnamed block " + std::string(digits, end.ptr);
  }

  const explain::outcome& found_;
  const base::names& known_;
  base::key_map meanings_;  // numbers in found_.meanings
};

}  // namespace detail
}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
