#ifndef WHYWAIT_REPORT_HEADLINE_HPP
#define WHYWAIT_REPORT_HEADLINE_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/printing.hpp>
#include <whywait/report/run_origin.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/words.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// "whywait · app · 8 ranks · 16 threads · 12.4 s · 31 % waiting · 2026-11-24 15:04", what is known of it. `waiting`: share of rank
/// time, or 0.
inline std::string headline(const result& r, double waiting = 0) {
  const run_facts& run = r.run;
  std::string head = "whywait";
  const std::string program = program_name(run.origin);
  if (!program.empty()) head += " · " + base::shorten_middle(base::printable(program), 40);
  head += base::joined({" · ", base::counted(run.ranks, base::rank_noun())});
  if (run.locations > run.ranks) head += " · " + base::counted(run.locations, "thread");
  head += " · " + base::duration(run.seconds);
  if (run.partly_explained()) head += base::joined({", of which ", explained_words(run), " explained"});
  if (waiting > 0) head += base::joined({" · ", base::percent(waiting), " waiting"});
  if (run.origin.date.size() >= 16)
    head += base::joined({" · ", run.origin.date.substr(0, 10), " ", run.origin.date.substr(11, 5)});
  if (run.partial) head += " · PARTIAL";
  return head;
}

constexpr const char* no_calls_words() noexcept {
  return "NO MPI CALLS WERE SEEN, so waits cannot be explained. Include <whywait/mpi.hpp> in one source file that is "
         "linked into the program, and call MPI through its C interface. WHYWAIT_ENABLE=0 suppresses this message.";
}

inline double waiting_share(const run_facts& run) noexcept {
  return run.location_seconds > 0 ? run.waiting_seconds / run.location_seconds : 0;
}

/// Whether the ranks wait too little for a report about it.
inline bool is_quiet(const result& r, const text_options& o) noexcept {
  return waiting_share(r.run) < o.quiet_below || r.run.waiting_seconds < o.quiet_seconds;
}

/// What is said about a run whose ranks hardly wait.
inline std::string quiet_words(const result& r, const text_options& o) {
  if (r.run.ranks == 1 && r.run.waiting_seconds <= 0) {
    if (r.other_worlds.seconds > 0) return "1 rank: it can only wait for processes of another world.";
    if (r.run.unrecorded.matter()) return "1 thread was recorded: whether it waited for others is not known.";
    return std::string("1 ") + base::rank_noun() + ": there is no other " + base::rank_noun() + " to wait for.";
  }
  const double share = waiting_share(r.run);
  if (r.run.unseen_seconds > 0.1 * r.run.seconds) return hardly_seen(r.run, share);
  const std::string waiting =
      base::percent(share) + " of " + base::rank_time() + " is waiting (" + base::duration(r.run.waiting_seconds) + ")";
  if (nothing_worth_changing(r, o))
    return waiting + ": nothing worth changing here" + (r.run.threads_only ? ", but " + loops_words() + "." : ".");
  if (share >= o.quiet_below) return waiting + ", too little to be worth changing.";
  return waiting + instead_words(first_objection(r, o));
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
