#ifndef WHYWAIT_RULES_DECLARATION_NAMES_HPP
#define WHYWAIT_RULES_DECLARATION_NAMES_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/rules/syntax.hpp>

#include <cstddef>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// A sorted index of declarations by name, one per name. Values are indices in `syntax::declarations`, which are few
/// enough (limits::declarations) for sorted insertion. Lookup is O(log n). Not thread safe.
class declaration_names {
 public:
  static constexpr std::size_t none = ~std::size_t(0);

  explicit declaration_names(const syntax& of) : of_(of) {}

  /// The name of a problem if it is a plain text, else empty.
  static std::string_view problem_name(const syntax& of, const declaration& d) noexcept {
    for (const parameter_syntax& p : d.parameters) {
      if (p.name.text != "name") continue;
      const node& n = of.nodes[p.value];
      return n.kind == node_kind::text ? std::string_view(n.text) : std::string_view();
    }
    return {};
  }
  std::string_view name_of(std::size_t number) const noexcept {
    const declaration& d = of_.declarations[number];
    return d.kind == declaration_kind::problem ? problem_name(of_, d) : d.name.text;
  }

  std::size_t find(std::string_view name) const noexcept {
    const std::size_t at = place(name);
    return at != list_.size() && name_of(list_[at]) == name ? list_[at] : none;
  }
  /// Adds a declaration, or replaces the one of the same name.
  void put(std::size_t number) {
    const std::string_view name = name_of(number);
    drop(name);
    list_.insert(list_.begin() + place(name), number);
  }
  void put(const declaration& d) { put(static_cast<std::size_t>(&d - of_.declarations.data())); }
  void drop(std::string_view name) noexcept {
    if (find(name) != none) list_.erase(list_.begin() + place(name));
  }
  void clear() noexcept { list_.clear(); }
  const std::size_t* begin() const noexcept { return list_.begin(); }
  const std::size_t* end() const noexcept { return list_.end(); }

 private:
  std::size_t place(std::string_view name) const noexcept {
    std::size_t begin = 0;
    for (std::size_t end = list_.size(); begin != end;) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (name_of(list_[middle]) < name) begin = middle + 1;
      else end = middle;
    }
    return begin;
  }

  const syntax& of_;
  base::pod_vector<std::size_t> list_;
};

/// Whether two own events have the same parameters, of the same types.
inline bool same_parameters(const syntax& of, const declaration& a, const declaration& b) noexcept {
  if (a.parameters.size() != b.parameters.size()) return false;
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    if (a.parameters[i].name.text != b.parameters[i].name.text ||
        of.nodes[a.parameters[i].value].text != of.nodes[b.parameters[i].value].text)
      return false;
  return true;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
