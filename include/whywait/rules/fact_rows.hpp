#ifndef WHYWAIT_RULES_FACT_ROWS_HPP
#define WHYWAIT_RULES_FACT_ROWS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/rules/calls.hpp>
#include <whywait/rules/place_columns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The ranks of a list of shares: "rank 3", "ranks 1-3 and 7", "12 ranks".
inline std::string ranks_text(const base::vector<explain::location_share>& shares) {
  base::pod_vector<std::int32_t> ranks;
  bool others = false;
  for (const explain::location_share& s : shares) {
    if (s.rank < 0) others = true;
    else ranks.push_back(s.rank);
  }
  return base::rank_list(ranks, others);
}

/// Converts the outcome of an analysis to facts: one `run`, a `wait` per explanation (numbered as in the outcome) and a
/// `block` per residual term. Tracing rules receive the calls of the mean instance of each explanation, with the count
/// as weight, so that rules over sends, receives and collectives see a whole run in a few rows.
class fact_maker {
 public:
  fact_maker(event_store& store, const explain::outcome& found, std::int64_t ranks, const base::names& known, trouble& log)
      : store_(store), found_(found), ranks_(ranks), names_(found, known), feeder_(store, log) {}

  void make() {
    store_.location_time = seconds(found_.location_ns);
    row_writer(store_, "run")
        .set("ranks", ranks_)
        .set("locations", found_.locations)
        .set("duration", seconds(found_.longest_ns))
        .set("location_time", seconds(found_.location_ns))
        .set("waiting", seconds(found_.waiting_ns))
        .set("waiting_share", ratio(found_.waiting_ns, found_.location_ns))
        .set("unmatched", found_.unmatched)
        .set("clock_violations", found_.clock_violations);
    for (const explain::explanation& e : found_.waits) {
      const std::uint32_t kind = kinds_.intern(kind_of(e), static_cast<std::uint32_t>(all_shapes_.size()));
      if (kind == all_shapes_.size()) all_shapes_.push_back(0);
      all_shapes_[kind] += e.wait_ns;
    }
    for (std::size_t i = 0; i < found_.waits.size(); ++i) wait(i);
  }

