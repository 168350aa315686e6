#ifndef WHYWAIT_RULES_SYNTAX_HPP
#define WHYWAIT_RULES_SYNTAX_HPP

#include <whywait/core/plain_vector.hpp>
#include <whywait/rules/diagnostic.hpp>
#include <whywait/rules/type.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace rules {

/// What an expression consists of.
enum class node_kind : std::uint8_t {
  wrong,       ///< did not parse: reported already
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

enum class operation : std::uint8_t { none, add, subtract, multiply, divide, less, less_equal, greater, greater_equal, equal, not_equal, both, either };

/// One node of an expression. Parts are indices into the same `syntax::nodes`, always smaller than the node's own.
struct node {
  node_kind kind = node_kind::wrong;
  operation op = operation::none;
  std::uint32_t depth = 1;  ///< height of the tree below, itself included
  span where;
  double value = 0;
  type unit;
  std::string text;
  std::string qualifier;
  core::plain_vector<std::uint32_t> parts;

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  node() = default;
  [[gnu::cold, gnu::noinline]] node(const node&) = default;
  [[gnu::cold, gnu::noinline]] node(node&&) = default;
  [[gnu::cold, gnu::noinline]] node& operator=(const node&) = default;
  [[gnu::cold, gnu::noinline]] node& operator=(node&&) = default;
  [[gnu::cold, gnu::noinline]] ~node() = default;
};

/// A name and where it stands.
struct name_at {
  std::string text;
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

enum class declaration_kind : std::uint8_t { simple, own, composite, problem, remove_problem, remove_problems, remove_event, setting };

/// One declaration as it was written. `when` is 0 where there is none.
struct declaration {
  declaration_kind kind = declaration_kind::simple;
  name_at name;                        ///< event declared, composite type of a problem, or what is removed or set
  span where;
  std::vector<name_at> functions;      ///< simple
  std::vector<member_syntax> members;  ///< composite
  core::plain_vector<std::uint32_t> by;       ///< composite with `all`: what its instances share
  std::uint32_t when = 0;
  std::vector<parameter_syntax> parameters;
  bool bad = false;                    ///< did not parse completely: names are known, nothing more is checked

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  declaration() = default;
  [[gnu::cold, gnu::noinline]] declaration(const declaration&) = default;
  [[gnu::cold, gnu::noinline]] declaration(declaration&&) = default;
  [[gnu::cold, gnu::noinline]] declaration& operator=(const declaration&) = default;
  [[gnu::cold, gnu::noinline]] declaration& operator=(declaration&&) = default;
  [[gnu::cold, gnu::noinline]] ~declaration() = default;
};

/// All declarations of all texts, in order. nodes[0] is a `wrong` node.
struct syntax {
  std::vector<node> nodes = std::vector<node>(1);
  std::vector<declaration> declarations;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
