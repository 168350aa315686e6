#ifndef WHYWAIT_EXPLAIN_WAIT_CLASS_HPP
#define WHYWAIT_EXPLAIN_WAIT_CLASS_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Adds to a bounded list of locations; what does not fit goes to rank -1.
inline void add_share(std::vector<location_share>& list, const location_share& share, std::size_t limit = 64) {
  for (location_share& known : list) {
    if (known.rank == share.rank && known.thread == share.thread) {
      known.ns += share.ns;
      return;
    }
  }
  if (list.size() < limit || share.rank < 0) {
    if (list.empty()) list.reserve(4);
    list.push_back(share);
    return;
  }
  add_share(list, {-1, 0, share.ns}, limit);
}

/// Waits of one location with one key and one shape, as they accumulate.
struct wait_class {
  enum kind_t : std::uint32_t { shaped, rest, shapeless };
  static constexpr std::uint32_t open = 0xffffffffu;

  explanation sum;  ///< without a residual and without waiters until the end
  std::uint32_t location = 0;
  std::uint32_t slot = open;  ///< of its leader (merging.hpp), once an earlier epoch found one
};

/// The classes of one rank. Merged on line, so memory grows with distinct (pattern, operation, cause, shape)
/// and not with waits. Waits of one location are added in their order; the result does not depend on how
/// locations interleave. Not thread safe.
class class_book {
 public:
  /// Block number, part of the absolute differences.
  struct share {
    std::uint32_t block;
    double part;
  };

  /// The settings of the next epoch, before the first wait, too; borrowed.
  void use(const options& settings) noexcept { settings_ = &settings; }

