#ifndef WHYWAIT_DATA_ANALYSIS_SHARING_BOOK_HPP
#define WHYWAIT_DATA_ANALYSIS_SHARING_BOOK_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/data_sample.hpp>
#include <whywait/data/analysis/data_region.hpp>
#include <whywait/data/analysis/rank_data.hpp>
#include <whywait/data/analysis/sharing_graph.hpp>
#include <whywait/data/analysis/thread_order.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// What is watched, and how finely.
struct sharing_options {
  std::uint32_t granule_bytes = 64;     ///< a cache line
  std::uint64_t most_granules = 4096;   ///< of an array; of larger ones a sample is watched
  double group_distance = 0.25;         ///< definitions 1.7
};

/// How an array is shared.
struct shared_array {
  core::stable_key array = 0;
  std::uint64_t granules = 0;   ///< it has
  std::uint64_t watched = 0;    ///< number of watched granules
  /// Standard error of the share of granules with a pattern: 0 if all are watched, else at most 0.5 sqrt((1 - f) /
  /// watched), with f the share that is watched (simple random sampling without replacement).
  double standard_error = 0;

  static double error_of(std::uint64_t watched, std::uint64_t granules) noexcept {
    if (watched >= granules || watched == 0) return 0;
    const double share = static_cast<double>(watched) / static_cast<double>(granules);
    return 0.5 * std::sqrt((1 - share) / static_cast<double>(watched));
  }
};

/// The shared pieces of memory and the threads that share them.
struct sharing_report {
  base::vector<sharing_node> nodes;   ///< [0] is INIT
  base::vector<sharing_group> groups; ///< by misses, falling
  base::vector<shared_array> arrays;
  std::uint64_t dropped = 0;         ///< records that name no known object, site or thread
};

/// Finds which threads share the data of one process, record by record in the order of their time (definitions 2.4). A granule
/// that is read or written by a thread after writes of other threads that happened before it (by synchronisation) is a miss; so is
/// its first use. Time for an access: about 0.1 us a watched granule. Memory: 200 bytes and threads^2 * 4 a watched
/// granule, its distinct misses, and the writes that some thread has not seen. Not thread safe.
class sharing_book {
 public:
  /// `rank` must outlive the book. Threads are its locations.
  explicit sharing_book(const rank_data& rank, const sharing_options& options = {})
      : rank_(&rank), options_(options), order_(rank.locations.size()), nodes_(1) {
    options_.granule_bytes = std::max<std::uint32_t>(1, options_.granule_bytes);
    options_.most_granules = std::max<std::uint64_t>(1, options_.most_granules);
    begin_part();
  }

  /// Adds the threads and arrays that were registered since the last call.
  void begin_part() {
    order_.grow(rank_->locations.size());
    for (std::size_t i = arrays_.size(); i < rank_->objects.size(); ++i) {
      arrays_.emplace_back();
      if (rank_->objects[i].key == 0) continue;
      watched_array& a = arrays_.back();
      a.sample = core::data_sample(rank_->objects[i].bytes(), options_.granule_bytes, options_.most_granules);
      a.count = a.sample.count();
      a.every = a.sample.every();
      a.list.resize(static_cast<std::size_t>(a.sample.rows()));
    }
  }

