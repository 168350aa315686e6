#ifndef WHYWAIT_DATA_REPORT_COMMUNICATION_ASSEMBLE_HPP
#define WHYWAIT_DATA_REPORT_COMMUNICATION_ASSEMBLE_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/diagnoses.hpp>
#include <whywait/data/analysis/examine.hpp>
#include <whywait/data/analysis/sharing_book.hpp>
#include <whywait/data/report/communication_result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// Names of arrays, blocks and calls as the report has them.
class data_naming final : public data::naming {
 public:
  explicit data_naming(const base::names& known) : known_(&known) {}

  std::string data(core::stable_key array) const override {
    const base::place* const p = known_->find(array);
    return p != nullptr && !p->name.empty() ? p->name : "an array without a name";
  }
  /// A call with its place, a block by its name.
  std::string place(core::stable_key site) const override {
    const base::place* const p = known_->find(site);
    if (p == nullptr) return "an unknown place";
    if (!p->call.empty()) return call_text(*p);
    return p->name.empty() ? "a block without a name" : p->name;
  }
  /// A block with its code location: "relax (ocean.cpp:52)".
  std::string code(core::stable_key site) const {
    const base::place* const p = known_->find(site);
    const std::string where = p != nullptr && p->call.empty() ? code_text(*p) : std::string();
    return place(site) + (where.empty() ? "" : " (" + where + ")");
  }
  base::place site(core::stable_key key) const {
    const base::place* const p = known_->find(key);
    return p != nullptr ? *p : base::place{};
  }

 private:
  const base::names* known_;
};

namespace detail {

inline const char* name_of(data::origin_kind k) noexcept {
  switch (k) {
    case data::origin_kind::init: return "init";
    case data::origin_kind::relay: return "relay";
    case data::origin_kind::produced: return "produced";
    case data::origin_kind::mixed: return "mixed";
    case data::origin_kind::deep: return "deep";
    case data::origin_kind::unknown: break;
  }
  return "unknown";
}

inline std::string region_words(std::uint32_t code) {
  const data::kind_of_region k = data::kind_of_region::from(code);
  const std::string dimension = " of dimension " + std::to_string(k.dimension);
  switch (k.kind) {
    case data::region_kind::whole: return {};
    case data::region_kind::low_side: return "low side" + dimension;
    case data::region_kind::high_side: return "high side" + dimension;
    case data::region_kind::slab: return "slab" + dimension;
    case data::region_kind::part: break;
  }
  return "part";
}

inline base::vector<rank_transfers> transfers_of(const data::rank_counts& from) {
  base::vector<rank_transfers> out;
  for (const data::rank_count& r : from.list()) out.push_back({r.rank, r.count});
  base::small_stable_sort(out, [](const rank_transfers& a, const rank_transfers& b) { return a.rank < b.rank; });
  return out;
}

/// The origin of data in which no part of it is given by itself: "`a` (60 %), `b` (40 %)" of mixed.
inline std::string shares_text(const base::vector<origin_share>& shares) {
  std::int64_t all = 0;
  for (const origin_share& s : shares) all += s.bytes;
  std::string out;
  for (std::size_t i = 0; i != shares.size() && i != 4; ++i) {
    const origin_share& s = shares[i];
    out += i == 0 ? "" : ", ";
    out += s.origin == "produced" ? "produced by `" + s.name + "`"
           : s.origin == "init"   ? "there from the beginning"
           : s.origin == "relay"  ? "received"
                                  : s.origin;
    out += " " + base::percent(static_cast<double>(s.bytes) / static_cast<double>(std::max<std::int64_t>(all, 1)));
  }
  return out;
}

inline communication_class class_of(const data::transfer_class& c, const data::classified& all, const data_naming& names) {
  const data::transfer_base& b = c.chain.base[0];
  const data::class_sums& s = c.sums;
  communication_class out;
  out.data = names.data(b.data);
  out.region = region_words(b.kind);
  out.from = names.site(b.from);
  out.to = names.site(b.to);
  out.origin = c.chain.depth > 1 ? "relay" : name_of(c.chain.end);
  out.why = data::origin_text(c.chain, names);
  out.loop = c.chain.loop;
  out.count = s.count;
  out.bytes = s.bytes;
  out.seconds = base::seconds_of(s.duration_ns);
  out.wait_seconds = base::seconds_of(s.wait_ns);
  out.unchanged_count = s.unchanged;
  out.unchanged_bytes = s.unchanged_bytes;
  out.held_count = s.held;
  out.read_bytes = s.read_bytes;
  out.watched_bytes = s.watched_bytes;
  out.most_hops = s.most_hops;
  out.fan_out = s.fan_out;
  out.pairs = s.pairs;
  out.senders = transfers_of(c.senders);
  out.receivers = transfers_of(c.receivers);
  if (c.chain.end != data::origin_kind::mixed) return out;
  for (const data::mixed_share& m : all.mixed) {
    if (m.data != b.data || m.from != b.from || m.region != b.kind) continue;
    out.shares.push_back(
        {name_of(m.kind), m.kind == data::origin_kind::produced ? names.place(m.producer) : std::string(), m.bytes});
  }
  base::small_stable_sort(out.shares, [](const origin_share& x, const origin_share& y) { return x.bytes > y.bytes; });
  if (!out.shares.empty()) out.why += ": " + shares_text(out.shares);
  return out;
}

}  // namespace detail

