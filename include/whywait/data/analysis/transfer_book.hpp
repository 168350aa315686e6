#ifndef WHYWAIT_DATA_ANALYSIS_TRANSFER_BOOK_HPP
#define WHYWAIT_DATA_ANALYSIS_TRANSFER_BOOK_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/class_totals.hpp>
#include <whywait/data/analysis/holdings.hpp>
#include <whywait/data/analysis/rank_data.hpp>
#include <whywait/data/analysis/recent.hpp>
#include <whywait/data/analysis/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// Folds the transfers of one rank into classes, record by record: what it sends becomes tokens for the receivers, what
/// it receives is counted, with the token of the sender, under its class (definitions 2.1). About 0.2 us a transfer,
/// both sides together. Memory: the intervals of the arrays, the classes, 24 bytes a partner and class, tokens under
/// way, 400 KB of tables; nothing for a transfer that is over. Not thread safe.
class transfer_book {
 public:
  /// `rank` must outlive the book; its records are not touched. With `wait_for_all` false the book waits for the tokens
  /// of announced messages only.
  explicit transfer_book(const rank_data& rank, bool wait_for_all = true)
      : rank_(&rank), wait_for_all_(wait_for_all), here_(rank, classes_) {}
  transfer_book(const transfer_book&) = delete;
  transfer_book& operator=(const transfer_book&) = delete;

  /// Begins another part of the run: announcements restart, messages in flight stay.
  void begin_part() {
    here_.grow();
    for (link& l : links_) {
      l.announced = {};
      l.ended = false;
    }
    queues_.forget_empty();
    if (here_.stamps_last()) return;
    here_.forget_stamps();
    sent_ = {};
    sent_to_ = {};
    held_ = {};
  }
  /// Called on all ranks between two parts: orders restart, so messages in flight are dropped.
  void restart_orders() {
    unmatched_ += queues_.left();
    queues_ = {};
  }

  /// Takes the next record. False if it needs a token that is not here: then call again with the same record and time.
  /// `post(rank)` is the packet that goes to a rank next.
  template <class Post>
  bool take(const core::data_record& r, const call_time& time, Post&& post) {
    if (!valid(r)) {
      ++dropped_;
      return true;
    }
    if (r.has(core::data_flag::sampled)) return true;  // an incomplete record: for sharing_book only
    switch (r.op) {
      case core::data_op::read: here_.read(r); return true;
      case core::data_op::write: here_.write(r); return true;
      case core::data_op::copy_from: copied_from_ = r; return true;
      case core::data_op::copy_to:
        dropped_ += here_.copy(std::exchange(copied_from_, core::data_record{}), r) ? 0 : 1;
        return true;
      case core::data_op::send: send(r, post); return true;
      case core::data_op::receive: return receive(r, time);
      case core::data_op::iterations:
      case core::data_op::synchronise: return true;
    }
    return true;
  }

  /// A packet of another rank.
  void receive_packet(std::int32_t source, const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    link& from = link_of(source);
    while (!in.empty()) {
      switch (in.get<std::uint32_t>()) {
        case token_part::offer: {
          const auto s = in.get<sent_data>();
          if (from.offers.size() <= s.number) from.offers.resize(s.number + 1);
          from.offers[s.number] = {here_.data_number(s.data, s.kind), s.from, classes_.import(s.previous), base::key_map::none,
                                   0};
          break;
        }
        case token_part::tokens: {
          for (auto n = in.get<std::uint32_t>(); n != 0; --n) {
            const auto t = in.get<token>();
            queue_of(t.channel, source).push(t);
          }
          break;
        }
        default: from.ended = true;
      }
    }
  }

  /// The messages that this source announced.
  announcements& announced(std::int32_t source) { return link_of(source).announced; }
  /// True when all that announced messages have said that they are through.
  bool all_ended() const noexcept {
    for (const link& l : links_) {
      if (!l.announced.empty() && !l.ended) return false;
    }
    return true;
  }

