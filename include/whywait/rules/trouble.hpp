#ifndef WHYWAIT_RULES_TROUBLE_HPP
#define WHYWAIT_RULES_TROUBLE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/rules/rule_machine.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Runs programs and remembers what went wrong at run time: for each place in a rule one entry and how often. The event
/// concerned is skipped, so a rule that divides by zero hides nothing but itself. Messages are literals, borrowed.
class trouble {
 public:
  struct entry {
    code number;
    span where;
    const char* message;
    std::uint64_t times;
  };

  /// The value of a program; false if there is none.
  bool value(const program& p, const double* const* rows, const double* extras, text_pool& texts, double& out) {
    const fault f = run(p, rows, extras, texts, out);
    if (f == fault::none) return true;
    if (f == fault::division_by_zero) note(code::division_by_zero, p.where, "this divides by zero");
    else note(code::overflow, p.where, "this is too large to compute");
    return false;
  }
  /// Whether a condition holds; an empty one does.
  bool holds(const program& p, const double* const* rows, const double* extras, text_pool& texts) {
    if (p.empty()) return true;
    double out = 0;
    return value(p, rows, extras, texts, out) && out != 0;
  }
  void report(code number, span where, const char* message) { note(number, where, message); }

  const base::pod_vector<entry>& list() const noexcept { return list_; }
  base::pod_vector<entry> take() noexcept { return std::move(list_); }

 private:
  void note(code number, span where, const char* message) {
    for (entry& e : list_)
      if (e.number == number && e.where.source == where.source && e.where.begin == where.begin && e.where.end == where.end) {
        ++e.times;
        return;
      }
    if (list_.size() < 1000) list_.push_back({number, where, message, 1});
  }

  base::pod_vector<entry> list_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
