#ifndef WHYWAIT_EXPLAIN_FORWARD_HPP
#define WHYWAIT_EXPLAIN_FORWARD_HPP

#include <whywait/explain/arrival.hpp>
#include <whywait/explain/links.hpp>
#include <whywait/explain/location_path.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Pass 2 of one rank: carries the causal path profile of each of its locations through the records, hands
/// out snapshots at the instants others asked for, and takes over the causer's at each of its own waits.
///
/// Free of deadlock for any clocks: a location never goes back in time (walk.hpp), and a record depends on an
/// instant that is not later than its own end (arrivals.hpp drops the others as violations). A cycle of
/// dependencies would have to pass one single instant on all its ranks, in which each of them both ends one
/// call and begins the next.
class forward_pass {
 public:
  forward_pass(const rank_history& rank, const options& settings, std::int64_t earliest_ns, block_table& blocks,
               class_book& classes)
      : links_(rank.rank) {
    paths_.reserve(rank.locations.size());
    for (std::size_t i = 0; i != rank.locations.size(); ++i) {
      paths_.emplace_back(rank, static_cast<std::uint16_t>(i), settings, earliest_ns, blocks, classes);
    }
    waiting_.resize(rank.locations.size());
    served_.resize(rank.locations.size());
    serving_.resize(rank.locations.size());
  }

  /// What this location has to wait for. Call before `request`.
  void expect(std::uint16_t location, std::vector<arrival> arrivals) { paths_[location].expect(std::move(arrivals)); }

  /// Asks the causers for their paths; third exchange.
  template <class Outbox>
  void request(Outbox&& to) const {
    for (std::size_t l = 0; l != paths_.size(); ++l) {
      for (const arrival& a : paths_[l].arrivals()) {
        if (!a.has(arrival_flag::adopt) || a.has(arrival_flag::last)) continue;
        packet& out = to(a.causer_rank);
        put(out, snapshot_request{a.causer_record, a.record, a.causer_location, static_cast<std::uint16_t>(l),
                                  static_cast<std::uint16_t>(a.flags & arrival_flag::all), 0});
      }
    }
  }

  void take_requests(std::int32_t source, packet_reader in) {
    const std::uint32_t link = links_.of(source);
    while (!in.empty()) {
      const auto r = in.get<snapshot_request>();
      if (r.causer_location >= serving_.size()) continue;
      serving_[r.causer_location].push_back({r.causer_record, r.waiter_record, link, r.waiter_location, r.all});
      links_[link].to_send++;
    }
  }

  /// Runs every location as far as it gets. True when all have come to their end and nothing is under way.
  /// `post(rank, packet)` sends; a rank's own threads are served without it.
  template <class Post>
  bool advance(Post&& post) {
    if (!ready_) {
      ready_ = true;
      for (std::vector<service>& s : serving_) {
        std::stable_sort(s.begin(), s.end(), [](const service& a, const service& b) { return a.record < b.record; });
      }
    }
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t l = 0; l != paths_.size(); ++l) {
        if (waiting_[l] == done) continue;
        moved = run(l, post) || moved;
      }
    }
    links_.stuck(post);
    for (const state s : waiting_) {
      if (s != done) return false;
    }
    return links_.quiet();
  }

  /// A packet of another rank: snapshots and acknowledgements.
  void receive(std::int32_t source, const unsigned char* data, std::size_t size) { links_.take(source, data, size); }

 private:
  enum state : std::uint8_t { between_records, at_record, done };

  struct service {
    std::uint32_t record, waiter_record, link;
    std::uint16_t waiter_location, all;
  };

  // True if the location made any progress.
  template <class Post>
  bool run(std::size_t l, Post&& post) {
    location_path& path = paths_[l];
    const std::vector<service>& serving = serving_[l];
    bool moved = false;
    for (;;) {
      if (waiting_[l] == between_records) {
        if (!path.begin_next()) {
          waiting_[l] = done;
          return true;
        }
        waiting_[l] = at_record;
        moved = true;
      }
      for (std::size_t& s = served_[l]; s != serving.size() && serving[s].record <= path.record(); ++s) {
        const service& wish = serving[s];
        if (!links_.may_send(wish.link)) return moved;
        path.publish(links_[wish.link].rank, wish.waiter_location, wish.all != 0);
        links_.send_snapshot(wish.link, wish.waiter_location, wish.waiter_record, path, post);
        moved = true;
      }
      const arrival* a = path.due();
      if (a != nullptr && a->has(arrival_flag::adopt) && !a->has(arrival_flag::last)) {
        bool partial = false;
        if (!links_.arrived(static_cast<std::uint16_t>(l), a->record, incoming_, partial)) return moved;
        const std::int32_t causer = a->causer_rank;
        path.adopt(*a, incoming_, partial);
        links_.used(causer, post);
      }
      path.finish_record();
      waiting_[l] = between_records;
      moved = true;
    }
  }

  link_book links_;
  std::vector<location_path> paths_;
  std::vector<state> waiting_;
  std::vector<std::size_t> served_;
  std::vector<std::vector<service>> serving_;
  std::vector<snapshot_entry> incoming_;
  bool ready_ = false;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
