#ifndef WHYWAIT_WHATIF_MORE_RANKS_HPP
#define WHYWAIT_WHATIF_MORE_RANKS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/models/random.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/whatif/question.hpp>
#include <whywait/whatif/serial_blocks.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace whatif {
namespace detail {

/// Builds the log of the same program on more or fewer ranks. Each new rank has a *role*, which is a recorded rank. The
/// first and last ranks keep their roles, and the others are distributed over the ranks between. Ranks of one role do
/// each other's instances in shuffled order, so that they differ as instances do. Serial blocks are neither shared nor
/// repeated. Supported messages go to ranks at a constant distance (neighbours in a line or a ring), from all ranks to
/// rank 0 or from rank 0 to all. Supported collectives involve all ranks. Everything else is refused.
class rank_changer {
 public:
  rank_changer(const models::run_log& log, const question& q, std::uint64_t seed) : log_(log), q_(q), random_(seed) {}

  bool apply(models::run_log& into, std::string& why_not) {
    old_ = static_cast<std::uint32_t>(log_.lines.size());
    const double wanted = q_.factor * old_;
    if (!(wanted > 0.5 && wanted < 1e6) || std::fabs(wanted - std::round(wanted)) > 1e-3 * wanted)
      return no(why_not, std::to_string(old_) + " ranks times this factor is not a valid number of ranks");
    new_ = static_cast<std::uint32_t>(std::lround(wanted));
    double activities = 0.0;
    for (std::size_t l = 0; l != old_; ++l) {
      activities += static_cast<double>(log_.lines[l].size()) * q_.factor;
      if (!log_.ranks.empty() && log_.ranks[l] != static_cast<std::int32_t>(l))
        return no(why_not, "ranks with several threads, or without any call, cannot be copied");
    }
    if (activities > 4e6) return no(why_not, "the log of that many ranks would be too long");
    if (!find_pairs(why_not) || !roles(why_not)) return false;
    into = models::run_log();
    into.labels = log_.labels;
    into.blocks = log_.blocks;
    into.doubts = log_.doubts;
    lines(into);
    return messages(into, why_not) && syncs(into, why_not);
  }

 private:
  enum class shape : char { shift, ring, gather, scatter };
  static constexpr std::uint32_t none = 0xffffffff;
  // All messages of one pair of call sites between one pair of ranks, in order.
  struct pair_of_ranks {
    std::uint32_t way = 0, from = 0, to = 0;
    std::uint32_t messages = 0, first = none, last = none;  // a list through `next_`
  };
  // All messages of one pair of call sites over the same distance.
  struct way {
    std::uint32_t call = 0;  // call of the sender
    std::uint64_t sites = 0;
    int distance = 0;
    shape as = shape::shift;
    std::uint32_t pairs = 0;
  };

  static bool no(std::string& why_not, const std::string& why) {
    why_not = why;
    return false;
  }
  std::string at(const way& w) const { return " (" + log_.labels[w.call] + ")"; }

  std::uint64_t sites_of(const models::message_edge& m) const {
    return core::combine(log_.lines[m.from.line][m.from.index].label, log_.lines[m.to.line][m.to.index].label);
  }

