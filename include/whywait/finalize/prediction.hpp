#ifndef WHYWAIT_FINALIZE_PREDICTION_HPP
#define WHYWAIT_FINALIZE_PREDICTION_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/finalize/asking.hpp>
#include <whywait/finalize/naming.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/whatif/ask.hpp>
#include <whywait/whatif/records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {
namespace detail {

/// Makes log labels from names. A label is the name of a region, or a call and its place.
struct label_namer final : whatif::key_namer {
  explicit label_namer(const base::names& n) : all(n) {}
  std::string operator()(core::stable_key key) const override {
    const base::place* const p = all.find(key);
    if (p == nullptr) return "code without a name";
    return p->call.empty() ? p->name : base::call_text(*p);
  }
  const base::names& all;
};

/// Gathers on rank 0 the calls of all ranks that end before a common time, at most `most_calls`. Returns false if a
/// rank has no memory to send them. Collective.
inline bool gather_lines(const explain::rank_history& own, const finalize::team& all, std::uint64_t most_calls,
                         base::vector<whatif::traced_line>& lines, bool& all_of_them) {
  std::uint64_t total = 0;
  for (const explain::location_history& l : own.locations) total += l.records.size();
  all.all_reduce(&total, 1, MPI_UINT64_T, MPI_SUM);
  std::int64_t until = INT64_MAX;
  all_of_them = total <= most_calls;
  if (!all_of_them) {
    for (const explain::location_history& l : own.locations) {
      if (l.records.empty()) continue;
      const double share = static_cast<double>(l.records.size()) * static_cast<double>(most_calls) / static_cast<double>(total);
      const core::sync_record& last = l.records[std::min(static_cast<std::uint64_t>(share), l.records.size() - 1)];
      until = std::min(until, own.clock(last.begin));
    }
    all.all_reduce(&until, 1, MPI_INT64_T, MPI_MIN);
  }
  base::packet packed;
  bool good = true;
  try {
    base::vector<whatif::traced_line> mine = whatif::trace(own, SIZE_MAX, until);
    if (all.rank() == 0) lines = std::move(mine);
    else packed = whatif::pack(mine);
  } catch (const std::exception&) {
    good = false;
  }
  // Agree that all ranks can send before any of them sends.
  if (all.lowest_of(!good) >= 0) return false;
  all.gather(packed.data(), packed.size(),
             [&](const unsigned char* data, std::size_t size) { whatif::unpack(data, size, lines); });
  return true;
}

}  // namespace detail

/// The input of the model on rank 0: the calls up to the end of the first epoch.
struct traced_calls {
  base::vector<whatif::traced_line> lines;
  bool asked = false, gathered = false, all_of_them = true;
};

/// Gathers the calls at the end of the first epoch (`goes_on`: others follow) or of the run, if there are questions.
/// Rank 0 keeps at most 2,000,000 calls of all ranks (about 250 bytes each). Collective.
inline void gather_calls(const explain::rank_history& own, const asked_questions& asked, bool goes_on,
                         const finalize::team& all, traced_calls& into) {
  constexpr std::uint64_t most_calls = 2000000;
  if (into.asked || asked.all.empty()) return;
  into.asked = true;
  into.gathered = detail::gather_lines(own, all, most_calls, into.lines, into.all_of_them);
  into.all_of_them = into.all_of_them && !goes_on;
}

/// Answers the questions on rank 0, into `into.prediction`, from the gathered calls. If the run was longer, answers
/// from the log cover its beginning and state that. `found` is the outcome of an analysis that also gave the questions
/// to the virtual clocks. Does nothing without questions. Collective.
inline void answer_questions(const mpi::state& process, const process_names& history, const finalize::team& all,
                             traced_calls calls, const asked_questions& asked, const explain::outcome& found,
                             reports::result& into) {
  if (!calls.asked) return;
  const base::names names = gather_names(whatif::keys_of(calls.lines), history, all);
  if (process.rank != 0) return;
  try {
    if (!calls.gathered)
      throw models::prediction_error(models::fault::log, "a rank ran out of memory before it sent its calls");
    const models::run_log log =
        whatif::join(std::move(calls.lines), static_cast<const whatif::key_namer&>(detail::label_namer(names)));
    whatif::ask_options options;
    options.outside = asked.answers_in(found);
    const double run_seconds = static_cast<double>(found.longest_ns) * 1e-9;
    for (const reports::location_seconds& r : into.not_understood.ranks)
      if (run_seconds > 0) options.not_understood = std::max(options.not_understood, r.seconds / run_seconds);
    if (into.run.location_seconds > 0)
      options.shared_processors = into.not_understood.sharing.code_seconds / into.run.location_seconds;
    options.crowded_seconds = reports::crowded_transfers(into);
    into.prediction.answers = whatif::ask(log, asked.all, options);
    for (whatif::answer& a : into.prediction.answers)
      if (!calls.all_of_them && a.engine == "clocks")
        a.notes.push_back("this answer covers the whole run of " + base::duration(a.measured_seconds));
    for (const whatif::answer& a : into.prediction.answers)
      if (!a.engines.empty()) into.prediction.unchanged_error = a.engines.front().baseline_error;
    into.prediction.measured_seconds = log.measured_seconds;
    into.prediction.whole_run = calls.all_of_them;
  } catch (const std::exception& problem) {
    core::warn("cannot answer WHYWAIT_WHATIF: ", problem.what(), "; the rest of the report is complete");
  }
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