/// Adds the classes of a run and their problems. O(classes * (classes + mixed shares)).
inline void add_classes(communication& to, const data::classified& all, const data_naming& names) {
  base::pod_vector<core::stable_key> keys;
  base::vector<std::string> places;
  for (const data::transfer_class& c : all.classes) {
    if (c.chain.depth == 0) continue;
    to.classes.push_back(detail::class_of(c, all, names));
    keys.push_back(c.key());
    places.push_back(" (" + names.place(c.chain.base[0].from) + " -> " + names.place(c.chain.base[0].to) + ")");
  }
  for (data::communication_finding& f : data::diagnose(all, names)) {
    const auto at = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), f.subject) - keys.begin());
    if (at == keys.size()) continue;
    const std::size_t place = f.text.find(places[at]);  // the class states it already
    if (place != std::string::npos) f.text.erase(place, places[at].size());
    to.classes[at].problems.push_back({data::name_of(f.problem), std::move(f.text), std::move(f.advice), f.transfers, f.bytes,
                                       f.needless_transfers, f.needless_bytes, base::seconds_of(f.saving_ns)});
  }
}

/// Adds where arrays are, and what would be better; after `add_classes`, for what it may save is the time of the calls
/// that received the array, as far as its remote accesses would go away: a bound, as other loops may need it as well.
inline void add_placements(communication& to, const data::placement_report& found, const data_naming& names) {
  static const char* const changes[] = {"none", "schedule", "data", "both"};
  base::vector<array_placement> arrays;
  for (const data::placed_array& a : found.arrays) {
    arrays.push_back(
        {names.data(a.array), a.space.extent, static_cast<std::int64_t>(a.element_bytes), a.placed.text(), a.agreement, {}});
  }
  base::pod_vector<double> worst(arrays.size(), -1);
  for (std::size_t i = 0; i != found.uses.size(); ++i) {
    const data::array_use& u = found.uses[i];
    const data::placed_loop& l = found.loops[u.loop];
    loop_use use;
    use.loop = names.site(l.block);
    use.schedule = l.schedule.text();
    use.agreement = l.agreement;
    use.access = u.access.text();
    if (u.remote.all > 0) use.remote_share = u.remote.share();
    use.remote_elements_share = u.measured_remote;
    worst[u.array] = std::max(worst[u.array], u.remote.all > 0 ? u.remote.share() : u.measured_remote);
    for (const data::better_placement& b : found.better) {
      if (b.use != i) continue;
      placement_advice advice;
      advice.change = changes[static_cast<unsigned>(b.change)];
      advice.schedule = b.schedule.text();
      advice.distribution = b.placed.text();
      advice.remote_share = b.remote;
      advice.moved_bytes = static_cast<std::int64_t>(b.moved_bytes);
      for (const communication_class& c : to.classes)
        if (c.data == arrays[u.array].data) advice.saving_seconds += c.seconds;
      advice.saving_seconds *= u.remote.remote > 0 ? 1 - b.remote / u.remote.share() : 0;
      advice.text = data::placement_text(found, b, names);
      use.better = std::move(advice);
    }
    arrays[u.array].uses.push_back(std::move(use));
  }
  base::pod_vector<std::size_t> order;
  for (std::size_t a = 0; a != arrays.size(); ++a) order.push_back(a);
  base::small_stable_sort(order, [&worst](std::size_t a, std::size_t b) { return worst[a] > worst[b]; });
  for (const std::size_t a : order) to.arrays.push_back(std::move(arrays[a]));
}