  /// Whether the array, place and rank of the record are known; other records are dropped and counted.
  bool valid(const core::data_record& r) const noexcept {
    if (r.op == core::data_op::iterations || r.op == core::data_op::synchronise) return true;
    if (r.object >= here_.objects() || r.site >= rank_->sites.size()) return false;
    if (r.op != core::data_op::send && r.op != core::data_op::receive) return true;
    if (r.group >= rank_->groups.size()) return false;
    const explain::communicator& group = rank_->groups[r.group];
    return r.has(core::data_flag::everyone) || (world(group, r.peer) >= 0 && world(group, r.peer) < rank_->ranks);
  }

  /// The ranks that this record is exchanged with: `each(world rank, channel, part)`; `part` is the piece of the region that goes
  /// to (comes from) that rank.
  template <class Each>
  void for_each_peer(const core::data_record& r, Each&& each) const {
    const explain::communicator& group = rank_->groups[r.group];
    const core::stable_key channel =
        r.has(core::data_flag::collective) ? collective_channel(group.id) : message_channel(group.id, r.tag);
    const region all = region_of(r, here_.of(r.object).bytes());
    if (!r.has(core::data_flag::everyone)) {
      each(world(group, r.peer), channel, all);
      return;
    }
    const auto members = static_cast<std::uint64_t>(group.size);
    for (std::int32_t i = 0; i != group.size; ++i) {
      if (i == group.rank) continue;
      region part = all;
      if (r.has(core::data_flag::parted) && all.contiguous()) {
        const std::uint64_t bytes = (all.end - all.begin) / members;
        part = {all.begin + bytes * static_cast<std::uint64_t>(i), all.begin + bytes * static_cast<std::uint64_t>(i + 1), 0, 0};
      }
      each(world(group, i), channel, part);
    }
  }

  /// The result of the rank so far. `over`: messages in flight will not be received any more.
  classified result(bool over = true) const {
    classified out;
    out.ranks = 1;
    out.dropped = dropped_;
    out.unmatched = unmatched_ + (over ? queues_.left() : 0);
    for (std::uint32_t o = 0; o != here_.objects(); ++o) out.coarse += here_.of(o).coarse() ? 1 : 0;
    base::pod_vector<class_sums> totals = totals_;
    here_.for_each_use([&totals](std::uint32_t c, const holdings::use& u) {
      if (c >= totals.size()) return;
      totals[c].watched_bytes += u.arrived;
      totals[c].read_bytes += u.read;
    });
    base::vector<rank_counts> senders(totals.size());
    for (const link& l : links_) {
      for (std::size_t c = 0; c != l.received.size(); ++c) {
        if (l.received[c] == 0) continue;
        ++totals[c].pairs;
        senders[c].add(l.rank, l.received[c]);
      }
    }
    for (std::uint32_t c = 0; c != totals.size(); ++c) {
      if (totals[c].count == 0) continue;
      transfer_class row;
      row.chain = classes_.chain(c);
      row.sums = totals[c];
      row.sums.receivers = 1;
      row.sums.busiest_receiver = row.sums.count;
      row.senders = senders[c];
      row.receivers.add(rank_->rank, row.sums.count);
      out.classes.push_back(std::move(row));
    }
    for (const mixed_bytes& m : mixed_) {
      const offer& o = offers_[m.offer];
      const class_chain chain = classes_.chain(m.from);
      out.mixed.push_back({here_.data(o.data).key, o.from, m.from.kind() == origin_kind::relay ? chain.key() : chain.producer,
                           m.bytes, here_.data(o.data).kind, m.from.kind()});
    }
    out.join();
    return out;
  }

 private:
  struct offer {
    std::uint32_t data;
    core::stable_key from;
    origin previous;
  };
  struct received_offer {
    std::uint32_t data = 0;
    core::stable_key from = 0;
    origin previous;
    std::uint32_t last_class = base::key_map::none;  ///< the class it became last, and at which site
    std::uint32_t last_site = 0;
  };
  struct link {
    std::int32_t rank = 0;
    bool ended = false;
    base::pod_vector<std::uint8_t> sent;  ///< by own offer: known to this rank
    base::pod_vector<received_offer> offers;
    base::pod_vector<std::int64_t> received;  ///< transfers by class
    announcements announced;
  };
  struct mixed_bytes {
    std::uint32_t offer;
    origin from;
    std::int64_t bytes;
  };
  struct sent_before {
    std::uint32_t stamp = 0;  ///< of the newest byte; valid if `known`
    std::uint32_t fan_out = 0;
    std::uint32_t data = 0;
    bool known = false;
  };

