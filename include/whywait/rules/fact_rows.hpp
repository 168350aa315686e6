#ifndef WHYWAIT_RULES_FACT_ROWS_HPP
#define WHYWAIT_RULES_FACT_ROWS_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/rules/block_columns.hpp>
#include <whywait/rules/change_words.hpp>
#include <whywait/rules/earlier_sends.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/held_up.hpp>
#include <whywait/rules/next_barrier.hpp>
#include <whywait/rules/path_blocks.hpp>
#include <whywait/rules/place_columns.hpp>
#include <whywait/rules/program_facts.hpp>
#include <whywait/rules/rank_shares.hpp>
#include <whywait/rules/run_row.hpp>
#include <whywait/rules/saving_bounds.hpp>
#include <whywait/rules/wait_shapes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Converts the outcome of an analysis to facts: one `run`, a `wait` per explanation (numbered as in the outcome) and a
/// `block` per residual term, and a `point_to_point` per explanation of a wait for a message, with its count as weight.
class fact_maker {
 public:
  fact_maker(event_store& store, const explain::outcome& found, std::int64_t ranks, const base::names& known,
             const program_facts& program = {})
      : store_(store),
        found_(found),
        ranks_(ranks),
        names_(found, known),
        program_(program),
        path_(found, names_),
        bounds_(found, program_, ranks) {
    for (const bool whole : {false, true}) {  // an answer about all unmarked code saves more than its largest piece
      for (const explain::balance_answer& all : found.balances) {
        if (all.even || (all.block == explain::unmarked_key()) != whole) continue;
        const auto number = static_cast<std::uint32_t>(&all - found.balances.begin());
        balanced_.intern(all.piece, number);
        for (const explain::balance_answer& b : found.balances) {  // pieces of the code after or before one call
          const bool part = (all.after && all.block == explain::joined_key(b.first, explain::joined_by::after)) ||
                            (all.before && all.block == explain::joined_key(b.second, explain::joined_by::before));
          if (part && b.pieces == 1 && b.rank == all.rank && b.thread == all.thread) balanced_.intern(b.piece, number);
        }
      }
    }
  }

  void make() {
    store_.location_time = seconds(found_.location_ns);
    store_.run_time = seconds(found_.longest_ns);
    add_run_row(store_, found_, ranks_, program_, bounds_);
    for (const explain::explanation& e : found_.waits) shapes_.add(e);
    for (std::size_t i = 0; i < found_.waits.size(); ++i) wait(i);
  }