  void take(std::size_t thread, const core::data_record& r) {
    if (thread >= order_.size() || r.site >= rank_->sites.size()) {
      ++dropped_;
      return;
    }
    order_.begin(thread);
    const bool reads = r.op == core::data_op::read || r.op == core::data_op::copy_from || r.op == core::data_op::send;
    const bool writes = r.op == core::data_op::write || r.op == core::data_op::copy_to || r.op == core::data_op::receive;
    if (r.op == core::data_op::synchronise) {
      order_.synchronise(thread, r, rank_->sites[r.site]);
      least_ = order_.least_epoch();
    }
    if (!reads && !writes) return;
    if (r.object == 0 || r.object >= arrays_.size()) {
      ++dropped_;
      return;
    }
    watched_array& a = arrays_[r.object];
    const std::uint64_t size = options_.granule_bytes;
    std::uint64_t done = UINT64_MAX;  // granule that was served already: pieces may share one
    granule_access access;
    access.thread = static_cast<std::uint32_t>(thread);
    access.epoch = order_.epoch(thread);
    access.reads = reads || r.has(core::data_flag::update);
    access.writes = writes;
    access.update = r.has(core::data_flag::update);
    access.atomic = r.has(core::data_flag::atomic);
    const auto serve = [&] {
      if (done != UINT64_MAX && watched(r.object, done))
        use(a.list[static_cast<std::size_t>(done / a.every)], access, rank_->sites[r.site]);
    };
    for_each_piece(region_of(r, rank_->objects[r.object].bytes()), [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t g = begin / size; g * size < end; g = next_of(a, r.object, g)) {
        const std::uint64_t mask = bits(std::max(begin, g * size) - g * size, std::min(end, (g + 1) * size) - g * size);
        if (g != done) {
          serve();
          access.bytes = 0;
          done = g;
        }
        access.bytes |= mask;
      }
    });
    serve();
  }

  /// All records that the threads have by now, in the order of their time.
  void take_all() {
    for (record_cursor at(*rank_); !at.done(); at.step()) take(at.location(), at.record());
  }

  /// What is known so far. O(granules * groups).
  sharing_report result() const {
    sharing_report out;
    base::vector<sharing_graph> leaders;
    for (std::size_t i = 0; i != arrays_.size(); ++i) {
      const watched_array& a = arrays_[i];
      if (a.list.empty()) continue;
      const shared_array s{rank_->objects[i].key, a.count, a.list.size(), shared_array::error_of(a.list.size(), a.count)};
      out.arrays.push_back(s);
      for (std::size_t g = 0; g != a.list.size(); ++g) {
        sharing_history history = a.list[g].history;
        history.close(UINT32_MAX);
        const sharing_pattern p = history.pattern();
        if (p == sharing_pattern::untouched) continue;
        group_granule(out.groups, leaders, s.array, chosen(a, i, g), p, a.list[g].graph, options_.group_distance);
      }
    }
    base::small_stable_sort(out.groups,
                            [](const sharing_group& x, const sharing_group& y) { return x.graph.misses() > y.graph.misses(); });
    out.nodes = nodes_;
    out.dropped = dropped_;
    return out;
  }

 private:
  // A write that some thread may not have seen. `node` is where its thread was.
  struct write_note {
    std::uint32_t thread, node;
    core::stable_key site;
    std::uint32_t number;  ///< by the clock of its thread
    bool operator==(const write_note& o) const noexcept {
      return thread == o.thread && node == o.node && site == o.site && number == o.number;
    }
  };
  struct user {
    std::uint32_t thread, node;
    base::pod_vector<std::uint32_t> clock;  ///< of the thread at its last use

    std::uint32_t seen(std::size_t of) const noexcept { return of < clock.size() ? clock[of] : 0; }  // threads may come later
  };
  struct granule {
    sharing_history history;
    sharing_graph graph;
    base::vector<user> users;
    base::pod_vector<write_note> writes;
    std::size_t most_writes = 32;
  };
  struct watched_array {
    core::data_sample sample{0};  // the rule of the recorder, which may have recorded only these
    std::uint64_t count = 0, every = 0;
    base::vector<granule> list;
  };

  std::uint64_t bits(std::uint64_t begin, std::uint64_t end) const noexcept {
    const std::uint64_t size = options_.granule_bytes;
    const std::uint64_t first = size <= 64 ? begin : begin * 64 / size, last = size <= 64 ? end : (end * 64 + size - 1) / size;
    const std::uint64_t below_last = last >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << last) - 1;
    return below_last & ~((std::uint64_t{1} << first) - 1);
  }
  std::uint64_t chosen(const watched_array& a, std::size_t object, std::uint64_t row) const noexcept {
    return a.sample.chosen(object, row);
  }
  bool watched(std::size_t object, std::uint64_t g) const noexcept {
    const watched_array& a = arrays_[object];
    return a.every == 1 || chosen(a, object, g / a.every) == g;
  }
  // The next granule that is watched, or the one behind `g` if all are.
  std::uint64_t next_of(const watched_array& a, std::size_t object, std::uint64_t g) const noexcept {
    if (a.every == 1) return g + 1;
    const std::uint64_t row = g / a.every, here = chosen(a, object, row);
    if (here > g) return here;
    return row + 1 < a.list.size() ? chosen(a, object, row + 1) : a.count;
  }

  void use(granule& g, const granule_access& access, core::stable_key site) {
    const std::size_t t = access.thread;
    user* me = nullptr;
    for (user& u : g.users) {
      if (u.thread == t) me = &u;
    }
    const bool first = me == nullptr;
    if (first) {
      g.users.push_back({static_cast<std::uint32_t>(t), 0, {}});
      me = &g.users.back();
    }
    // Writes of other threads that became visible to this thread since its last access.
    fresh_.clear();
    for (const write_note& w : g.writes) {
      if (w.thread != t && w.number <= order_.known(t, w.thread) && w.number > me->seen(w.thread)) fresh_.push_back(w);
    }
    if (first || !fresh_.empty()) miss(g, *me, t, site, first);
    me->clock = order_.clock(t);
    g.graph.touch(me->node, access.reads ? bit(t) : 0, access.writes ? bit(t) : 0);
    if (access.writes) {
      const write_note note{static_cast<std::uint32_t>(t), me->node, site, order_.now(t)};
      if (std::find(g.writes.begin(), g.writes.end(), note) == g.writes.end()) {
        if (g.writes.size() >= g.most_writes) forget(g);
        g.writes.push_back(note);
      }
    }
    g.history.add(access);
    if (g.history.open_epochs() > 4) g.history.close(least_);
  }

  static std::uint64_t bit(std::size_t thread) noexcept { return std::uint64_t{1} << (thread < 63 ? thread : 63); }

  void miss(granule& g, user& me, std::size_t t, core::stable_key site, bool first) {
    sharing_node node;
    node.request = site;
    std::size_t earliest = SIZE_MAX;
    for (const write_note& w : fresh_) {
      if (std::find(node.writes.begin(), node.writes.end(), w.site) == node.writes.end()) node.writes.push_back(w.site);
      const std::size_t when = order_.learned_when(t, w.thread, w.number);
      if (!first && when < earliest) {
        earliest = when;
        node.invalidation = order_.learned_at(t, w.thread, w.number);
      }
    }
    base::small_stable_sort(node.writes);
    if (node.writes.size() > sharing_node::most_writes) node.writes.resize(sharing_node::most_writes);
    const std::uint32_t to = number_of(std::move(node));
    sources_.clear();
    for (const write_note& w : fresh_) {
      if (std::find(sources_.begin(), sources_.end(), w.node) == sources_.end()) sources_.push_back(w.node);
    }
    if (sources_.empty()) sources_.push_back(0);
    for (const std::uint32_t from : sources_) g.graph.count(from, to);
    me.node = to;
  }

  std::uint32_t number_of(sharing_node node) {
    core::stable_key key = core::combine(node.request, node.invalidation);
    for (const core::stable_key w : node.writes) key = core::combine(key, w);
    const auto fresh = static_cast<std::uint32_t>(nodes_.size());
    const std::uint32_t number = node_numbers_.intern(key, fresh);
    if (number == fresh) nodes_.push_back(std::move(node));
    return number;
  }

  // Keeps the last eight writes of one thread at one site and node, and the first one that each user (and each thread that
  // never used the granule) has not seen. So a thread is misjudged only if it synchronises in several steps with writes
  // that are further back.
  static void forget(granule& g) {
    base::pod_vector<write_note> kept;
    for (const write_note& w : g.writes) {
      std::size_t later = 0;
      std::uint32_t before = 0;  // the last of the same kind before it
      for (const write_note& o : g.writes) {
        if (o.thread != w.thread || o.site != w.site || o.node != w.node) continue;
        later += o.number > w.number ? 1 : 0;
        if (o.number < w.number) before = std::max(before, o.number);
      }
      const bool awaited = before == 0 || base::any_of(g.users, [&](const user& u) {
                             return u.thread != w.thread && before <= u.seen(w.thread) && u.seen(w.thread) < w.number;
                           });
      if (later < 8 || awaited) kept.push_back(w);
    }
    g.writes.swap(kept);
    g.most_writes = std::max<std::size_t>(32, 2 * g.writes.size());
  }

  const rank_data* rank_;
  sharing_options options_;
  thread_order order_;
  base::vector<watched_array> arrays_;  ///< by object
  base::vector<sharing_node> nodes_;
  base::key_map node_numbers_;
  base::pod_vector<write_note> fresh_;
  base::pod_vector<std::uint32_t> sources_;
  std::uint32_t least_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
