#ifndef WHYWAIT_FINALIZE_ADVISING_HPP
#define WHYWAIT_FINALIZE_ADVISING_HPP

#include <whywait/base/cpp_name.hpp>
#include <whywait/base/key_map.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/safe_write.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/finalize/process_use.hpp>
#include <whywait/report/model.hpp>
#include <whywait/rules/advice.hpp>
#include <whywait/rules/call_rows.hpp>
#include <whywait/rules/contribution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// The call sites whose names the rules need.
inline base::vector<core::stable_key> keys_of(const rules::contribution& all) {
  base::vector<core::stable_key> keys;
  for (const rules::site_use& use : all.uses) keys.push_back(use.site);
  core::stable_key last = 0;
  for (const rules::folded_calls& c : all.calls.kinds) {
    if (c.kind.site != last) keys.push_back(c.kind.site);
    last = c.kind.site;
  }
  return keys;
}

namespace detail {

inline void print_lines(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  core::write_text(text.data(), text.size(), stderr);
}

}  // namespace detail

/// Evaluates the built-in rules, the rules of the program and those of the files that `wanted` (WHYWAIT_RULES) names.
/// `shared`: whether ranks often waited for a processor, as `sharing` tells. `useful_known`, `most_divided_ns`: as in rules::program_facts. Errors in rules are printed and counted in `facts.warnings`; they
/// change nothing else. For rank 0.
inline rules::evaluation advise(const char* wanted, const explain::outcome& found, const base::names& names,
                                rules::contribution&& all, bool shared, bool useful_known,
                                const reports::processor_sharing& sharing, reports::run_facts& facts,
                                std::int64_t most_divided_ns = INT64_MAX) {
  try {
    const rules::rules_setting setting = rules::rules_setting::parse(wanted);
    const rules::knowledge known = rules::active_rules(setting, all.events, std::move(all.texts));
    if (setting.list) detail::print_lines(rules::list_text(known));
    std::uint64_t dropped = 0;
    for (const rules::own_packet& packet : all.events) dropped += rules::dropped_events(packet);
    rules::program_facts program;
    program.code = &all.code;
    program.data = all.data;
    program.shared_processors = shared;
    program.other_programs = shared && sharing.ranks <= sharing.processors && found.locations <= facts.ranks;
    program.useful_known = useful_known;
    program.most_divided_ns = most_divided_ns;
    program.most_pages = most_pages_of_process();
    program.without_processor_ns = static_cast<std::int64_t>(1e9 * sharing.seconds);
    program.noise.all_ns = static_cast<std::int64_t>(1e9 * sharing.code_seconds);
    for (const rules::code_use& u : all.code.blocks) program.noise.add(u.most_rank, u.most_delay_ns);
    for (const rules::site_use& u : all.uses)
      if (u.what == rules::site_use::kind::send) program.sites.push_back({u.site, u.calls, u.own_before_ns});
    rules::evaluation evaluated = rules::evaluate(known, found, facts.ranks, names, program,
                                                  [&](rules::event_store& store, rules::trouble& log, auto& made) {
                                                    rules::add_uses(store, all.uses, names, made);
                                                    rules::add_calls(store, log, all.calls, names, made);
                                                    for (std::size_t i = 0; i < all.events.size(); ++i)
                                                      rules::add_own_events(all.events[i], all.ranks[i], store);
                                                  });
    const core::code_counts& counted = all.code.whole.counts;
    const bool sleeps = 2 * counted[core::code_count::ran_ns] < counted[core::code_count::read_ns];
    evaluated.processors = sleeps ? 0 : sharing.processors;
    const std::int64_t mean_ns = all.code.whole.ns / std::max<std::int64_t>({1, facts.ranks, all.code.whole.ranks});
    for (const rules::code_use& u : all.code.blocks)
      evaluated.code.push_back(
          {u.block, u.most_rank, u.most_thread, u.most_whole_ns - mean_ns, u.asleep(), u.sleeps(), u.lacking()});
    const base::vector<rules::diagnostic>& errors = known.log.list();
    for (const rules::diagnostic& error : errors) detail::print_lines(error.text());
    for (const std::string& message : evaluated.messages) detail::print_lines(message);
    const std::size_t count = errors.size() + evaluated.messages.size();
    if (count != 0)
      facts.warnings.push_back(base::counted(static_cast<std::int64_t>(count), "error") +
                               " in rules, printed on standard error; the affected rules were skipped");
    if (dropped != 0)
      facts.warnings.push_back(base::counted(static_cast<std::int64_t>(dropped), "own event was", "own events were") +
                               " dropped because the event buffer was full; rules do not see them");
    if (all.calls.others.count != 0)
      facts.warnings.push_back("rules over single calls do not see " + base::counted(all.calls.others.count, "call") +
                               ", because there are too many kinds of them");
    return evaluated;
  } catch (const std::exception& problem) {
    facts.warnings.push_back(std::string("the rules failed (") + problem.what() + "); the report has no advice");
    return {};
  }
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