  static std::int32_t world(const explain::communicator& group, std::int32_t peer) noexcept {
    if (peer < 0 || peer >= group.size) return -1;
    return group.world.empty() ? peer : group.world[static_cast<std::size_t>(peer)];
  }

  link& link_of(std::int32_t rank) {
    const auto fresh = static_cast<std::uint32_t>(links_.size());
    const std::uint32_t number = link_numbers_.intern(static_cast<std::uint64_t>(rank) + 1, fresh);
    if (number == fresh) {
      links_.emplace_back();
      links_.back().rank = rank;
    }
    return links_[number];
  }
  token_queue& queue_of(core::stable_key channel, std::int32_t source) {
    return queues_[core::combine(channel, static_cast<std::uint32_t>(source))];
  }
  class_sums& sums_of(std::uint32_t c) {
    if (totals_.size() <= c) totals_.resize(classes_.size());
    return totals_[c];
  }
  template <class Post>
  void send(const core::data_record& r, Post&& post) {
    for_each_peer(r, [&](std::int32_t to, core::stable_key channel, const region& part) {
      const region_state now = here_.of(r.object).look(part);
      if (now.state.unread) here_.use_up(r.object, part);
      const core::stable_key where = region_key(r.object, part);
      sent_before& any = sent_[where];
      if (rank_->objects[r.object].buffer && now.one_data && now.state.data != 0) {
        any.data = now.state.data;
      } else if (any.data == 0 || rank_->objects[r.object].buffer) {
        any.data = here_.name_of(r.object, part);
      }
      sent_before& same = sent_to_[core::combine(where, static_cast<std::uint32_t>(to))];
      const bool unchanged = same.known && same.stamp == now.state.stamp;
      same.known = true;
      same.stamp = now.state.stamp;
      if (!any.known || any.stamp != now.state.stamp) any.fan_out = 0;
      any.known = true;
      any.stamp = now.state.stamp;
      if (!unchanged || any.fan_out == 0) ++any.fan_out;

      const std::uint32_t number = offer_number(any.data, r.site, now.state.from);
      if (now.state.from.kind() == origin_kind::mixed) add_shares(number, r.object, part);
      link& receiver = link_of(to);
      base::packet& out = post(to);
      if (receiver.sent.size() <= number) receiver.sent.resize(offers_.size(), 0);
      if (receiver.sent[number] == 0) {
        receiver.sent[number] = 1;
        const offer& o = offers_[number];
        base::put(out, static_cast<std::uint32_t>(token_part::offer));
        base::put(out, sent_data{here_.data(o.data).key, o.from, here_.data(o.data).kind, number, classes_.chain(o.previous)});
      }
      const bool relayed = now.state.hops != 0;
      base::put(out, static_cast<std::uint32_t>(token_part::tokens));
      base::put(out, std::uint32_t{1});
      base::put(out, token{channel, r.order, 1, number, any.fan_out,
                           static_cast<std::uint16_t>(std::min<unsigned>(relayed ? now.state.hops + 1u : 1u, 0xffff)),
                           static_cast<std::uint8_t>(unchanged ? 1 : 0),
                           static_cast<std::uint8_t>(now.state.stamp == 0 ? 1 : 0), static_cast<std::uint32_t>(where >> 32)});
    });
  }

  std::uint32_t offer_number(std::uint32_t data, std::uint32_t site, origin previous) {
    const core::stable_key key = core::combine(core::combine(data, site), previous.code());
    const auto fresh = static_cast<std::uint32_t>(offers_.size());
    const std::uint32_t number = offer_numbers_.intern(key, fresh);
    if (number == fresh) offers_.push_back({data, rank_->sites[site], previous});
    return number;
  }
  void add_shares(std::uint32_t number, std::uint32_t object, const region& part) {
    here_.of(object).visit(part, [&](std::uint64_t begin, std::uint64_t end, const byte_state& s) {
      const auto fresh = static_cast<std::uint32_t>(mixed_.size());
      const std::uint32_t at = mixed_numbers_.intern(core::combine(number, s.from.code()), fresh);
      if (at == fresh) mixed_.push_back({number, s.from, 0});
      mixed_[at].bytes += static_cast<std::int64_t>(end - begin);
    });
  }

