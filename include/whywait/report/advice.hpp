#ifndef WHYWAIT_REPORT_ADVICE_HPP
#define WHYWAIT_REPORT_ADVICE_HPP

#include <whywait/report/model.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace report {

/// What to try for each pattern. {blocks} is the code that made the late side late, {cause} and {operation} are the
/// calls with their lines. Replaceable: `assemble` takes any function object `std::vector<advice_entry>(const
/// wait_entry&)`.
struct advice_template {
  const char* pattern;
  const char* nonblocking;  ///< the operation completes a request: it is already nonblocking; null: no difference
  const char* blocking;
  const char* without_blocks;  ///< no block is known to have made the late side late
};

inline const advice_template* advice_for(const std::string& pattern) noexcept {
  static constexpr advice_template templates[] = {
      {"late_sender", "call {cause} before {blocks}, or give the waiting ranks work to do ahead of {operation}",
       "call {cause} before {blocks}, or post the receive early with MPI_Irecv and wait for it after other work",
       "call {cause} earlier, or post the receive early with MPI_Irecv and wait for it after other work"},
      {"late_receiver",
       "post the receive ({cause}) before {blocks}, or give the sender work to do ahead of {operation}",
       "post the receive ({cause}) before {blocks}, or send with MPI_Isend and wait for it after other work",
       "post the receive ({cause}) earlier, or send with MPI_Isend and wait for it after other work"},
      {"wait_at_barrier", nullptr,
       "spread the work of {blocks} evenly over the ranks, or drop {operation} if no data depends on it",
       "drop {operation} if no data depends on it"},
      {"wait_at_nxn", nullptr,
       "spread the work of {blocks} evenly over the ranks, or start the nonblocking form of {operation} and do other "
       "work until its result is needed",
       "start the nonblocking form of {operation} and do other work until its result is needed"},
      {"late_broadcast", nullptr,
       "let the root call {cause} before {blocks}, or start the nonblocking form early and wait where the data is "
       "needed",
       "let the root call {cause} earlier, or start the nonblocking form early and wait where the data is needed"},
      {"early_reduce", nullptr,
       "spread the work of {blocks} evenly over the ranks, or let the root use the nonblocking form of {operation} and "
       "do other work meanwhile",
       "let the root use the nonblocking form of {operation} and do other work meanwhile"},
      {"early_scan", nullptr,
       "give the lower ranks less of {blocks}, or use the nonblocking form of {operation} and do other work meanwhile",
       "use the nonblocking form of {operation} and do other work meanwhile"},
      {"wait_at_create", nullptr,
       "make the communicator once, ahead of {blocks}, or spread that work evenly over the ranks",
       "make the communicator once, where all ranks arrive together"},
      {"wait_at_finalize", nullptr, "give some of {blocks} to the ranks that finish first",
       "give some work of the last ranks to those that finish first"},
  };
  for (const advice_template& t : templates)
    if (pattern == t.pattern) return &t;
  return nullptr;
}

/// A call as advice names it: "MPI_Send (halo.cpp:131)".
[[gnu::cold]] inline std::string advice_call(const place& p) {
  const std::string code = code_text(p);
  return printable(p.call.empty() ? std::string("the call") : p.call) + (code.empty() ? "" : " (" + code + ")");
}

/// A block as advice names it: "compute_interior", "the code between MPI_Waitall (a.cpp:20) and MPI_Send (a.cpp:14)".
[[gnu::cold]] inline std::string advice_block(const residual_entry& r) {
  if (r.kind == "between")
    return "the code between " + (r.from ? advice_call(*r.from) : "MPI_Init") + " and " + advice_call(r.where);
  if (r.kind == "call") return "the transfer in " + advice_call(r.where);
  if (r.kind == "startup") return "what precedes MPI_Init";
  return shorten_middle(printable(r.block), 48);  // a sentence, not a dump
}

/// Advice from the pattern alone, specific to the user's own blocks and lines. The saving is an upper bound: no more
/// can be gained than the named blocks contribute to this wait, nor more than the wait itself.
struct built_in_advice {
  std::vector<advice_entry> operator()(const wait_entry& w) const {
    std::vector<advice_entry> out;
    if (w.wrong_order && w.wrong_order_seconds > 0)
      out.push_back({"wrong_order",
                     "receive in the order of sending: post all receives with MPI_Irecv ahead of " +
                         advice_call(w.operation) + " and take them as they come (MPI_Waitany)",
                     std::min(w.wrong_order_seconds, w.seconds)});
    const advice_template* const t = advice_for(w.pattern);
    if (t == nullptr) return out;

    // Name blocks until they hold three quarters of what made the late side late, two at most: more is no advice.
    double positive = 0;
    for (const residual_entry& r : w.residual) positive += nameable(r) ? r.seconds : 0;
    double named = 0;
    std::string blocks;
    int used = 0;
    for (const residual_entry& r : w.residual) {
      if (!nameable(r) || used == 2 || (used > 0 && named >= 0.75 * positive)) continue;
      blocks += (used++ == 0 ? "" : " and ") + advice_block(r);
      named += r.seconds;
    }
    const bool nonblocking = w.operation.call.compare(0, 8, "MPI_Wait") == 0;
    const char* text = used == 0                                  ? t->without_blocks
                       : nonblocking && t->nonblocking != nullptr ? t->nonblocking
                                                                  : t->blocking;
    const double saving = used == 0 ? w.unexplained_seconds : named;
    out.push_back({w.pattern, fill(text, blocks, w), std::max(0.0, std::min(saving, w.seconds))});
    return out;
  }

 private:
  static bool nameable(const residual_entry& r) noexcept { return r.seconds > 0 && r.kind != "other"; }

  static std::string fill(const char* text, const std::string& blocks, const wait_entry& w) {
    std::string out = text;
    const auto replace = [&out](const char* what, const std::string& by) {
      const std::string token = what;
      for (std::size_t at = out.find(token); at != std::string::npos; at = out.find(token, at + by.size()))
        out.replace(at, token.size(), by);
    };
    replace("{operation}", advice_call(w.operation));
    replace("{cause}", advice_call(w.cause));
    replace("{blocks}", blocks);  // last: a block's name is never searched for tokens
    return out;
  }
};

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
