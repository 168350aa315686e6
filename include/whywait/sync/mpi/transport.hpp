#ifndef WHYWAIT_SYNC_MPI_TRANSPORT_HPP
#define WHYWAIT_SYNC_MPI_TRANSPORT_HPP

#include <whywait/sync/mpi/mpi_header.hpp>

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace sync {

/// Carries the explanation over MPI: one rank per process, PMPI calls only, on a communicator that nobody
/// else uses meanwhile (tags 1 to 3). It knows nothing of what it carries. All members call alike; use from one
/// thread. Errors go to the communicator's error handler.
class mpi_transport {
 public:
  using packet = std::vector<unsigned char>;

  explicit mpi_transport(MPI_Comm comm) : comm_(comm) {
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &ranks_);
  }

  std::int32_t ranks() const noexcept { return ranks_; }
  std::int32_t hosted() const noexcept { return 1; }

  template <class Value>
  std::int64_t minimum(Value&& value) const {
    std::int64_t mine = value(0), least = mine;
    PMPI_Allreduce(&mine, &least, 1, MPI_INT64_T, MPI_MIN, comm_);
    return least;
  }

  /// Rounds of an Alltoall of the sizes and an Alltoallv of the packets, until in one round nobody has sent
  /// anything. Buffers and displacements stay small: a packet is filled up to a share of `round_bytes`.
  template <class Produce, class Consume>
  void exchange(Produce&& produce, Consume&& consume) const {
    const auto both = std::make_pair(&produce, &consume);
    using pointers = std::remove_const_t<decltype(both)>;
    run_exchange(
        &both,
        [](const void* p, outbox& to, std::size_t room) { (*static_cast<const pointers*>(p)->first)(0, to, room); },
        [](const void* p, std::int32_t source, const unsigned char* data, std::size_t size) {
          (*static_cast<const pointers*>(p)->second)(0, source, data, size);
        });
  }

  /// Message driven. What is posted is collected per destination and sent when this rank is stuck, or when
  /// there is enough of it. A rank leaves when it is finished; nothing is then on its way to it.
  template <class Advance, class Receive>
  void forward(Advance&& advance, Receive&& receive) {
    packet in;
    for (;;) {
      const bool finished = advance(0, [this](std::int32_t to, const packet& data) { post(to, data); });
      flush();
      if (finished) break;
      MPI_Status status;
      wait_for_message(status);
      for (int more = 1; more != 0;) {
        int size = 0;
        PMPI_Get_count(&status, MPI_BYTE, &size);
        in.resize(static_cast<std::size_t>(size));
        PMPI_Recv(in.data(), size, MPI_BYTE, status.MPI_SOURCE, forward_tag, comm_, MPI_STATUS_IGNORE);
        receive(0, status.MPI_SOURCE, in.data(), in.size());
        PMPI_Iprobe(MPI_ANY_SOURCE, forward_tag, comm_, &more, &status);
      }
    }
    for (sending& s : sendings_) PMPI_Wait(&s.request, MPI_STATUS_IGNORE);
    sendings_.clear();
    pending_.clear();
  }

  template <class Pack, class Merge>
  void reduce(Pack&& pack, Merge&& merge) const {
    for (std::int64_t step = 1; step < ranks_; step *= 2) {
      if (rank_ % (2 * step) == step) {
        const packet data = pack(0);
        send_large(static_cast<int>(rank_ - step), data);
        return;
      }
      if (rank_ + step < ranks_) {
        const packet data = receive_large(static_cast<int>(rank_ + step));
        merge(0, data.data(), data.size());
      }
    }
  }

  template <class Pack, class Take>
  void broadcast(Pack&& pack, Take&& take) const {
    packet data;
    if (rank_ == 0) data = pack(0);
    std::uint64_t size = data.size();
    PMPI_Bcast(&size, 1, MPI_UINT64_T, 0, comm_);
    data.resize(size);
    for (std::uint64_t done = 0; done < size; done += round_bytes) {
      PMPI_Bcast(data.data() + done, static_cast<int>(std::min(size - done, round_bytes)), MPI_BYTE, 0, comm_);
    }
    take(0, data.data(), data.size());
  }

 private:
  static constexpr std::uint64_t round_bytes = std::uint64_t{2} << 20;
  static constexpr std::size_t flush_bytes = 16 << 10;
  static constexpr int forward_tag = 1, size_tag = 2, data_tag = 3;

  // The packets of one round, by rank.
  struct outbox {
    std::vector<packet> packets;
    packet& operator()(std::int32_t to) { return packets[static_cast<std::size_t>(to)]; }
  };

  // Compiled once for all exchanges.
  void run_exchange(const void* both, void (*produce)(const void*, outbox&, std::size_t),
                    void (*consume)(const void*, std::int32_t, const unsigned char*, std::size_t)) const {
    const auto n = static_cast<std::size_t>(ranks_);
    const std::size_t room = std::max(static_cast<std::size_t>(round_bytes) / n, std::size_t{2048});
    outbox out;
    out.packets.resize(n);
    std::vector<int> out_count(n), in_count(n), out_at(n), in_at(n);
    std::vector<std::uint32_t> out_said(n), in_said(n);
    packet out_round, in_round;
    for (;;) {
      produce(both, out, room);
      std::size_t out_sum = 0;
      for (std::size_t i = 0; i != n; ++i) {
        out_at[i] = static_cast<int>(out_sum);
        out_count[i] = static_cast<int>(out.packets[i].size());
        out_sum += out.packets[i].size();
      }
      out_round.resize(out_sum);
      // Beside the size everybody hears whether anything was sent to anybody.
      const std::uint32_t anything = out_sum == 0 ? 0 : 1;
      for (std::size_t i = 0; i != n; ++i) {
        packet& p = out.packets[i];
        out_said[i] = static_cast<std::uint32_t>(p.size()) * 2 + anything;
        if (!p.empty()) std::memcpy(out_round.data() + out_at[i], p.data(), p.size());
        p.clear();
      }
      PMPI_Alltoall(out_said.data(), 1, MPI_UINT32_T, in_said.data(), 1, MPI_UINT32_T, comm_);
      std::size_t in_sum = 0;
      std::uint32_t more = 0;
      for (std::size_t i = 0; i != n; ++i) {
        more |= in_said[i] & 1;
        in_at[i] = static_cast<int>(in_sum);
        in_count[i] = static_cast<int>(in_said[i] / 2);
        in_sum += in_said[i] / 2;
      }
      if (more == 0) return;
      in_round.resize(in_sum);
      PMPI_Alltoallv(out_round.data(), out_count.data(), out_at.data(), MPI_BYTE, in_round.data(), in_count.data(),
                     in_at.data(), MPI_BYTE, comm_);
      for (std::size_t i = 0; i != n; ++i) {
        const auto size = static_cast<std::size_t>(in_count[i]);
        if (size != 0) consume(both, static_cast<std::int32_t>(i), in_round.data() + in_at[i], size);
      }
    }
  }

  struct sending {
    MPI_Request request = MPI_REQUEST_NULL;
    packet data;
  };

  void post(std::int32_t to, const packet& data) {
    packet& out = pending_[to];
    out.insert(out.end(), data.begin(), data.end());
    if (out.size() >= flush_bytes) send(to, out);
  }

  void flush() {
    for (auto& out : pending_) {
      if (!out.second.empty()) send(out.first, out.second);
    }
  }

  void send(std::int32_t to, packet& out) {
    // Reuse the buffers of sends that are over; small ones are so at once.
    while (!sendings_.empty()) {
      int over = 0;
      PMPI_Test(&sendings_.front().request, &over, MPI_STATUS_IGNORE);
      if (over == 0) break;
      if (spare_.size() < 16) spare_.push_back(std::move(sendings_.front().data));
      sendings_.pop_front();
    }
    sendings_.emplace_back();
    sending& s = sendings_.back();
    s.data.swap(out);
    if (!spare_.empty()) {
      out.swap(spare_.back());
      spare_.pop_back();
    }
    out.clear();
    PMPI_Isend(s.data.data(), static_cast<int>(s.data.size()), MPI_BYTE, to, forward_tag, comm_, &s.request);
  }

  // Gives the processor away after a while: more ranks than processors is common, and not every MPI yields.
  void wait_for_message(MPI_Status& status) const {
    int there = 0;
    for (unsigned tries = 0; there == 0; ++tries) {
      PMPI_Iprobe(MPI_ANY_SOURCE, forward_tag, comm_, &there, &status);
      if (there == 0 && tries > 200) sched_yield();
    }
  }

  void send_large(int to, const packet& data) const {
    const std::uint64_t size = data.size();
    PMPI_Send(&size, 1, MPI_UINT64_T, to, size_tag, comm_);
    for (std::uint64_t done = 0; done < size; done += round_bytes) {
      PMPI_Send(data.data() + done, static_cast<int>(std::min(size - done, round_bytes)), MPI_BYTE, to, data_tag,
                comm_);
    }
  }

  packet receive_large(int from) const {
    std::uint64_t size = 0;
    PMPI_Recv(&size, 1, MPI_UINT64_T, from, size_tag, comm_, MPI_STATUS_IGNORE);
    packet data(size);
    for (std::uint64_t done = 0; done < size; done += round_bytes) {
      PMPI_Recv(data.data() + done, static_cast<int>(std::min(size - done, round_bytes)), MPI_BYTE, from, data_tag,
                comm_, MPI_STATUS_IGNORE);
    }
    return data;
  }

  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
  std::unordered_map<std::int32_t, packet> pending_;
  std::deque<sending> sendings_;
  std::vector<packet> spare_;
};

}  // namespace sync
}  // namespace v0
}  // namespace whywait

#endif
