#ifndef WHYWAIT_EXPLAIN_LOCATION_PATH_HPP
#define WHYWAIT_EXPLAIN_LOCATION_PATH_HPP

#include <whywait/explain/arrival.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/forward_scratch.hpp>
#include <whywait/explain/path_profile.hpp>
#include <whywait/explain/snapshot.hpp>
#include <whywait/explain/wait_classes.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The causal path profile pi of one location on its way through the records (docs/method.md 1.5). Computing in block b
/// for dt: pi[b] += dt. Waiting for q: the wait is explained by pi_q - pi, then pi = pi_q. Invariant: the times of the
/// profile add up to the time since the earliest rank's begin.
///
/// Without classes it is a scout, which explains nothing and never waits. It only tracks what the location did since it
/// last took over a path.
class location_path {
 public:
  location_path(const rank_history& rank, std::uint16_t location, const options& settings, std::int64_t earliest_ns,
                block_table& blocks, wait_classes* classes, forward_scratch& scratch)
      : rank_(&rank),
        here_(&rank.locations[location]),
        records_(here_->records),
        steps_(here_->steps),
        marked_blocks_(rank.blocks.size()),
        end_ns_(rank.end_ns),
        index_(location),
        settings_(&settings),
        blocks_(&blocks),
        classes_(classes),
        scratch_(&scratch),
        walk_(rank),
        earliest_ns_(earliest_ns),
        now_ns_(earliest_ns),
        profile_(scratch.merging.memory),
        aligned_(scratch.merging.memory),
        step_blocks_(scratch.merging.memory),
        call_blocks_(scratch.merging.memory),
        between_blocks_(scratch.merging.memory),
        notes_(scratch.merging.memory) {}

  /// Reserves memory and enters the time before the first record. `others`: the expected number of locations to align
  /// with.
  void begin(std::size_t others) {
    // Reserves all lists in a row, so that they are adjacent in the memory pool.
    profile_.reserve(std::max<std::size_t>(16, blocks_->size()));
    if (classes_ != nullptr) aligned_.reserve(others, profile_.capacity());
    step_blocks_.resize(marked_blocks_, base::key_map::none);
    call_blocks_.resize(here_->call_sites.size(), base::key_map::none);
    spend(blocks_->startup(), 1, rank_->begin_ns - earliest_ns_, 0);
    if (rank_->continued && rank_->locations.size() == 1) aligned_.world(rank_->begin_ns, profile_);
  }

  /// Sets the causers of the location's records, sorted by record; borrowed.
  void set_arrivals(const base::pod_vector<arrival>& arrivals) {
    arrivals_ = &arrivals;
    if (settings_->clocks != nullptr && classes_ != nullptr) notes_.reserve(arrivals.size());
  }
  const base::pod_vector<arrival>& arrivals() const noexcept { return *arrivals_; }
  const path_profile& profile() const noexcept { return profile_; }

  /// Goes to the beginning of the next record. At the end it enters the last steps, reports the path and returns false.
  bool begin_next() {
    if (next_ >= records_.size()) {
      finish();
      return false;
    }
    const core::sync_record& r = records_[next_];
    walk_.step(r);
    leave_ns_ = walk_.leave_ns();
    compute(r.steps, walk_.begin_ns(), r.site);
    return true;
  }

  std::uint32_t record() const noexcept { return static_cast<std::uint32_t>(next_); }
  bool partial() const noexcept { return here_->dropped > 0; }

  /// Moves out what the virtual clocks need: the causal path, and the class of each wait.
  void report(explained_location& into) {
    into.arrivals = arrivals_;
    into.startup_ns = rank_->begin_ns - earliest_ns_;
    into.notes = std::move(notes_);
    into.end_ns = now_ns_;
    into.path.reserve(profile_.size());
    for (std::uint32_t b = 0; b != profile_.size(); ++b) {
      if (profile_[b].ns != 0) into.path.push_back({(*blocks_)[b].block, profile_[b].ns, profile_[b].visits});
    }
  }

  /// The next cause of waiting in the current record, or null.
  const arrival* due() const noexcept {
    return at_ < arrivals_->size() && (*arrivals_)[at_].record == next_ ? &(*arrivals_)[at_] : nullptr;
  }

