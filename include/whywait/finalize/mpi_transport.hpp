#ifndef WHYWAIT_FINALIZE_MPI_TRANSPORT_HPP
#define WHYWAIT_FINALIZE_MPI_TRANSPORT_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/finalize/shared_rings.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/failure.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Transports packets of the explanation over MPI, with one rank per process and PMPI calls only. The communicator must
/// be reserved for it during each operation (tags 1 to 4). The content of packets is opaque to it. All members make the
/// same calls, each from one thread. An exception from a callback propagates after all pending messages are complete.
/// The other ranks then throw peer_failed in this operation or in the next. This requires that the caller is inside
/// team::together, which also handles exceptions between operations.
class mpi_transport {
 public:
  using packet = team::packet;

  /// `shares_memory`: whether packets between ranks of one machine may bypass MPI; the same on all ranks.
  explicit mpi_transport(const team& ranks, bool shares_memory = true)
      : team_(ranks), comm_(ranks.comm()), ranks_(ranks.size()), shares_memory_(shares_memory) {}
  explicit mpi_transport(MPI_Comm comm, bool shares_memory = true) : mpi_transport(team(comm), shares_memory) {}
  mpi_transport(const mpi_transport&) = delete;
  mpi_transport& operator=(const mpi_transport&) = delete;
  ~mpi_transport() {
    drop(sendings_);
    drop(spare_);
  }

  std::int32_t ranks() const noexcept { return ranks_; }
  std::int32_t hosted() const noexcept { return 1; }

  template <class Value>
  std::int64_t minimum(Value&& value) const {
    return ~team_.agree(~value(0));  // The complement turns the minimum into the maximum that `agree` computes.
  }

  /// Repeats an Alltoall of the sizes and an Alltoallv of the packets until no rank sends anything in a round. The
  /// buffers and displacements stay small, because a packet is filled only up to its share of `round_bytes`.
  template <class Produce, class Consume>
  void exchange(Produce&& produce, Consume&& consume) const {
    const auto both = std::make_pair(&produce, &consume);
    using pointers = std::remove_const_t<decltype(both)>;
    run_exchange(
        &both, [](const void* p, outbox& to, std::size_t room) { (*static_cast<const pointers*>(p)->first)(0, to, room); },
        [](const void* p, std::int32_t source, const unsigned char* data, std::size_t size) {
          (*static_cast<const pointers*>(p)->second)(0, source, data, size);
        });
  }

  /// Message-driven scheduling. Posted data is buffered per destination and sent when this rank cannot advance or the
  /// buffer reaches `flush_bytes`, to ranks of the same machine through shared memory. What follows the receipt of data that this
  /// rank had to wait for is sent at once, because others may wait for it in turn. A rank is finished when no message
  /// to it is pending. A rank that fails sends an empty message to all others. All ranks then leave the loop, and pending
  /// messages are received and dropped.
  template <class Advance, class Receive>
  void forward(Advance&& advance, Receive&& receive) {
    const auto n = static_cast<std::size_t>(ranks_);
    sent_.assign(n, 0);
    received_.assign(n, 0);
    expected_.assign(n, 0);
    pending_.reset(new packet[n]);
    if (!rings_) rings_.emplace(team_, shares_memory_);
    team_.agree();
    mpi::failure mine;
    const auto take = [&](int source, const unsigned char* data, std::size_t size) { receive(0, source, data, size); };
    try {
      bool failed = false;
      while (!failed && !advance(0, [this](std::int32_t to, const packet& data) { post(to, data); })) {
        flush();
        failed = !receive_all(take, false);
      }
      flush();
      if (!failed && !waiting_.empty()) receive_all(take, true);
    } catch (const std::exception& problem) {
      mine = team_.failure_of(problem);
      notify_all();
    }
    const mpi::failure first = team_.compare(mine);
    if (first) drop_all();
    for (sending* s = sendings_; s != nullptr; s = s->next) complete(s->request);
    drop(sendings_);
    last_ = nullptr;
    pending_.reset();
    waiting_.clear();
    if (first) throw peer_failed(comm_, first);
  }

  template <class Pack, class Merge>
  void reduce(Pack&& pack, Merge&& merge) const {
    team_.reduce([&] { return pack(0); }, [&](const unsigned char* data, std::size_t size) { merge(0, data, size); });
  }

  template <class Pack, class Take>
  void broadcast(Pack&& pack, Take&& take) const {
    packet data;
    if (team_.rank() == 0) data = pack(0);
    team_.share(data);
    take(0, data.data(), data.size());
  }

 private:
  static constexpr std::size_t flush_bytes = shared_rings::largest_packet / 2;
  static constexpr unsigned most_at_once = 4;
  static constexpr int forward_tag = 1, large_tag = 4;  // the tags of the team are 2 and 3

  // The packets of one round, indexed by rank.
  struct outbox {
    std::unique_ptr<packet[]> packets;
    packet& operator()(std::int32_t to) { return packets[static_cast<std::size_t>(to)]; }
  };

