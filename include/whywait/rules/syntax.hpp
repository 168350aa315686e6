#ifndef WHYWAIT_RULES_SYNTAX_HPP
#define WHYWAIT_RULES_SYNTAX_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/diagnostic.hpp>
#include <whywait/rules/type.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Kinds of expression nodes.
enum class node_kind : std::uint8_t {
  wrong,       ///< parse error, already reported
  number,      ///< value, unit
  text,        ///< text
  boolean,     ///< value 0 or 1
  name,        ///< text: a parameter; qualifier: its member, or empty
  negative,    ///< one part
  negation,    ///< one part
  binary,      ///< two parts, operation
  call,        ///< text: the function; parts: arguments
  joined       ///< parts: pieces of a template, in order
};

enum class operation : std::uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  both,
  either
};

/// The parts of a node: indices into the same `syntax::nodes`, always smaller than the node's own.
struct node_parts {
  const std::uint32_t* list = nullptr;
  std::uint32_t count = 0;

  const std::uint32_t* begin() const noexcept { return list; }
  const std::uint32_t* end() const noexcept { return list + count; }
  std::size_t size() const noexcept { return count; }
  bool empty() const noexcept { return count == 0; }
  std::uint32_t operator[](std::size_t at) const noexcept { return list[at]; }
};

/// One node of an expression. Texts and parts belong to the `syntax`.
struct node {
  node_kind kind = node_kind::wrong;
  operation op = operation::none;
  std::uint32_t depth = 1;  ///< height of the tree below, itself included
  span where;
  double value = 0;
  type unit;
  std::string_view text;
  std::string_view qualifier;
  node_parts parts;
};

/// A name and its position.
struct name_at {
  std::string_view text;  ///< belongs to the `syntax`
  span where;
};

/// NAME = [in|out] EXPRESSION, or for own events NAME = TYPE-WORD.
struct parameter_syntax {
  name_at name;
  std::uint32_t value = 0;
  enum class way : std::uint8_t { none, in, out } direction = way::none;
};

/// [shared|all] TYPE as NAME
struct member_syntax {
  name_at event;
  name_at name;
  bool shared = false;
  bool all = false;
};

enum class declaration_kind : std::uint8_t {
  simple,
  own,
  composite,
  problem,
  remove_problem,
  remove_problems,
  remove_event,
  setting
};

/// One declaration; `when` is 0 if it has no condition.
struct declaration {
  declaration_kind kind = declaration_kind::simple;
  name_at name;                        ///< declared event, type of a problem, or the name that is removed or set
  span where;
  base::pod_vector<name_at> functions;      ///< simple
  base::pod_vector<member_syntax> members;  ///< composite
  base::pod_vector<std::uint32_t> by;       ///< composite with `all`: the common keys
  std::uint32_t when = 0;
  base::pod_vector<parameter_syntax> parameters;
  bool bad = false;                    ///< did not parse completely; only its name is used

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  declaration() = default;
  [[gnu::noinline]] declaration(const declaration&) = default;
  [[gnu::noinline]] declaration(declaration&&) = default;
  [[gnu::noinline]] declaration& operator=(const declaration&) = default;
  [[gnu::noinline]] declaration& operator=(declaration&&) = default;
  [[gnu::noinline]] ~declaration() = default;
};

/// All declarations of all texts, in order. nodes[0] is a `wrong` node.
struct syntax {
  base::pod_vector<node> nodes = base::pod_vector<node>(1);
  base::vector<declaration> declarations;

  syntax() = default;
  syntax(const syntax&) = delete;
  syntax& operator=(const syntax&) = delete;
  ~syntax() {
    for (void* const block : kept_) ::operator delete(block);
  }

  /// Copies of texts that live as long as the syntax.
  std::string_view keep(std::string_view text) {
    return {static_cast<const char*>(copy(text.data(), text.size())), text.size()};
  }
  node_parts keep(const std::uint32_t* parts, std::size_t count) {
    return {static_cast<const std::uint32_t*>(copy(parts, count * sizeof *parts)), static_cast<std::uint32_t>(count)};
  }

 private:
  [[gnu::noinline]] const void* copy(const void* from, std::size_t bytes) {
    if (bytes == 0) return "";
    kept_.push_back(nullptr);
    void* const to = kept_.back() = ::operator new(bytes);
    std::memcpy(to, from, bytes);
    return to;
  }

  base::pod_vector<void*> kept_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
