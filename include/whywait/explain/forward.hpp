#ifndef WHYWAIT_EXPLAIN_FORWARD_HPP
#define WHYWAIT_EXPLAIN_FORWARD_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/links.hpp>
#include <whywait/explain/location_path.hpp>
#include <whywait/explain/message_schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The forward pass of one rank: carries the causal path profile of each location through its records, sends snapshots
/// of it at the instants that other ranks requested, and replaces it by the causer's snapshot at each of the rank's own
/// waits.
///
/// Free of deadlock for any clocks: time never decreases along a location (walk.hpp), and a record depends on an
/// instant that is not later than its own end (arrivals.hpp drops other dependencies as clock violations). A cycle of
/// dependencies would have to pass one single instant on all its ranks, at which each of them both ends one call and
/// begins the next.
///
/// Two ranks that wait for each other in turn would need one message latency per wait. A scout that runs ahead of the
/// location avoids that (snapshot_mode). A full window towards one waiter stops the scout for all others, but cannot
/// cause a cycle: what that waiter has not used yet lies after the end of the call in which it is stuck, and everything
/// that the call depends on lies before.
class forward_pass {
 public:
  forward_pass(const rank_history& rank, const options& settings, std::int64_t earliest_ns, block_table& blocks,
               wait_classes& classes, forward_scratch& scratch)
      : rank_(&rank),
        settings_(&settings),
        earliest_ns_(earliest_ns),
        blocks_(&blocks),
        scratch_(&scratch),
        links_(rank.rank, scratch) {
    lanes_.reserve(rank.locations.size());  // lanes are referred to by address
    for (std::size_t i = 0; i != rank.locations.size(); ++i) {
      lanes_.emplace_back(location_path(rank, static_cast<std::uint16_t>(i), settings, earliest_ns, blocks, &classes, scratch),
                          scratch.merging.memory);
    }
  }

  /// Sets the causers of one location's records. Call before `send_snapshot_requests`. Long lists are taken, not copied.
  void set_arrivals(std::uint16_t location, base::pod_vector<arrival>& arrivals) {
    static constexpr std::size_t worth_taking = 1 << 16;
    lane& l = lanes_[location];
    if (arrivals.size() < worth_taking) l.arrivals = arrivals;
    else l.arrivals = std::move(arrivals);
    l.path.set_arrivals(l.arrivals);
  }

  /// The maps that waits are added to, or null; borrowed.
  void set_maps(rank_maps* maps) noexcept {
    for (lane& l : lanes_) l.path.set_maps(maps);
  }

  /// Requests the paths of the causers. Fills no packet much beyond `room` bytes; the next call sends the rest.
  template <class Outbox>
  void send_snapshot_requests(Outbox&& to, std::size_t room) {
    for (std::size_t l = 0; l != lanes_.size(); ++l) {
      const base::pod_vector<arrival>& arrivals = lanes_[l].arrivals;
      for (std::size_t& at = lanes_[l].requested; at != arrivals.size(); ++at) {
        const arrival& a = arrivals[at];
        if (!takes_over(a)) continue;
        base::packet& out = to(a.causer_rank);
        if (out.size() >= room) return;
        links_.of(a.causer_rank);  // creates the link now, so that `advance` can reserve memory for all links
        const auto here = static_cast<std::uint16_t>(l);
        auto number = static_cast<std::uint8_t>(snapshots_before(arrivals, at));
        const auto single = static_cast<std::uint8_t>(lanes_.size() == 1 ? 1 : 0);
        if (a.has(arrival_flag::based))
          put(out, snapshot_request{a.base_record, a.record, a.causer_location, here, wanted_path::of_base, number++, single});
        const auto kind = static_cast<std::uint16_t>(a.has(arrival_flag::all) ? wanted_path::of_all : wanted_path::aligns);
        put(out, snapshot_request{a.causer_record, a.record, a.causer_location, here, kind, number, single});
      }
    }
  }