  // Not a template, so that it is compiled once for all exchanges.
  void run_exchange(const void* both, void (*produce)(const void*, outbox&, std::size_t),
                    void (*consume)(const void*, std::int32_t, const unsigned char*, std::size_t)) const {
    const auto n = static_cast<std::size_t>(ranks_);
    const std::size_t room = std::max(static_cast<std::size_t>(team::round_bytes) / n, std::size_t{2048});
    outbox out{std::unique_ptr<packet[]>(new packet[n])};
    base::pod_vector<int> out_count(n), in_count(n), out_at(n), in_at(n);
    // The receive buffer suffices unless a peer far exceeds `room`. Its pages stay untouched until used.
    std::size_t in_room = 2 * room * n;
    std::unique_ptr<unsigned char[]> in_round(new unsigned char[in_room]);
    packet out_round;
    for (;;) {
      produce(both, out, room);
      std::size_t out_sum = 0, largest = 0;
      for (std::size_t i = 0; i != n; ++i) {
        largest = std::max(largest, out.packets[i].size());
        out_at[i] = static_cast<int>(out_sum);
        out_count[i] = static_cast<int>(out.packets[i].size());
        out_sum += out.packets[i].size();
      }
      out_round.resize(out_sum);
      for (std::size_t i = 0; i != n; ++i) {
        packet& p = out.packets[i];
        if (!p.empty()) std::memcpy(out_round.data() + out_at[i], p.data(), p.size());
        p.clear();
      }
      largest = static_cast<std::size_t>(team_.agree(static_cast<std::int64_t>(largest)));
      if (largest == 0) return;  // no rank has sent anything
      MPI_Request request = MPI_REQUEST_NULL;
      PMPI_Ialltoall(out_count.data(), 1, MPI_INT, in_count.data(), 1, MPI_INT, comm_, &request);
      complete(request);
      std::size_t in_sum = 0;
      for (std::size_t i = 0; i != n; ++i) {
        in_at[i] = static_cast<int>(in_sum);
        in_sum += static_cast<std::size_t>(in_count[i]);
      }
      if (largest > 2 * room) {
        if (in_sum > in_room) in_round.reset(new unsigned char[in_room = in_sum]);
        team_.agree();
      }
      PMPI_Ialltoallv(out_round.data(), out_count.data(), out_at.data(), MPI_BYTE, in_round.get(), in_count.data(),
                      in_at.data(), MPI_BYTE, comm_, &request);
      complete(request);
      for (std::size_t i = 0; i != n; ++i) {
        const auto size = static_cast<std::size_t>(in_count[i]);
        if (size != 0) consume(both, static_cast<std::int32_t>(i), in_round.get() + in_at[i], size);
      }
    }
  }

  struct sending {
    MPI_Request request = MPI_REQUEST_NULL;
    packet data;
    sending* next = nullptr;
  };
  static void drop(sending*& list) noexcept {
    while (list != nullptr) {
      sending* const next = list->next;
      delete list;
      list = next;
    }
  }

  void post(std::int32_t to, const packet& data) {
    packet& out = pending_[static_cast<std::size_t>(to)];
    if (out.empty() && at_once_ != 0 && rings_->reaches(to) && data.size() <= flush_bytes) {
      --at_once_;
      if (rings_->write(to, data.data(), data.size())) return;
    }
    if (out.empty()) waiting_.push_back(to);  // may list a rank twice if its packet was full and sent
    out.append(data.data(), data.size());
    if (out.size() >= flush_bytes) send(to, out);
  }

  // Keeps what finds its ring full.
  void flush() {
    std::size_t kept = 0;
    for (const std::int32_t to : waiting_) {
      packet& out = pending_[static_cast<std::size_t>(to)];
      if (!out.empty() && !send(to, out)) waiting_[kept++] = to;
    }
    waiting_.resize(kept);
  }

  // Returns false if the ring is full.
  bool send(std::int32_t to, packet& out) {
    if (!rings_->reaches(to)) return send_message(to, forward_tag, out), true;
    if (out.size() <= shared_rings::largest_packet) {
      if (!rings_->write(to, out.data(), out.size())) return false;
      out.clear();
      return true;
    }
    if (!rings_->has_room(to)) return false;
    send_message(to, large_tag, out);  // first, because it may fail, and the receiver of a notice waits for the message
    rings_->write_notice(to);
    return true;
  }

  // Keeps the buffers of completed sends for later ones. Small sends complete immediately.
  void release_sent() {
    while (sendings_ != nullptr) {
      int over = 0;
      PMPI_Test(&sendings_->request, &over, MPI_STATUS_IGNORE);
      if (over == 0) break;
      sending* const free = sendings_;
      sendings_ = free->next;
      if (spares_ == 16) {
        delete free;
        continue;
      }
      free->next = spare_;
      spare_ = free;
      ++spares_;
    }
  }