  bool find_pairs(std::string& why_not) {
    if (log_.messages.empty()) return true;
    if (old_ < 3) return no(why_not, "on fewer than 3 ranks a neighbour cannot be distinguished from a root");
    // Classify each pair of sites as gather to rank 0, scatter from rank 0 or neighbours.
    base::key_map known;
    base::pod_vector<char> to_root, from_root;
    next_.assign(log_.messages.size(), none);
    base::pod_vector<std::uint32_t> order(log_.messages.size());
    for (std::uint32_t m = 0; m != order.size(); ++m) {
      order[m] = m;
      const models::message_edge& e = log_.messages[m];
      const std::uint32_t s = known.intern(sites_of(e), static_cast<std::uint32_t>(to_root.size()));
      if (s == to_root.size()) {
        to_root.push_back(1);
        from_root.push_back(1);
      }
      if (e.to.line != 0) to_root[s] = 0;
      if (e.from.line != 0) from_root[s] = 0;
    }
    base::small_stable_sort(
        order, [this](std::uint32_t a, std::uint32_t b) { return log_.messages[a].from.index < log_.messages[b].from.index; });
    for (const std::uint32_t m : order) {
      const models::message_edge& e = log_.messages[m];
      const std::uint64_t sites = sites_of(e);
      const std::uint32_t s = known.find(sites);
      way w;
      w.call = log_.lines[e.from.line][e.from.index].label;
      w.sites = sites;
      w.as = to_root[s] != 0 ? shape::gather : from_root[s] != 0 ? shape::scatter : shape::shift;
      w.distance = static_cast<int>(e.to.line) - static_cast<int>(e.from.line);
      if (w.as == shape::shift && w.distance * 2 > static_cast<int>(old_)) w.distance -= static_cast<int>(old_);
      if (w.as == shape::shift && w.distance * 2 < -static_cast<int>(old_)) w.distance += static_cast<int>(old_);
      // With two ranks a peer is both neighbour and root; the distance identifies a neighbour.
      const std::uint64_t key = core::combine(
          sites, w.as == shape::shift ? static_cast<std::uint64_t>(static_cast<std::int64_t>(w.distance)) : 1000003);
      const std::uint32_t number = ways_by_key_.intern(key, static_cast<std::uint32_t>(ways_.size()));
      if (number == ways_.size()) ways_.push_back(w);
      pair_of_ranks& p = *pair(number, e.from.line, e.to.line, true);
      (p.first == none ? p.first : next_[p.last]) = m;
      p.last = m;
      ++p.messages;
    }
    for (const pair_of_ranks& p : pairs_) ++ways_[p.way].pairs;
    for (way& w : ways_) {
      const std::uint32_t all = old_ - 1;
      if (w.as != shape::shift) {
        if (w.pairs == all) continue;
        return no(why_not, "not all ranks exchange messages with rank 0" + at(w));
      }
      const std::uint32_t d = static_cast<std::uint32_t>(std::abs(w.distance));
      if (w.pairs == old_ && d * 2 != old_) w.as = shape::ring;
      else if (w.pairs != old_ - d || !one_sided(w))
        return no(why_not, "its messages are not between neighbours or with rank 0: their growth is unknown" + at(w));
      if (d > 2)
        return no(why_not, "ranks exchange messages with ranks " + std::to_string(d) +
                               " away: with more ranks the distance may grow" + at(w));
    }
    return few_directions(why_not);
  }
  // Whether no pair of this way wraps around.
  bool one_sided(const way& w) const {
    for (const pair_of_ranks& p : pairs_)
      if (&ways_[p.way] == &w && static_cast<int>(p.to) - static_cast<int>(p.from) != w.distance) return false;
    return true;
  }
  // An exchange between all pairs over the same calls looks like neighbours at all distances, so it is refused.
  bool few_directions(std::string& why_not) const {
    for (const way& w : ways_) {
      std::uint32_t pairs = 0;
      for (const way& other : ways_)
        if (other.sites == w.sites) pairs += other.pairs;
      if (w.as != shape::gather && w.as != shape::scatter && pairs == old_ * (old_ - 1))
        return no(why_not, "every rank exchanges messages with every other: its growth is unknown" + at(w));
    }
    return true;
  }

  pair_of_ranks* pair(std::uint32_t way_number, std::uint32_t from, std::uint32_t to, bool make = false) {
    const std::uint64_t key = core::combine(core::combine(way_number, from), to);
    const std::uint32_t found =
        make ? pairs_by_key_.intern(key, static_cast<std::uint32_t>(pairs_.size())) : pairs_by_key_.find(key);
    if (found == base::key_map::none) return nullptr;
    if (found == pairs_.size()) {
      pair_of_ranks fresh;
      fresh.way = way_number;
      fresh.from = from;
      fresh.to = to;
      pairs_.push_back(fresh);
    }
    return &pairs_[found];
  }

  bool roles(std::string& why_not) {
    std::uint32_t border = 0;
    bool rooted = false;
    for (const way& w : ways_) {
      if (w.as == shape::shift) border = std::max(border, static_cast<std::uint32_t>(std::abs(w.distance)));
      if (w.as == shape::gather || w.as == shape::scatter) {
        border = std::max(border, 1u);
        rooted = true;
      }
    }
    if (border != 0 && (old_ < 2 * border + 1 || new_ < 2 * border + 1))
      return no(why_not, "too few ranks: no inner rank is representative");
    if (rooted && new_ < old_) return no(why_not, "fewer ranks that exchange messages with rank 0 are not supported");
    role_.resize(new_);
    first_.assign(old_, base::key_map::none);
    for (std::uint32_t q = 0; q != new_; ++q) {
      const std::uint64_t between = q - border, of = new_ - 2 * border, from = old_ - 2 * border;
      role_[q] = q < border           ? q
                 : q >= new_ - border ? old_ - (new_ - q)
                                      : border + static_cast<std::uint32_t>(between * from / of);
      first_[role_[q]] = std::min(first_[role_[q]], q);
    }
    return true;
  }

