#ifndef WHYWAIT_CLOCKS_CLOCK_STAGE_HPP
#define WHYWAIT_CLOCKS_CLOCK_STAGE_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/balanced_time.hpp>
#include <whywait/clocks/block_balance.hpp>
#include <whywait/clocks/chosen_changes.hpp>
#include <whywait/clocks/clock_pass.hpp>
#include <whywait/clocks/cost_pass.hpp>
#include <whywait/clocks/critical_path.hpp>
#include <whywait/clocks/delay_costs.hpp>
#include <whywait/clocks/further_speeds.hpp>
#include <whywait/clocks/slow_ranks.hpp>
#include <whywait/explain/active_time.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/merging.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The first questions of a run: an ideal network; with several nodes also the network within them; with calls on files also an
/// ideal network where files cost nothing.
struct ideal_networks {
  bool nodes = false, files = false;
  std::size_t count() const noexcept { return 1u + (nodes ? 1u : 0u) + (files ? 1u : 0u); }
};

/// The virtual clocks of one rank, from its needs to its answers. There are several passes if there are more questions
/// than clocks; the first pass has the compensation, the ideal network and the first questions. Not thread safe.
class clock_stage final : public explain::rank_clocks {
 public:
  /// `scratch`, `cost`: buffers of the process. All arguments are borrowed.
  clock_stage(const explain::rank_history& rank, const explain::options& settings, clock_scratch& scratch, cost_scratch& cost)
      : rank_(&rank),
        settings_(&settings),
        needs_(rank, *scratch.memory),
        meetings_(rank.rank, *scratch.memory),
        cost_pass_(rank, cost),
        placed_(*scratch.memory),
        pass_(rank, needs_, meetings_, notes_, scratch) {}

  void add_collective(const explain::participant* all, const explain::participant* waiting, std::size_t count,
                      const base::pod_vector<std::int32_t>& needs,
                      const base::pod_vector<explain::relay_wait>& relays) override {
    meetings_.plan(all, waiting, count, needs);
    meetings_.plan_relays(waiting, relays);
  }
  void send_needs(explain::outbox_call to) override { meetings_.send_needs(to); }
  void receive_needs(std::uint32_t part, base::packet_reader& in) override {
    const auto location = in.get<std::uint16_t>();
    if (part == base::packet_part::give) {
      needs_.add_give(location, in.get<clock_give>());
    } else {
      needs_.add_need(location, in.get<std::uint32_t>());
    }
  }
  void add_messages(std::uint16_t location, const explain::message_match* matches, std::size_t count,
                    const base::pod_vector<explain::arrival>& arrivals) override {
    needs_.add_messages(location, matches, count, arrivals);
  }
  void add_explained_location(std::uint16_t location, explain::explained_location what) override {
    const base::pod_vector<explain::block_time> own = cost_pass_.add_location(location, what, pieces_);
    path_.add(what.end_ns, std::move(what.path), own);
    own_.push_back(own);
    notes_.push_back(std::move(what.notes));
  }
  const explain::rank_history& rank() const noexcept { return *rank_; }
  cost_pass& costs() noexcept { return cost_pass_; }
  void finish_costs() { costs_ = cost_pass_.result(); }
  need_book& needs() noexcept { return needs_; }
  void set_classes(explain::class_merger& merging, std::size_t number) override {
    merging_ = &merging;
    merging.each_class(number, [this](std::uint32_t, const explain::class_clock& c) { placed_.push_back(c); });
  }

