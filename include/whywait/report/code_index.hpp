#ifndef WHYWAIT_REPORT_CODE_INDEX_HPP
#define WHYWAIT_REPORT_CODE_INDEX_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/report/libdw.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// The functions and compilation units of one module, by address. libdw itself reads all symbols for each address (15 ms of
/// 300,000 symbols), and all units where .debug_aranges is missing, as clang leaves it out. The first search of each kind
/// reads and sorts them, O(n log n) and 16 bytes each; the others take O(log n).
class code_index {
 public:
  /// `dw` must outlive the index, and `module` belong to its session. `next`: the index of another module, or null.
  code_index(const libdw& dw, dwfl_module* module, code_index* next) : dw_(dw), module_(module), next_(next) {}
  code_index(const code_index&) = delete;
  code_index& operator=(const code_index&) = delete;

  /// The index of a module in the list that begins with `first`, where a new one is added.
  static code_index& of(dwfl_module* module, code_index*& first, const libdw& dw) {
    for (code_index* i = first; i != nullptr; i = i->next_)
      if (i->module_ == module) return *i;
    return *(first = new code_index(dw, module, first));
  }
  static void drop(code_index* first) noexcept {
    while (first != nullptr) {
      code_index* const next = first->next_;
      delete first;
      first = next;
    }
  }

  /// The symbol of the function that contains `address`, and where that lies; null: none. Of several at the same place a global one
  /// first.
  const char* function_at(std::uint64_t address, std::uint64_t& begin_of_it, std::uint32_t& bytes) {
    if (!functions_read_) read_functions();
    const range* const found = find(functions_, address);
    if (found == nullptr) return dw_.module_addrname(module_, address);  // also labels without a size
    begin_of_it = found->begin;
    bytes = found->size;
    elf_symbol symbol;
    std::uint64_t begin;
    const auto number = static_cast<int>(found->number & ~(3u << binding_shift));
    return dw_.module_getsym_info(module_, number, &symbol, &begin, nullptr, nullptr, nullptr);
  }

  /// The unit that contains `address`; null: none. Its own addresses are less by `bias`.
  dwarf_die* unit_at(std::uint64_t address, std::uint64_t& bias) {
    if (!units_read_) read_units();
    bias = bias_;
    const range* const found = find(unit_ranges_, address - bias_);
    return found != nullptr ? units_[found->number] : nullptr;
  }

 private:
  struct range {
    std::uint64_t begin;
    std::uint32_t size, number;
  };
  static constexpr unsigned binding_shift = 30;

  static void add(base::pod_vector<range>& all, std::uint64_t begin, std::uint64_t size, std::uint32_t number) {
    if (size != 0) all.push_back({begin, static_cast<std::uint32_t>(std::min<std::uint64_t>(size, UINT32_MAX)), number});
  }
  static void sort(base::pod_vector<range>& all) {
    base::small_stable_sort(
        all, [](const range& a, const range& b) { return a.begin != b.begin ? a.begin < b.begin : a.number < b.number; });
  }
  static const range* find(const base::pod_vector<range>& all, std::uint64_t address) {
    std::size_t after = 0;
    for (std::size_t end = all.size(); after != end;) {
      const std::size_t middle = after + (end - after) / 2;
      if (all[middle].begin <= address) after = middle + 1;
      else end = middle;
    }
    const range* found = nullptr;
    for (std::size_t i = after; i != 0 && all[i - 1].begin == all[after - 1].begin; --i)
      if (address - all[i - 1].begin < all[i - 1].size) found = &all[i - 1];
    return found;
  }

  void read_functions() {
    functions_read_ = true;
    const int count = std::min(dw_.module_getsymtab(module_), 1 << binding_shift);
    for (int i = 1; i < count; ++i) {
      enum { global = 1, function = 2, chosen_at_start = 10 };  // STB_GLOBAL, STT_FUNC, STT_GNU_IFUNC
      elf_symbol symbol;
      std::uint64_t begin;
      if (dw_.module_getsym_info(module_, i, &symbol, &begin, nullptr, nullptr, nullptr) == nullptr || symbol.section == 0)
        continue;
      const unsigned type = symbol.info & 15u, binding = symbol.info >> 4;
      if (type != function && type != chosen_at_start) continue;
      const std::uint32_t order = binding == global ? 0 : binding > global ? 1 : 2;  // a local one last
      add(functions_, begin, symbol.size, order << binding_shift | static_cast<std::uint32_t>(i));
    }
    sort(functions_);
  }

  void read_units() {
    units_read_ = true;
    for (dwarf_die* unit = nullptr; (unit = dw_.module_nextcu(module_, unit, &bias_)) != nullptr;) {
      const auto number = static_cast<std::uint32_t>(units_.size());
      units_.push_back(unit);
      std::uint64_t base = 0, begin = 0, end = 0;
      for (std::ptrdiff_t at = 0; (at = dw_.ranges(unit, at, &base, &begin, &end)) > 0;)
        add(unit_ranges_, begin, end - begin, number);
    }
    sort(unit_ranges_);
  }

  const libdw& dw_;
  dwfl_module* const module_;
  code_index* const next_;
  base::pod_vector<range> functions_, unit_ranges_;  // by begin; `number` of a function: 2 bits of its binding, then its symbol
  base::pod_vector<dwarf_die*> units_;
  std::uint64_t bias_ = 0;
  bool functions_read_ = false, units_read_ = false;
};

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
