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

/// What each piece of a block would take on the threads of one rank in the run in which the block is balanced: in each part of the
/// run (balance_course) the threads that run it take equally long, and pieces between the same calls take equally long. What lies
/// between two calls inside a region, or after or before one call, is balanced on its own if all of these threads pass the two calls:
/// more work elsewhere would not make up for it. Two walks through the records; 24 bytes per part, block, thread and place in the
/// program. Not thread safe.
class balanced_time {
 public:
  /// Measures the rank's own course of each block in `blocks`, the blocks of the balanced questions in their order.
  void read(const explain::rank_history& rank, const base::pod_vector<explain::balance_answer>& blocks,
            const joined_code& joined) {
    courses_.assign(blocks.size(), {});
    longest_.assign(blocks.size(), {});
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
          [this, &at](std::size_t q, const piece_of_code& piece) {
            const std::size_t p = part_of(at, q, piece.parts);
            balance_course& c = own_[at.first + q];
            c.ns[p] += piece.ns;
            c.pieces[p] += piece.parts;
            c.ranks[p] = 1;
            c.visits += piece.visits;
            if (use* const u = places_[at.first + q].of(piece.place, most_places_)) u[p].add({piece.ns, piece.parts, 1});
          });
      for (std::size_t q = 0; q != blocks.size(); ++q) {
        balance_course& c = own_[at.first + q];
        const bool whole = base::ranks_are_threads() && blocks[q].block == explain::unmarked_key();
        if (whole && block_balance::hardly_runs(blocks[q], c.all_ns())) c = {};  // it takes no part
        courses_[q].add(c);
        places_[at.first + q].add_to(longest_[q]);
      }
    }
  }
  void write(base::packet& out) const {
    put_all(out, courses_);
    put_all(out, longest_);
  }
  /// Adds what another rank's `write` wrote.
  void merge(base::packet_reader& in) {
    base::pod_vector<balance_course> others;
    get_all(in, others);
    base::pod_vector<longest_places> their_places;
    get_all(in, their_places);
    for (std::size_t q = 0; q < std::min(courses_.size(), std::min(others.size(), their_places.size())); ++q) {
      courses_[q].add(others[q]);
      for (const place_time& t : their_places[q].all) longest_[q].add(t);
    }
  }

  /// Sets the sums over all ranks, which rank 0 has gathered.
  void set_sums(base::packet_reader& in, const base::pod_vector<explain::balance_answer>& blocks) {
    get_all(in, courses_);
    get_all(in, longest_);
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
      double mean_sum = 0;
      for (std::size_t p = 0; p != balance_course::parts; ++p) {
        const balance_course &all = courses_[q], &own = own_[i];
        const bool known = p < balance_course::parts / each && own.ns[p] > 0;
        const std::int64_t among = b.among > b.ranks ? b.among : std::max<std::int64_t>(1, all.ranks[p]);
        const double mean = known ? static_cast<double>(all.ns[p]) / static_cast<double>(among) : 0;
        mean_sum += mean;
        factors_.push_back(known ? mean / static_cast<double>(own.ns[p]) : 1.0);
      }
      const auto here_ns = static_cast<double>(own_ns(i / courses_.size(), q));
      const bool own = b.region || b.after || b.before;
      const bool shared = own && b.among <= b.ranks && here_ns > 0;  // each passes its calls, and none would begin to
      places_[i].set_weights(longest_[q], balance_course::parts / each, shared ? b.ranks : 0, mean_sum, here_ns);
    }
  }
  /// The time of a location of this rank in a block.
  std::int64_t own_ns(std::size_t location, std::size_t q) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p != balance_course::parts / each_[q]; ++p) sum += own_[location * courses_.size() + q].ns[p];
    return sum;
  }
  /// Visits of all threads of all ranks.
  std::int64_t all_visits(std::size_t q) const noexcept { return courses_[q].visits; }

  /// Where a walk through the code of a location is.
  struct part_position {
    std::size_t first = 0;  ///< of the location: its blocks in the lists by location and question
    const std::int64_t* limits = nullptr;  ///< by question and part: pieces of code at its end
    base::pod_vector<std::int64_t> done;  ///< by question: pieces so far
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
  /// The time that the next piece of code saves; negative if it takes longer. What the pieces of a thread that hardly runs the block take
  /// is no measure of them: it takes its time between the same calls as all threads do, and equally long in all such pieces.
  std::int64_t saved_ns(part_position& at, std::size_t q, const piece_of_code& piece) const noexcept {
    const std::size_t p = part_of(at, q, piece.parts) / each_[q];
    const by_place& places = places_[at.first + q];
    const use* const u = places.find(piece.place);
    const balance_course& own = own_[at.first + q];
    const double factor = factors_[(at.first + q) * balance_course::parts + p];
    use usual{piece.ns, piece.parts, 0};
    if (factor > hardly_runs && !places.like_others(p)) usual = {own.ns[p], own.pieces[p], 0};
    else if (factor > hardly_runs) usual = {core::nearest(static_cast<double>(own.ns[p]) * places.share_of(u, p)), 1, 0};
    else if (u != nullptr && u[p].pieces > 0) usual = u[p];
    const double like_others = factor > hardly_runs || u == nullptr ? 1 : places.scale_of(u, p);
    return piece.ns - core::nearest(static_cast<double>(usual.ns) * static_cast<double>(piece.parts) * factor * like_others /
                                    static_cast<double>(std::max<std::int64_t>(1, usual.pieces)));
  }

 private:
  static constexpr double hardly_runs = 20;  ///< the factor from which on a thread hardly runs a block

  struct use {
    std::int64_t ns = 0, pieces = 0;
    std::int64_t passes = 0;  ///< how often the thread went from the one call to the other

    void add(const use& u) noexcept {
      ns += u.ns;
      pieces += u.pieces;
      passes += u.passes;
    }
  };
  struct place_time : use {
    core::stable_key place = 0;
    std::int64_t threads = 0;  ///< that pass it
  };
  // The places at which all threads spend most time in a block. Sent between ranks as bytes.
  struct longest_places {
    place_time all[16];

    void add(const place_time& t) noexcept {
      place_time* least = all;
      for (place_time& mine : all) {
        if (mine.place == t.place) {
          mine.add(t);
          mine.threads += t.threads;
          return;
        }
        if (mine.ns < least->ns) least = &mine;
      }
      if (t.ns > least->ns) *least = t;
    }
  };
  // The pieces of a block by the calls around them.
  class by_place {
   public:
    // Null beyond `most` places.
    use* of(core::stable_key place, std::size_t most) {
      if (find(place) == nullptr) {
        if (keys_.size() == most) return nullptr;
        last_ = numbers_.intern(place, static_cast<std::uint32_t>(keys_.size()));
        keys_.push_back(place);
        uses_.resize(uses_.size() + balance_course::parts);
      }
      return uses_.data() + last_ * balance_course::parts;
    }
    const use* find(core::stable_key place) const noexcept {
      if (place != last_place_) {  // many pieces lie at the place of the one before
        last_place_ = place;
        last_ = numbers_.find(place);
      }
      return last_ == base::key_map::none ? nullptr : uses_.data() + last_ * balance_course::parts;
    }
    void add_to(longest_places& sums) const noexcept {
      for (std::size_t i = 0; i != keys_.size(); ++i) {
        place_time t;
        t.place = keys_[i];
        t.threads = 1;
        for (std::size_t p = 0; p != balance_course::parts; ++p) t.add(uses_[i * balance_course::parts + p]);
        sums.add(t);
      }
    }
    /// Finds how long a piece takes at each place, as all threads together run it; after `join`. Nothing is known if this thread does not
    /// pass those at which they spend most time. `parts`: after `join`. `threads`: all that run the block, if a place that each of them
    /// passes is balanced on its own; 0: none is. `then_ns`: the time of this thread in the block once balanced, of `now_ns`.
    void set_weights(const longest_places& sums, std::size_t parts, std::int64_t threads, double then_ns, double now_ns) {
      weights_.assign(keys_.size(), 0);
      scales_.assign(keys_.size(), 1);
      all_.assign(balance_course::parts, 0);
      std::int64_t all_ns = 0, known_ns = 0;
      for (const place_time& t : sums.all) {
        const std::uint32_t at = numbers_.find(t.place);
        all_ns += t.ns;
        if (at == base::key_map::none || t.ns <= 0) continue;
        known_ns += t.ns;
        weights_[at] = static_cast<double>(t.ns) / static_cast<double>(std::max<std::int64_t>(1, t.pieces));
        use own;
        for (std::size_t p = 0; p != parts; ++p) own.add(uses_[at * balance_course::parts + p]);
        if (threads <= 0 || t.threads < threads || own.ns <= 0) continue;
        const double as_others = static_cast<double>(t.ns) * static_cast<double>(own.passes) / static_cast<double>(t.passes);
        scales_[at] = as_others * now_ns / (then_ns * static_cast<double>(own.ns));
        if (scales_[at] <= hardly_runs) continue;
        for (std::size_t p = 0; p != parts; ++p) {  // what the pieces take now is no measure of them
          use& u = uses_[at * balance_course::parts + p];
          u.ns = core::nearest(static_cast<double>(own.ns) * static_cast<double>(u.pieces) / static_cast<double>(own.pieces));
        }
      }
      scale_parts(parts);
      if (2 * known_ns < all_ns) return;
      for (std::size_t i = 0; i != keys_.size(); ++i)
        for (std::size_t p = 0; p != parts; ++p)
          all_[p] += weights_[i] * static_cast<double>(uses_[i * balance_course::parts + p].pieces);
    }
    /// What balancing does to the pieces at a place beyond what it does to the whole part. `u`: of `find`.
    double scale_of(const use* u, std::size_t part) const noexcept { return scales_[place_of(u)] * in_parts_[part]; }
    bool like_others(std::size_t part) const noexcept { return all_[part] > 0; }
    /// The share of a piece in what the thread runs in a part. `u`: of `find`.
    double share_of(const use* u, std::size_t part) const noexcept {
      return u != nullptr ? weights_[place_of(u)] / all_[part] : 0;
    }
    void join(std::size_t each) noexcept {
      for (std::size_t first = 0; first != uses_.size(); first += balance_course::parts) {
        for (std::size_t p = 0; p != balance_course::parts / each; ++p) {
          use sum;
          for (std::size_t i = 0; i != each; ++i) sum.add(uses_[first + p * each + i]);
          uses_[first + p] = sum;
        }
      }
    }

   private:
    // Finds by how much the scales change what the thread runs in each part, which is balanced.
    void scale_parts(std::size_t parts) {
      in_parts_.assign(balance_course::parts, 1);
      for (std::size_t p = 0; p != parts; ++p) {
        double of_part_ns = 0, scaled_ns = 0;
        for (std::size_t i = 0; i != keys_.size(); ++i) {
          const auto ns = static_cast<double>(uses_[i * balance_course::parts + p].ns);
          of_part_ns += ns;
          scaled_ns += ns * scales_[i];
        }
        if (scaled_ns > 0) in_parts_[p] = of_part_ns / scaled_ns;
      }
    }
    std::size_t place_of(const use* u) const noexcept {
      return static_cast<std::size_t>(u - uses_.data()) / balance_course::parts;
    }

    base::key_map numbers_;
    mutable core::stable_key last_place_ = 0;  ///< of the last `find`, and its answer
    mutable std::uint32_t last_ = base::key_map::none;
    base::pod_vector<core::stable_key> keys_;  ///< by place
    base::pod_vector<use> uses_;  ///< by place and part
    base::pod_vector<double> weights_;  ///< by place: time of a piece
    base::pod_vector<double> scales_, in_parts_;  ///< by place, by part: the factors of `scale_of`
    base::pod_vector<double> all_;  ///< by part: of all pieces
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

  // Calls used(question, piece) for all code of a location, and passed(when it left it) after each record.
  using passed_call = explain::borrowed<void(std::int64_t)>;
  using used_call = explain::borrowed<void(std::size_t, const piece_of_code&)>;
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
                  [&](std::uint32_t number, const piece_of_code& piece) {
                    plan.spend(
                        number, piece.ns, [](std::uint32_t, std::int64_t) {},
                        [&](std::size_t q) {
                          used(q, piece);
                          return std::int64_t{0};
                        });
                  });
      if (end) return;
      now_ns = walk.leave_ns();
      passed(now_ns);
    }
  }

  // Finds how many pieces of code a location has run at the end of each part.
  void limit_parts(const explain::rank_history& rank, std::size_t location, const clock_plan& plan,
                   const base::pod_vector<std::uint32_t>& numbers, const joined_code& joined,
                   const base::pod_vector<std::int64_t>& ends_ns) {
    constexpr std::size_t parts = balance_course::parts;
    const std::size_t count = courses_.size(), first = limits_.size(), stretches = ends_ns.size() + 1;
    limits_.resize(first + count * parts, INT64_MAX);
    base::pod_vector<std::int64_t> before(count, 0), pieces(count, 0);  // by block: before the stretch, and in it
    std::size_t stretch = 0, part = 1;
    const auto end_stretch = [&] {
      for (++stretch; part != parts && part * stretches < stretch * parts; ++part) {
        const auto rest = static_cast<std::int64_t>(part * stretches - (stretch - 1) * parts);  // of `parts`, into the stretch
        for (std::size_t q = 0; q != count; ++q)
          limits_[first + q * parts + part - 1] = before[q] + pieces[q] * rest / static_cast<std::int64_t>(parts);
      }
      for (std::size_t q = 0; q != count; ++q) {
        before[q] += pieces[q];
        pieces[q] = 0;
      }
    };
    walk(
        rank, location, plan, numbers, joined,
        [&](std::int64_t left_ns) {
          while (stretch != ends_ns.size() && ends_ns[stretch] <= left_ns) end_stretch();
        },
        [&](std::size_t q, const piece_of_code& piece) { pieces[q] += piece.parts; });
    while (stretch != stretches) end_stretch();
  }

  static std::size_t part_of(part_position& at, std::size_t q, std::int64_t pieces) noexcept {
    const std::int64_t* const limits = at.limits + q * balance_course::parts;
    while (at.done[q] >= limits[at.part[q]]) ++at.part[q];
    at.done[q] += pieces;
    return at.part[q];
  }

  base::pod_vector<balance_course> courses_, own_;  ///< by question; by location and question
  base::vector<by_place> places_;  ///< by location and question
  std::size_t most_places_ = 0;  ///< of each
  base::pod_vector<longest_places> longest_;  ///< by question
  base::pod_vector<std::size_t> each_;  ///< by question: parts that are taken together
  base::pod_vector<double> factors_;  ///< by location, question and part
  base::pod_vector<std::int64_t> limits_;  ///< by location, question and part: pieces at its end
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
