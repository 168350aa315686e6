#ifndef WHYWAIT_EXPLAIN_LOCATION_PATH_HPP
#define WHYWAIT_EXPLAIN_LOCATION_PATH_HPP

#include <whywait/explain/arrival.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/forward_scratch.hpp>
#include <whywait/explain/location_steps.hpp>
#include <whywait/explain/own_visits.hpp>
#include <whywait/explain/path_profile.hpp>
#include <whywait/explain/rank_maps.hpp>
#include <whywait/explain/read_snapshot.hpp>
#include <whywait/explain/snapshot.hpp>
#include <whywait/explain/wait_classes.hpp>

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
        steps_(rank, location, blocks, scratch.merging.memory),
        index_(location),
        settings_(&settings),
        blocks_(&blocks),
        classes_(classes),
        scratch_(&scratch),
        earliest_ns_(earliest_ns),
        place_{location_walk(rank), earliest_ns},
        stretch_{location_walk(rank), rank.begin_ns},
        profile_(scratch.merging.memory),
        part_begin_(scratch.merging.memory),
        own_(scratch.merging.memory),
        aligned_(scratch.merging.memory),
        notes_(scratch.merging.memory) {}

  /// Reserves memory and enters the time before the first record. `others`: the number of locations to align with. `same`: a path
  /// of the same location that has begun and not moved, or null.
  void begin(std::size_t others, location_path* same = nullptr) {
    place_.readings = &readings_;
    // Reserves all lists in a row, so that they are adjacent in the memory pool.
    profile_.reserve(std::max<std::size_t>(16, blocks_->size()));
    if (classes_ != nullptr) aligned_.reserve(others, profile_.capacity());
    own_.reserve(profile_.capacity());
    if (!steps_.meets_all()) own_.set_stretch(own_visits::undivided);
    steps_.begin();
    path_use& startup = use_of(blocks_->startup());
    startup.visits = startup.own_visits = 1;
    startup.ns = startup.own_ns = rank_->begin_ns - earliest_ns_;
    place_.now_ns += startup.ns;
    if (same != nullptr) {  // the visits of the first stretch are counted once, for both
      same->expect_stretch();
      own_ = same->own_;
      expected_ = true;
    }
    if (rank_->continued && rank_->locations.size() == 1) aligned_.world(rank_->begin_ns, profile_);
  }

  /// Sets the causers of the location's records, sorted by record; borrowed.
  void set_arrivals(const base::pod_vector<arrival>& arrivals) {
    arrivals_ = &arrivals;
    if (settings_->clocks != nullptr && classes_ != nullptr) notes_.reserve(arrivals.size());
  }
  const base::pod_vector<arrival>& arrivals() const noexcept { return *arrivals_; }
  /// The maps that the waits are added to, or null; borrowed.
  void set_maps(rank_maps* maps) noexcept { maps_ = maps; }
  const path_profile& profile() const noexcept { return profile_; }

  /// Goes to the beginning of the next record. At the end it enters the last steps, reports the path and returns false.
  bool begin_next() {
    if (place_.next >= steps_.size()) {
      finish();
      return false;
    }
    steps_.begin_record(place_, spender{*this, maps_});
    leave_ns_ = place_.walk.leave_ns();
    return true;
  }

  std::uint32_t record() const noexcept { return static_cast<std::uint32_t>(place_.next); }
  bool partial() const noexcept { return here_->dropped > 0; }
  std::int32_t stretch() const noexcept { return own_.stretch(); }
  /// The class of the wait in which the path was taken over last; 0: never, or only without a wait.
  core::stable_key through() const noexcept { return through_; }

  using state = path_state;
  void keep(state& into) {
    expect_stretch();
    into.profile = profile_;
    into.own = own_;
  }

  /// Moves out what the virtual clocks need: the causal path, and the class of each wait.
  void report(explained_location& into) {
    into.arrivals = arrivals_;
    into.startup_ns = rank_->begin_ns - earliest_ns_;
    into.notes = std::move(notes_);
    into.end_ns = place_.now_ns;
    into.path.reserve(profile_.size());
    for (std::uint32_t b = 0; b != profile_.size(); ++b) {
      if (profile_[b].ns != 0) into.path.push_back({(*blocks_)[b].block, profile_[b].ns, profile_[b].visits});
    }
  }

  /// The next cause of waiting in the current record, or null.
  const arrival* due() const noexcept {
    return at_ < arrivals_->size() && (*arrivals_)[at_].record == place_.next ? &(*arrivals_)[at_] : nullptr;
  }

  /// How many snapshots the current record has used already.
  std::uint32_t used() const noexcept { return snapshots_before(*arrivals_, at_) + (has_base_ ? 1 : 0); }

  /// Records that a snapshot of the current profile is sent to a location; from now on both are aligned here.
  void publish(std::int32_t rank, std::uint16_t location) {
    aligned_.remember(location_key(rank, location), place_.now_ns, profile_);
  }

  /// Appends all non-zero entries of the profile and returns their number.
  std::uint32_t write(base::packet& out) {
    expect_stretch();
    return write_path(out, profile_, own_, *blocks_);
  }

  /// For a scout: resets the counts, because the adopted path is unknown.
  void take_over(const arrival& a) {
    profile_.assign(profile_.size(), {});
    const bool begins = a.has(arrival_flag::begins);
    through_ = !begins && a.need_ns > place_.now_ns ? class_of(a) : 0;
    place_.now_ns = begins ? a.need_ns : std::max(place_.now_ns, a.need_ns);
    ++at_;
  }

  /// Keeps the causer's path in forward_scratch::taken: where the causer was when the wait began (arrival_flag::based).
  void begin_part(const state* base) {
    expect_stretch();
    read_snapshot(*scratch_, base, profile_, own_, *blocks_);
    part_begin_ = scratch_->incoming;
    has_base_ = true;
  }
  bool has_base() const noexcept { return has_base_; }

  /// Explains the current record's wait by the causer's path in forward_scratch::taken, then takes over that path.
  /// `base`: the own path that a relative snapshot adds to, else null.
  void adopt(const arrival& a, const state* base) {
    expect_stretch();
    read_snapshot(*scratch_, base, profile_, own_, *blocks_);
    const path_profile& incoming = scratch_->incoming;
    const bool begins = a.has(arrival_flag::begins);
    const std::int64_t wait_ns = std::min(a.need_ns, leave_ns_) - place_.now_ns;
    if (wait_ns > 0 && !begins) explain_wait(a, wait_ns, scratch_->taken.head.partial != 0);
    has_base_ = false;
    through_ = wait_ns > 0 && !begins ? class_of(a) : scratch_->taken.head.through;
    for (std::size_t b = 0; b != incoming.size(); ++b) {
      profile_[b] = incoming[b];
      profile_[b].own_visits = profile_[b].own_ns = 0;
    }
    place_.now_ns = begins ? a.need_ns : std::max(place_.now_ns, a.need_ns);
    if (a.has(arrival_flag::all)) {
      align_all(a.need_ns);
    } else {
      aligned_.remember(location_key(a.causer_rank, a.causer_location), a.need_ns, profile_);
    }
    ++at_;
  }

  /// Passes over a cause of waiting whose path is not taken over. A wait for it has no explanation.
  void pass_over(const arrival& a) {
    ++at_;
    if (classes_ == nullptr) return;
    if (a.has(arrival_flag::last)) {
      if (a.has(arrival_flag::adopt)) align_all(place_.now_ns);
      return;
    }
    const std::int64_t wait_ns = std::min(a.need_ns, leave_ns_) - place_.now_ns;
    if (wait_ns > 0 && !a.has(arrival_flag::begins)) add_wait(begin_wait(a, wait_ns), a);
  }

  /// Enters the rest of the current call: time inside MPI. Call when nothing is due.
  void finish_record() {
    if (ends_stretch(steps_[place_.next])) {
      own_.next_stretch();
      stretch_ = place_;
      stretch_.readings = nullptr;
      inside_ = true;
      expected_ = false;
    }
    steps_.end_record(place_, spender{*this, nullptr});
  }

 private:
  static std::uint64_t location_key(std::int32_t rank, std::uint16_t location) noexcept {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 16) | location;
  }
  static constexpr std::uint64_t group = std::uint64_t{1} << 63;

  void align_all(std::int64_t at_ns) {
    const core::sync_record& r = steps_[place_.next];
    if (rank_->communicators[r.comm].size == rank_->ranks && rank_->locations.size() == 1) {
      aligned_.world(at_ns, profile_);
    } else {
      aligned_.remember(group | r.comm, at_ns, profile_);
    }
  }

  bool applies(std::uint64_t key, const arrival& a) const noexcept {
    if ((key & group) == 0) return key == location_key(a.causer_rank, a.causer_location);
    const communicator& comm = rank_->communicators[key & ~group];
    // A record does not say which threads of other ranks took part: those of one communicator are taken to be the same each time.
    // Where threads take turns on it, visits reach too far or not far enough back; sums stay exact.
    if (rank_->locations.size() != 1) return a.has(arrival_flag::all) && (key & ~group) == steps_[place_.next].comm;
    if (comm.world.empty()) return a.causer_rank < comm.size;
    return std::find(comm.world.begin(), comm.world.end(), a.causer_rank) != comm.world.end();
  }

  path_use& use_of(std::uint32_t block) {
    if (block >= profile_.size()) profile_.resize(blocks_->size());
    return profile_[block];
  }
  // Enters what the location does into its path and its own visits, and code into `code`.
  struct spender {
    location_path& path;
    rank_maps* code;
    void operator()(std::uint32_t block, std::int64_t visits, std::int64_t ns, std::int64_t work) const {
      path_use& u = path.use_of(block);
      u.visits += visits;
      u.ns += ns;
      u.work += work;
      u.own_visits += visits;
      u.own_ns += ns;
      path.own_.add(block, visits, ns);
      if (code != nullptr) code->add_code(block, ns);
    }
  };
  bool ends_stretch(const core::sync_record& r) const noexcept {
    return own_.stretch() != own_visits::undivided && location_steps::of_all(*rank_, r);
  }
  // Counts the visits of the current stretch, if that was not done yet: in most stretches nothing needs them. A stretch ends
  // inside the next operation of all, where all ranks are together; the rest of that call belongs to the next stretch.
  void expect_stretch() {
    if (expected_) return;
    expected_ = true;
    const auto add = [this](std::uint32_t block, std::int64_t visits, std::int64_t, std::int64_t) {
      own_.expect(block, visits);
    };
    const location_steps::spend_call expect(add);
    if (inside_) steps_.end_record(stretch_, expect);
    while (stretch_.next < steps_.size()) {
      steps_.begin_record(stretch_, expect);
      if (ends_stretch(steps_[stretch_.next])) return;
      steps_.end_record(stretch_, expect);
    }
    steps_.end(stretch_, expect);
  }

  void explain_wait(const arrival& a, std::int64_t wait_ns, bool partial_path) {
    if (has_base_) return explain_part(a, wait_ns, partial_path);
    const path_profile& incoming = scratch_->incoming;
    const alignments::view base = aligned_.latest([&](std::uint64_t key) { return applies(key, a); });
    wait_instance& w = begin_wait(a, wait_ns);
    std::int64_t inherited_ns = 0;
    w.since_ns = base.at_ns;
    w.explained = true;
    if (partial_path) w.trust = std::max(w.trust, quality::bounded);
    // The stretches of a thread that makes no operations of all ranks are no measure for those of one that does.
    const bool comparable =
        (own_.stretch() == own_visits::undivided) == (scratch_->taken.head.stretch == own_visits::undivided);
    for (std::uint32_t b = 0; b != incoming.size(); ++b) {
      const path_use &mine = profile_[b], &theirs = incoming[b];
      if (mine.same(theirs)) continue;
      residual_term& t = w.terms.emplace_back();
      t.block = (*blocks_)[b].block;
      t.within = (*blocks_)[b].within;
      const same_place at(own_[b], mine, theirs, base[b], comparable ? scratch_->totals[b] : 0);
      static_cast<residual_sums&>(t) = difference(mine.since(base[b]), theirs.since(base[b]), theirs.own(), at);
      scratch_->term_blocks.push_back(b);
      inherited_ns += t.inherited_ns;
    }
    add_wait(w, a);
    if (maps_ != nullptr && !a.has(arrival_flag::paused))
      maps_->add_link(class_of(a), scratch_->taken.head.through, std::min(inherited_ns, wait_ns));
  }

  // A part of a wait is explained by what the causer ran meanwhile, whatever the waiter ran before.
  void explain_part(const arrival& a, std::int64_t wait_ns, bool partial_path) {
    wait_instance& w = begin_wait(a, wait_ns);
    w.explained = true;
    if (partial_path) w.trust = std::max(w.trust, quality::bounded);
    list_part(scratch_->incoming, part_begin_, wait_ns, [&](std::uint32_t b, const residual_sums& sums) {
      residual_term& t = w.terms.emplace_back();
      t.block = (*blocks_)[b].block;
      t.within = (*blocks_)[b].within;
      static_cast<residual_sums&>(t) = sums;
      scratch_->term_blocks.push_back(b);
    });
    add_wait(w, a);
  }

  // Begins an instance for a wait of the current record, without an explanation.
  wait_instance& begin_wait(const arrival& a, std::int64_t wait_ns) {
    wait_instance& w = scratch_->instance;
    w.why = a.why;
    w.trust = a.trust;
    w.wrong_order = a.has(arrival_flag::wrong_order);
    w.other_ready = a.has(arrival_flag::other_ready);
    w.ready = a.ready;
    w.explained = false;
    w.rank = rank_->rank;
    w.location = index_;
    w.record = a.record;
    w.cause = a.site;
    w.causer_rank = a.causer_rank;
    w.causer_location = a.causer_location;
    w.causer_record = a.causer_record;
    w.begin_ns = place_.now_ns;
    w.wait_ns = wait_ns;
    w.since_ns = INT64_MIN;
    w.terms.clear();
    scratch_->term_blocks.clear();
    return w;
  }
  core::stable_key operation() const noexcept { return site_of(*here_, steps_[place_.next]); }
  core::stable_key class_of(const arrival& a) const noexcept { return wait_classes::key_of(a.why, operation(), a.site); }
  // Passes a wait to its class, to the maps, to the virtual clocks and to the observer.
  void add_wait(wait_instance& w, const arrival& a) {
    w.counted = !a.has(arrival_flag::paused);
    const std::uint32_t number = !w.counted    ? wait_note::uncounted
                                 : w.explained ? classes_->add(w, operation(), a.site, scratch_->term_blocks, blocks_->size())
                                               : classes_->add_unexplained(w, operation(), a.site);
    if (maps_ != nullptr && w.counted) maps_->add_wait(w);
    if (settings_->clocks != nullptr) notes_.push_back({w.record, number, w.wait_ns});
    if (settings_->watch != nullptr) settings_->watch->wait(w);
  }

  void finish() {
    steps_.end(place_, spender{*this, maps_});
    if (settings_->watch == nullptr || classes_ == nullptr) return;
    path_instance path;
    path.rank = rank_->rank;
    path.location = index_;
    path.elapsed_ns = place_.now_ns - earliest_ns_;
    path.entries = terms_of(profile_, *blocks_);
    settings_->watch->path(path);
  }

  const rank_history* rank_;
  const location_history* here_;
  location_steps steps_;
  std::uint16_t index_;
  const options* settings_;
  block_table* blocks_;
  wait_classes* classes_;
  rank_maps* maps_ = nullptr;
  core::stable_key through_ = 0;
  forward_scratch* scratch_;
  std::int64_t earliest_ns_, leave_ns_ = 0;
  code_readings readings_;
  location_steps::place place_, stretch_;  ///< stretch_: where the current stretch begins; once it is counted, where it ends
  bool inside_ = false;  ///< it begins inside an operation of all, not with the run
  bool expected_ = false;  ///< the visits of the current stretch are counted
  const base::pod_vector<arrival>* arrivals_ = nullptr;
  std::size_t at_ = 0;
  path_profile profile_, part_begin_;
  bool has_base_ = false;  ///< part_begin_ is that of the current record
  own_visits own_;
  alignments aligned_;
  base::pod_vector<wait_note> notes_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
