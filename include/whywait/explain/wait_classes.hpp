#ifndef WHYWAIT_EXPLAIN_WAIT_CLASSES_HPP
#define WHYWAIT_EXPLAIN_WAIT_CLASSES_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The wait classes of one rank. Waits of one location with one key (pattern, operation, cause) and one shape
/// accumulate in one class as they are found, so memory grows with distinct classes (about 1 KB each) and not with
/// waits. Waits of one location are added in their order; the result does not depend on how locations interleave. Not
/// thread safe.
class wait_classes {
 public:
  enum kind_t : std::uint8_t { shaped, rest, shapeless };
  /// The `slot` of a class that has no leader yet.
  static constexpr std::uint32_t open = 0xffffffffu;
  using share = class_scratch::share;

  /// Sets what `add` uses from now on; call before the first wait and at the beginning of each epoch. Both are
  /// borrowed.
  void use(const options& settings, class_scratch& scratch) noexcept {
    settings_ = &settings;
    scratch_ = &scratch;
  }

  /// Adds an explained wait and returns the number of its class. `blocks[i]` is the number of the block of
  /// `wait.terms[i]`: distinct, below `block_count`, cheapest in ascending order.
  std::uint32_t add(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                    const base::vector<std::uint32_t>& blocks, std::size_t block_count) {
    base::pod_vector<double>& parts = scratch_->parts;
    if (parts.size() < block_count) parts.resize(block_count, 0);
    double whole = 0;
    for (const residual_term& t : wait.terms) whole += static_cast<double>(std::abs(t.total_ns));
    if (whole > 0) {
      for (std::size_t i = 0; i != blocks.size(); ++i) {
        parts[blocks[i]] = static_cast<double>(std::abs(wait.terms[i].total_ns)) / whole;
      }
    }
    const std::uint32_t number = choose(wait, operation, cause, blocks);
    for (const std::uint32_t b : blocks) parts[b] = 0;
    entry& into = entries_[number];
    add_wait(into.sums, wait);
    add_causer(into, wait);
    add_terms(into, wait, blocks);
    return number;
  }

  /// Adds a wait without an explanation: it is shorter than the threshold, or its cause came after its end.
  std::uint32_t add_unexplained(const wait_instance& wait, core::stable_key operation, core::stable_key cause) {
    const std::uint32_t number = find(wait, operation, cause, shapeless);
    entry& into = entries_[number];
    add_wait(into.sums, wait);
    into.sums.unexplained_ns += wait.wait_ns;
    add_causer(into, wait);
    return number;
  }

  std::size_t size() const noexcept { return heads_.size(); }
  const class_sums& sums(std::size_t number) const noexcept { return entries_[number].sums; }
  core::stable_key key(std::size_t number) const noexcept {
    const class_sums& s = entries_[number].sums;
    return key_of(s.why, s.operation, s.cause);
  }
  kind_t kind(std::size_t number) const noexcept { return heads_[number].kind; }
  std::uint32_t location(std::size_t number) const noexcept { return heads_[number].location; }
  /// The shape of the first wait of the class, which represents the class (docs/method.md 1.7).
  const share* shape(std::size_t number) const noexcept { return shapes_.data() + heads_[number].first; }
  std::size_t shape_size(std::size_t number) const noexcept { return heads_[number].count; }

  std::size_t terms() const noexcept { return terms_.size(); }      ///< number of terms of all classes
  std::size_t causers() const noexcept { return causers_.size(); }  ///< number of causers of all classes

  /// Calls f(block number, residual_sums) for each block of the class, ascending; `residual_sums::fewer` may be a second
  /// line of a block.
  template <class F>
  void each_term(std::size_t number, F&& f) const {
    for (std::uint32_t t = entries_[number].terms; t != none; t = terms_[t].next) f(terms_[t].line / 2, terms_[t].sums);
  }
  /// Calls f(location_share) for each location that the class waited for, in the order of the first waits.
  template <class F>
  void each_causer(std::size_t number, F&& f) const {
    for (std::uint32_t c = entries_[number].causers; c != none; c = causers_[c].next) f(causers_[c].share);
  }

