#ifndef WHYWAIT_RULES_COMPOSITE_HPP
#define WHYWAIT_RULES_COMPOSITE_HPP

#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The declaration of an own event type. A library adds it together with rules about its events, so that the rules
/// compile even in a run without such an event. Types: number, seconds, bytes, text, boolean.
class own_event {
 public:
  explicit own_event(std::string_view name) : name_(name) {}
  own_event& with(std::string_view parameter, std::string_view type) {
    with_ += (with_.empty() ? "" : ", ") + std::string(parameter) + " = " + std::string(type);
    return *this;
  }
  std::string text() const { return "declare simple event " + name_ + "\n  parameters ( " + with_ + " );\n"; }

 private:
  std::string name_, with_;
};

/// Builds the declaration of a composite event, and of a problem about it, for `rules::add`.
///
///     whywait::rules::add(whywait::rules::composite("restarts").all("solver_restart", "r").when("r.residual > 1e-6")
///                             .by("r.rank").with("count", "count()").with("lost", "sum(r.lost)").text());
///
/// Expressions use the rule language; errors are reported as for any text. Costs the strings it builds.
class composite {
 public:
  explicit composite(std::string_view name) : name_(name) {}

  composite& member(std::string_view type, std::string_view as) { return add_member("", type, as); }
  composite& shared(std::string_view type, std::string_view as) { return add_member("shared ", type, as); }
  composite& all(std::string_view type, std::string_view as) { return add_member("all ", type, as); }
  /// Adds a condition; all conditions must hold.
  composite& when(std::string_view condition) {
    when_ += (when_.empty() ? "(" : " and (") + std::string(condition) + ")";
    return *this;
  }
  composite& by(std::string_view key) {
    by_ += (by_.empty() ? "" : ", ") + std::string(key);
    return *this;
  }
  composite& with(std::string_view parameter, std::string_view expression) {
    with_ += (with_.empty() ? "" : ",\n    ") + std::string(parameter) + " = " + std::string(expression);
    return *this;
  }

  std::string text() const {
    std::string out = "declare composite event " + name_ + "\n  member ( " + members_ + " )\n";
    if (!when_.empty()) out += "  when " + when_ + "\n";
    if (!by_.empty()) out += "  by ( " + by_ + " )\n";
    return out + "  parameters ( " + with_ + " );\n";
  }

 private:
  composite& add_member(const char* how, std::string_view type, std::string_view as) {
    members_ += (members_.empty() ? "" : ", ") + std::string(how) + std::string(type) + " as " + std::string(as);
    return *this;
  }
  std::string name_, members_, when_, by_, with_;
};

/// The declaration of a problem; `name`, `description` and `advice` are templates without their quotes.
class problem {
 public:
  explicit problem(std::string_view event) : event_(event) {}
  problem& when(std::string_view condition) {
    when_ += (when_.empty() ? "(" : " and (") + std::string(condition) + ")";
    return *this;
  }
  problem& name(std::string_view text) { return add("name", quoted(text)); }
  problem& description(std::string_view text) { return add("description", quoted(text)); }
  problem& advice(std::string_view text) { return add("advice", quoted(text)); }
  problem& duration(std::string_view expression) { return add("duration", expression); }
  problem& saving(std::string_view expression) { return add("saving", expression); }

  std::string text() const {
    return "declare problem for " + event_ + "\n" + (when_.empty() ? "" : "  when " + when_ + "\n") + "  parameters (\n    " +
           fields_ + " );\n";
  }

 private:
  problem& add(const char* field, std::string_view value) {
    fields_ += (fields_.empty() ? "" : ",\n    ") + std::string(field) + " = " + std::string(value);
    return *this;
  }
  static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  }
  std::string event_, when_, fields_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
