#ifndef WHYWAIT_CLOCKS_BALANCED_TIME_HPP
#define WHYWAIT_CLOCKS_BALANCED_TIME_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/asked_code.hpp>
#include <whywait/clocks/balance_course.hpp>
#include <whywait/clocks/block_balance.hpp>
#include <whywait/clocks/clock_plan.hpp>
#include <whywait/clocks/joined_code.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/location_steps.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// What each visit of the threads of one rank would take in the run in which a block is balanced: in each part of the run
/// (balance_course) the threads that run it take equally long, and visits between the same calls take equally long. Two walks through
/// the records; 16 bytes per part, block, thread and place in the program. Not thread safe.
class balanced_time {
 public:
  /// Measures the rank's own course of each block in `blocks`, the blocks of the balanced questions in their order.
  void read(const explain::rank_history& rank, const base::pod_vector<explain::balance_answer>& blocks,
            const joined_code& joined) {
    courses_.assign(blocks.size(), {});
    own_.assign(rank.locations.size() * blocks.size(), {});
    places_.clear();
    places_.resize(own_.size());
    most_places_ = std::max<std::size_t>(4, 64 / std::max<std::size_t>(1, rank.locations.size()));
    limits_.clear();
    base::vector<explain::what_if> questions;
    for (std::size_t q = 0; q != blocks.size(); ++q) {
      questions.emplace_back();
      questions.back().changes.push_back({blocks[q].block, 1.0, static_cast<std::int32_t>(q)});
    }
    const clock_plan plan(questions.data(), questions.size(), false);
    base::pod_vector<std::uint32_t> numbers;
    number_blocks(rank, plan, numbers);
    const base::pod_vector<std::int64_t> ends_ns = stretch_ends(rank);
    for (std::size_t l = 0; l != rank.locations.size(); ++l) {
      limit_parts(rank, l, plan, numbers, joined, ends_ns);
      part_position at = begin_location(l);
      walk(
          rank, l, plan, numbers, joined, [](std::int64_t) {},
          [this, &at](std::size_t q, core::stable_key place, std::int64_t visits, std::int64_t ns) {
            const std::size_t p = part_of(at, q, visits);
            balance_course& c = own_[at.first + q];
            c.ns[p] += ns;
            c.visits[p] += visits;
            c.ranks[p] = 1;
            if (use* const u = places_[at.first + q].of(place, most_places_)) {
              u[p].ns += ns;
              u[p].visits += visits;
            }
          });
      for (std::size_t q = 0; q != blocks.size(); ++q) {
        balance_course& c = own_[at.first + q];
        const bool whole = base::ranks_are_threads() && blocks[q].block == explain::unmarked_key();
        if (whole && block_balance::hardly_runs(blocks[q], c.all_ns())) c = {};  // it takes no part
        courses_[q].add(c);
      }
    }
  }
  void write(base::packet& out) const { put_all(out, courses_); }
  /// Adds what another rank's `write` wrote.
  void merge(base::packet_reader& in) {
    base::pod_vector<balance_course> others;
    get_all(in, others);
    for (std::size_t q = 0; q < std::min(courses_.size(), others.size()); ++q) courses_[q].add(others[q]);
  }

