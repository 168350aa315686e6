#include <whywait/base/vector.hpp>
#include <whywait/explain/message_orders.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <utility>

namespace {

namespace core = whywait::core;
namespace explain = whywait::explain;
namespace flag = whywait::core::sync_flag;
using core::mpi_call;
using core::sync_record;
using whywait::explain::message_orders;

/// A process that sends, receives and takes part in collectives, according to the MPI standard. Messages of a channel
/// do not overtake each other, and each goes to the first matching posted receive. Sends number the messages of a
/// channel consecutively, even those that are never received.
class process {
 public:
  explicit process(std::uint64_t seed) : random_(seed) {}

  void step() {
    const std::int32_t peer = static_cast<std::int32_t>(pick(2)), tag = static_cast<std::int32_t>(pick(2));
    switch (pick(10)) {
      case 0: {
        sync_record& r = add(pick(2) == 0 ? mpi_call::Send : mpi_call::Isend, flag::posts_send, peer, tag);
        truth_[r.posting] = ++sent_[{peer, tag}];
        sends_.push_back(r.posting);
        if (r.call == mpi_call::Send) r.flags |= flag::complete;
        break;
      }
      case 1: {
        truth_[add(mpi_call::Allreduce, flag::contributes | flag::consumes, -1, -1).posting] = ++collectives_;
        sends_.push_back(last_);
        break;
      }
      case 2:
      case 3:
      case 4: post(pick(3) == 0, peer, tag); break;
      case 5:
      case 6: arrive(peer, tag); break;
      case 7: probe(); break;
      default: complete();
    }
  }

  /// Ends a part. All sends and collectives that completed in it must have their numbers by now.
  void cut(bool last) {
    explain::rank_history part;
    part.ranks = 2;
    part.communicators.push_back({7, 2, 0, false, {}});
    part.posted_before = before_;
    part.continues = !last;
    part.locations.resize(1);
    for (receive& r : open_) {  // as reported by MPI
      if (r.matched != 0 && r.wild && !records_[r.record].has(flag::complete)) {
        records_[r.record].flags |= flag::resolved;
        records_[r.record].peer = r.peer;
        records_[r.record].tag = r.tag;
      }
    }
    whywait::base::vector<sync_record> all(records_.begin(), records_.end());
    const sync_record* chunk = all.data();
    part.locations[0].records = {&chunk, 63, all.size()};
    orders_.take(part);
    for (const std::uint32_t p : completed_) CHECK(orders_[p] == truth_[p]);
    for (const std::uint32_t p : sends_) CHECK(orders_[p] == truth_[p]);
    seen += completed_.size() + sends_.size();
    completed_.clear();
    sends_.clear();
    before_ = last_;
    std::deque<sync_record> kept;
    whywait::base::vector<receive> still;
    for (receive r : open_) {
      if (r.probed) {  // probes are not carried over
        r.record = none;
      } else {
        ++across;
        kept.push_back(records_[r.record]);
        r.record = kept.size() - 1;
      }
      still.push_back(r);
    }
    open_ = std::move(still);
    records_ = std::move(kept);
    records_.push_back(sync_record());
  }

