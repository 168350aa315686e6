#ifndef WHYWAIT_FINALIZE_TEAM_HPP
#define WHYWAIT_FINALIZE_TEAM_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/mpi/complete.hpp>
#include <whywait/mpi/failure.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace finalize {

using mpi::backoff;
using mpi::complete;

/// Thrown on all ranks of a team when one of them has failed. what() is, for example, "rank 3: std::bad_alloc".
class peer_failed : public std::exception {
 public:
  peer_failed(MPI_Comm team, const mpi::failure& why) noexcept : why_(why), team_(team) {}
  const char* what() const noexcept override { return why_.text; }
  const mpi::failure& why() const noexcept { return why_; }
  bool known_to(MPI_Comm team) const noexcept { return team_ == team; }

 private:
  mpi::failure why_;
  MPI_Comm team_;
};

/// A group of ranks that analyse together without deadlock after a failure. Each operation begins with an agreement,
/// which is always the same small reduction. The code between two agreements makes MPI calls only and cannot run out of
/// our memory. A rank that fails anywhere therefore takes part in the next agreement of the others, whatever operation
/// they begin. Then all ranks throw peer_failed, and no message is pending. All members are collective over the
/// communicator (tags 2 and 3) unless documented otherwise, make PMPI calls only, and are called from one thread.
class team {
 public:
  using packet = base::pod_vector<unsigned char>;

