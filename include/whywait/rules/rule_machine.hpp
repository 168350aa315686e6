#ifndef WHYWAIT_RULES_RULE_MACHINE_HPP
#define WHYWAIT_RULES_RULE_MACHINE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/units.hpp>
#include <whywait/rules/diagnostic.hpp>
#include <whywait/rules/text_pool.hpp>
#include <whywait/rules/value_text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Operations of a stack machine on doubles; texts are numbers of a text_pool, conditions are 1 or 0.
enum class op : std::uint8_t {
  push,       ///< value
  load,       ///< rows[row][column]
  extra,      ///< extras[column]: an aggregate or a number of the finding
  negate,
  invert,
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
  text_less,
  text_less_equal,
  text_greater,
  text_greater_equal,
  least,
  most,
  absolute,
  floor,
  round,
  jump,
  jump_if_false,
  jump_if_false_keep,
  jump_if_true_keep,
  drop,
  show,       ///< formats a number for a template; row, column: powers of seconds and bytes + 64, 255: condition
  percent,    ///< formats a share
  count,      ///< formats a count with grouped digits
  join,       ///< concatenates the last `column` texts
  contains,
  starts_with
};

struct instruction {
  op what;
  std::uint8_t row;
  std::uint32_t column;
  double value;
};

/// A compiled expression. Empty: always true.
struct program {
  base::pod_vector<instruction> steps;
  span where;               ///< source range for messages
  std::uint32_t stack = 0;  ///< largest stack depth
  bool plain = false;       ///< one `load`
  bool empty() const noexcept { return steps.empty(); }

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  program() = default;
  [[gnu::noinline]] program(const program&) = default;
  [[gnu::noinline]] program(program&&) = default;
  [[gnu::noinline]] program& operator=(const program&) = default;
  [[gnu::noinline]] program& operator=(program&&) = default;
  [[gnu::noinline]] ~program() = default;
};

/// Run-time errors of an evaluation.
enum class fault : std::uint8_t { none, division_by_zero, overflow };

constexpr std::size_t machine_stack = 1024;      ///< stack limit, checked when a rule is compiled
constexpr std::size_t longest_text = 1u << 16;   ///< limit of a text made by a rule, in bytes

/// Runs a program on the rows of some events. About 2 ns per step; only texts allocate. The rule compiler has checked
/// types, columns and stack depth, so that only numeric errors are checked here.
inline fault run(const program& p, const double* const* rows, const double* extras, text_pool& texts, double& result) {
  if (p.plain) {
    result = rows[p.steps[0].row][p.steps[0].column];
    return fault::none;
  }
  double stack[machine_stack + 1];  // deliberately uninitialised; [0] is below the bottom
  double* top = stack;
  const auto truth = [](bool b) { return b ? 1.0 : 0.0; };
  const instruction* const begin = p.steps.data();
  const instruction* const end = begin + p.steps.size();
  for (const instruction* i = begin; i != end; ++i) {
    switch (i->what) {
      case op::push: *++top = i->value; break;
      case op::load: *++top = rows[i->row][i->column]; break;
      case op::extra: *++top = extras[i->column]; break;
      case op::negate: *top = -*top; break;
      case op::invert: *top = truth(*top == 0); break;
      case op::add:
        --top;
        *top += top[1];
        if (!std::isfinite(*top)) return fault::overflow;
        break;
      case op::subtract:
        --top;
        *top -= top[1];
        if (!std::isfinite(*top)) return fault::overflow;
        break;
      case op::multiply:
        --top;
        *top *= top[1];
        if (!std::isfinite(*top)) return fault::overflow;
        break;
      case op::divide:
        --top;
        if (top[1] == 0) return fault::division_by_zero;
        *top /= top[1];
        if (!std::isfinite(*top)) return fault::overflow;
        break;
      case op::less:
        --top;
        *top = truth(*top < top[1]);
        break;
      case op::less_equal:
        --top;
        *top = truth(*top <= top[1]);
        break;
      case op::greater:
        --top;
        *top = truth(*top > top[1]);
        break;
      case op::greater_equal:
        --top;
        *top = truth(*top >= top[1]);
        break;
      case op::equal:
        --top;
        *top = truth(*top == top[1]);
        break;
      case op::not_equal:
        --top;
        *top = truth(*top != top[1]);
        break;
      case op::text_less:
        --top;
        *top = truth(texts[*top] < texts[top[1]]);
        break;
      case op::text_less_equal:
        --top;
        *top = truth(texts[*top] <= texts[top[1]]);
        break;
      case op::text_greater:
        --top;
        *top = truth(texts[*top] > texts[top[1]]);
        break;
      case op::text_greater_equal:
        --top;
        *top = truth(texts[*top] >= texts[top[1]]);
        break;
      case op::least:
        --top;
        if (top[1] < *top) *top = top[1];
        break;
      case op::most:
        --top;
        if (top[1] > *top) *top = top[1];
        break;
      case op::absolute: *top = std::fabs(*top); break;
      case op::floor: *top = std::floor(*top); break;
      case op::round: *top = std::round(*top); break;
      case op::jump: i = begin + i->column - 1; break;
      case op::jump_if_false:
        if (*top-- == 0) i = begin + i->column - 1;
        break;
      case op::jump_if_false_keep:
        if (*top == 0) i = begin + i->column - 1;
        break;
      case op::jump_if_true_keep:
        if (*top != 0) i = begin + i->column - 1;
        break;
      case op::drop: --top; break;
      case op::show: {
        const type shown =
            i->row == 255 ? type::boolean() : type::number(static_cast<int>(i->row) - 64, static_cast<int>(i->column) - 64);
        *top = texts.intern(value_text(*top, shown));
        break;
      }
      case op::count:
        *top = texts.intern(*top == std::floor(*top) && std::fabs(*top) < 9e15 ? base::count(static_cast<std::int64_t>(*top))
                                                                               : base::number(*top));
        break;
      case op::percent: *top = texts.intern(base::percent(*top)); break;
      case op::join: {
        std::string joined;
        top -= i->column - 1;
        for (std::uint32_t part = 0; part < i->column && joined.size() <= longest_text; ++part) joined += texts[top[part]];
        const std::uint32_t number = joined.size() <= longest_text ? texts.intern(joined) : text_pool::none;
        if (number == text_pool::none) return fault::overflow;
        *top = number;
        break;
      }
      case op::contains:
        --top;
        *top = truth(texts[*top].find(texts[top[1]]) != std::string::npos);
        break;
      case op::starts_with:
        --top;
        *top = truth(texts[*top].compare(0, texts[top[1]].size(), texts[top[1]]) == 0);
        break;
    }
  }
  result = *top;
  return fault::none;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
