#ifndef WHYWAIT_EXPLAIN_CLOCK_QUESTION_HPP
#define WHYWAIT_EXPLAIN_CLOCK_QUESTION_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The key that stands for the network: all time inside MPI calls, except on files, that is not waiting for others.
constexpr core::stable_key network_key() noexcept { return core::combine(1, 0x6e6574776f726bu); }

/// The key that stands for files: all time in calls on files that is not waiting for others.
constexpr core::stable_key files_key() noexcept { return core::combine(3, 0x6e6574776f726bu); }

/// The key of the network within nodes: calls whose messages, or whose communicator, stay within one node.
constexpr core::stable_key node_network_key() noexcept { return core::combine(2, 0x6e6574776f726bu); }

/// One change of a hypothetical run: `block` takes `factor` times as long (0.5: twice as fast, 0: no time). With `balanced`
/// all threads that run it take equally long in it instead, in each part of the run. With
/// `sends_first` nothing takes another time, but messages are sent before the work in `block` that their sender did since it
/// last received anything; with `polls` as well, calls that complete requests let others go on as if MPI were called all through that
/// work; with `posts` as well, receives are posted ahead of it. With `removed` no rank waits in the call that `block` is.
struct change {
  core::stable_key block = 0;  ///< key of a region, step or derived block, or network_key()
  double factor = 1.0;
  std::int32_t balanced = -1;  ///< number of the question among those about balanced blocks; -1: none
  bool sends_first = false;
  bool removed = false;
  bool polls = false;
  bool posts = false;
};

/// A hypothetical run with all these changes.
struct what_if {
  base::vector<change> changes;
};

/// The predicted run: exact for the recorded matching and order of events; a bound if the program decides by time
/// (wildcards, dynamic scheduling) or if the network is shared.
struct what_if_answer {
  what_if question;
  std::int64_t total_ns = 0;  ///< time of the hypothetical run
  std::int64_t saving_ns = 0;  ///< time of the run without changes minus total_ns
};

/// A thread of a rank.
struct thread_of_rank {
  std::int32_t rank = 0, thread = 0;
  std::int64_t number() const noexcept { return std::int64_t{rank} << 32 | thread; }
  friend bool operator==(thread_of_rank a, thread_of_rank b) noexcept { return a.number() == b.number(); }
};

/// What balancing one block would save, over the ranks that run it, or over their threads if several threads of a rank do.
struct balance_answer {
  core::stable_key block =
      0;  ///< unmarked_key(), a key of unmarked code between two functions after or before a call, or a block
  core::stable_key piece = 0;  ///< the block, or of those that it joins the one of which that rank has most above the mean
  core::stable_key first = 0, second = 0;  ///< call sites around a single piece of unmarked code
  core::stable_key joined = 0;  ///< key of all code between the same functions as that piece; 0: not known
  std::int64_t phase_ns = 0;  ///< time of that thread in all code of the phase of the piece
  core::stable_key phase = 0;  ///< key of all code of its phase (explain::joined_by)
  std::int32_t rank = 0, thread = 0;  ///< the thread that spends most time in it
  std::int32_t ranks = 0;  ///< number of threads that run it: with one thread each, of ranks
  std::int32_t among = 0;  ///< those that share it once balanced: that run it, or all ranks of the run if surely only one does
  std::int32_t pieces = 1;  ///< number of blocks of that thread that it joins
  bool unmarked = false;  ///< code outside any region
  bool after = false;  ///< all unmarked code after one call, to whatever call each rank makes next
  bool before = false;  ///< all unmarked code before one call, from whatever call each rank made before
  bool several = false;  ///< in some epochs another thread spends most time in it
  bool moves = false;  ///< the imbalance lies now here, now there, and evening it out saves clearly more than `saving_ns`
  bool reused = false;  ///< one of its threads has the number of another one that ended before
  bool of_threads = false;  ///< further threads of ranks run it
  bool bounded = false;  ///< `saving_ns` is at most that: all processors are busy then
  bool even = false;  ///< no answer: its rank computes no more than the others from one operation of all ranks to the next
  bool region = false;  ///< marked code; neither: start-up, or inside a call
  std::int64_t most_ns = 0;  ///< time of that thread in it
  std::int64_t second_ns = 0;  ///< of the thread that spends second most time in it
  std::int64_t least_ns = 0;  ///< of the thread that spends least time in it
  std::int64_t sum_ns = 0;  ///< time of all threads in it
  std::int64_t visits = 0;  ///< of all threads
  std::int32_t slow_ranks = 0;  ///< threads that take nearly as long as that one, which is one of them
  thread_of_rank slow[4] = {};  ///< they; of more than four the first three and the last one
  std::int64_t slow_ns = 0;  ///< their time in it
  std::int32_t hardly_ranks = 0;  ///< of `ranks`, threads that run it for less than a twentieth of `most_ns`
  std::int64_t hardly_ns = 0;  ///< their time in it
  std::int64_t others_ns = 0;  ///< if one thread runs it: the most that another one computes
  std::int64_t evened_ns = 0;  ///< the same if it takes all threads equally long in each part of the run: more where it moves
  std::int64_t saving_ns = 0;  ///< wall time: the run would be shorter by this