  /// An explained wait. `blocks[i]` is the number of the block of `wait.terms[i]`. Returns the number of its class.
  std::uint32_t add(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                    const std::vector<std::uint32_t>& blocks, std::size_t block_count) {
    double whole = 0;
    for (const residual_term& term : wait.terms) whole += static_cast<double>(std::abs(term.total_ns));
    if (shares_.size() < block_count) shares_.resize(block_count, 0);
    if (whole > 0) {
      for (std::size_t i = 0; i != blocks.size(); ++i) {
        shares_[blocks[i]] = static_cast<double>(std::abs(wait.terms[i].total_ns)) / whole;
      }
    }
    const std::uint32_t number = choose(wait, operation, cause, blocks);
    for (const std::uint32_t b : blocks) shares_[b] = 0;
    explanation& into = classes_[number].sum;
    count(into, wait);
    class_terms& all = terms_[number];
    if (all.position.size() < block_count) all.position.resize(block_count, 0);
    if (all.sums.empty()) all.sums.reserve(blocks.size());
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      std::uint32_t& at = all.position[blocks[i]];
      if (at == 0) {
        all.sums.emplace_back();
        at = static_cast<std::uint32_t>(all.sums.size());
      }
      all.sums[at - 1].add(wait.terms[i]);
      into.indirect_ns += wait.terms[i].inherited_ns;
    }
    return number;
  }

  /// A wait that is only summed: below the threshold, or its cause came too late by the clocks.
  std::uint32_t add_unexplained(const wait_instance& wait, core::stable_key operation, core::stable_key cause) {
    const std::uint32_t number = find(wait, operation, cause, wait_class::shapeless);
    count(classes_[number].sum, wait);
    classes_[number].sum.unexplained_ns += wait.wait_ns;
    return number;
  }

  std::size_t size() const noexcept { return classes_.size(); }
  const explanation& sum(std::size_t number) const noexcept { return classes_[number].sum; }
  wait_class::kind_t kind(std::size_t number) const noexcept { return heads_[number].kind; }
  /// Of its first instance: frozen (definitions 1.7).
  const share* shape(std::size_t number) const noexcept { return shapes_.data() + heads_[number].first; }
  std::size_t shape_size(std::size_t number) const noexcept { return heads_[number].count; }

  /// Of its leader, found in an earlier epoch; wait_class::open if there is none yet.
  std::uint32_t slot(std::size_t number) const noexcept { return classes_[number].slot; }
  void place(std::size_t number, std::uint32_t slot) noexcept { classes_[number].slot = slot; }

  /// At the end of an epoch: a class as a whole; every block is a term of its residual, in the order of `order`, which has
  /// the numbers of all blocks. It keeps its shape and its slot and begins anew for the waits of the next one.
  explanation take(std::size_t number, std::int32_t rank, const block_table& blocks,
                   const std::vector<std::uint32_t>& order) {
    explanation& from = classes_[number].sum;
    explanation sum = std::move(from);
    from = {};
    from.why = sum.why;
    from.operation = sum.operation;
    from.cause = sum.cause;
    sum.waiters.push_back({rank, static_cast<std::int32_t>(classes_[number].location), sum.wait_ns});
    class_terms& all = terms_[number];
    sum.residual.reserve(all.sums.size());
    for (const std::uint32_t b : order) {
      if (b >= all.position.size() || all.position[b] == 0) continue;
      sum.residual.push_back(all.sums[all.position[b] - 1].whole(blocks[b]));
    }
    all = {};
    return sum;
  }

  static void accumulate(residual_term& into, const residual_term& from) noexcept {
    into.total_ns += from.total_ns;
    into.visits_ns += from.visits_ns;
    into.speed_ns += from.speed_ns;
    into.inherited_ns += from.inherited_ns;
    into.causer_visits += from.causer_visits;
    into.waiter_visits += from.waiter_visits;
    into.causer_work += from.causer_work;
    into.waiter_work += from.waiter_work;
    into.causer_ns += from.causer_ns;
    into.waiter_ns += from.waiter_ns;
  }

  static core::stable_key key_of(pattern why, core::stable_key operation, core::stable_key cause) noexcept {
    return core::combine(core::combine(operation, cause), static_cast<std::uint64_t>(why) + 1);
  }

 private:
  // What all waits of a class have in one block: residual_term without what follows from the rest. One cache line.
  struct term_sums {
    std::int64_t visits_ns = 0, inherited_ns = 0;
    std::int64_t causer_visits = 0, waiter_visits = 0, causer_work = 0, waiter_work = 0, causer_ns = 0, waiter_ns = 0;

    void add(const residual_term& t) noexcept {
      visits_ns += t.visits_ns;
      inherited_ns += t.inherited_ns;
      causer_visits += t.causer_visits;
      waiter_visits += t.waiter_visits;
      causer_work += t.causer_work;
      waiter_work += t.waiter_work;
      causer_ns += t.causer_ns;
      waiter_ns += t.waiter_ns;
    }
    residual_term whole(const block_table::name& name) const noexcept {
      residual_term t;
      t.block = name.block;
      t.within = name.within;
      t.total_ns = causer_ns - waiter_ns;
      t.visits_ns = visits_ns;
      t.speed_ns = t.total_ns - visits_ns;
      t.inherited_ns = inherited_ns;
      t.causer_visits = causer_visits;
      t.waiter_visits = waiter_visits;
      t.causer_work = causer_work;
      t.waiter_work = waiter_work;
      t.causer_ns = causer_ns;
      t.waiter_ns = waiter_ns;
      return t;
    }
  };
  struct class_terms {
    std::vector<std::uint32_t> position;  ///< block number -> index in sums + 1
    std::vector<term_sums> sums;
  };
  // What the search for a class looks at, of all classes together.
  struct head {
    std::uint32_t next;  ///< class of the same key, or none
    wait_class::kind_t kind;
    std::uint32_t first, count;  ///< its shape in shapes_
  };
  static constexpr std::uint32_t none = key_map::none;

  static void count(explanation& into, const wait_instance& wait) {
    into.trust = std::max(into.trust, wait.trust);
    into.first_ns = into.count == 0 ? wait.begin_ns : std::min(into.first_ns, wait.begin_ns);
    ++into.count;
    into.wait_ns += wait.wait_ns;
    into.longest_ns = std::max(into.longest_ns, wait.wait_ns);
    if (wait.explained) {
      const wait_sample sample{wait.wait_ns,         wait.begin_ns,       wait.since_ns,
                               wait.rank,            wait.causer_rank,    wait.location,
                               wait.causer_location, wait.record,         wait.causer_record};
      if (sample.outweighs(into.longest)) into.longest = sample;
    }
    if (wait.wrong_order) {
      ++into.wrong_order_count;
      into.wrong_order_ns += wait.wait_ns;
    }
    add_share(into.causers, {wait.causer_rank, static_cast<std::int32_t>(wait.causer_location), wait.wait_ns});
  }

  // Is the instance whose shares lie in `shares_` within class_distance? Total variation over the union of blocks.
  bool near(const head& c) const noexcept {
    double apart = 0, met = 0, shape = 0;
    for (const share* s = shapes_.data() + c.first; s != shapes_.data() + c.first + c.count; ++s) {
      apart += std::fabs(s->part - shares_[s->block]);
      met += shares_[s->block];
      shape += s->part;
    }
    return (shape > 0 ? (apart + std::max(0.0, 1 - met)) / 2 : 1) <= settings_->class_distance;
  }

  // The link to the first class of a key: the head of a list in the order in which they were made.
  std::uint32_t& first_of(const wait_instance& wait, core::stable_key operation, core::stable_key cause) {
    const core::stable_key key = core::combine(key_of(wait.why, operation, cause), wait.location);
    const auto fresh = static_cast<std::uint32_t>(lists_.size());
    const std::uint32_t number = numbers_.intern(key, fresh);
    if (number == fresh) lists_.push_back(none);
    return lists_[number];
  }

  std::uint32_t make(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                     wait_class::kind_t kind, std::uint32_t& link) {
    const auto number = static_cast<std::uint32_t>(classes_.size());
    link = number;
    if (number == 0) {
      classes_.reserve(4);
      terms_.reserve(4);
      heads_.reserve(8);
    }
    classes_.emplace_back();
    terms_.emplace_back();
    heads_.push_back({none, kind, static_cast<std::uint32_t>(shapes_.size()), 0});
    wait_class& fresh = classes_.back();
    fresh.sum.why = wait.why;
    fresh.sum.operation = operation;
    fresh.sum.cause = cause;
    fresh.location = wait.location;
    return number;
  }

  std::uint32_t find(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                     wait_class::kind_t kind) {
    std::uint32_t* link = &first_of(wait, operation, cause);
    for (; *link != none; link = &heads_[*link].next) {
      if (heads_[*link].kind == kind) return *link;
    }
    return make(wait, operation, cause, kind, *link);
  }

  std::uint32_t choose(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                       const std::vector<std::uint32_t>& blocks) {
    std::uint32_t* link = &first_of(wait, operation, cause);
    std::uint32_t shaped = 0;
    for (; *link != none; link = &heads_[*link].next) {
      if (heads_[*link].kind != wait_class::shaped) continue;
      ++shaped;
      if (near(heads_[*link])) return *link;
    }
    if (shaped >= settings_->classes_per_key) return find(wait, operation, cause, wait_class::rest);
    const std::uint32_t number = make(wait, operation, cause, wait_class::shaped, *link);
    for (const std::uint32_t b : blocks) {
      if (shares_[b] > 0) shapes_.push_back({b, shares_[b]});
    }
    heads_[number].count = static_cast<std::uint32_t>(shapes_.size()) - heads_[number].first;
    return number;
  }

  const options* settings_ = nullptr;
  std::vector<wait_class> classes_;
  std::vector<class_terms> terms_;
  std::vector<head> heads_;
  std::vector<share> shapes_;
  key_map numbers_;
  std::vector<std::uint32_t> lists_;  ///< first class of each key
  std::vector<double> shares_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