  // Rank 0 has one additional exchange for each additional rank.
  void insertions() {
    for (const pair_of_ranks& p : pairs_) {
      const shape as = ways_[p.way].as;
      if ((as != shape::gather || p.from != old_ - 1) && (as != shape::scatter || p.to != old_ - 1)) continue;
      for (std::uint32_t m = p.first; m != none; m = next_[m]) {
        const models::message_edge& e = log_.messages[m];
        if (as == shape::scatter) inserted_.push_back(e.from.index);
        else if (one_message_calls(e.to)) inserted_.push_back(e.to.index);
      }
    }
    base::sort_and_unique(inserted_);
  }
  // Whether a call of rank 0 receives only one message, unlike a Waitall for all of them.
  bool one_message_calls(const models::place& p) {
    if (arrivals_.empty()) {
      arrivals_.assign(log_.lines[0].size(), 0);
      for (const models::message_edge& e : log_.messages)
        if (e.to.line == 0) ++arrivals_[e.to.index];
    }
    return arrivals_[p.index] == 1;
  }
  std::uint32_t index(std::uint32_t q, std::uint32_t old_index) const {
    if (q != 0 || inserted_.empty()) return old_index;
    const auto before = std::lower_bound(inserted_.begin(), inserted_.end(), old_index) - inserted_.begin();
    return old_index + static_cast<std::uint32_t>(before) * (new_ - old_);
  }
  // The copy of a call of rank 0 that belongs to the new rank `q`.
  std::uint32_t copy_for(std::uint32_t q, std::uint32_t old_index) const {
    const bool copied = std::binary_search(inserted_.begin(), inserted_.end(), old_index);
    return index(0, old_index) + (copied ? q - old_ + 1 : 0);
  }

  void share(models::activity& a, double by, bool repeated) const {
    double serial = 0.0;
    for (models::block_time& b : a.blocks) {
      if (serial_[b.block] != 0) serial += b.seconds;
      b.seconds *= serial_[b.block] == 0 ? by : repeated ? 0.0 : 1.0;
    }
    serial = std::min(serial, a.work_seconds);
    a.work_seconds = (a.work_seconds - serial) * by + (repeated ? 0.0 : serial);
  }

  void lines(models::run_log& into) {
    if (new_ > old_) insertions();
    serial_ = serial_blocks(log_);
    const double part = q_.fixed_total ? static_cast<double>(old_) / new_ : 1.0;
    into.lines.resize(new_);
    for (std::uint32_t q = 0; q != new_; ++q) {
      const base::vector<models::activity>& from = log_.lines[role_[q]];
      base::vector<models::activity>& line = into.lines[q];
      line.reserve(from.size() + (q == 0 ? inserted_.size() * (new_ - old_) : 0));
      std::size_t next = 0;
      for (std::uint32_t i = 0; i != from.size(); ++i) {
        line.push_back(models::activity(from[i]));
        if (q != 0 || next == inserted_.size() || inserted_[next] != i) continue;
        ++next;
        for (std::uint32_t k = old_; k < new_; ++k) line.push_back(models::activity(from[i]));
      }
      if (first_[role_[q]] != q) shuffle(line);
      for (models::activity& a : line) share(a, part, first_[role_[q]] != q);
    }
  }
  void shuffle(base::vector<models::activity>& line) {
    base::pod_vector<std::uint32_t> order(line.size());
    for (std::uint32_t i = 0; i != order.size(); ++i) order[i] = i;
    base::small_stable_sort(order, [&line](std::uint32_t a, std::uint32_t b) { return line[a].label < line[b].label; });
    for (std::size_t begin = 0, end; begin != order.size(); begin = end) {
      for (end = begin; end != order.size() && line[order[end]].label == line[order[begin]].label;) ++end;
      for (std::size_t i = end - begin; i > 1; --i)
        std::swap(line[order[begin + i - 1]], line[order[begin + random_.below(static_cast<std::uint32_t>(i))]]);
    }
  }