  void receive_snapshot_requests(std::int32_t source, base::packet_reader in) {
    const std::uint32_t link = links_.of(source);
    while (!in.empty()) {
      const auto r = in.get<snapshot_request>();
      if (r.causer_location >= lanes_.size()) continue;
      base::pod_vector<service>& services = lanes_[r.causer_location].services;
      if (services.empty()) services.reserve(16);
      services.emplace_back();  // written in place: copying a freshly written struct stalls on store forwarding
      service& due = services.back();
      due.record = r.causer_record;
      due.waiter_record = r.waiter_record;
      due.link = link;
      due.base = 0;
      due.waiter_location = r.waiter_location;
      due.kind = r.kind;
      due.number = r.number;
      due.single = r.single != 0;
      due.mode = snapshot_mode::whole;
    }
  }

  /// Decides which snapshots can be sent without waiting, and sends the waiters the records at which they have to keep
  /// their own paths for them. Fills no packet much beyond `room` bytes; the next call sends the rest.
  template <class Outbox>
  void send_base_records(Outbox&& to, std::size_t room) {
    if (!services_sorted_) {
      services_sorted_ = true;
      const auto before = [this](const service& a, const service& b) {
        if (a.record != b.record) return a.record < b.record;
        if (a.link != b.link) return links_[a.link].rank < links_[b.link].rank;
        if (a.waiter_location != b.waiter_location) return a.waiter_location < b.waiter_location;
        return a.waiter_record != b.waiter_record ? a.waiter_record < b.waiter_record : a.number < b.number;
      };
      for (lane& l : lanes_) {
        base::sort_by_record(l.services, rank_->locations[static_cast<std::size_t>(&l - lanes_.data())].records.size(),
                             scratch_->places);
        if (!std::is_sorted(l.services.begin(), l.services.end(), before)) small_stable_sort(l.services, before);
      }
    }
    for (lane& l : lanes_) {
      const base::pod_vector<arrival>& arrivals = l.arrivals;
      for (; l.decided != l.services.size(); ++l.decided) {
        service& s = l.services[l.decided];
        for (; l.passed != arrivals.size() && arrivals[l.passed].record < s.record; ++l.passed) {
          if (takes_over(arrivals[l.passed])) l.last = &arrivals[l.passed];
        }
        const arrival* const last = l.last;
        link_book::link& link = links_[s.link];
        // Sends ahead only what is used in the order of sending, so that the window never holds back a snapshot that is
        // needed next. The waiter keeps its path for a limited number of records.
        if (lanes_.size() == 1 && s.single && link.rank != rank_->rank && s.waiter_record >= link.latest) {
          if (last == nullptr) {
            s.mode = snapshot_mode::own;
          } else if (last->causer_rank == link.rank && last->causer_record <= s.waiter_record &&
                     s.waiter_record - last->causer_record <= kept_records && s.record <= stretch_end(l, last->record)) {
            base::packet& out = to(link.rank);
            if (out.size() >= room) return;
            s.mode = snapshot_mode::relative;
            s.base = last->causer_record;
            put(out, s.base);
          }
          if (s.mode != snapshot_mode::whole) link.latest = s.waiter_record + 1;
        }
        ++link.of(s.mode).to_send;
        l.scouted = l.scouted || s.mode != snapshot_mode::whole;
      }
    }
  }

  void receive_base_records(base::packet_reader in) {
    while (!in.empty()) lanes_.front().keep.push_back(in.get<std::uint32_t>());
  }

  /// Advances all locations until they are stuck. Returns true when all are finished and no snapshot or acknowledgement
  /// is outstanding. `post(rank, packet)` sends to other ranks; threads of this rank exchange snapshots without it.
  template <class Post>
  bool advance(Post&& post_to) {
    auto& post = post_to;
    if (!ready_) {
      ready_ = true;
      for (lane& l : lanes_) {
        l.path.begin(links_.size() + 1);
        if (!l.keep.empty()) small_stable_sort(l.keep);
        if (!l.scouted) continue;
        l.scout.reset(new location_path(*rank_, static_cast<std::uint16_t>(&l - lanes_.data()), *settings_, earliest_ns_,
                                        *blocks_, nullptr, *scratch_));
        l.scout->set_arrivals(l.arrivals);
        l.scout->begin(0, &l.path);
        l.scout_at = progress::between_events;
      }
    }
    run_all_until_stuck(lanes_.size(), [&](std::size_t i) {
      lane& l = lanes_[i];
      const bool moved = run_until_stuck(l.scout_at, scout_events<std::remove_reference_t<Post>>{*this, l, post});
      return run_until_stuck(l.path_at,
                             path_events<std::remove_reference_t<Post>>{*this, l, static_cast<std::uint16_t>(i), post}) ||
             moved;
    });
    links_.acknowledge_received(post);
    for (const lane& l : lanes_) {
      if (l.path_at != progress::finished || l.scout_at != progress::finished) return false;
    }
    return links_.quiet();
  }