  /// The order of answers: by saving, but one piece of code before all code around a call that saves hardly more.
  static bool saves_more(const balance_answer& a, const balance_answer& b) noexcept { return a.order_ns() > b.order_ns(); }

 private:
  std::int64_t order_ns() const noexcept { return after || before ? saving_ns - saving_ns / 20 : saving_ns; }
};

/// What it would save to send messages before the work in a block that comes ahead of their sends. All sends move together;
/// those that others wait for most are named, each with the saving of all.
struct earlier_send {
  core::stable_key block = 0;  ///< the work
  core::stable_key send = 0;  ///< call site of the send
  std::int64_t wait_ns = 0;  ///< the waits for this send that the block explains most of
  std::int64_t saving_ns = 0;  ///< wall time: the run would be shorter by this
  core::stable_key group = 0;  ///< of sends that move together: after this work, and from the same calls after other work
};

/// What the run would save if no rank waited in one call.
struct removed_call {
  core::stable_key site = 0;  ///< call site; 0: there is no question about any
  std::int64_t saving_ns = 0;  ///< wall time: the run would be shorter by this
};

/// Two threads of which each waits for the other, and what the run would save if one of them never did.
struct turn_taking {
  core::stable_key one = 0, other = 0;  ///< the call sites in which they wait; 0: there is no question about any
  std::int64_t saving_ns = 0;  ///< wall time: the run would be shorter by this
};

/// The efficiencies of POP (Rosas, Gimenez, Labarta 2014), 0 to 1: parallel = load_balance * communication and
/// communication = serialisation * files * transfer. 0 if nothing was recorded. Useful is all time outside MPI calls.
struct efficiencies {
  double parallel = 0;  ///< mean useful time / time of the run
  double load_balance = 0;  ///< mean useful time / longest useful time
  double communication = 0;  ///< longest useful time / time of the run
  double serialisation = 0;  ///< longest useful time / time of the run on an ideal network, where files cost nothing either
  double transfer = 0;  ///< time of the run on an ideal network / time of the run
  double balance_in_nodes = 0;  ///< largest mean of a node / longest useful time; 0 if no node is known
  double balance_between_nodes = 0;  ///< mean useful time / largest mean of a node; 0 if no node is known
  // transfer = transfer_in_nodes * transfer_between_nodes; both 0 if no node is known
  double transfer_in_nodes = 0;  ///< time of the run if calls within one node cost nothing / time of the run
  double transfer_between_nodes = 0;  ///< time of the run on an ideal network / time if calls within one node cost nothing
  double files =
      0;  ///< time of the run on an ideal network if files cost nothing / if they cost what they did; 1: no calls on files
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