  /// `comm` is reserved for this team, and its error handler returns. `name` is this rank in MPI_COMM_WORLD if it
  /// differs.
  team(MPI_Comm comm, std::int32_t name = -1) noexcept : comm_(comm) {
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &size_);
    name_ = name < 0 ? rank_ : name;
  }

  MPI_Comm comm() const noexcept { return comm_; }
  std::int32_t rank() const noexcept { return rank_; }
  std::int32_t size() const noexcept { return size_; }
  std::int32_t name() const noexcept { return name_; }
  /// Converts an exception into a message that can be sent to other ranks. Local.
  mpi::failure failure_of(const std::exception& what) const noexcept { return mpi::failure::of(name_, what.what()); }

  /// Runs `body` on all ranks. Either all of them return from it, or all throw peer_failed.
  template <class Body>
  void together(Body&& body) const {
    try {
      body();
      agree();
    } catch (const peer_failed& failed) {
      if (failed.known_to(comm_)) throw;
      throw peer_failed(comm_, compare(failed.why()));  // the failure was reported to a subset of these ranks
    } catch (const std::exception& problem) {
      throw peer_failed(comm_, compare(failure_of(problem)));
    }
  }

  /// Throws peer_failed if any rank has failed; otherwise returns the maximum of all words.
  std::int64_t agree(std::int64_t word = 0) const {
    const mpi::failure first = compare({}, &word);
    if (first) throw peer_failed(comm_, first);
    return word;
  }

  /// The agreement itself. Returns the failure of the lowest failed rank; `word` becomes the maximum of all words. The
  /// values are signed, because MPI_MAX of MPICH 4.0 treats unsigned ones as signed.
  mpi::failure compare(const mpi::failure& mine, std::int64_t* word = nullptr) const noexcept {
    const std::int64_t own[2] = {mine ? size_ - rank_ : 0, word != nullptr ? *word : 0};
    std::int64_t largest[2] = {0, 0};
    if (size_ == 1) return mine;
    MPI_Request request = MPI_REQUEST_NULL;
    if (PMPI_Iallreduce(own, largest, 2, MPI_INT64_T, MPI_MAX, comm_, &request) != MPI_SUCCESS)
      return mpi::failure::of(name_, "MPI cannot compare ranks");
    complete(request);
    if (word != nullptr) *word = largest[1];
    if (largest[0] == 0) return {};
    const int root = size_ - static_cast<int>(largest[0]);
    mpi::failure first = mine;
    broadcast_piece(&first, sizeof first, root);
    return first;
  }

  /// The lowest rank on which `here` is true; -1 if there is none.
  std::int32_t lowest_of(bool here) const {
    const std::int64_t distance = agree(here ? size_ - rank_ : 0);
    return distance == 0 ? -1 : size_ - static_cast<std::int32_t>(distance);
  }

  /// MPI_Allreduce in place.
  void all_reduce(void* values, int count, MPI_Datatype type, MPI_Op op) const {
    agree();
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Iallreduce(MPI_IN_PLACE, values, count, type, op, comm_, &request);
    complete(request);
  }

  /// Copies the bytes of rank `from` to all ranks.
  void broadcast(void* bytes, std::uint64_t size, int from = 0) const {
    agree();
    for (std::uint64_t done = 0; done < size; done += round_bytes)
      broadcast_piece(static_cast<unsigned char*>(bytes) + done, std::min(size - done, round_bytes), from);
  }

  /// Copies the vector or string of rank 0 to all ranks.
  template <class Container>
  void share(Container& values) const {
    const auto count = static_cast<std::uint64_t>(agree(rank_ == 0 ? static_cast<std::int64_t>(values.size()) : 0));
    values.resize(static_cast<std::size_t>(count));
    if (count != 0) broadcast(&values[0], count * sizeof values[0]);
  }

  /// Calls take(data, size) on rank 0 for the bytes of each other rank, in rank order, skipping empty ones. Rank 0
  /// buffers the bytes of one rank at a time.
  template <class Take>
  void gather(const void* bytes, std::uint64_t size, Take&& take) const {
    run_gather(bytes, size, {&take, nullptr, &take_with<Take>});
  }

  /// Reduction over a binomial tree to rank 0. pack() returns the packet for the parent; merge(data, size) adds the
  /// packet of a child.
  template <class Pack, class Merge>
  void reduce(Pack&& pack, Merge&& merge) const {
    auto both = std::make_pair(&pack, &merge);
    using pointers = decltype(both);
    run_reduce(
        {&both, [](void* p) { return packet((*static_cast<pointers*>(p)->first)()); },
         [](void* p, const unsigned char* data, std::size_t size) { (*static_cast<pointers*>(p)->second)(data, size); }});
  }

  /// Reduction of lists of plain values to rank 0: after each child's list was appended, join() may shorten the list.
  template <class List, class Join>
  void reduce_list(List& list, Join&& join) const {
    using element = typename List::value_type;
    static_assert(std::is_trivially_copyable<element>::value, "sent as bytes");
    reduce(
        [&list] {
          const auto* const bytes = reinterpret_cast<const unsigned char*>(list.data());
          return packet(bytes, bytes + list.size() * sizeof(element));
        },
        [&list, &join](const unsigned char* data, std::size_t size) {
          const std::size_t before = list.size();
          list.resize(before + size / sizeof(element));
          std::memcpy(list.data() + before, data, size);
          join();
        });
  }

  /// Messages are sent and received in pieces of this size.
  static constexpr std::uint64_t round_bytes = std::uint64_t{2} << 20;

 private:
  static constexpr int size_tag = 2, data_tag = 3;

  // Type-erased callbacks, so that the operations are compiled once.
  struct handler {
    void* self;
    packet (*pack)(void*);
    void (*take)(void*, const unsigned char*, std::size_t);
  };
  template <class Take>
  static void take_with(void* take, const unsigned char* data, std::size_t size) {
    (*static_cast<std::remove_reference_t<Take>*>(take))(data, size);
  }

  void run_gather(const void* bytes, std::uint64_t size, const handler& all) const {
    base::pod_vector<std::uint64_t> sizes(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
    receiving from(*this, all, rank_ == 0 && size_ > 1);
    agree();
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Igather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, 0, comm_, &request);
    complete(request);
    if (rank_ != 0) return send(0, bytes, size);
    for (int peer = 1; peer < size_; ++peer) from.take(peer, sizes[static_cast<std::size_t>(peer)]);
    from.finish();
  }

  void run_reduce(const handler& all) const {
    receiving from(*this, all, size_ > 1);
    agree();
    for (std::int64_t step = 1; step < size_; step *= 2) {
      std::uint64_t bytes = 0;
      if (rank_ % (2 * step) == step) {
        const packet data = from.pack();
        bytes = data.size();
        send_piece(static_cast<int>(rank_ - step), size_tag, &bytes, sizeof bytes);
        send(static_cast<int>(rank_ - step), data.data(), bytes);
        break;
      }
      if (rank_ + step >= size_) continue;
      receive_piece(static_cast<int>(rank_ + step), size_tag, &bytes, sizeof bytes);
      from.take(static_cast<int>(rank_ + step), bytes);
    }
    from.finish();
    agree();  // no rank continues with a partial sum
  }

  // Receives data that peers are already sending. After a local failure the rest is received into a buffer and dropped.
  // The buffer is allocated in advance; its pages stay untouched until used.
  class receiving {
   public:
    receiving(const team& all, const handler& calls, bool any)
        : all_(all), calls_(calls), dropped_(any ? new unsigned char[round_bytes] : nullptr) {}

    void take(int peer, std::uint64_t size) {
      if (size == 0) return;
      unsigned char* to = nullptr;
      attempt([&] {
        data_.resize(static_cast<std::size_t>(size));
        to = data_.data();
      });
      for (std::uint64_t done = 0; done < size; done += round_bytes)
        all_.receive_piece(peer, data_tag, to != nullptr ? to + done : dropped_.get(), std::min(size - done, round_bytes));
      attempt([&] { calls_.take(calls_.self, to, static_cast<std::size_t>(size)); });
    }
    packet pack() {
      packet data;
      attempt([&] { data = calls_.pack(calls_.self); });
      return data;
    }
    void finish() const {
      if (problem_ != nullptr) std::rethrow_exception(problem_);
    }

   private:
    template <class Function>
    void attempt(Function&& function) {
      if (problem_ != nullptr) return;
      try {
        function();
      } catch (const std::exception&) {
        problem_ = std::current_exception();
      }
    }

    const team& all_;
    const handler& calls_;
    std::unique_ptr<unsigned char[]> dropped_;
    packet data_;
    std::exception_ptr problem_;
  };

  void send(int to, const void* bytes, std::uint64_t size) const {
    for (std::uint64_t done = 0; done < size; done += round_bytes)
      send_piece(to, data_tag, static_cast<const unsigned char*>(bytes) + done, std::min(size - done, round_bytes));
  }

  void send_piece(int to, int tag, const void* bytes, std::uint64_t size) const noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, tag, comm_, &request);
    complete(request);
  }
  void receive_piece(int from, int tag, void* bytes, std::uint64_t size) const noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, from, tag, comm_, &request);
    complete(request);
  }
  void broadcast_piece(void* bytes, std::uint64_t size, int from) const noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Ibcast(bytes, static_cast<int>(size), MPI_BYTE, from, comm_, &request);
    complete(request);
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::int32_t name_ = 0;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