  bool receive(const core::data_record& r, call_time time) {
    if (r.has(core::data_flag::everyone) && rank_->groups[r.group].size > 2) {
      time.duration_ns /= rank_->groups[r.group].size - 1;
      time.wait_ns /= rank_->groups[r.group].size - 1;
    }
    std::uint32_t position = 0;
    bool all = true;
    for_each_peer(r, [&](std::int32_t source, core::stable_key channel, const region& part) {
      if (!all || position++ < received_) return;
      token t;
      if (!queue_of(channel, source).take(r.order, t)) {
        link& l = link_of(source);
        if (wait_for_all_ || (!l.ended && l.announced.holds(channel, r.order))) {
          all = false;
          return;
        }
        ++unmatched_;
        arrive(r, part, source, nullptr, time);
      } else {
        arrive(r, part, source, &t, time);
      }
      ++received_;
    });
    if (all) received_ = 0;
    return all;
  }

  // One transfer is complete. `t` is null if the sender has no record of it.
  void arrive(const core::data_record& r, const region& part, std::int32_t source, const token* t, const call_time& time) {
    link& from = link_of(source);
    std::uint32_t c, data;
    if (t != nullptr && t->offer < from.offers.size()) {
      received_offer& o = from.offers[t->offer];
      if (o.last_class == base::key_map::none || o.last_site != r.site) {
        o.last_site = r.site;
        o.last_class = classes_.intern(base_of(o.data, o.from, r.site), o.previous);
      }
      c = o.last_class;
      data = o.data;
    } else {
      data = here_.name_of(r.object, part);
      c = classes_.intern(base_of(data, 0, r.site), origin(origin_kind::unknown));
    }
    const auto bytes = static_cast<std::int64_t>(part.bytes());
    class_sums& sums = sums_of(c);
    ++sums.count;
    sums.bytes += bytes;
    sums.duration_ns += time.duration_ns;
    sums.wait_ns += time.wait_ns;
    const std::uint16_t hops = t != nullptr ? t->hops : std::uint16_t{1};
    sums.hops_sum += hops;
    sums.most_hops = std::max<std::int64_t>(sums.most_hops, hops);
    sums.fan_out = std::max<std::int64_t>(sums.fan_out, t != nullptr ? t->fan_out : 1);
    paired_stamp& held = held_[core::combine(region_key(r.object, part), static_cast<std::uint32_t>(source))];
    const std::uint32_t region = t != nullptr ? t->region : 0;
    if (t != nullptr && t->unchanged != 0) {
      ++sums.unchanged;
      sums.unchanged_bytes += bytes;
      sums.unchanged_ns += time.duration_ns;
      sums.unwritten += t->unwritten;
      if (held.own != 0 && held.other == region && here_.of(r.object).look(part).state.stamp == held.own) {
        ++sums.held;
        sums.held_bytes += bytes;
      }
    }
    if (from.received.size() <= c) from.received.resize(classes_.size(), 0);
    ++from.received[c];
    held = {here_.arrive(r, part, c, data, hops), region};
  }

  std::uint32_t base_of(std::uint32_t data, core::stable_key from, std::uint32_t site) {
    return classes_.intern_base({here_.data(data).key, from, rank_->sites[site], here_.data(data).kind, 0});
  }

  const rank_data* rank_;
  bool wait_for_all_;
  class_table classes_;
  holdings here_;
  base::pod_vector<class_sums> totals_;  ///< by class
  base::vector<link> links_;
  token_queues queues_;
  base::pod_vector<offer> offers_;
  base::pod_vector<mixed_bytes> mixed_;
  base::key_map link_numbers_, offer_numbers_, mixed_numbers_;
  recent<sent_before, 4096> sent_, sent_to_;
  recent<paired_stamp, 4096> held_;
  core::data_record copied_from_;
  std::uint32_t received_ = 0;  ///< how many peers of the record at hand are done
  std::int64_t unmatched_ = 0, dropped_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