  std::size_t seen = 0, across = 0;

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct receive {
    std::size_t record;
    std::uint32_t posting;
    bool wild;
    std::int32_t peer, tag;   // valid unless wild, or once matched
    std::uint32_t matched;    // number of its message, or 0
    bool probed;              // a message that waits for its Mrecv
  };

  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  sync_record& add(mpi_call call, unsigned flags, std::int32_t peer, std::int32_t tag) {
    sync_record r{};
    r.call = call;
    r.flags = static_cast<std::uint16_t>(flags);
    r.peer = peer;
    r.tag = tag;
    r.posting = ++last_;
    records_.push_back(r);
    return records_.back();
  }
  void post(bool wild, std::int32_t peer, std::int32_t tag) {
    sync_record& r = add(mpi_call::Irecv, flag::posts_receive, peer, tag);
    if (wild) {
      r.flags = static_cast<std::uint16_t>(r.flags | flag::any_source);
      r.peer = -1;
    }
    open_.push_back({records_.size() - 1, r.posting, wild, peer, tag, 0, false});
    for (auto m = unexpected_.begin(); m != unexpected_.end(); ++m) {
      if (m->tag != tag || (!wild && m->peer != peer)) continue;
      match(open_.back(), *m);
      unexpected_.erase(m);
      return;
    }
  }
  struct message {
    std::int32_t peer, tag;
    std::uint32_t number;
  };
  void match(receive& r, const message& m) {
    r.matched = m.number;
    r.peer = m.peer;
    truth_[r.posting] = m.number;
  }
  void arrive(std::int32_t peer, std::int32_t tag) {
    const message m{peer, tag, ++arrived_[{peer, tag}]};
    for (receive& r : open_) {
      if (r.matched != 0 || r.tag != tag || (!r.wild && r.peer != peer)) continue;
      match(r, m);
      return;
    }
    unexpected_.push_back(m);
  }
  void probe() {
    if (unexpected_.empty()) return;
    const message m = unexpected_.front();
    unexpected_.erase(unexpected_.begin());
    const sync_record& r = add(mpi_call::Mprobe, flag::matched, m.peer, m.tag);
    open_.push_back({records_.size() - 1, r.posting, false, m.peer, m.tag, m.number, true});
    truth_[r.posting] = m.number;
  }
  void complete() {
    whywait::base::vector<std::size_t> ready;
    for (std::size_t i = 0; i != open_.size(); ++i) {
      if (open_[i].matched != 0) ready.push_back(i);
    }
    if (ready.empty()) return;
    const std::size_t at = ready[pick(ready.size())];
    receive& r = open_[at];
    if (r.probed) {  // received by a separate call, now or later
      sync_record record{};
      const bool later = pick(2) == 0;
      record.call = later ? mpi_call::Imrecv : mpi_call::Mrecv;
      record.flags = static_cast<std::uint16_t>(flag::posts_receive | flag::matched | (later ? 0u : unsigned{flag::complete}));
      record.peer = r.peer;
      record.tag = r.tag;
      record.posting = r.posting;
      records_.push_back(record);
      r.record = records_.size() - 1;
      r.probed = false;
      if (later) return;
    } else {
      sync_record& record = records_[r.record];
      record.flags = static_cast<std::uint16_t>(record.flags | flag::complete);
      record.peer = r.peer;
    }
    completed_.push_back(r.posting);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::mt19937_64 random_;
  message_orders orders_;
  std::deque<sync_record> records_;                     // of this part
  whywait::base::vector<receive> open_;
  whywait::base::vector<message> unexpected_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> sent_, arrived_;
  std::map<std::uint32_t, std::uint32_t> truth_;        // by posting
  whywait::base::vector<std::uint32_t> completed_, sends_;        // in this part
  std::uint32_t last_ = 0, before_ = 0, collectives_ = 0;
};

}  // namespace

TEST_CASE("in 500 random programs, cut anywhere, each message has the number that it was sent with") {
  std::size_t seen = 0, across = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    process p(seed);
    for (int i = 0; i != 200; ++i) {
      p.step();
      if (seed % 4 != 0 && i % (5 + static_cast<int>(seed % 50)) == 3) p.cut(false);
    }
    p.cut(true);
    seen += p.seen;
    across += p.across;
  }
  CHECK(seen > 30000);
  CHECK(across > 20000);
}

TEST_CASE("reset orders count pending messages on both sides") {
  const auto take = [](message_orders& orders, whywait::base::vector<sync_record> records, std::uint32_t before) {
    explain::rank_history part;
    part.communicators.push_back({7, 2, 0, false, {}});
    part.posted_before = before;
    part.locations.resize(1);
    const sync_record* chunk = records.data();
    part.locations[0].records = {&chunk, 63, records.size()};
    orders.take(part);
  };
  const auto make = [](unsigned flags, std::uint32_t posting) {
    sync_record r{};
    r.call = (flags & flag::posts_send) != 0 ? mpi_call::Isend : mpi_call::Irecv;
    r.flags = static_cast<std::uint16_t>(flags);
    r.peer = 1;
    r.posting = posting;
    return r;
  };
  // Two messages have been received and two are pending, one of which is matched.
  message_orders sender, receiver;
  take(sender,
       {make(flag::posts_send | flag::complete, 1), make(flag::posts_send | flag::complete, 2), make(flag::posts_send, 3),
        make(flag::posts_send, 4)},
       0);
  CHECK(sender[4] == 4);
  take(receiver,
       {make(flag::posts_receive | flag::complete, 1), make(flag::posts_receive | flag::complete, 2),
        make(flag::posts_receive, 3)},
       0);
  sender.restart();
  receiver.restart();
  take(sender, {make(flag::posts_send | flag::met, 3), make(flag::posts_send, 4), make(flag::posts_send, 5)}, 4);
  take(receiver,
       {make(flag::posts_receive | flag::met | flag::complete, 3), make(flag::posts_receive | flag::complete, 4),
        make(flag::posts_receive | flag::complete, 5)},
       3);
  CHECK(receiver[3] == 0);  // no longer known
  CHECK(sender[4] == 1);
  CHECK(receiver[4] == 1);
  CHECK(sender[5] == 2);
  CHECK(receiver[5] == 2);
}