  /// Sets the sums over all ranks, which rank 0 has gathered.
  void set_sums(base::packet_reader& in, const base::pod_vector<explain::balance_answer>& blocks) {
    get_all(in, courses_);
    each_.resize(courses_.size());
    factors_.clear();
    for (std::size_t q = 0; q != courses_.size(); ++q) {
      each_[q] = courses_[q].together(blocks[q].ranks);
      courses_[q].join(each_[q]);
    }
    for (std::size_t i = 0; i != own_.size(); ++i) {
      const std::size_t q = i % courses_.size(), each = each_[q];
      const explain::balance_answer& b = blocks[q];
      own_[i].join(each);
      places_[i].join(each);
      for (std::size_t p = 0; p != balance_course::parts; ++p) {
        const balance_course &all = courses_[q], &own = own_[i];
        const bool known = p < balance_course::parts / each && own.ns[p] > 0;
        const std::int64_t among = b.among > b.ranks ? b.among : std::max<std::int64_t>(1, all.ranks[p]);
        const double mean = known ? static_cast<double>(all.ns[p]) / static_cast<double>(among) : 0;
        factors_.push_back(known ? mean / static_cast<double>(own.ns[p]) : 1.0);
      }
    }
  }
  /// The time of a location of this rank in a block.
  std::int64_t own_ns(std::size_t location, std::size_t q) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p != balance_course::parts / each_[q]; ++p) sum += own_[location * courses_.size() + q].ns[p];
    return sum;
  }
  /// Visits of all threads of all ranks.
  std::int64_t all_visits(std::size_t q) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p != balance_course::parts / each_[q]; ++p) sum += courses_[q].visits[p];
    return sum;
  }

  /// Where a walk through the code of a location is.
  struct part_position {
    std::size_t first = 0;  ///< of the location: its blocks in the lists by location and question
    const std::int64_t* limits = nullptr;  ///< by question and part: visits at its end
    base::pod_vector<std::int64_t> done;  ///< by question: visits so far
    base::pod_vector<std::size_t> part;  ///< by question
  };
  /// Begins a walk, in the order of the records. Valid until `read`.
  part_position begin_location(std::size_t location) const {
    part_position at;
    at.first = location * courses_.size();
    at.limits = limits_.data() + at.first * balance_course::parts;
    at.done.assign(courses_.size(), 0);
    at.part.assign(courses_.size(), 0);
    return at;
  }
  /// The time that the next visits save; negative if they take longer. A thread that hardly runs the block takes equally long in all
  /// visits: what they take now is no measure of them.
  std::int64_t saved_ns(part_position& at, std::size_t q, core::stable_key place, std::int64_t visits,
                        std::int64_t ns) const noexcept {
    const std::size_t p = part_of(at, q, visits) / each_[q];
    const use* const u = places_[at.first + q].find(place);
    const balance_course& own = own_[at.first + q];
    const double factor = factors_[(at.first + q) * balance_course::parts + p];
    use usual{ns, visits};
    if (factor > hardly_runs) usual = {own.ns[p], own.visits[p]};
    else if (u != nullptr && u[p].visits > 0) usual = u[p];
    return ns - core::nearest(static_cast<double>(usual.ns) * static_cast<double>(visits) * factor /
                              static_cast<double>(std::max<std::int64_t>(1, usual.visits)));
  }

 private:
  static constexpr double hardly_runs = 20;  ///< the factor from which on a thread hardly runs a block

  struct use {
    std::int64_t ns = 0, visits = 0;
  };
  // The visits of a block by the calls around them.
  class by_place {
   public:
    // Null beyond `most` places.
    use* of(core::stable_key place, std::size_t most) {
      const auto fresh = static_cast<std::uint32_t>(uses_.size() / balance_course::parts);
      if (fresh == most && numbers_.find(place) == base::key_map::none) return nullptr;
      const std::uint32_t at = numbers_.intern(place, fresh);
      if (at == fresh) uses_.resize(uses_.size() + balance_course::parts);
      return uses_.data() + at * balance_course::parts;
    }
    const use* find(core::stable_key place) const noexcept {
      const std::uint32_t at = numbers_.find(place);
      return at == base::key_map::none ? nullptr : uses_.data() + at * balance_course::parts;
    }
    void join(std::size_t each) noexcept {
      for (std::size_t first = 0; first != uses_.size(); first += balance_course::parts) {
        for (std::size_t p = 0; p != balance_course::parts / each; ++p) {
          use sum;
          for (std::size_t i = 0; i != each; ++i) {
            sum.ns += uses_[first + p * each + i].ns;
            sum.visits += uses_[first + p * each + i].visits;
          }
          uses_[first + p] = sum;
        }
      }
    }

   private:
    base::key_map numbers_;
    base::pod_vector<use> uses_;
  };

  // When the stretches between operations of all ranks end, for all threads of the rank: as the one that takes part leaves them.
  static base::pod_vector<std::int64_t> stretch_ends(const explain::rank_history& rank) {
    base::pod_vector<std::int64_t> ends_ns;
    for (const explain::location_history& here : rank.locations) {
      if (!explain::location_steps::meets_all(rank, here)) continue;
      explain::location_walk walk(rank);
      for (std::size_t i = 0; i != here.records.size(); ++i) {
        walk.step(here.records[i]);
        if (explain::location_steps::of_all(rank, here.records[i])) ends_ns.push_back(walk.leave_ns());
      }
      break;
    }
    return ends_ns;
  }

  // Calls used(question, place, visits, ns) for all code of a location, and passed(when it left it) after each record.
  using passed_call = explain::borrowed<void(std::int64_t)>;
  using used_call = explain::borrowed<void(std::size_t, core::stable_key, std::int64_t, std::int64_t)>;
  static void walk(const explain::rank_history& rank, std::size_t location, const clock_plan& plan,
                   const base::pod_vector<std::uint32_t>& numbers, const joined_code& joined, passed_call passed,
                   used_call used) {
    const explain::location_history& here = rank.locations[location];
    asked_code code(rank, here, plan, numbers, joined);
    explain::location_walk walk(rank);
    std::int64_t now_ns = rank.begin_ns;
    for (std::size_t i = 0; i <= here.records.size(); ++i) {
      const bool end = i == here.records.size();
      if (!end) walk.step(here.records[i]);
      code.before(i, now_ns, end ? std::max(rank.end_ns, now_ns) : walk.begin_ns(),
                  [&](std::uint32_t number, core::stable_key place, std::int64_t visits, std::int64_t ns) {
                    plan.spend(
                        number, ns, [](std::uint32_t, std::int64_t) {},
                        [&](std::size_t q) {
                          used(q, place, visits, ns);
                          return std::int64_t{0};
                        });
                  });
      if (end) return;
      now_ns = walk.leave_ns();
      passed(now_ns);
    }
  }

  // Finds how many visits a location has made at the end of each part.
  void limit_parts(const explain::rank_history& rank, std::size_t location, const clock_plan& plan,
                   const base::pod_vector<std::uint32_t>& numbers, const joined_code& joined,
                   const base::pod_vector<std::int64_t>& ends_ns) {
    constexpr std::size_t parts = balance_course::parts;
    const std::size_t count = courses_.size(), first = limits_.size(), stretches = ends_ns.size() + 1;
    limits_.resize(first + count * parts, INT64_MAX);
    base::pod_vector<std::int64_t> before(count, 0), visits(count, 0);  // by block: before the stretch, and in it
    std::size_t stretch = 0, part = 1;
    const auto end_stretch = [&] {
      for (++stretch; part != parts && part * stretches < stretch * parts; ++part) {
        const auto rest = static_cast<std::int64_t>(part * stretches - (stretch - 1) * parts);  // of `parts`, into the stretch
        for (std::size_t q = 0; q != count; ++q)
          limits_[first + q * parts + part - 1] = before[q] + visits[q] * rest / static_cast<std::int64_t>(parts);
      }
      for (std::size_t q = 0; q != count; ++q) {
        before[q] += visits[q];
        visits[q] = 0;
      }
    };
    walk(
        rank, location, plan, numbers, joined,
        [&](std::int64_t left_ns) {
          while (stretch != ends_ns.size() && ends_ns[stretch] <= left_ns) end_stretch();
        },
        [&](std::size_t q, core::stable_key, std::int64_t more, std::int64_t) { visits[q] += more; });
    while (stretch != stretches) end_stretch();
  }

  static std::size_t part_of(part_position& at, std::size_t q, std::int64_t visits) noexcept {
    const std::int64_t* const limits = at.limits + q * balance_course::parts;
    while (at.done[q] >= limits[at.part[q]]) ++at.part[q];
    at.done[q] += visits;
    return at.part[q];
  }

  base::pod_vector<balance_course> courses_, own_;  ///< by question; by location and question
  base::vector<by_place> places_;  ///< by location and question
  std::size_t most_places_ = 0;  ///< of each
  base::pod_vector<std::size_t> each_;  ///< by question: parts that are taken together
  base::pod_vector<double> factors_;  ///< by location, question and part
  base::pod_vector<std::int64_t> limits_;  ///< by location, question and part: visits at its end
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
