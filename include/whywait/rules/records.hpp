#ifndef WHYWAIT_RULES_RECORDS_HPP
#define WHYWAIT_RULES_RECORDS_HPP

#include <whywait/explain/history.hpp>
#include <whywait/rules/calls.hpp>
#include <whywait/rules/places.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Feeds the recorded calls of ranks to tracing rules: every message operation that completed and every collective. Events
/// of several ranks meet in one store where their keys (communicator, ranks, tag, ordinal or instance) agree; ordinals are
/// taken in posting order (overhead.md 4.3). About 150 ns a record. Not thread safe.
template <class Find>
class record_feeder {
 public:
  record_feeder(event_store& store, const Find& find, trouble& log) : store_(store), find_(find), feeder_(store, log) {}

  void feed(const explain::rank_history& rank) {
    std::vector<posting> postings;
    std::unordered_map<core::stable_key, std::int64_t> instances;
    for (const explain::location_history& location : rank.locations) {
      for (std::uint64_t i = 0; i < location.records.size(); ++i) {
        const core::sync_record& r = location.records[i];
        if (r.posting != 0) postings.push_back({r.posting, &location, &r});
        if (collective(core::role_of(r.call)) && r.comm < rank.communicators.size() && !r.has(core::sync_flag::failed)) {
          const explain::communicator& comm = rank.communicators[r.comm];
          if (comm.id != 0 && !comm.inter) feed_collective(rank, location, r, comm, ++instances[comm.id]);
        }
      }
    }
    std::sort(postings.begin(), postings.end(), [](const posting& a, const posting& b) { return a.order < b.order; });
    std::unordered_map<core::stable_key, std::int64_t> ordinals;
    for (const posting& p : postings) feed_message(rank, p, ordinals);
  }

 private:
  struct posting {
    std::uint32_t order;
    const explain::location_history* location;
    const core::sync_record* record;
  };

  static bool collective(core::call_role role) noexcept {
    return role == core::call_role::barrier || role == core::call_role::one_to_all || role == core::call_role::all_to_one ||
           role == core::call_role::all_to_all || role == core::call_role::scan;
  }
  static double seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }
  static std::int32_t world(const explain::communicator& comm, std::int32_t peer) noexcept {
    if (peer < 0 || comm.world.empty()) return peer;
    return static_cast<std::size_t>(peer) < comm.world.size() ? comm.world[static_cast<std::size_t>(peer)] : -1;
  }

  std::uint32_t common(call_values& v, const explain::rank_history& rank, const explain::location_history& location,
                       const core::sync_record& r, const explain::communicator& comm) {
    const core::stable_key site = r.site < location.call_sites.size() ? location.call_sites[r.site] : 0;
    const std::uint32_t place = place_of(site, r.call);
    const action& at = store_.action_of(place);
    v[call_field::function] = text(core::name_of(r.call));
    v[call_field::region] = text(at.region);
    v[call_field::file] = text(at.file);
    v[call_field::line] = at.line;
    v[call_field::start_time] = v[call_field::wait_start_time] = seconds(rank.clock(r.begin));
    v[call_field::end_time] = seconds(rank.clock(r.begin + r.duration));
    v[call_field::rank] = rank.rank;
    v[call_field::thread] = location.thread;
    v[call_field::tag] = r.tag;
    v[call_field::bytes] = static_cast<double>(r.bytes);
    v[call_field::communicator] = static_cast<double>(communicators_.emplace(comm.id, communicators_.size() + 1).first->second);
    v[call_field::size] = comm.size;
    v[call_field::source] = v[call_field::destination] = v[call_field::root] = v[call_field::peer] = -1;
    v[call_field::wait] = -1;
    return place;
  }

  void feed_collective(const explain::rank_history& rank, const explain::location_history& location, const core::sync_record& r,
                       const explain::communicator& comm, std::int64_t instance) {
    call_values v;
    const std::uint32_t place = common(v, rank, location, r, comm);
    v[call_field::instance] = static_cast<double>(instance);
    v[call_field::root] = v[call_field::peer] = world(comm, r.peer);
    v[call_field::duration] = v[call_field::end_time] - v[call_field::start_time];
    feeder_.feed(r.call, v, place);
  }

  void feed_message(const explain::rank_history& rank, const posting& p, std::unordered_map<core::stable_key, std::int64_t>& ordinals) {
    using namespace core::sync_flag;
    const core::sync_record& r = *p.record;
    const bool sends = r.has(posts_send), receives = r.has(posts_receive);
    if (sends == receives || r.has(cancelled | proc_null | failed | ambiguous) || r.comm >= rank.communicators.size()) return;
    if (receives && !r.has(complete) && r.has(any_source | any_tag)) return;  // nobody knows what it would have received
    const explain::communicator& comm = rank.communicators[r.comm];
    const std::int32_t peer = world(comm, r.peer);
    if (comm.id == 0 || peer < 0) return;
    call_values v;
    const std::uint32_t place = common(v, rank, *p.location, r, comm);
    core::stable_key channel = core::combine(core::combine(comm.id, static_cast<std::uint64_t>(static_cast<std::uint32_t>(peer))),
                                             static_cast<std::uint64_t>(static_cast<std::uint32_t>(r.tag)) * 2 + (sends ? 1 : 0));
    v[call_field::ordinal] = static_cast<double>(++ordinals[channel]);
    v[call_field::peer] = peer;
    v[call_field::source] = sends ? rank.rank : peer;
    v[call_field::destination] = sends ? peer : rank.rank;
    v[call_field::matched] = r.has(complete) ? 1 : 0;
    if (r.has(complete) && r.completed_by < rank.locations.size()) {
      const auto& records = rank.locations[r.completed_by].records;
      if (r.completion < records.size()) {
        const core::sync_record& by = records[r.completion];
        v[call_field::wait_start_time] = std::max(v[call_field::start_time], seconds(rank.clock(by.begin)));
        v[call_field::end_time] = std::max(v[call_field::end_time], seconds(rank.clock(by.begin + by.duration)));
      }
    }
    v[call_field::duration] = v[call_field::end_time] - v[call_field::wait_start_time];
    // A call that does both (Sendrecv), or whatever its request says (Start), counts as the plain call of its direction.
    core::mpi_call seen = r.call;
    if (core::role_of(r.call) == core::call_role::exchange) seen = sends ? core::mpi_call::Send : core::mpi_call::Recv;
    if (core::role_of(r.call) == core::call_role::start) seen = sends ? core::mpi_call::Isend : core::mpi_call::Irecv;
    feeder_.feed(seen, v, place);
  }

  std::uint32_t place_of(core::stable_key site, core::mpi_call call) {
    const core::stable_key key = core::combine(site, static_cast<std::uint64_t>(call));
    const auto known = places_.find(key);
    if (known != places_.end()) return known->second;
    action a = detail::action_at(find_(site));
    if (a.call.empty()) a.call = core::name_of(call), a.text = a.call + (a.region.empty() ? "" : " in " + a.region);
    return places_.emplace(key, store_.add_action(std::move(a))).first->second;
  }
  double text(std::string_view t) {
    const std::uint32_t number = store_.texts().intern(t);
    return number == text_pool::none ? 0 : number;
  }

  event_store& store_;
  const Find& find_;
  call_feeder feeder_;
  std::unordered_map<core::stable_key, std::size_t> communicators_;
  std::unordered_map<core::stable_key, std::uint32_t> places_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