 private:
  static double seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }
  static double ratio(std::int64_t a, std::int64_t b) noexcept {
    return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
  }

  /// Ratio of the time per visit on the late and the waiting side; 0 if one side did not run the block.
  static double speed_ratio(const explain::residual_term& t) noexcept {
    const bool work = t.causer_work > 0 && t.waiter_work > 0;
    const double late = ratio(t.causer_ns, work ? t.causer_work : t.causer_visits);
    const double waiting = ratio(t.waiter_ns, work ? t.waiter_work : t.waiter_visits);
    return late > 0 && waiting > 0 ? late / waiting : 0;
  }
  /// Whether unmarked code is mostly between polls of one call, where its rank may wait.
  bool is_mostly_polls(core::stable_key block) const noexcept {
    const code_use* const use = program_.code != nullptr ? program_.code->find(block) : nullptr;
    return use != nullptr && 2 * use->most_polls_ns >= use->most_ns && use->most_ns > 0;
  }
  /// Wall time that balancing the largest block of a wait saves: the answer of the virtual clocks, which the verdict states,
  /// or what its critical path has above the mean. Of code that takes longer now on one rank, now on another, what evening it out saves.
  std::int64_t above_mean(const explain::residual_term& top, const code_spread& spread, std::int64_t longest_waiter) const {
    if (moves(top, spread)) return balance_of(top)->evened_ns;
    if (balance_predicted(top, spread)) {
      const std::int64_t predicted = balance_of(top)->saving_ns;
      return std::min(std::max(predicted, program_.shared_processors ? spread.above_mean_ns : 0), program_.most_divided_ns);
    }
    const std::int64_t listed_ns = path_.imbalance_ns(top.block, !spread.uneven());
    const std::string_view why = spread.excess;  // what is slower has to be faster, not other ranks to do it
    const bool faster = why == "speed" || why == "instructions" || why == "cycles" || why == "core" || why == "frequency";
    return std::min(std::min(listed_ns >= 0 ? listed_ns : std::min(top.total_ns, longest_waiter), spread.above_mean_ns),
                    faster ? INT64_MAX : bounds_.by_balance());
  }
  /// Whether the ranks that wait hardly run unmarked code that the late ones run.
  static bool hardly_runs(const explain::residual_term& top, std::string_view kind) noexcept {
    return kind == "between" && !base::ranks_are_threads() && 100 * top.waiter_ns < top.causer_ns;
  }
  /// Whether a block takes longer now on one rank, now on another.
  [[gnu::noinline]] bool moves(const explain::residual_term& top, const code_spread& spread) const noexcept {
    const explain::balance_answer* const b = spread.uneven() || base::ranks_are_threads() ? nullptr : balance_of(top);
    return b != nullptr && b->evened_ns > 2 * std::max<std::int64_t>(0, b->saving_ns);
  }
  bool balance_predicted(const explain::residual_term& top, const code_spread& spread) const noexcept {
    const explain::balance_answer* const b = balance_of(top);
    if (!spread.uneven() || b == nullptr) return false;
    // Of code that few ranks run, the question was about these ranks.
    const bool few = std::string_view(spread.lead) == "alone" || std::string_view(spread.lead) == "few";
    return b->among == ranks_ || (b->unmarked && b->ranks > 1) || !few;
  }
  [[gnu::noinline]] const explain::balance_answer* balance_of(const explain::residual_term& top) const noexcept {
    const std::uint32_t at = balanced_.find(top.block);
    return at != base::key_map::none ? &found_.balances[at] : nullptr;
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
      detail::block_name known = detail::name_of(names_, *t);
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
    std::int64_t named = 0, on_path = 0, by_speed = 0, balanced_ns = 0;  // balanced: saved by the one that saves most
    int used = 0;
    for (std::size_t i = 0; i < terms.size() && 4 * transfer <= 3 * positive; ++i) {
      if (terms[i]->total_ns <= 0 || kinds[i] == std::string_view("other") || kinds[i] == std::string_view("call") ||
          kinds[i] == std::string_view("startup") || is_mostly_polls(terms[i]->block))
        continue;
      if (used == 2 || (used == 1 && 4 * named >= 3 * (positive - transfer))) break;
      if (used == 0 || names[i] != blocks) blocks += (used == 0 ? "" : " and ") + names[i];  // not the same lines twice
      ++used;
      named += terms[i]->total_ns;
      on_path += path_.ns(terms[i]->block);
      by_speed += bounds_.by_speed(terms[i]->block);
      for (const explain::balance_answer& b : found_.balances)
        if (b.piece == terms[i]->block) balanced_ns = std::max(balanced_ns, std::min(b.saving_ns, program_.most_divided_ns));
    }
    std::int64_t causing = 0, most = 0, longest_waiter = 0;
    std::int32_t late_rank = -1;
    std::size_t late_count = 0, waiting_count = 0;
    for (const explain::location_share& s : e.causers) {
      causing += s.ns;
      if (s.rank >= 0 && s.ns > most) most = s.ns, late_rank = s.rank;
    }
    for (const explain::location_share& s : e.causers)
      if (20 * s.ns >= causing) late_count += s.rank >= 0 ? 1 : 2;
    for (const explain::location_share& s : e.waiters) {
      waiting_count += s.rank >= 0 ? 1 : 2;
      if (s.rank >= 0) longest_waiter = std::max(longest_waiter, s.ns);
    }

    row_writer w(store_, "wait");
    static constexpr const char* qualities[] = {"exact", "bounded", "order_suspect", "hidden_tree"};
    w.set("wait", number)
        .set("pattern", explain::name_of(e.why))
        .set("quality", qualities[static_cast<unsigned>(e.trust) & 3u]);
    w.time("duration", e.wait_ns).time("longest", e.longest_ns).set("count", e.count);
    w.time("all_shapes", shapes_.all_ns(e)).time("all_causes", shapes_.operation_ns(e));
    w.set("mean", e.count > 0 ? seconds(e.wait_ns) / static_cast<double>(e.count) : 0.0);
    w.set("share", ratio(e.wait_ns, found_.location_ns)).set("share_of_waiting", ratio(e.wait_ns, found_.waiting_ns));
    w.set("wrong_order_count", e.wrong_order_count).time("wrong_order_duration", e.wrong_order_ns);
    w.time("other_ready_duration", e.other_ready_ns).time("as_they_come", bounds_.by_arrival(e, waiting_count));
    const bool known = found_.removal.site == e.operation && e.why == explain::pattern::wait_at_barrier;
    const std::int64_t without_ns = known ? found_.removal.saving_ns : without_barrier_ns(e, found_, names_);
    w.time("without_saving", without_ns).set("without_share", ratio(without_ns, found_.longest_ns)).set("without_known", known);
    if (const explain::turn_taking& t = found_.turns; t.one != 0 && (t.one == e.operation || t.other == e.operation)) {
      const std::string one = detail::call_of(names_.place(t.one)), other = detail::call_of(names_.place(t.other));
      w.set("turns", one + " and " + other).set("turns_other", t.one == e.operation ? other : one);
      w.time("turns_saving", std::min(t.saving_ns, bounds_.by_overlap(t.one, t.other)));
    }
    w.time("indirect", e.inherited_wait_ns()).time("unexplained", e.unexplained_ns);
    w.set("operation", detail::call_of(operation)).set("operation_call", base::printable(operation_call));
    w.set("cause", detail::call_of(cause)).set("cause_call", base::printable(cause != nullptr ? cause->call : std::string()));
    w.set("operation_region", operation != nullptr ? within_text(*operation) : "");
    w.set("cause_region", cause != nullptr ? within_text(*cause) : "");
    w.set("operation_site", number_of(e.operation)).set("cause_site", number_of(e.cause));
    const bool placed = operation != nullptr && cause != nullptr && operation->file == cause->file;
    w.set("same_place", placed && operation->line == cause->line).set("same_site", e.operation == e.cause);
    w.set("nonblocking", operation_call.compare(0, 8, "MPI_Wait") == 0);
    w.set("blocks", blocks).time("blocks_duration", std::min(named, e.wait_ns)).set("blocks_count", used);
    // The saving by a change of the named blocks, in wall time: at most what the rank that waited most could gain, and what these blocks
    // have on the critical path. Without named blocks the time without a cause in the program's own code.
    std::int64_t avoidable = used > 0 ? std::min(named, e.wait_ns) : e.unexplained_ns + transfer;
    std::int64_t most_waited = longest_waiter;
    // A thread that finds the lock free makes no record of it: its unmarked code under the lock begins earlier than that of others.
    // Where threads take turns to be last, none of them waits as long as all could gain, which the clocks know.
    const bool locked = explain::waits_for_lock(e.why) && found_.no_locks.site != 0;
    const bool any_code = locked && used > 0 && kinds[0] == std::string_view("between");
    if ((locked || divides_work(e.why)) && used > 0) {  // now one thread is late by these blocks, now another
      avoidable = core::nearest(static_cast<double>(avoidable) *
                                ratio(any_code ? shapes_.all_ns(e) : shapes_.because_ns(e), e.wait_ns));
      const double part = locked ? ratio(shapes_.because_ns(e), shapes_.all_ns(e)) : 0;
      most_waited = any_code ? 0 : std::max(shapes_.because_longest_ns(e), bounds_.without_locks(part));
    }
    if (used > 0 && 3 * e.unexplained_ns > e.wait_ns)
      most_waited -= core::nearest(static_cast<double>(most_waited) * ratio(e.unexplained_ns, e.wait_ns));
    if (most_waited > 0) avoidable = std::min(avoidable, most_waited);
    if (used > 0 && !any_code && !found_.critical_path.empty()) avoidable = std::min(avoidable, on_path);
    const std::int64_t shared_ns = path_.ns(explain::call_key(e.operation)) + bounds_.by_sharing(terms, kinds);
    if (locked) avoidable = std::min(avoidable, bounds_.without_locks() + shared_ns);
    if (divides_work(e.why)) avoidable = std::min(avoidable, program_.most_divided_ns);
    if (used > 0 && (e.why == explain::pattern::join || within_ranks(e.why))) avoidable = std::min(avoidable, by_speed);
    // Of two threads one does half of the work of the other, or its own meanwhile.
    if (e.why == explain::pattern::join && found_.locations <= 3)
      avoidable = std::min(avoidable, std::max(avoidable / 2, found_.longest_ns - longest_waiter));
    if (locked) balanced_ns = 0;  // others cannot run it at the same time
    if (shapes_.of_service(e, found_.longest_ns)) avoidable = balanced_ns = 0;
    const bool handed_on = !terms.empty() && 2 * terms[0]->inherited_ns > terms[0]->total_ns;
    const bool marked_wait = used > 0 && kinds[0] == std::string_view("waiting");  // which cannot be shared out
    const bool divides = used > 0 && bounds_.spreads_work(e.why);
    if (divides && !handed_on && !marked_wait) avoidable = std::min(avoidable, bounds_.by_balance());
    // Evened out, the block makes another rank late by 1 % of the run or more, which has more of other code.
    const explain::balance_answer* const evened = divides ? balance_of(*terms[0]) : nullptr;
    if (evened != nullptr && 100 * evened->saving_ns < -found_.longest_ns) avoidable = balanced_ns;
    const std::int64_t shorter = std::max(avoidable, balanced_ns), reordered = std::min(avoidable, bounds_.by_any_order());
    const auto answer = [](const explain::removed_call& asked, std::int64_t otherwise) {
      return asked.site != 0 ? std::max<std::int64_t>(0, asked.saving_ns) : otherwise;
    };
    w.time("shorter", shorter).time("reordered", reordered).time("balanced", balanced_ns);
    w.time("polled", answer(found_.polls, reordered)).time("posted", answer(found_.posts, avoidable));
    w.set("only_divided", 2 * reordered < shorter).time("most_divided", bounds_.by_division());
    avoidable = std::max(std::min(avoidable, bounds_.by_order(e.why)), balanced_ns);
    w.time("most_even", bounds_.by_balance() != INT64_MAX ? bounds_.by_balance() : 0);
    w.time("avoidable", avoidable).set("ranks", ranks_).set("locations", found_.locations).set("threads", threads_in(e));
    w.set("noise", processor_noise::least_effect(program_.noise.all_ns, seconds(found_.longest_ns)));
    // Without facts about the program it may work before its sends.
    w.set("sends_after_work",
          program_.code == nullptr || (e.count > 0 && 2 * program_.mean_ns_before(e.cause) * static_cast<double>(e.count) >=
                                                          static_cast<double>(e.wait_ns)));
    w.time("positive", positive).time("more", more).time("slower", slower);
    w.time("in_transfer", transfer).time("in_marked_waits", marked);
    const std::string guilty = late_text(e), waiting = waiting_text(e);
    w.set("late_others", guilty == waiting ? "one another" : guilty);
    const auto begun_late = [&](const auto& b) { return b.even && b.piece == terms[0]->block; };
    const code_use* const use = !terms.empty() && program_.code != nullptr ? program_.code->find(terms[0]->block) : nullptr;
    const bool begins_late = used > 0 && base::any_of(found_.balances, begun_late);
    const bool rests = use != nullptr && use->asleep() >= 0.5;
    const change_words& words = handed_on     ? (within_ranks(e.why) ? handed_to_threads_words : handed_on_words)
                                : marked_wait ? marked_wait_words
                                : begins_late ? begun_late_words
                                              : (rests ? sleeping_words : uneven_words);
    const std::string held = &words == &begun_late_words ? held_up_text(e, late_rank, found_, names_) : std::string();
    w.set("because", words.verdict(blocks, held));
    w.set("spread", words.advice(blocks, within_ranks(e.why) ? "threads" : base::rank_nouns(), held));
    w.set("late_ranks", guilty).set("late_ranks_count", late_count).set("late_rank", late_rank);
    w.set("waiting_ranks", waiting).set("waiting_ranks_count", waiting_count);
    w.set("late_share", ratio(most, causing)).set("in_turn", in_turn(e.causers, e.waiters));
    if (!terms.empty() && terms[0]->total_ns > 0) {
      const explain::residual_term& top = *terms[0];
      w.set("top", names[0]).set("top_kind", kinds[0]).time("top_duration", top.total_ns);
      w.time("top_more", top.visits_ns).time("top_slower", top.speed_ns).set("top_each", detail::each(top));
      w.time("top_inherited", top.inherited_ns)
          .set("top_share", ratio(top.total_ns, positive))
          .set("top_ratio", speed_ratio(top));
      w.set("top_branch", detail::branch_in(top, terms, names))
          .set("top_here", ratio(top.causer_ns - top.waiter_ns, top.total_ns));
      const bool work = top.causer_work > 0 && top.waiter_work > 0;
      w.set("top_late_amount", work ? top.causer_work : top.causer_visits);
      const std::int64_t users = use != nullptr ? use->ranks : 0;
      const std::int64_t among = std::string_view(kinds[0]) == "between" ? users : std::max(ranks_, users);
      code_spread spread;
      if (use != nullptr) spread = code_spread::of(use, *program_.code, among, shapes_.longest_waiter_ns(e), found_.fault_ns);
      w.set("lead", spread.lead).set("excess", spread.excess).set("code_rank", spread.rank).set("top_place", places[0]);
      w.set("code_thread", base::rank_text(spread.rank, spread.thread));
      w.set("code_nouns", users > ranks_ || spread.thread != 0 ? "threads" : base::rank_nouns());
      const double asleep = use != nullptr ? use->asleep() : 0;
      w.set("code_asleep", asleep).set("code_slept", use != nullptr ? asleep * seconds(use->most_ns) : 0);
      w.set("code_ranks", users).set("code_ratio", spread.ratio).set("longer_share", path_.longer(use));
      w.set("code_processors", use != nullptr ? use->most_processors : 0);
      w.time("code_delay", spread.delay_ns).set("own_at_least", bounds_.own_processors_save_more());
      w.time("own_processors", program_.other_programs ? bounds_.by_own_processors() : bounds_.by_processors());
      w.time("code_system", spread.more_system_ns).set("code_faults", spread.more_faults);
      w.set("units_ratio", spread.units_ratio).set("visits_ratio", spread.visits_ratio);
      w.time("above_mean", above_mean(top, spread, longest_waiter)).time("above_others", spread.above_others_ns);
      // Where processors were shared, or the rank sleeps, `above_mean` is a bound.
      const explain::balance_answer* const even = balance_predicted(top, spread) ? balance_of(top) : nullptr;
      w.set("balance_predicted", even != nullptr && even->saving_ns <= program_.most_divided_ns &&
                                     !program_.shared_processors && (use == nullptr || !use->sleeps()));
      w.set("balance_moves", even != nullptr && (even->moves || delays_progress(top.block, found_)));
      w.set("balance_whole", even != nullptr && even->block == explain::unmarked_key());
      set_earlier_sends(w, found_, names_, program_, e, top.block);
      const bool in_turn = !work && hardly_runs(top, kinds[0]) && !moves(top, spread);
      w.set("top_waiting_amount", work      ? top.waiter_work
                                  : in_turn ? 0
                                            : top.waiter_visits)
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
      b.time("duration", t.total_ns).time("more", t.visits_ns).time("slower", t.speed_ns);
      b.time("inherited", t.inherited_ns).time("late_duration", t.causer_ns).time("waiting_duration", t.waiter_ns);
      b.set("late_visits", t.causer_visits)
          .set("waiting_visits", t.waiter_visits)
          .set("each", detail::each(t))
          .set("ratio", speed_ratio(t));
      b.set("both_ran", t.causer_visits > 0 && t.waiter_visits > 0).set("share", ratio(t.total_ns, e.wait_ns));
      b.set("wait_share", ratio(e.wait_ns, found_.location_ns)).time("wait_duration", e.wait_ns);
      b.set("late_rank", late_rank).set("one_late_rank", 10 * most >= 8 * causing && causing > 0);
      b.set("late_ranks", guilty).set("late_locations", guilty).set("ranks", ranks_);
      set_reason(b, t, explain::parts_of(t, e.counts, found_.fault_ns));
      if (program_.data != nullptr) set_data(b, *program_.data, e, t.block);
      b.actions(place);
    }
    message(e, number, operation_action, cause_action);
  }

  double number_of(core::stable_key key) {
    return key == 0 ? 0 : sites_.intern(key, static_cast<std::uint32_t>(sites_.size() + 1));
  }

 public:
  std::int64_t ranks() const noexcept { return ranks_; }
  /// The time of the run that is transfer, or time of the MPI library itself.
  double transfer_seconds() const noexcept {
    return found_.efficiency.parallel > 0 ? (1 - std::min(1.0, found_.efficiency.transfer)) * seconds(found_.total_ns) : 0;
  }
  /// The number of a call site in facts (`operation_site`, `barrier_use.site`).
  double site_number(core::stable_key key) { return number_of(key); }

 private:
  // The mean wait for a message, from the instant at which the earlier side was ready. Of the side that came late only
  // that instant is known.
  void message(const explain::explanation& e, double index, std::uint32_t operation, std::uint32_t cause) {
    const bool sender_late = e.why == explain::pattern::late_sender;
    if (e.count <= 0 || (!sender_late && e.why != explain::pattern::late_receiver)) return;
    const double ready = seconds(e.first_ns), late = ready + seconds(e.wait_ns) / static_cast<double>(e.count);
    const double send = sender_late ? late : ready, receive = sender_late ? ready : late;
    row_writer(store_, "point_to_point")
        .set("wait", index)
        .set("count", e.count)
        .set("send_start_time", send)
        .set("send_wait_start_time", send)
        .set("recv_start_time", receive)
        .set("recv_wait_start_time", receive)
        .weight(static_cast<double>(e.count))
        .actions(cause, operation);
  }

  event_store& store_;
  const explain::outcome& found_;
  std::int64_t ranks_;
  explain::block_names names_;
  program_facts program_;
  path_blocks path_;
  base::key_map balanced_;  ///< indices in balances by block
  base::key_map sites_;  ///< number of each call site
  saving_bounds bounds_;
  wait_shapes shapes_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
