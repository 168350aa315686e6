#ifndef WHYWAIT_DATA_ANALYSIS_CLASSIFY_HPP
#define WHYWAIT_DATA_ANALYSIS_CLASSIFY_HPP

#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/transfer_book.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// One rank on its way through its records, of a whole run or part by part: `follow` drives it. It keeps what the parts
/// to come need: the history of the bytes, the classes and their sums, messages under way. Bounded by arrays, classes,
/// and pairs of partner and class (transfer_book), however many transfers.
class classifier {
 public:
  /// `rank` must outlive it.
  explicit classifier(const rank_data& rank) : rank_(&rank), cursor_(rank), book_(rank, false) {}

  /// The records that the rank has by now are the next part; those before are over.
  void begin_part() {
    cursor_ = record_cursor(*rank_);
    will_send_.clear();
    receiver_numbers_ = {};
    announced_ = ended_ = false;
    shared_record_ = 0;
    book_.begin_part();
  }
  /// Called on all ranks between two parts; `data_record::order` restarts.
  void restart_orders() { book_.restart_orders(); }

  /// Tells the receivers which messages carry registered data; all of it at once: 16 bytes a run of such messages.
  template <class Outbox>
  void announce(Outbox&& to) {
    if (announced_) return;
    announced_ = true;
    for (record_cursor at(*rank_); !at.done(); at.step()) {
      const core::data_record& r = at.record();
      if (r.op != core::data_op::send || !book_.valid(r)) continue;
      book_.for_each_peer(r, [&](std::int32_t peer, core::stable_key channel, const region&) {
        const auto fresh = static_cast<std::uint32_t>(will_send_.size());
        const std::uint32_t number = receiver_numbers_.intern(static_cast<std::uint64_t>(peer) + 1, fresh);
        if (number == fresh) will_send_.push_back({peer, {}});
        will_send_[number].messages.add(channel, r.order, r.order);
      });
    }
    for (const receiver& w : will_send_) w.messages.pack(to(w.rank));
  }
  void receive_announcement(std::int32_t source, const unsigned char* data, std::size_t size) {
    book_.announced(source).receive(data, size);
  }

  /// Runs as far as it gets; true when there is nothing left to do and nothing under way to this rank.
  template <class Post>
  bool advance(Post&& post) {
    const auto outbox = [this](std::int32_t to) -> base::packet& {
      base::packet& out = packet_for(to);
      full_ = full_ || out.size() >= flush_at;
      return out;
    };
    for (; !cursor_.done(); cursor_.step()) {
      if (!book_.take(cursor_.record(), time_of_record(), outbox)) break;
      if (full_) flush(post);
    }
    if (cursor_.done() && !ended_) {
      ended_ = true;
      for (const receiver& w : will_send_) base::put(packet_for(w.rank), static_cast<std::uint32_t>(token_part::end));
    }
    flush(post);
    return cursor_.done() && book_.all_ended();
  }
  void receive(std::int32_t source, const unsigned char* data, std::size_t size) { book_.receive_packet(source, data, size); }

  /// The result so far. `over`: messages in flight will not be received any more.
  classified result(bool over) const { return book_.result(over); }

 private:
  static constexpr std::size_t flush_at = std::size_t{1} << 16;

  struct receiver {
    std::int32_t rank;
    announcements messages;
  };
  struct packet_to {
    std::int32_t rank;
    base::packet data;
  };

  template <class Post>
  void flush(Post&& post) {
    full_ = false;
    for (packet_to& out : outbox_) {
      if (out.data.empty()) continue;
      post(out.rank, out.data);
      out.data.clear();
    }
  }

  base::packet& packet_for(std::int32_t rank) {
    const auto fresh = static_cast<std::uint32_t>(outbox_.size());
    const std::uint32_t number = outbox_numbers_.intern(static_cast<std::uint64_t>(rank) + 1, fresh);
    if (number == fresh) outbox_.push_back({rank, {}});
    return outbox_[number].data;
  }