  void send_message(std::int32_t to, int tag, packet& out) {
    release_sent();
    sending* const s = spare_ != nullptr ? spare_ : new sending;
    if (spare_ != nullptr) {
      spare_ = s->next;
      s->next = nullptr;
      --spares_;
    }
    s->data.swap(out);
    out.clear();
    (sendings_ != nullptr ? last_->next : sendings_) = s;
    last_ = s;
    PMPI_Isend(s->data.data(), static_cast<int>(s->data.size()), MPI_BYTE, to, tag, comm_, &s->request);
    if (tag == forward_tag) ++sent_[static_cast<std::size_t>(to)];
  }

  // Waits for a packet, then receives it and all others that have arrived. Returns false if some rank has failed. `sends`:
  // waits until all rings had room for what is pending instead.
  template <class Take>
  bool receive_all(Take&& take, bool sends) {
    unsigned tries = 0;
    for (backoff wait;;) {
      if (rings_->read(in_, take, [this](int source, packet& in) { receive(source, large_tag, in); }) && !sends) {
        at_once_ = most_at_once;
        return true;
      }
      // With rings a message is rare: from another machine, or of a rank that failed.
      if (*rings_ && tries % 4 == 3) core::spin_lock::relax();
      if (++tries % (rings_->reaches_all() ? 64 : *rings_ ? 16 : 1) == 0) {
        bool any = false;
        if (!receive_messages(take, any)) return false;
        if (any && !sends) return true;
      }
      if (!waiting_.empty()) {
        flush();
        if (sends && waiting_.empty()) return true;
      }
      // Many MPI libraries copy a large packet piece by piece, and each piece needs a call of its sender.
      release_sent();
      if (sendings_ == nullptr) wait();
      else sched_yield();
    }
  }

  // Receives the messages that have arrived. Returns false if some rank has failed.
  template <class Take>
  bool receive_messages(Take&& take, bool& any) {
    MPI_Status status;
    int there = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, forward_tag, comm_, &there, &status);
    while (there != 0) {
      any = true;
      receive(status.MPI_SOURCE, forward_tag, in_);
      ++received_[static_cast<std::size_t>(status.MPI_SOURCE)];
      if (in_.empty()) return false;
      take(status.MPI_SOURCE, in_.data(), in_.size());
      PMPI_Iprobe(MPI_ANY_SOURCE, forward_tag, comm_, &there, &status);
    }
    return true;
  }
  // Without memory for it the packet stays where it is.
  void receive(int source, int tag, packet& in) const {
    MPI_Status status;
    int size = 0;
    PMPI_Probe(source, tag, comm_, &status);
    PMPI_Get_count(&status, MPI_BYTE, &size);
    in.resize(static_cast<std::size_t>(size));
    PMPI_Recv(in.data(), size, MPI_BYTE, source, tag, comm_, MPI_STATUS_IGNORE);
  }

  // Must not allocate, because it runs after a failure.
  void notify_all() noexcept {
    for (int to = 0; to < ranks_; ++to) {
      if (to == team_.rank()) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      PMPI_Isend(nullptr, 0, MPI_BYTE, to, forward_tag, comm_, &request);
      if (request != MPI_REQUEST_NULL) PMPI_Request_free(&request);
      ++sent_[static_cast<std::size_t>(to)];
    }
  }
  void drop_all() noexcept {
    rings_->drop([this](int from) { drop_message(from, large_tag); });
    PMPI_Alltoall(sent_.data(), 1, MPI_UINT64_T, expected_.data(), 1, MPI_UINT64_T, comm_);
    for (int from = 0; from < ranks_; ++from)
      for (auto i = static_cast<std::size_t>(from); received_[i] < expected_[i]; ++received_[i])
        drop_message(from, forward_tag);
  }
  void drop_message(int from, int tag) noexcept {
    MPI_Status status;
    int size = 0;
    PMPI_Probe(from, tag, comm_, &status);
    PMPI_Get_count(&status, MPI_BYTE, &size);
    void* const room = size != 0 ? core::map_pages(static_cast<std::size_t>(size), false) : nullptr;
    PMPI_Recv(room, room != nullptr ? size : 0, MPI_BYTE, from, tag, comm_, MPI_STATUS_IGNORE);
    if (room != nullptr) core::unmap_pages(room, static_cast<std::size_t>(size));
  }

  team team_;
  MPI_Comm comm_;
  int ranks_ = 1;
  bool shares_memory_ = true;
  std::optional<shared_rings> rings_;  ///< from the first forward() on
  unsigned at_once_ = 0;  ///< number of packets that are not buffered
  packet in_;
  base::pod_vector<std::uint64_t> sent_, received_, expected_;  ///< forward() messages by rank
  std::unique_ptr<packet[]> pending_;  ///< unsent data by rank
  base::pod_vector<std::int32_t> waiting_;  ///< ranks with unsent data
  sending* sendings_ = nullptr;  ///< pending sends, oldest first
  sending* last_ = nullptr;  ///< tail of `sendings_`
  sending* spare_ = nullptr;  ///< completed sends, whose buffers are reused
  unsigned spares_ = 0;  ///< length of `spare_`
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