  /// The number of its leader (merging.hpp), found in this epoch or an earlier one, or `open`.
  std::uint32_t slot(std::size_t number) const noexcept { return heads_[number].slot; }
  void set_slot(std::size_t number, std::uint32_t slot) noexcept { heads_[number].slot = slot; }

  /// Clears the sums at the end of an epoch. Classes keep their shapes and slots for the waits of the next one.
  void clear_sums() {
    for (entry& e : entries_) {
      class_sums fresh;
      fresh.why = e.sums.why;
      fresh.operation = e.sums.operation;
      fresh.cause = e.sums.cause;
      e = {fresh, none, none};
    }
    terms_.clear();
    causers_.clear();
  }

  static core::stable_key key_of(pattern why, core::stable_key operation, core::stable_key cause) noexcept {
    return core::combine(core::combine(operation, cause), static_cast<std::uint64_t>(why) + 1);
  }

 private:
  static constexpr std::uint32_t none = base::key_map::none;

  // The part of a class that the search for a class reads.
  struct head {
    std::uint32_t next;          ///< the next class of the same key and location, or none
    std::uint32_t first, count;  ///< its shape in shapes_
    std::uint32_t slot;
    std::uint16_t location;
    kind_t kind;
  };
  struct entry {
    class_sums sums;
    std::uint32_t terms, causers;  ///< heads of the two lists, or none
  };
  struct term_node {
    residual_sums sums;
    std::uint32_t line, next;  ///< line: twice the number of the block, and 1 if the late side has fewer visits
  };
  struct causer_node {
    location_share share;
    std::uint32_t next;
  };

  static void add_wait(class_sums& sums, const wait_instance& wait) noexcept {
    sums.trust = std::max(sums.trust, wait.trust);
    sums.first_ns = sums.count == 0 ? wait.begin_ns : std::min(sums.first_ns, wait.begin_ns);
    ++sums.count;
    sums.wait_ns += wait.wait_ns;
    sums.longest_ns = std::max(sums.longest_ns, wait.wait_ns);
    const auto us = static_cast<double>((wait.wait_ns + 500) / 1000);
    sums.squares_us2 += us * us;
    if (wait.explained && wait.wait_ns >= sums.longest.wait_ns) {
      const wait_sample sample{wait.wait_ns,  wait.begin_ns,        wait.since_ns, wait.rank,         wait.causer_rank,
                               wait.location, wait.causer_location, wait.record,   wait.causer_record};
      if (sample.outweighs(sums.longest)) sums.longest = sample;
    }
    if (wait.wrong_order) {
      ++sums.wrong_order_count;
      sums.wrong_order_ns += wait.wait_ns;
    }
    if (wait.other_ready) sums.other_ready_ns += wait.wait_ns;
    if (wait.ready != 0) sums.ready_code_ns += core::nearest(static_cast<double>(wait.wait_ns) * wait.ready / all_of_wait);
  }

