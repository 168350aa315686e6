#ifndef WHYWAIT_RULES_ADVICE_HPP
#define WHYWAIT_RULES_ADVICE_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/evaluator.hpp>
#include <whywait/rules/fact_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// One line for a finding that belongs to no single wait: description, advice and places.
inline std::string text_of(const finding& f) {
  std::string out = f.description;
  if (!f.advice.empty()) out += (out.empty() ? "" : " ") + f.advice;
  std::string where;
  for (const action& a : f.actions) where += (where.empty() ? "" : ", ") + a.text;
  if (f.share > 0) where = base::percent(f.share) + " of " + base::rank_time() + (where.empty() ? "" : ": ") + where;
  return where.empty() ? out : out + " (" + where + ")";
}

namespace detail {

inline bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    if (one == name) return true;
    list.remove_prefix(comma < list.size() ? comma + 1 : comma);
  }
  return false;
}

/// Findings of one rule with the same root cause become one, at the wait that costs most. A saving is at most the time of
/// all of them.
inline void join_causes(base::vector<wait_advice>& waits, const explain::outcome& found) {
  const auto kind_ns = [&found](std::int64_t wait) {  // all shapes of the same operation and cause, as reports show them
    const explain::explanation& e = found.waits[static_cast<std::size_t>(wait)];
    std::int64_t sum = 0;
    for (const explain::explanation& o : found.waits)
      if (o.operation == e.operation && o.cause == e.cause && o.why == e.why) sum += o.wait_ns;
    return sum;
  };
  struct cause {
    std::uint32_t rule;
    const std::string* root;
    finding* most;
    double seconds;
  };
  base::pod_vector<cause> causes;
  for (wait_advice& w : waits)
    for (finding& f : w.list) {
      if (f.root.empty()) continue;
      std::size_t i = 0;
      while (i != causes.size() && (causes[i].rule != f.rule || *causes[i].root != f.root)) ++i;
      if (i == causes.size()) causes.push_back({f.rule, &f.root, &f, 0});
      causes[i].seconds += f.seconds;
      const std::int64_t here = kind_ns(f.wait), most = kind_ns(causes[i].most->wait);
      if (here > most || (here == most && f.seconds > causes[i].most->seconds)) causes[i].most = &f;
    }
  for (const cause& c : causes) c.most->saving = std::min(c.most->saving, c.seconds);
  base::vector<base::vector<finding>> kept(waits.size());
  for (std::size_t w = 0; w < waits.size(); ++w)
    for (finding& f : waits[w].list) {
      bool keeps = f.root.empty();
      for (const cause& c : causes) keeps = keeps || c.most == &f;
      if (keeps) kept[w].push_back(finding(f));
    }
  for (std::size_t w = 0; w < waits.size(); ++w) waits[w].list = std::move(kept[w]);
}

/// Whether a problem, or the event type for which it is declared, has the name of a pattern.
inline bool describes(const knowledge& known, std::uint32_t problem, explain::pattern why) {
  const problem_rule& rule = known.problems[problem];
  return known.types[rule.type].name == explain::name_of(why) || rule.name == explain::name_of(why);
}

inline std::string text_of(const knowledge& known, const trouble::entry& t) {
  diagnostics one;  // holds a copy of the source, so that the message shows the line with a caret
  const std::uint32_t source = one.add_source(known.log.source(t.where.source).name, known.log.source(t.where.source).text);
  one.report(t.number, {source, t.where.begin, t.where.end},
             {t.message, "; the affected events were skipped",
              t.times > 1 ? ", " + std::to_string(t.times) + " times" : std::string()});
  return one.list()[0].text();
}

}  // namespace detail

/// Runs all rules on the outcome of an analysis. `more(store, log, facts)` may add events before the rules run: own
/// events, recorded calls, facts of other rooms. Linear in waits and events; throws std::bad_alloc.
template <class More>
evaluation evaluate(const knowledge& known, const explain::outcome& found, std::int64_t ranks, const base::names& names,
                    const program_facts& program, const More& more) {
  event_store store(known);
  trouble log;
  fact_maker facts(store, found, ranks, names, program);
  facts.make();
  more(store, log, facts);
  findings all = evaluator(store).evaluate();

  evaluation out;
  out.noise = program.noise;
  out.most_divided_ns = program.most_divided_ns;
  out.waits.resize(found.waits.size());
  for (finding& f : all.list) {
    if (f.wait < 0) {
      if (f.matters && f.saves) out.problems.push_back(std::move(f));
      continue;
    }
    wait_advice& w = out.waits[static_cast<std::size_t>(f.wait)];
    f.of_pattern = detail::describes(known, f.rule, found.waits[static_cast<std::size_t>(f.wait)].why);
    if (f.matters) w.list.push_back(std::move(f));
  }
  bool described[static_cast<std::size_t>(explain::pattern::count_)] = {};
  for (std::size_t why = 0; why != std::size(described); ++why)
    for (std::uint32_t rule = 0; rule != known.problems.size(); ++rule)
      described[why] = described[why] || detail::describes(known, rule, static_cast<explain::pattern>(why));
  for (std::size_t i = 0; i != out.waits.size(); ++i) {
    wait_advice& w = out.waits[i];
    w.known = described[static_cast<std::size_t>(found.waits[i].why)];
    base::pod_vector<bool> hidden;
    for (const finding& f : w.list) {
      hidden.push_back(false);
      for (const finding& other : w.list)
        hidden.back() = hidden.back() || detail::names(known.problems[other.rule].instead_of, f.problem);
    }
    base::vector<finding> kept;
    for (std::size_t k = 0; k < hidden.size(); ++k)
      if (!hidden[k]) kept.push_back(std::move(w.list[k]));
    w.list = std::move(kept);
  }
  detail::join_causes(out.waits, found);
  for (wait_advice& w : out.waits) {  // at last, because a cause that saves little still hides what looks like another
    base::vector<finding> kept;
    for (finding& f : w.list)
      if (f.saves) kept.push_back(std::move(f));
    w.list = std::move(kept);
  }
  const base::pod_vector<trouble::entry>* const logs[] = {&log.list(), &all.troubles};
  for (const auto* list : logs)
    for (const trouble::entry& t : *list) out.messages.push_back(detail::text_of(known, t));
  return out;
}

inline evaluation evaluate(const knowledge& known, const explain::outcome& found, std::int64_t ranks,
                           const base::names& names) {
  return evaluate(known, found, ranks, names, {}, [](event_store&, trouble&, auto&) {});
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