 private:
  static double seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }
  static double ratio(std::int64_t a, std::int64_t b) noexcept {
    return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
  }

  /// The key of a wait for readers; its explanations differ only in their shape.
  static core::stable_key kind_of(const explain::explanation& e) noexcept {
    return core::combine(core::combine(e.operation, e.cause), static_cast<std::uint64_t>(e.why));
  }

  /// A block in the words of a sentence; names have at most 48 columns.
  struct block_name {
    std::string text;
    const char* kind;
    std::string place;
  };
  block_name name_of(const explain::residual_term& term) const {
    const explain::block_description d = names_.describe(term.block, term.within != 0);
    block_name out{{}, d.kind_name, d.where != nullptr ? code_text(*d.where) : std::string()};
    if (d.kind == explain::block_kind::between)
      out.text = "the code between " + (d.since_init ? std::string("MPI_Init") : detail::call_of(d.from)) + " and " +
                 detail::call_of(d.where);
    else if (d.kind == explain::block_kind::call) out.text = "the transfer in " + detail::call_of(d.where);
    else out.text = base::shorten_middle(base::printable(d.name), 48);
    return out;
  }

  /// Ratio of the time per visit on the late and the waiting side; 0 if one side did not run the block.
  static double speed_ratio(const explain::residual_term& t) noexcept {
    const bool work = t.causer_work > 0 && t.waiter_work > 0;
    const double late = ratio(t.causer_ns, work ? t.causer_work : t.causer_visits);
    const double waiting = ratio(t.waiter_ns, work ? t.waiter_work : t.waiter_visits);
    return late > 0 && waiting > 0 ? late / waiting : 0;
  }
  static double each(const explain::residual_term& t) noexcept {
    return 2 * seconds(t.speed_ns) / std::max(1.0, static_cast<double>(t.causer_visits + t.waiter_visits));
  }

  void wait(std::size_t index) {
    const explain::explanation& e = found_.waits[index];
    const base::place* const operation = names_.place(e.operation);
    const base::place* const cause = names_.place(e.cause);
    const auto number = static_cast<double>(index);
    const std::string operation_call = operation != nullptr ? operation->call : std::string();
    const std::uint32_t operation_action = store_.add_action(detail::action_at(operation));
    const std::uint32_t cause_action = store_.add_action(detail::action_at(cause));

    base::pod_vector<const explain::residual_term*> terms;
    for (const explain::residual_term& t : e.residual) terms.push_back(&t);
    base::small_stable_sort(terms, [](const auto* a, const auto* b) { return a->total_ns > b->total_ns; });
    std::int64_t positive = 0, more = 0, slower = 0, transfer = 0, marked = 0;
    base::vector<std::string> names, places;
    base::pod_vector<const char*> kinds;
    for (const explain::residual_term* t : terms) {
      block_name known = name_of(*t);
      names.push_back(std::move(known.text));
      places.push_back(std::move(known.place));
      kinds.push_back(known.kind);
      more += std::max<std::int64_t>(t->visits_ns, 0);
      slower += std::max<std::int64_t>(t->speed_ns, 0);
      if (t->total_ns <= 0) continue;
      const std::string_view kind = known.kind;
      if (kind != "other") positive += t->total_ns;
      if (kind == "call") transfer += t->total_ns;
      if (kind == "waiting") marked += t->total_ns;
    }
    // At most two blocks are named, until they cover three quarters of the delay; more names would not be advice. Code
    // cannot be moved out of an MPI call, so no block is named if the late side was mostly inside one.
    std::string blocks;
    std::int64_t named = 0;
    int used = 0;
    for (std::size_t i = 0; i < terms.size() && 4 * transfer <= 3 * positive; ++i) {
      if (terms[i]->total_ns <= 0 || kinds[i] == std::string_view("other") || kinds[i] == std::string_view("call")) continue;
      if (used == 2 || (used == 1 && 4 * named >= 3 * (positive - transfer))) break;
      blocks += (used++ == 0 ? "" : " and ") + names[i];
      named += terms[i]->total_ns;
    }

    std::int64_t causing = 0, most = 0;
    std::int32_t late_rank = -1;
    std::size_t late_count = 0, waiting_count = 0;
    for (const explain::location_share& s : e.causers) {
      causing += s.ns;
      late_count += s.rank >= 0 ? 1 : 2;
      if (s.rank >= 0 && s.ns > most) most = s.ns, late_rank = s.rank;
    }
    for (const explain::location_share& s : e.waiters) waiting_count += s.rank >= 0 ? 1 : 2;

    row_writer w(store_, "wait");
    static constexpr const char* qualities[] = {"exact", "bounded", "order_suspect", "hidden_tree"};
    w.set("wait", number)
        .set("pattern", explain::name_of(e.why))
        .set("quality", qualities[static_cast<unsigned>(e.trust) & 3u]);
    w.set("duration", seconds(e.wait_ns))
        .set("all_shapes", seconds(all_shapes_[kinds_.find(kind_of(e))]))
        .set("longest", seconds(e.longest_ns))
        .set("count", e.count);
    w.set("mean", e.count > 0 ? seconds(e.wait_ns) / static_cast<double>(e.count) : 0.0);
    w.set("share", ratio(e.wait_ns, found_.location_ns)).set("share_of_waiting", ratio(e.wait_ns, found_.waiting_ns));
    w.set("wrong_order_count", e.wrong_order_count).set("wrong_order_duration", seconds(e.wrong_order_ns));
    w.set("indirect", seconds(e.indirect_ns)).set("unexplained", seconds(e.unexplained_ns));
    w.set("operation", detail::call_of(operation)).set("operation_call", base::printable(operation_call));
    w.set("cause", detail::call_of(cause)).set("cause_call", base::printable(cause != nullptr ? cause->call : std::string()));
    w.set("operation_region", operation != nullptr ? within_text(*operation) : "");
    w.set("cause_region", cause != nullptr ? within_text(*cause) : "");
    w.set("operation_site", number_of(e.operation))
        .set("cause_site", number_of(e.cause))
        .set("same_site", e.operation == e.cause);
    w.set("nonblocking", operation_call.compare(0, 8, "MPI_Wait") == 0);
    w.set("blocks", blocks).set("blocks_duration", seconds(std::min(named, e.wait_ns))).set("blocks_count", used);
    // The saving by a change of the named blocks; without named blocks the time without a cause in the program's own
    // code.
    w.set("avoidable", used > 0 ? seconds(std::min(named, e.wait_ns)) : seconds(e.unexplained_ns + transfer));
    w.set("positive", seconds(positive)).set("more", seconds(more)).set("slower", seconds(slower));
    w.set("in_transfer", seconds(transfer)).set("in_marked_waits", seconds(marked));
    w.set("late_ranks", ranks_text(e.causers)).set("late_ranks_count", late_count).set("late_rank", late_rank);
    w.set("waiting_ranks", ranks_text(e.waiters))
        .set("waiting_ranks_count", waiting_count)
        .set("late_share", ratio(most, causing));
    if (!terms.empty() && terms[0]->total_ns > 0) {
      const explain::residual_term& top = *terms[0];
      w.set("top", names[0]).set("top_kind", kinds[0]).set("top_duration", seconds(top.total_ns));
      w.set("top_more", seconds(top.visits_ns)).set("top_slower", seconds(top.speed_ns)).set("top_each", each(top));
      w.set("top_inherited", seconds(top.inherited_ns))
          .set("top_share", ratio(top.total_ns, positive))
          .set("top_ratio", speed_ratio(top));
      const bool work = top.causer_work > 0 && top.waiter_work > 0;
      w.set("top_late_amount", work ? top.causer_work : top.causer_visits);
      w.set("top_waiting_amount", work ? top.waiter_work : top.waiter_visits)
          .set("top_unit", work ? "units of work" : "visits");
    }
    w.actions(cause_action, operation_action);

    for (std::size_t i = 0; i < terms.size(); ++i) {
      const explain::residual_term& t = *terms[i];
      const std::uint32_t place = store_.add_action({{}, names[i], {}, 0, names[i]});
      row_writer b(store_, "block");
      b.set("wait", number).set("name", names[i]).set("kind", kinds[i]).set("place", places[i]);
      b.set("operation", detail::call_of(operation))
          .set("cause", detail::call_of(cause))
          .set("pattern", explain::name_of(e.why));
      b.set("duration", seconds(t.total_ns)).set("more", seconds(t.visits_ns)).set("slower", seconds(t.speed_ns));
      b.set("inherited", seconds(t.inherited_ns))
          .set("late_duration", seconds(t.causer_ns))
          .set("waiting_duration", seconds(t.waiter_ns));
      b.set("late_visits", t.causer_visits)
          .set("waiting_visits", t.waiter_visits)
          .set("each", each(t))
          .set("ratio", speed_ratio(t));
      b.set("both_ran", t.causer_visits > 0 && t.waiter_visits > 0).set("share", ratio(t.total_ns, e.wait_ns));
      b.set("wait_share", ratio(e.wait_ns, found_.location_ns)).set("wait_duration", seconds(e.wait_ns));
      b.set("late_rank", late_rank).set("one_late_rank", 10 * most >= 8 * causing && causing > 0);
      b.set("late_ranks", ranks_text(e.causers)).set("ranks", ranks_);
      b.actions(place);
    }
    calls(e, index, operation_action, cause_action, late_rank);
  }

  double number_of(core::stable_key key) {
    return key == 0 ? 0 : sites_.intern(key, static_cast<std::uint32_t>(sites_.size() + 1));
  }

 public:
  /// The number of a call site in facts (`operation_site`, `barrier_use.site`).
  double site_number(core::stable_key key) { return number_of(key); }

 private:
  /// Feeds the mean instance of an explanation as two calls, the late one and the waiting one.
  void calls(const explain::explanation& e, std::size_t index, std::uint32_t operation, std::uint32_t cause,
             std::int32_t late_rank) {
    using core::mpi_call;
    if (e.count <= 0) return;
    mpi_call waiting = mpi_call::Barrier, late = mpi_call::Barrier;
    switch (e.why) {
      case explain::pattern::late_sender: waiting = mpi_call::Recv, late = mpi_call::Send; break;
      case explain::pattern::late_receiver: waiting = mpi_call::Send, late = mpi_call::Recv; break;
      case explain::pattern::wait_at_barrier: break;
      case explain::pattern::wait_at_nxn: waiting = late = mpi_call::Allreduce; break;
      case explain::pattern::late_broadcast: waiting = late = mpi_call::Bcast; break;
      case explain::pattern::early_reduce: waiting = late = mpi_call::Reduce; break;
      case explain::pattern::early_scan: waiting = late = mpi_call::Scan; break;
      case explain::pattern::wait_at_create: waiting = late = mpi_call::Comm_dup; break;
      case explain::pattern::wait_at_finalize:
      case explain::pattern::wait_for_progress:
      case explain::pattern::count_: return;
    }
    const double mean = seconds(e.wait_ns) / static_cast<double>(e.count);
    const std::int32_t waiter = e.waiters.empty() ? 0 : e.waiters[0].rank;
    const bool rooted = e.why == explain::pattern::late_broadcast || e.why == explain::pattern::early_reduce;
    const double root = !rooted ? -1 : e.why == explain::pattern::late_broadcast ? late_rank : waiter;
    call_values w, l;
    for (call_values* c : {&w, &l}) {
      call_values& v = *c;
      v[call_field::communicator] = -1;  // joins with no recorded call
      v[call_field::ordinal] = v[call_field::instance] = static_cast<double>(index) + 1;
      v[call_field::tag] = 0;
      v[call_field::root] = root;
      v[call_field::size] = 2;
      v[call_field::wait] = static_cast<double>(index);
      v[call_field::matched] = 1;
      const bool waits = c == &w;
      const double start = seconds(e.first_ns) + (waits ? 0 : mean);
      v[call_field::start_time] = v[call_field::wait_start_time] = start;
      v[call_field::end_time] = seconds(e.first_ns) + mean;
      v[call_field::duration] = waits ? mean : 0;
      const action& at = store_.action_of(waits ? operation : cause);
      v[call_field::function] = text(at.call);
      v[call_field::region] = text(at.region);
      v[call_field::file] = text(at.file);
      v[call_field::line] = at.line;
      v[call_field::rank] = waits ? waiter : late_rank;
      v[call_field::peer] = waits ? late_rank : waiter;
    }
    if (e.why == explain::pattern::late_sender || e.why == explain::pattern::late_receiver) {
      const bool sender = e.why == explain::pattern::late_sender;
      for (call_values* c : {&w, &l}) {
        (*c)[call_field::source] = sender ? late_rank : waiter;
        (*c)[call_field::destination] = sender ? waiter : late_rank;
      }
    }
    const auto weight = static_cast<double>(e.count);
    feeder_.feed(late, l, cause,
                 rooted || e.why == explain::pattern::late_sender || e.why == explain::pattern::late_receiver ? weight : 1);
    feeder_.feed(waiting, w, operation, weight);
  }
  double text(const std::string& t) {
    const std::uint32_t number = store_.texts().intern(t);
    return number == text_pool::none ? 0 : number;
  }

  event_store& store_;
  const explain::outcome& found_;
  std::int64_t ranks_;
  explain::block_names names_;
  call_feeder feeder_;
  base::key_map sites_;                ///< number of each call site
  base::key_map kinds_;                ///< indices in all_shapes_
  base::pod_vector<std::int64_t> all_shapes_;  ///< time of all waits of one kind
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