/// Whether threads are at such data at the same time, so that the hardware moves it to and fro at single accesses: one
/// miss of such a pattern stands for many.
inline bool meets(const std::string& pattern) {
  return pattern == "false sharing" || pattern == "write-shared" || pattern == "synchronisation";
}

/// Adds the shared memory: first what several threads use at the same time, then by misses. `who` names the threads of
/// the report: "thread", or "rank".
inline void add_sharing(communication& to, const data::sharing_report& found, const data::sharing_options& options,
                        const char* who, const data_naming& names) {
  const auto numbers = [](std::uint64_t bits) {
    base::vector<std::int32_t> out;
    for (std::int32_t t = 0; t != 64; ++t)
      if ((bits >> t & 1) != 0) out.push_back(t);
    return out;
  };
  for (const data::sharing_group& g : found.groups) {
    sharing_entry e;
    e.data = names.data(g.array);
    e.pattern = data::name_of(g.pattern);
    e.advice = data::advice_for(g.pattern);
    e.who = who;
    e.granules = static_cast<std::int64_t>(g.granules);
    e.first_granule = static_cast<std::int64_t>(g.first_granule);
    e.granule_bytes = options.granule_bytes;
    e.misses = g.graph.misses();
    std::uint64_t watched = 0, granules = 0;  // of all arrays that were registered by that name there
    for (const data::shared_array& a : found.arrays) {
      watched += a.array == g.array ? a.watched : 0;
      granules += a.array == g.array ? a.granules : 0;
    }
    e.granules_watched = static_cast<std::int64_t>(watched);
    e.granules_of_array = static_cast<std::int64_t>(granules);
    e.standard_error = data::shared_array::error_of(watched, granules);
    base::pod_vector<std::uint32_t> nodes = g.graph.nodes();
    if (nodes.empty() || nodes[0] != 0) nodes.insert(nodes.begin(), 0);
    const auto place_in_list = [&nodes](std::uint32_t n) {
      return static_cast<std::int64_t>(std::lower_bound(nodes.begin(), nodes.end(), n) - nodes.begin());
    };
    for (const std::uint32_t n : nodes) {
      const data::sharing_node& from = found.nodes[n];
      sharing_miss miss;
      if (n != 0) miss.request = names.code(from.request);
      if (from.invalidation != 0) miss.invalidation = names.code(from.invalidation);
      for (const core::stable_key w : from.writes) miss.writes.push_back(names.code(w));
      for (const data::node_threads& t : g.graph.threads) {
        if (t.node != n) continue;
        miss.readers = numbers(t.readers);
        miss.writers = numbers(t.writers);
      }
      e.nodes.push_back(std::move(miss));
    }
    for (const data::sharing_edge& x : g.graph.edges)
      e.transitions.push_back({place_in_list(x.from), place_in_list(x.to), x.count, g.graph.frequency(x.from, x.to)});
    to.sharing.push_back(std::move(e));
  }
  base::small_stable_sort(to.sharing, [](const sharing_entry& a, const sharing_entry& b) {
    return meets(a.pattern) != meets(b.pattern) ? meets(a.pattern) : a.misses > b.misses;
  });
}

/// All keys that the report names, sorted.
inline base::vector<core::stable_key> keys_of(const data::classified& all, const data::placement_report& placed,
                                              const base::vector<const data::sharing_report*>& shared) {
  base::vector<core::stable_key> keys;
  for (const data::transfer_class& c : all.classes) {
    for (unsigned i = 0; i != c.chain.depth; ++i)
      for (const core::stable_key k : {c.chain.base[i].data, c.chain.base[i].from, c.chain.base[i].to}) keys.push_back(k);
    keys.push_back(c.chain.producer);
  }
  for (const data::mixed_share& m : all.mixed) keys.push_back(m.producer);
  for (const data::placed_array& a : placed.arrays) keys.push_back(a.array);
  for (const data::placed_loop& l : placed.loops) keys.push_back(l.block);
  for (const data::sharing_report* r : shared) {
    for (const data::sharing_group& g : r->groups) keys.push_back(g.array);
    for (const data::sharing_node& n : r->nodes) {
      keys.push_back(n.request);
      keys.push_back(n.invalidation);
      keys.insert(keys.end(), n.writes.begin(), n.writes.end());
    }
  }
  base::sort_and_unique(keys);
  if (!keys.empty() && keys.front() == 0) keys.erase(keys.begin());
  return keys;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