  /// Passes what the virtual clocks need of each location. Call once, after the pass.
  void report(rank_clocks& clocks) {
    for (std::size_t l = 0; l != lanes_.size(); ++l) {
      explained_location what(scratch_->merging.memory);
      what.caused.reserve(lanes_[l].services.size());
      for (const service& s : lanes_[l].services) {
        if (s.kind == wanted_path::of_base) continue;
        what.caused.push_back({s.record, links_[s.link].rank, s.waiter_location});
      }
      lanes_[l].services.release();  // before the clocks take as much for themselves
      lanes_[l].path.report(what);
      clocks.add_explained_location(static_cast<std::uint16_t>(l), std::move(what));
    }
  }

  /// Receives a packet of another rank: snapshots and acknowledgements.
  void receive_snapshots(std::int32_t source, const unsigned char* data, std::size_t size) {
    links_.receive(source, data, size);
  }

 private:
  static constexpr std::uint32_t kept_records = 256;

  struct service {
    std::uint32_t record, waiter_record, link, base;
    std::uint16_t waiter_location, kind;
    std::uint8_t number;
    bool single;
    snapshot_mode mode;
  };
  struct kept_path {
    explicit kept_path(base::memory_pool& pool) : state(pool) {}
    std::uint32_t uses = 0;
    location_path::state state;
  };
  struct lane {
    lane(location_path p, base::memory_pool& pool)
        : arrivals(pool), services(pool), keep(pool), path(std::move(p)), paths(pool), free(pool) {}
    progress path_at = progress::between_events, scout_at = progress::finished;
    bool scouted = false;
    std::size_t served = 0;
    base::pod_vector<arrival> arrivals;
    base::pod_vector<service> services;  ///< sorted by record
    base::pod_vector<std::uint32_t> keep;  ///< records at whose beginning the path is kept, once per use
    std::size_t kept = 0;
    location_path path;
    // The members below are not used at every step.
    std::unique_ptr<location_path> scout;  ///< null unless snapshots are sent ahead
    std::size_t scout_served = 0;
    std::size_t requested = 0, decided = 0;  ///< number of arrivals requested, of services decided
    std::size_t passed = 0;  ///< number of arrivals before the decided services
    const arrival* last = nullptr;  ///< the last of the passed arrivals that takes over a path
    std::uint64_t stretch_end = 0;  ///< the first operation of all after one of them
    base::key_map paths;  ///< record + 1 -> index in `places` of the kept path
    base::vector<kept_path> places;
    base::pod_vector<std::uint32_t> free;
  };

  // The first operation of all after a record of a lane. The own visits that a relative snapshot is compared by are
  // those of one stretch.
  std::uint64_t stretch_end(lane& l, std::uint32_t record) const {
    const auto& records = rank_->locations[static_cast<std::size_t>(&l - lanes_.data())].records;
    if (l.stretch_end > record) return l.stretch_end;
    l.stretch_end = std::uint64_t{record} + 1;
    while (l.stretch_end < records.size() && !location_steps::of_all(*rank_, records[l.stretch_end])) ++l.stretch_end;
    return l.stretch_end;
  }

  template <class Post>
  void send_snapshot(const service& s, location_path& path, Post& post) {
    links_.send_snapshot(
        s.link,
        {s.waiter_record, 0, 0, s.base, s.waiter_location, s.mode, static_cast<std::uint8_t>(path.partial() ? 1 : 0),
         path.stretch(), s.number, path.through()},
        [&path](base::packet& out) { return path.write(out); }, post);
  }

  // Keeps the current path for `uses` relative snapshots.
  void keep_path(lane& l, std::uint32_t uses) {
    if (l.free.empty()) {
      l.free.push_back(static_cast<std::uint32_t>(l.places.size()));
      l.places.emplace_back(scratch_->merging.memory);
    }
    kept_path& k = l.places[l.free.back()];
    k.uses = uses;
    l.path.keep(k.state);
    l.paths.intern(std::uint64_t{l.path.record()} + 1, l.free.back());
    l.free.pop_back();
  }