  /// On rank 0: chooses the blocks to predict savings for: those that explain most, then half as many others of its own path, and at
  /// most `most_balanced` to balance. With options::maps it also guesses for which of them further speeds will be predicted.
  base::packet choose_blocks(const block_balance& balance, std::size_t most_balanced) {
    base::vector<key_time> blocks;
    for (const explain::merged_class& c : merging_->merged_classes())
      for (const explain::residual_term& t : c.sum.residual)
        if (t.within == 0 && t.total_ns > 0) blocks.emplace_back(t.block, t.total_ns);
    add_up(blocks);
    balances_ = balance.candidates(most_balanced, blocks.empty() ? 0 : blocks[0].first);
    even_ = balance.even_in_phase(balances_);
    blocks.resize(std::min(blocks.size(), settings_->savings));
    base::pod_vector<explain::block_time> path = critical_path::joined(path_.path);
    small_stable_sort(path, [](const explain::block_time& a, const explain::block_time& b) {
      return a.ns != b.ns ? a.ns > b.ns : a.block < b.block;
    });
    const std::size_t most = blocks.size() + settings_->savings / 2;
    for (std::size_t i = 0; i != path.size() && blocks.size() < most && path[i].ns > 0; ++i) {
      if (!base::any_of(blocks, [&](const auto& b) { return b.first == path[i].block; })) blocks.emplace_back(path[i].block, 0);
    }
    base::packet out;
    put_all(out, balances_);
    put(out, static_cast<std::uint64_t>(blocks.size()));
    for (const auto& b : blocks) put(out, b.first);
    changes_.choose(merging_->merged_classes());
    changes_.write(out);
    if (!settings_->maps) return out;
    const base::packet guess = guess_further_speeds(path, blocks);
    out.insert(out.end(), guess.begin(), guess.end());
    return out;
  }
  /// How this rank's own time is divided; once, before the first pass.
  void join_code(block_balance& balance) {
    joined_.join(pieces_, settings_->functions, own_);
    pieces_.release();
    base::pod_vector<core::stable_key> regions;
    regions.append(rank_->blocks.data(), rank_->blocks.size());
    small_stable_sort(regions);
    for (std::size_t l = 0; l != own_.size(); ++l)
      balance.add(location(l), own_[l], joined_, regions, explain::is_reused(rank_->locations[l]));
    own_ = {};
  }
  /// Reads what `choose_blocks` wrote and measures how the balanced blocks lie in the run. Returns false if there are none.
  bool read_balanced(base::packet_reader& in) {
    get_all(in, balances_);
    if (balances_.empty()) return false;
    balanced_.read(*rank_, balances_, joined_);
    return true;
  }
  /// The course of these blocks on all ranks so far.
  base::packet pack_course() const {
    base::packet out;
    balanced_.write(out);
    return out;
  }
  void merge_course(const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    balanced_.merge(in);
  }
  void set_course(const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    balanced_.set_sums(in, balances_);
    slow_.begin(balances_.size());
    for (std::size_t l = 0; l != rank_->locations.size(); ++l) {
      for (std::size_t q = 0; q != balances_.size(); ++q) slow_.measure(location(l), q, balances_[q], balanced_.own_ns(l, q));
    }
  }

  /// Lists all questions: ideal networks; those of the settings; those
  /// of the blocks in `in`, twice as fast; of the sends and the barrier in it, and of the balanced blocks. Leaves the guess in `in`.
  base::vector<explain::what_if> questions(const explain::options& settings, ideal_networks ideal,
                                           base::packet_reader& in) const {
    base::vector<explain::what_if> all;
    add(all, {explain::network_key(), 0.0});
    if (ideal.nodes) add(all, {explain::node_network_key(), 0.0});
    if (ideal.files) {
      add(all, {explain::network_key(), 0.0});
      all.back().changes.push_back({explain::files_key(), 0.0});
    }
    for (const explain::what_if& asked : settings.questions) all.push_back(asked);
    for (auto blocks = in.get<std::uint64_t>(); blocks != 0; --blocks) add(all, {in.get<core::stable_key>(), 0.5});
    chosen_changes changes;
    changes.read(in);
    changes.add_questions(all);
    for (std::size_t i = 0; i != balances_.size(); ++i) add(all, {balances_[i].block, 1.0, static_cast<std::int32_t>(i)});
    return all;
  }

  /// On rank 0, with options::maps, after the first questions: the blocks for which further speeds are predicted.
  base::packet choose_factors(std::size_t first_questions) {
    return choose_further_speeds(*questions_, ideal_.count() + settings_->questions.size(), first_questions, total_ns_,
                                 [this](std::size_t q) { return ends_[q]; });
  }
  /// On rank 0: the numbers of the questions about further speeds.
  void set_factors(const base::pod_vector<std::uint32_t>& numbers) { factors_ = numbers; }

