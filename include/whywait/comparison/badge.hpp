#ifndef WHYWAIT_COMPARISON_BADGE_HPP
#define WHYWAIT_COMPARISON_BADGE_HPP

#include <whywait/base/utf8.hpp>
#include <whywait/comparison/compare_words.hpp>

#include <optional>
#include <string>

namespace whywait {
inline namespace v0 {
namespace comparison {
namespace detail {

/// A flat badge of two fields. Needs no font of a certain width: the texts are fitted to their fields.
inline std::string badge(const std::string& label, const std::string& value, const char* colour) {
  constexpr double letter = 6.4, margin = 6;
  const double left = letter * static_cast<double>(base::display_width(label)) + 2 * margin;
  const double right = letter * static_cast<double>(base::display_width(value)) + 2 * margin;
  const auto number = [](double n) { return base::fixed(n, 1); };
  const auto field = [&](double x, double width, const std::string& text) {
    return "<text x=\"" + number(x + width / 2) + "\" y=\"14\" textLength=\"" + number(width - 2 * margin) + "\">" + text +
           "</text>";
  };
  const std::string width = number(left + right);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"20\" role=\"img\" aria-label=\"" + label +
         ": " + value + "\"><title>" + label + ": " + value + "</title><clipPath id=\"r\"><rect width=\"" + width +
         "\" height=\"20\" rx=\"3\" fill=\"#fff\"/></clipPath><g clip-path=\"url(#r)\"><rect width=\"" + number(left) +
         "\" height=\"20\" fill=\"#555\"/><rect x=\"" + number(left) + "\" width=\"" + number(right) +
         "\" height=\"20\" fill=\"" + colour +
         "\"/></g><g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">" +
         field(0, left, label) + field(left, right, value) + "</g></svg>\n";
}

inline std::string efficiency_text(std::optional<double> parallel, double waiting_share) {
  return parallel ? "efficiency " + base::percent(*parallel) : "waiting " + base::percent(waiting_share);
}
/// Green from an efficiency of 80 %, the limit of POP for "good", yellow from 60 %.
inline const char* efficiency_colour(double efficiency) noexcept {
  return efficiency >= 0.8 ? "#2e7d32" : efficiency >= 0.6 ? "#8a6d00" : "#b71c1c";
}

}  // namespace detail

/// An SVG badge of one run: its parallel efficiency, or its share of waiting where the former is unknown.
inline std::string badge_of(const compared_run& r) {
  const double waiting = r.waiting_seconds / r.location_seconds;
  return detail::badge("whywait", detail::efficiency_text(r.parallel, waiting),
                       detail::efficiency_colour(r.parallel.value_or(1 - waiting)));
}

/// An SVG badge of a comparison: the efficiency after, and what became of the run. Red if it is worse.
inline std::string badge_of(const changes& c) {
  std::optional<double> parallel;
  double waiting = 0;
  for (const figure& f : c.figures) {
    if (f.name == "parallel") parallel = f.values.after;
    if (f.name == "waiting") waiting = f.values.after / c.run().values.after;
  }
  std::string text = detail::efficiency_text(parallel, waiting);
  const difference& run = c.run().values;
  if (c.run().what != change::same) text += ", " + detail::relative_text(run.before, run.after);
  else if (c.worse()) text += ", worse";
  else if (c.any()) text += ", better";
  return detail::badge("whywait", text, c.worse() ? "#b71c1c" : detail::efficiency_colour(parallel.value_or(1 - waiting)));
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