  /// Whether the current record has taken over a path already.
  bool took_over() const noexcept {
    return at_ != 0 && (*arrivals_)[at_ - 1].record == next_ && (*arrivals_)[at_ - 1].has(arrival_flag::adopt);
  }

  /// Records that a snapshot of the current profile is sent to a location; from now on both are aligned here.
  void publish(std::int32_t rank, std::uint16_t location) {
    aligned_.remember(location_key(rank, location), now_ns_, profile_);
  }

  /// Appends all non-zero entries of the profile and returns their number.
  std::uint32_t write(base::packet& out) const {
    out.reserve(out.size() + profile_.size() * sizeof(snapshot_entry));
    std::uint32_t count = 0;
    for (std::uint32_t b = 0; b != profile_.size(); ++b) {
      const path_use& u = profile_[b];
      if (u.nothing()) continue;
      const snapshot_entry e{(*blocks_)[b], u};
      put(out, e);
      ++count;
    }
    return count;
  }

  /// For a scout: resets the counts, because the adopted path is unknown.
  void take_over(const arrival& a) {
    profile_.assign(profile_.size(), {});
    now_ns_ = std::max(now_ns_, a.need_ns);
    ++at_;
  }

  /// Explains the current record's wait by the causer's path in forward_scratch::taken, then takes over that path.
  /// `base`: the profile that a relative snapshot adds to, else null.
  void adopt(const arrival& a, const path_profile* base) {
    path_profile& incoming = scratch_->incoming;
    const snapshot_entry* const path = scratch_->taken.entries;
    const std::size_t count = scratch_->taken.head.entries;
    incoming.clear();
    if (base != nullptr) {
      incoming = *base;
      for (path_use& u : incoming) u.own_ns = 0;
    }
    incoming.resize(std::max(incoming.size(), profile_.size()));
    base::pod_vector<std::uint32_t>& numbers = scratch_->numbers;
    if (numbers.size() < count) numbers.resize(count, 0);
    for (std::size_t i = 0; i != count; ++i) {
      const snapshot_entry& e = path[i];
      std::uint32_t& number = numbers[i];  // usually the same block as at this position of the last snapshot
      if (number >= blocks_->size()) number = 0;
      const block_table::name& name = (*blocks_)[number];
      if (name.block != e.name.block || name.within != e.name.within) number = blocks_->intern(e.name.block, e.name.within);
      if (number >= incoming.size()) incoming.resize(number + 1);
      path_use& u = incoming[number];
      if (base != nullptr) {
        u.visits += e.use.visits;
        u.ns += e.use.ns;
        u.work += e.use.work;
        u.own_ns = e.use.own_ns;
      } else {
        u = e.use;
      }
    }
    profile_.resize(incoming.size());
    const std::int64_t wait_ns = std::min(a.need_ns, leave_ns_) - now_ns_;
    if (wait_ns > 0) explain_wait(a, wait_ns, scratch_->taken.head.partial != 0);
    for (std::size_t b = 0; b != incoming.size(); ++b) {
      profile_[b] = incoming[b];
      profile_[b].own_ns = 0;
    }
    now_ns_ = std::max(now_ns_, a.need_ns);
    if (a.has(arrival_flag::all)) {
      align_all(a.need_ns);
    } else {
      aligned_.remember(location_key(a.causer_rank, a.causer_location), a.need_ns, profile_);
    }
    ++at_;
  }

  /// Enters the rest of the current call: time inside MPI, and waits without an explanation.
  void finish_record() {
    const core::sync_record& r = records_[next_];
    for (; due() != nullptr; ++at_) {
      const arrival& a = (*arrivals_)[at_];
      if (classes_ == nullptr) continue;
      if (a.has(arrival_flag::last)) {
        if (a.has(arrival_flag::adopt)) align_all(now_ns_);
        continue;
      }
      const std::int64_t wait_ns = std::min(a.need_ns, leave_ns_) - now_ns_;
      if (wait_ns <= 0) continue;
      add_wait(begin_wait(a, wait_ns), a.site);
    }
    const std::int64_t rest_ns = leave_ns_ - now_ns_;
    if (r.duration != 0) spend(call_block(r.site), 1, rest_ns, 0);
    previous_site_ = static_cast<std::int64_t>(r.site);
    previous_steps_ = r.steps;
    ++next_;
  }