  /// Begins the next pass, for the questions before number `asked`; the first of them are ideal networks. `first_questions`: the
  /// number of questions without those about further speeds. Borrows all.
  void begin_pass(const clock_plan& plan, const base::vector<explain::what_if>& questions, std::size_t asked,
                  std::size_t first_questions, ideal_networks ideal, const node_map& nodes) {
    first_questions_ = first_questions;
    if (asked_ == 0) needs_.sort();
    plan_ = &plan;
    questions_ = &questions;
    ideal_ = ideal;
    asked_ = asked;
    pass_.begin(plan, nodes, balanced_, joined_);
  }
  clock_pass& pass() noexcept { return pass_; }

  // Results of a pass.
  base::packet pack_result() {
    take_result();
    base::packet out;
    out.reserve(1024);
    result_.write(out);
    if (plan_->compensates()) {  // in the first pass only
      path_.write(out);
      costs_.write(out);
      slow_.write(out);
    }
    return out;
  }
  void merge_result(const unsigned char* data, std::size_t size) {
    take_result();
    base::packet_reader in(data, size);
    result_.merge(in);
    if (!plan_->compensates()) return;
    path_.merge(in);
    costs_.merge(in);
    slow_.merge(in);
  }
  /// On rank 0, after the reduction: keeps the results of this pass.
  void keep(std::int64_t earliest_ns) {
    take_result();
    result_taken_ = false;
    earliest_ns_ = earliest_ns;
    std::size_t clock = 0;
    if (ends_.empty()) {
      without_.total_ns = result_.ends[clock++] - earliest_ns;
      without_.waiting_ns = result_.waiting_ns;
      without_.overhead_ns = result_.executed_ns;
      without_.bound_ns = result_.bound_ns;
      without_.error_ns = result_.error_ns + 2 * settings_->clock_error_ns;
      without_.inversions = result_.inversions;
      total_ns_ = result_.measured_end_ns - earliest_ns;
      // On a single node the whole network lies within it.
      efficiency_ = result_.efficiency(earliest_ns, result_.ends[clock], result_.ends[clock + (ideal_.nodes ? 1 : 0)],
                                       result_.ends[clock + (ideal_.files ? ideal_.count() - 1 : 0)]);
      locations_ = result_.locations;
      classes_ = result_.classes;
    }
    for (; ends_.size() != asked_; ++clock) ends_.push_back(result_.ends[clock] - earliest_ns);
  }

  /// Writes the results of the clocks to the outcome, before the classes are presented.
  void report(explain::outcome& result, base::vector<explain::merged_class>& merged) override {
    result.total_ns = total_ns_;
    result.without_overhead = without_;
    for (const explain::location_history& l : rank_->locations)
      result.without_overhead.calibrated = result.without_overhead.calibrated || !l.call_overheads.empty();
    result.efficiency = efficiency_;
    result.critical_path = path_.present(locations_);
    result.costs = costs_.present();
    const std::size_t balanced = first_questions_ - std::min(first_questions_, balances_.size());
    for (std::size_t q = balanced; q < first_questions_; ++q) {
      result.balances.push_back(balances_[q - balanced]);
      explain::balance_answer& b = result.balances.back();
      slow_.name(b, q - balanced);
      b.visits = balanced_.all_visits(q - balanced);
      // The clocks take the same time for each visit, also where the visits of all ranks vary, which balancing does not change.
      const std::int64_t evened_ns = total_ns_ - ends_[q];
      b.saving_ns = std::min(evened_ns, b.most_ns - block_balance::mean_ns(b));
      // the others' share of a block that they do not run yet
      if (b.among > b.ranks) b.saving_ns = std::min(b.saving_ns, total_ns_ - b.others_ns - block_balance::mean_ns(b));
      else b.moves = b.reused || (evened_ns > 0 && 5 * evened_ns > 7 * b.saving_ns);
      b.evened_ns = b.among > b.ranks ? 0 : evened_ns;
    }
    for (const explain::balance_answer& b : even_)
      if (100 * b.most_ns > total_ns_) result.balances.push_back(b);
    base::small_stable_sort(result.balances, &explain::balance_answer::saves_more);
    base::pod_vector<std::int64_t> saved_ns;
    for (const std::int64_t end_ns : ends_) saved_ns.push_back(total_ns_ - end_ns);
    const std::size_t moved = changes_.answer(result, saved_ns, balanced);
    for (std::size_t q = ideal_.count(); q < moved; ++q) {
      if (q < ideal_.count() + settings_->questions.size()) {
        result.answers.push_back({(*questions_)[q], ends_[q], total_ns_ - ends_[q]});
        continue;
      }
      result.savings.push_back(answer_about_block((*questions_)[q], ends_[q], total_ns_, result.critical_path));
    }
    for (const std::uint32_t q : factors_)
      result.factors.push_back(answer_about_block((*questions_)[q], ends_[q], total_ns_, result.critical_path));
    order_by_speed(result.factors);
    base::small_stable_sort(result.savings, [](const explain::what_if_answer& a, const explain::what_if_answer& b) {
      return a.saving_ns > b.saving_ns;
    });
    for (explain::merged_class& m : merged) {
      const auto at = std::lower_bound(classes_.begin(), classes_.end(), m,
                                       [](const explain::class_clock& c, const explain::merged_class& k) {
                                         return c.key != k.key ? c.key < k.key : c.slot < k.slot;
                                       });
      if (at == classes_.end() || at->key != m.key || at->slot != m.slot) continue;
      m.sum.compensated_ns = at->ns;
      m.sum.compensated_trust = std::max(at->trust, m.sum.trust);
    }
  }

