#ifndef WHYWAIT_MODELS_ERROR_HPP
#define WHYWAIT_MODELS_ERROR_HPP

#include <cstddef>
#include <stdexcept>
#include <string>

namespace whywait {
inline namespace v0 {
namespace models {

/// What can be wrong with a model. The numbers are stable; docs/reference/errors.md has a line for each.
enum class fault : int {
  syntax = 1,             ///< an expression does not parse
  weight = 2,             ///< a weight is not a number from 0 to 1
  weights_sum = 3,        ///< the weights of an exclusive-or do not sum to 1
  unknown_node = 4,       ///< an expression names a node that does not exist
  duplicate_node = 5,     ///< two nodes have one name
  arc_mismatch = 6,       ///< E and D disagree about an arc
  unreachable = 7,        ///< no token can ever come to a node
  immediate_cycle = 8,    ///< immediate nodes enable each other in a circle: time would stand still
  no_start = 9,           ///< nothing starts the program
  immediate_module = 10,  ///< immediate nodes need centralized synchronization
  unbounded = 11,         ///< a node or counter holds more than 65,535 customers
  too_many_states = 12,   ///< the state limit was reached
  network = 13,           ///< a station or demand makes no sense
  population = 14,        ///< a population is beyond what the machine was prepared for
  classes = 15,           ///< program and machine disagree about classes or modules
  never_ends = 16,        ///< from some state the end cannot be reached
  many_classes = 17,      ///< this rule holds for one class only
  segment = 18,           ///< a segment descriptor makes no sense
  too_many_subsets = 19,  ///< an E expression has too many feasible subsets
  cyclic = 20,            ///< the layered solver was given a program with a loop
  route = 21,             ///< a route of the simulation makes no sense
  log = 22,               ///< a log of tasks and messages contradicts itself
  question = 23,          ///< a what-if question is not understood
  arithmetic = 24         ///< a number left the range of floating point
};

/// Thrown by everything in this room: "whywait-P003: ...". `column()` counts bytes from 0 in the expression
/// that is wrong, npos where there is none.
class prediction_error : public std::runtime_error {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  [[gnu::noinline]] prediction_error(fault f, const std::string& message)
      : std::runtime_error(number(f) + ": " + message), fault_(f) {}

  /// Adds the line of text and a caret under byte `column`.
  [[gnu::noinline]] prediction_error(fault f, const std::string& message, const std::string& text,
                                                std::size_t column)
      : std::runtime_error(number(f) + ": " + message + "\n  " + text + "\n  " + std::string(column, ' ') + '^'),
        fault_(f),
        column_(column) {}

  fault code() const noexcept { return fault_; }
  std::size_t column() const noexcept { return column_; }

  /// "whywait-P003"
  [[gnu::noinline]] static std::string number(fault f) {
    const int n = static_cast<int>(f);
    return std::string("whywait-P0") + (n < 10 ? "0" : "") + std::to_string(n);
  }

 private:
  fault fault_;
  std::size_t column_ = npos;
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