  // Both lists usually have the same order, so that one walk through the terms suffices. Each block has one term for
  // waits in which the late side has fewer visits, and one before it for the others.
  void add_terms(entry& into, const wait_instance& wait, const base::vector<std::uint32_t>& blocks) {
    std::uint32_t before = none, at = into.terms, latest = 0;
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      const std::uint32_t line = 2 * blocks[i] + (wait.terms[i].fewer() ? 1 : 0);
      if (line < latest) {
        before = none;
        at = into.terms;
      }
      latest = line;
      for (; at != none && terms_[at].line < line; at = terms_[at].next) before = at;
      if (at == none || terms_[at].line != line) {
        const auto fresh = static_cast<std::uint32_t>(terms_.size());
        if (fresh == 0) terms_.reserve(64);
        terms_.push_back({{}, line, at});
        (before == none ? into.terms : terms_[before].next) = fresh;
        at = fresh;
      }
      terms_[at].sums.add(wait.terms[i]);
      into.sums.indirect_ns += wait.terms[i].inherited_ns;
    }
  }

  // The rule of explain::add_share, on a linked list.
  void add_causer(entry& into, const wait_instance& wait) {
    location_share add{wait.causer_rank, static_cast<std::int32_t>(wait.causer_location), wait.wait_ns};
    for (;;) {
      std::uint32_t last = none, at = into.causers;
      std::size_t count = 0;
      for (; at != none; at = causers_[at].next, ++count) {
        location_share& known = causers_[at].share;
        if (known.rank == add.rank && known.thread == add.thread) {
          known.ns += add.ns;
          return;
        }
        last = at;
      }
      if (count < most_shares || add.rank < 0) {
        const auto fresh = static_cast<std::uint32_t>(causers_.size());
        if (fresh == 0) causers_.reserve(16);
        causers_.push_back({add, none});
        (last == none ? into.causers : causers_[last].next) = fresh;
        return;
      }
      add.rank = -1;
      add.thread = 0;
    }
  }

  bool near(std::uint32_t number) const noexcept {
    return scratch_->distance(shape(number), shape_size(number)) <= settings_->class_distance;
  }

  // The first class of a key, created as `kind` if there is none. Further classes of the key follow in order of
  // creation.
  std::uint32_t first_of(const wait_instance& wait, core::stable_key operation, core::stable_key cause, kind_t kind) {
    const core::stable_key key = core::combine(key_of(wait.why, operation, cause), wait.location);
    const auto fresh = static_cast<std::uint32_t>(heads_.size());
    const std::uint32_t number = numbers_.intern(key, fresh);
    if (number == fresh) make(wait, operation, cause, kind);
    return number;
  }

  std::uint32_t make(const wait_instance& wait, core::stable_key operation, core::stable_key cause, kind_t kind) {
    const auto number = static_cast<std::uint32_t>(heads_.size());
    if (number == 0) {
      heads_.reserve(16);
      entries_.reserve(12);
      shapes_.reserve(64);
    }
    heads_.push_back(
        {none, static_cast<std::uint32_t>(shapes_.size()), 0, open, static_cast<std::uint16_t>(wait.location), kind});
    entries_.push_back({{}, none, none});
    class_sums& sums = entries_.back().sums;
    sums.why = wait.why;
    sums.operation = operation;
    sums.cause = cause;
    return number;
  }

  std::uint32_t find(const wait_instance& wait, core::stable_key operation, core::stable_key cause, kind_t kind) {
    std::uint32_t at = first_of(wait, operation, cause, kind);
    while (heads_[at].kind != kind) {
      const std::uint32_t next = heads_[at].next;
      if (next == none) {
        const std::uint32_t number = make(wait, operation, cause, kind);
        heads_[at].next = number;
        return number;
      }
      at = next;
    }
    return at;
  }

  std::uint32_t choose(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                       const base::vector<std::uint32_t>& blocks) {
    if (settings_->classes_per_key == 0) return find(wait, operation, cause, rest);
    const auto known = static_cast<std::uint32_t>(heads_.size());
    std::uint32_t number = first_of(wait, operation, cause, shaped);
    if (number != known) {
      std::uint32_t seen = 0, last = number;
      for (std::uint32_t at = number; at != none; at = heads_[at].next) {
        last = at;
        if (heads_[at].kind != shaped) continue;
        ++seen;
        if (near(at)) return at;
      }
      if (seen >= settings_->classes_per_key) return find(wait, operation, cause, rest);
      number = make(wait, operation, cause, shaped);
      heads_[last].next = number;
    }
    head& fresh = heads_[number];
    for (const std::uint32_t b : blocks) {
      if (scratch_->parts[b] > 0) shapes_.push_back({b, scratch_->parts[b]});
    }
    fresh.count = static_cast<std::uint32_t>(shapes_.size()) - fresh.first;
    return number;
  }

  const options* settings_ = nullptr;
  class_scratch* scratch_ = nullptr;
  base::key_map numbers_;  ///< the first class of each key and location
  base::pod_vector<head> heads_;
  base::pod_vector<share> shapes_;
  base::pod_vector<entry> entries_;
  base::pod_vector<term_node> terms_;      ///< one list per class, by block
  base::pod_vector<causer_node> causers_;  ///< one list per class
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