  // The receives that one call completed follow each other: each gets its part of the call's time.
  call_time time_of_record() {
    const core::data_record& r = cursor_.record();
    const location_data& l = rank_->locations[cursor_.location()];
    if (r.op != core::data_op::receive || r.record == 0 || r.record > l.calls.size()) return {};
    if (shared_location_ != cursor_.location() || shared_record_ != r.record) {
      shared_location_ = cursor_.location();
      shared_record_ = r.record;
      shared_ = 0;
      for (std::uint64_t i = cursor_.index(); i != l.records.size(); ++i, ++shared_) {
        if (l.records[i].op != core::data_op::receive || l.records[i].record != r.record) break;
      }
    }
    return {l.calls[r.record - 1].duration_ns / shared_, l.calls[r.record - 1].wait_ns / shared_};
  }

  const rank_data* rank_;
  record_cursor cursor_;
  transfer_book book_;
  base::key_map receiver_numbers_, outbox_numbers_;  // by rank + 1, in the next two
  base::vector<receiver> will_send_;
  base::vector<packet_to> outbox_;
  std::size_t shared_location_ = 0;
  std::uint32_t shared_record_ = 0;
  std::int64_t shared_ = 1;
  bool announced_ = false, ended_ = false, full_ = false;
};

/// Takes the records of a part of a run, from one instant at which all were in step to the next: one exchange (which
/// messages carry registered data), one forward pass (each message's token: what it carried, and the class that its
/// data came by). `all`: of the ranks that the transport hosts (see explain::explain for what it offers). Collective.
/// About 0.2 us a transfer. Records of a rank that wait for a message which the sender never made end in
/// std::logic_error or never, as the transport does; records of what MPI really did cannot. Throws std::bad_alloc,
/// std::invalid_argument (wrong number of ranks) and what the transport throws.
template <class Transport>
void follow(Transport& transport, const base::vector<classifier*>& all) {
  if (all.size() != static_cast<std::size_t>(transport.hosted())) {
    throw std::invalid_argument("whywait-X002: the transport hosts another number of ranks");
  }
  const auto at = [&all](std::int32_t i) -> classifier& { return *all[static_cast<std::size_t>(i)]; };
  for (classifier* const c : all) c->begin_part();
  transport.exchange([&](std::int32_t i, auto&& to, std::size_t) { at(i).announce(to); },
                     [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
                       at(i).receive_announcement(source, data, size);
                     });
  transport.forward([&](std::int32_t i, auto&& post) { return at(i).advance(post); },
                    [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
                      at(i).receive(source, data, size);
                    });
}

/// The classes of all parts so far: one reduction; complete where rank 0 is hosted. `over`: as classifier::result.
template <class Transport>
classified classes_so_far(Transport& transport, const base::vector<classifier*>& all, bool over) {
  base::vector<classified> found;
  for (const classifier* const c : all) found.push_back(c->result(over));
  const auto at = [&found](std::int32_t i) -> classified& { return found[static_cast<std::size_t>(i)]; };
  transport.reduce(
      [&](std::int32_t i) { return at(i).pack(); },
      [&](std::int32_t i, const unsigned char* data, std::size_t size) { at(i).merge(classified::unpack(data, size)); });
  if (found.empty()) return {};
  found[0].present();
  return std::move(found[0]);
}

/// Why data was sent: the communication classes of a whole run. Collective over the ranks of the transport, each of
/// which brings the data of the ranks it hosts. `follow` once, then `classes_so_far`: cost and errors are theirs.
template <class Transport>
classified classify(Transport& transport, const rank_data* ranks, std::size_t count) {
  base::vector<std::unique_ptr<classifier>> own;
  base::vector<classifier*> all;
  for (std::size_t i = 0; i != count; ++i) {
    own.emplace_back(new classifier(ranks[i]));
    all.push_back(own.back().get());
  }
  follow(transport, all);
  return classes_so_far(transport, all, true);
}

/// The same for all ranks of a simulation, or for the one of a process.
template <class Transport>
classified classify(Transport& transport, const base::vector<rank_data>& ranks) {
  return classify(transport, ranks.data(), ranks.size());
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