  bool messages(models::run_log& into, std::string& why_not) {
    for (std::uint32_t n = 0; n != ways_.size(); ++n) {
      const way& w = ways_[n];
      for (std::uint32_t q = 0; q != new_; ++q) {
        const std::int64_t target = w.as == shape::gather    ? 0
                                    : w.as == shape::scatter ? static_cast<std::int64_t>(q)
                                                             : static_cast<std::int64_t>(q) + w.distance;
        std::uint32_t from = q, to = 0;
        if (w.as == shape::scatter) from = 0;
        if (w.as == shape::shift && (target < 0 || target >= new_)) continue;
        to = static_cast<std::uint32_t>((target + new_) % new_);
        if (from == to) continue;
        // the sender acts in its own role and the receiver in its own
        const std::uint32_t a = role_[from], b = role_[to];
        const int d = w.distance, size = static_cast<int>(old_);
        const bool neighbours = w.as == shape::shift || w.as == shape::ring;
        const std::uint32_t old_q = std::min(q, old_ - 1);  // rooted ways: the corresponding peer of rank 0
        const pair_of_ranks* out = neighbours ? pair(n, a, static_cast<std::uint32_t>((static_cast<int>(a) + d + size) % size))
                                   : w.as == shape::gather ? pair(n, a, 0)
                                                           : pair(n, 0, old_q);
        const pair_of_ranks* in = neighbours ? pair(n, static_cast<std::uint32_t>((static_cast<int>(b) - d + size) % size), b)
                                  : w.as == shape::gather ? pair(n, old_q, 0)
                                                          : pair(n, 0, b);
        if (out == nullptr || in == nullptr || out->messages != in->messages)
          return no(why_not, "ranks send different numbers of messages" + at(w));
        for (std::uint32_t o = out->first, i = in->first; o != none; o = next_[o], i = next_[i]) {
          const models::message_edge &s = log_.messages[o], &r = log_.messages[i];
          const bool copied_out = w.as == shape::scatter && q >= old_, copied_in = w.as == shape::gather && q >= old_;
          models::message_edge m;
          m.bytes = s.bytes;
          m.seconds = s.seconds;
          m.rendezvous = s.rendezvous;
          m.from = {from, copied_out ? copy_for(q, s.from.index) : index(from, s.from.index)};
          m.to = {to, copied_in ? copy_for(q, r.to.index) : index(to, r.to.index)};
          if (m.rendezvous) {
            const bool blocks = s.done.index == s.from.index, waits = r.posted.index == r.to.index;
            m.done = {from, copied_out && blocks ? m.from.index : index(from, s.done.index)};
            m.posted = {to, copied_in && waits ? m.to.index : index(to, r.posted.index)};
          }
          into.messages.push_back(m);
        }
      }
    }
    return true;
  }

  bool syncs(models::run_log& into, std::string& why_not) {
    base::pod_vector<std::uint32_t> where(old_);
    for (const models::sync_edge& s : log_.syncs) {
      models::sync_edge x;
      x.label = s.label;
      x.prefix = s.prefix;
      x.seconds = s.seconds;
      if (old_ > 1 && new_ > 1) x.seconds *= std::log2(static_cast<double>(new_)) / std::log2(static_cast<double>(old_));
      for (int side = 0; side != 2; ++side) {
        const base::vector<models::place>& members = side == 0 ? s.in : s.out;
        base::vector<models::place>& now = side == 0 ? x.in : x.out;
        const base::vector<models::place>& others = side == 0 ? s.out : s.in;
        if (members.size() != old_ && (members.size() != 1 || others.size() != old_))
          return no(why_not,
                    "collectives on a part of the ranks: the growth of the parts is unknown (" + log_.labels[s.label] + ")");
        if (members.size() == 1) {
          const std::uint32_t q = first_[members[0].line];
          if (q == base::key_map::none) return no(why_not, "the root of a collective would not exist");
          now.push_back({q, index(q, members[0].index)});
          continue;
        }
        for (const models::place& p : members) where[p.line] = p.index;
        for (std::uint32_t q = 0; q != new_; ++q) now.push_back({q, index(q, where[role_[q]])});
      }
      into.syncs.push_back(std::move(x));
    }
    return true;
  }

  const models::run_log& log_;
  const question& q_;
  models::random_source random_;
  std::uint32_t old_ = 0, new_ = 0;
  base::pod_vector<way> ways_;
  base::pod_vector<pair_of_ranks> pairs_;
  base::pod_vector<std::uint32_t> next_;  // next message of the same pair
  base::key_map ways_by_key_, pairs_by_key_;
  base::pod_vector<std::uint32_t> role_, first_;
  base::pod_vector<char> serial_;
  base::pod_vector<std::uint32_t> inserted_;  // calls of rank 0 that are repeated for each additional rank
  base::pod_vector<std::uint32_t> arrivals_;
};

}  // namespace detail
}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