  /// Sets the saving of each explanation by its first block, after the classes are presented.
  void mark_savings(explain::outcome& result) const override {
    for (explain::explanation& e : result.waits) {
      if (e.residual.empty()) continue;
      for (const explain::what_if_answer& a : result.savings) {
        if (a.question.changes[0].block == e.residual[0].block) e.saving_ns = a.saving_ns;
      }
    }
  }

 private:
  explain::thread_of_rank location(std::size_t l) const noexcept { return {rank_->rank, rank_->locations[l].thread}; }
  // Adds a question about one change.
  [[gnu::noinline]] static void add(base::vector<explain::what_if>& questions, const explain::change& c) {
    questions.emplace_back();
    questions.back().changes.push_back(c);
  }

  // Takes the rank's own result, once per pass.
  void take_result() {
    if (result_taken_) return;
    result_taken_ = true;
    result_ = std::move(pass_.result());
    if (!plan_->compensates()) return;
    result_.classes.reserve(pass_.classes().size());
    for (std::size_t i = 0; i != pass_.classes().size(); ++i) {
      explain::class_clock c = placed_[i];
      c.ns = pass_.classes()[i].ns;
      c.trust = pass_.classes()[i].trust;
      result_.classes.push_back(c);
    }
    result_.join();
  }

  const explain::rank_history* rank_;
  const explain::options* settings_;
  need_book needs_;
  meeting_book meetings_;
  cost_pass cost_pass_;
  explain::class_merger* merging_ = nullptr;
  base::vector<base::pod_vector<explain::wait_note>> notes_;
  base::pod_vector<explain::class_clock> placed_, classes_;
  critical_path path_;
  cost_sums costs_;
  const base::vector<explain::what_if>* questions_ = nullptr;
  std::size_t asked_ = 0;
  std::size_t first_questions_ = 0;  ///< number of questions without those about further speeds
  base::pod_vector<std::uint32_t> factors_;  ///< on rank 0: the questions about further speeds, of those that were asked
  ideal_networks ideal_;
  const clock_plan* plan_ = nullptr;
  clock_pass pass_;
  clock_result result_;
  bool result_taken_ = false;
  joined_code::time_by_location own_;  ///< what each location did itself, by block, until join_code
  base::pod_vector<unmarked_piece> pieces_;
  joined_code joined_;
  chosen_changes changes_;  ///< on rank 0: the questions before those about balanced blocks
  base::pod_vector<explain::balance_answer> balances_, even_;  ///< the last questions; of block_balance::even_in_phase
  balanced_time balanced_;
  slow_ranks slow_;
  base::vector<std::int64_t> ends_;  ///< end of the run for every question
  explain::compensation without_;
  explain::efficiencies efficiency_;
  std::int64_t total_ns_ = 0, earliest_ns_ = 0, locations_ = 0;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
