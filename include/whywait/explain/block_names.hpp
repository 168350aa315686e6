#ifndef WHYWAIT_EXPLAIN_BLOCK_NAMES_HPP
#define WHYWAIT_EXPLAIN_BLOCK_NAMES_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/explain/explanation.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace explain {

inline const char* name_of(block_kind k) noexcept {
  static const char* const names[] = {"region", "step", "waiting", "between", "call", "startup", "other"};
  return names[k <= block_kind::other ? static_cast<unsigned>(k) : static_cast<unsigned>(block_kind::other)];
}

/// A block of an outcome in words. Pointers are valid as long as the names are not changed.
struct block_description {
  block_kind kind = block_kind::region;
  const char* kind_name = "region";   ///< of `kind`; of a region the kind of its mark
  std::string name;                   ///< empty for `between` and `call`, which are named by their places
  const base::place* where = nullptr; ///< of the block; of a derived block the call site at its end; null: unknown
  const base::place* from = nullptr;  ///< between: the call site at its begin
  bool since_init = false;            ///< between: begins at MPI_Init instead
  bool until_end = false;             ///< between: no call follows; its thread still ran when the run ended
};

/// Describes the blocks of one outcome with the names that its ranks gathered.
class block_names {
 public:
  static constexpr const char* rest = "all other code";

  block_names(const outcome& found, const base::names& known) : found_(found), known_(known) {
    for (std::uint32_t i = 0; i != found.meanings.size(); ++i) meanings_.intern(found.meanings[i].key, i);
  }

  const base::place* place(core::stable_key key) const noexcept { return known_.find(key); }

  /// `step`: the block is an untimed step unless the outcome gives it another meaning.
  [[gnu::noinline]] block_description describe(core::stable_key block, bool step = false) const {
    const std::uint32_t meaning = meanings_.find(block);
    block_meaning m{block, step ? block_kind::step : block_kind::region, block, 0};
    if (meaning != base::key_map::none) m = found_.meanings[meaning];
    block_description out;
    out.kind = m.kind;
    out.kind_name = explain::name_of(m.kind);
    switch (m.kind) {
      case block_kind::region:
      case block_kind::step:
      case block_kind::waiting:
        out.where = place(m.first);
        out.name = marked_name(m.first);
        if (m.kind == block_kind::region && out.where != nullptr && !out.where->kind.empty())
          out.kind_name = out.where->kind.c_str();
        break;
      case block_kind::between:
        out.where = place(m.second);
        out.from = place(m.first);
        out.since_init = m.first == 0;
        out.until_end = m.second == 0;
        break;
      case block_kind::call: out.where = place(m.first); break;
      case block_kind::startup: out.name = base::ranks_are_threads() ? "start-up" : "start-up before MPI_Init returned"; break;
      case block_kind::other: out.name = rest; break;
    }
    return out;
  }

 private:
  std::string marked_name(core::stable_key key) const {
    const base::place* const p = place(key);
    if (p != nullptr && !p->name.empty()) return p->name;
    if (p != nullptr && !p->region.empty()) return std::string(base::last_of(p->region));
    if (p != nullptr && !p->function.empty()) return base::short_name(p->function);
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, key, 16);
    return "unnamed block " + std::string(digits, end.ptr);
  }

  const outcome& found_;
  const base::names& known_;
  base::key_map meanings_;  // numbers in found_.meanings
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