 private:
  static std::uint64_t location_key(std::int32_t rank, std::uint16_t location) noexcept {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 16) | location;
  }
  static constexpr std::uint64_t group = std::uint64_t{1} << 63;

  void align_all(std::int64_t at_ns) {
    const core::sync_record& r = records_[next_];
    if (rank_->communicators[r.comm].size == rank_->ranks && rank_->locations.size() == 1) {
      aligned_.world(at_ns, profile_);
    } else {
      aligned_.remember(group | r.comm, at_ns, profile_);
    }
  }

  bool applies(std::uint64_t key, const arrival& a) const noexcept {
    if ((key & group) == 0) return key == location_key(a.causer_rank, a.causer_location);
    const communicator& comm = rank_->communicators[key & ~group];
    if (rank_->locations.size() != 1) return false;  // the record does not say which thread took part
    if (comm.world.empty()) return a.causer_rank < comm.size;
    return std::find(comm.world.begin(), comm.world.end(), a.causer_rank) != comm.world.end();
  }

  void spend(std::uint32_t block, std::int64_t visits, std::int64_t ns, std::int64_t work) {
    if (block >= profile_.size()) profile_.resize(blocks_->size());
    path_use& u = profile_[block];
    u.visits += visits;
    u.ns += ns;
    u.work += work;
    u.own_ns += ns;
    now_ns_ += ns;
  }

  // Enters the steps from the end of the previous record to `until_ns`, and the time that they do not cover. Steps that
  // exceed the interval (rounding, counter overflow) are cut, so that the invariant holds.
  void compute(std::uint64_t steps_end, std::int64_t until_ns, std::uint64_t site) {
    std::int64_t unmarked_work = 0;
    steps_end = std::min(steps_end, steps_.size());
    for (std::uint64_t s = previous_steps_; s < steps_end; ++s) {
      const core::path_step& step = steps_[s];
      if (step.block >= marked_blocks_ && count_code(step, site)) continue;
      if (step.block == 0 || step.block >= marked_blocks_) {
        unmarked_work += static_cast<std::int64_t>(step.work);
        continue;
      }
      const auto ns = std::min(core::nearest(static_cast<double>(step.ticks) * walk_.ns_per_tick()), until_ns - now_ns_);
      spend(step_block(step), static_cast<std::int64_t>(step.visits), ns, static_cast<std::int64_t>(step.work));
    }
    if (until_ns > now_ns_ || unmarked_work != 0) spend(between_block(site), 1, until_ns - now_ns_, unmarked_work);
  }

  // Enters untimed counts, within the unmarked code between the two calls. Counts may be negative in an interval that
  // begins or ends inside the counted code; over the whole path they are not.
  bool count_code(const core::path_step& step, std::uint64_t site) {
    const counted_code::range terms = rank_->code.find(step.block);
    if (terms.first == terms.last) return false;
    const core::stable_key within = (*blocks_)[between_block(site)].block;
    for (const counted_code::term& t : terms) {
      spend(blocks_->intern(t.block, within), t.factor * static_cast<std::int64_t>(step.visits), 0, 0);
    }
    return true;
  }

  std::uint32_t step_block(const core::path_step& step) {
    if (step.ticks == 0 && step.within != 0 && step.within < rank_->blocks.size()) {
      return blocks_->intern(rank_->blocks[step.block], rank_->blocks[step.within]);
    }
    std::uint32_t& number = step_blocks_[step.block];
    if (number == base::key_map::none) number = blocks_->intern(rank_->blocks[step.block]);
    return number;
  }

  std::uint32_t call_block(std::uint32_t site) {
    if (site >= call_blocks_.size()) return blocks_->call(0);
    std::uint32_t& number = call_blocks_[site];
    if (number == base::key_map::none) number = blocks_->call(here_->call_sites[site]);
    return number;
  }

  // `site` beyond the table: the end of recording.
  std::uint32_t between_block(std::uint64_t site) {
    const std::uint64_t pair = ((static_cast<std::uint64_t>(previous_site_ + 1) << 32) | (site & 0xffffffffu)) + 1;
    std::uint32_t number = between_blocks_.find(pair);
    if (number == base::key_map::none) {
      const auto key = [this](std::uint64_t s) { return s < here_->call_sites.size() ? here_->call_sites[s] : 0; };
      const core::stable_key first = previous_site_ < 0 ? 0 : key(static_cast<std::uint64_t>(previous_site_));
      number = blocks_->between(first, key(site));
      between_blocks_.intern(pair, number);
    }
    return number;
  }

  void explain_wait(const arrival& a, std::int64_t wait_ns, bool partial_path) {
    const path_profile& incoming = scratch_->incoming;
    const alignments::view base = aligned_.latest([&](std::uint64_t key) { return applies(key, a); });
    wait_instance& w = begin_wait(a, wait_ns);
    w.since_ns = base.at_ns;
    w.explained = true;
    if (partial_path) w.trust = std::max(w.trust, quality::bounded);
    for (std::uint32_t b = 0; b != incoming.size(); ++b) {
      const path_use &mine = profile_[b], &theirs = incoming[b];
      if (mine.same(theirs)) continue;
      residual_term& t = w.terms.emplace_back();
      t.block = (*blocks_)[b].block;
      t.within = (*blocks_)[b].within;
      static_cast<residual_sums&>(t) = difference(mine.since(base[b]), theirs.since(base[b]), theirs.own_ns);
      scratch_->term_blocks.push_back(b);
    }
    add_wait(w, a.site);
  }

  // Begins an instance for a wait of the current record, without an explanation.
  wait_instance& begin_wait(const arrival& a, std::int64_t wait_ns) {
    wait_instance& w = scratch_->instance;
    w.why = a.why;
    w.trust = a.trust;
    w.wrong_order = a.has(arrival_flag::wrong_order);
    w.explained = false;
    w.rank = rank_->rank;
    w.location = index_;
    w.record = a.record;
    w.causer_rank = a.causer_rank;
    w.causer_location = a.causer_location;
    w.causer_record = a.causer_record;
    w.begin_ns = now_ns_;
    w.wait_ns = wait_ns;
    w.since_ns = INT64_MIN;
    w.terms.clear();
    scratch_->term_blocks.clear();
    return w;
  }
  // Passes a wait to its class, to the virtual clocks and to the observer.
  void add_wait(const wait_instance& w, core::stable_key cause) {
    const std::uint32_t site = records_[next_].site;
    const core::stable_key operation = site < here_->call_sites.size() ? here_->call_sites[site] : 0;
    const std::uint32_t number = w.explained ? classes_->add(w, operation, cause, scratch_->term_blocks, blocks_->size())
                                             : classes_->add_unexplained(w, operation, cause);
    if (settings_->clocks != nullptr) notes_.push_back({w.record, number, w.wait_ns});
    if (settings_->watch != nullptr) settings_->watch->wait(w);
  }

  void finish() {
    compute(steps_.size(), std::max(end_ns_, now_ns_), 0xffffffffu);
    if (settings_->watch == nullptr || classes_ == nullptr) return;
    path_instance path;
    path.rank = rank_->rank;
    path.location = index_;
    path.elapsed_ns = now_ns_ - earliest_ns_;
    for (std::uint32_t b = 0; b != profile_.size(); ++b) {
      residual_term term;
      term.block = (*blocks_)[b].block;
      term.within = (*blocks_)[b].within;
      term.causer_ns = profile_[b].ns;
      term.causer_visits = profile_[b].visits;
      term.causer_work = profile_[b].work;
      if (term.causer_ns != 0 || term.causer_visits != 0) path.entries.push_back(term);
    }
    settings_->watch->path(path);
  }

  const rank_history* rank_;
  const location_history* here_;
  core::chunked_view<const core::sync_record> records_;
  core::chunked_view<const core::path_step> steps_;
  std::uint64_t marked_blocks_;
  std::int64_t end_ns_;
  std::uint16_t index_;
  const options* settings_;
  block_table* blocks_;
  wait_classes* classes_;
  forward_scratch* scratch_;
  location_walk walk_;
  std::int64_t earliest_ns_, now_ns_, leave_ns_ = 0;
  std::uint64_t next_ = 0, previous_steps_ = 0;
  std::int64_t previous_site_ = -1;
  const base::pod_vector<arrival>* arrivals_ = nullptr;
  std::size_t at_ = 0;
  path_profile profile_;
  alignments aligned_;
  base::pod_vector<std::uint32_t> step_blocks_, call_blocks_;
  base::key_map between_blocks_;
  base::pod_vector<wait_note> notes_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