  // The scout as a location of message_schedule.hpp. It sends snapshots of the modes own and relative, and needs
  // nothing.
  template <class Post>
  struct scout_events {
    forward_pass& pass;
    lane& l;
    Post& post;

    bool begin_next() { return l.scout_served != l.services.size() && l.scout->begin_next(); }
    bool send(bool& moved) {
      for (std::size_t& s = l.scout_served; s != l.services.size() && l.services[s].record <= l.scout->record(); ++s) {
        const service& due = l.services[s];
        if (due.mode == snapshot_mode::whole) continue;
        if (!pass.links_.may_send(due.link, due.mode)) return false;
        pass.send_snapshot(due, *l.scout, post);
        moved = true;
      }
      return true;
    }
    bool ready() const noexcept { return true; }
    void finish() {
      for (const arrival* a = l.scout->due(); a != nullptr; a = l.scout->due()) {
        if (takes_over(*a)) l.scout->take_over(*a);
        else l.scout->pass_over(*a);
      }
      l.scout->finish_record();
    }
  };

  // The path as a location of message_schedule.hpp. It sends whole snapshots, and needs the snapshots of its causers.
  template <class Post>
  struct path_events {
    forward_pass& pass;
    lane& l;
    std::uint16_t number;
    Post& post;

    bool begin_next() {
      if (!l.path.begin_next()) return false;
      const std::size_t first = l.kept;
      while (l.kept != l.keep.size() && l.keep[l.kept] == l.path.record()) ++l.kept;
      if (l.kept != first) pass.keep_path(l, static_cast<std::uint32_t>(l.kept - first));
      return true;
    }
    bool send(bool& moved) {
      for (std::size_t& s = l.served; s != l.services.size() && l.services[s].record <= l.path.record(); ++s) {
        const service& due = l.services[s];
        if (due.mode == snapshot_mode::whole && !pass.links_.may_send(due.link, due.mode)) return false;
        if (due.kind == wanted_path::aligns) {
          l.path.publish(pass.links_[due.link].rank, due.waiter_location);
        }
        if (due.mode == snapshot_mode::whole) pass.send_snapshot(due, l.path, post);
        moved = true;
      }
      return true;
    }
    // Takes over the snapshots of the record's causers, one after the other.
    bool ready() {
      for (const arrival* a = l.path.due(); a != nullptr; a = l.path.due()) {
        if (!takes_over(*a)) {
          l.path.pass_over(*a);
          continue;
        }
        if (a->has(arrival_flag::based) && !l.path.has_base()) {
          if (!pass.links_.receive_snapshot(number, a->record, l.path.used())) return false;
          pass.take(l, *a, post, [this](const location_path::state* base) { l.path.begin_part(base); });
        }
        if (!pass.links_.receive_snapshot(number, a->record, l.path.used())) return false;
        pass.take(l, *a, post, [this, a](const location_path::state* base) { l.path.adopt(*a, base); });
      }
      return true;
    }
    void finish() { l.path.finish_record(); }
  };

  // Uses the snapshot in forward_scratch::taken, which may be relative to a path that was kept.
  template <class Post, class Use>
  void take(lane& l, const arrival& a, Post& post, Use&& use) {
    const snapshot_head head = scratch_->taken.head;
    const std::int32_t causer = a.causer_rank;
    if (head.mode == snapshot_mode::relative) {
      const std::uint32_t base = l.paths.find(std::uint64_t{head.base} + 1);
      if (base == base::key_map::none) throw std::logic_error("whywait-X005: a path was not kept");
      use(&l.places[base].state);
      if (--l.places[base].uses == 0) {
        l.paths.erase(std::uint64_t{head.base} + 1);
        l.free.push_back(base);
      }
    } else {
      use(nullptr);
    }
    links_.acknowledge_use(causer, head.mode, post);
  }

  const rank_history* rank_;
  const options* settings_;
  std::int64_t earliest_ns_;
  block_table* blocks_;
  forward_scratch* scratch_;
  link_book links_;
  base::vector<lane> lanes_;
  bool services_sorted_ = false, ready_ = false;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
