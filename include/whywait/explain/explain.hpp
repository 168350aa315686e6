#ifndef WHYWAIT_EXPLAIN_EXPLAIN_HPP
#define WHYWAIT_EXPLAIN_EXPLAIN_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/engine.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

namespace detail {

// Whether all ranks together have far more blocks and call sites than any of them. Then one numbering for all would make
// the profile of each as long as what all others ran.
inline bool little_in_common(const rank_history* histories, std::size_t count) {
  base::key_map all;
  std::size_t most = 0;
  for (std::size_t i = 0; i != count; ++i) {
    std::size_t mine = 0;
    const auto take = [&](const std::vector<core::stable_key>& keys) {
      for (const core::stable_key key : keys) {
        if (key != 0) all.intern(key, 0);
      }
      mine += keys.size();
    };
    take(histories[i].blocks);
    for (const location_history& l : histories[i].locations) take(l.call_sites);
    most = std::max(most, mine);
  }
  return all.size() > 2 * most + 64;
}

inline outcome explain_over(transport_calls& transport, const rank_history* histories, std::size_t count,
                                          const options& settings, epoch_memory* memories) {
  forward_scratch scratch;  // first: its memory pool outlives what takes from it
  const std::unique_ptr<run_clocks> clocks =
      settings.clocks == nullptr ? nullptr : settings.clocks(histories, count, settings, scratch.merging.memory);
  shape_leaders none;
  merge_book merging(settings, count, count == 0 ? none : memories[0].leaders, scratch.merging);
  rank_engine::scratch first_pass;
  base::vector<rank_engine> engines;
  engines.reserve(count);
  if (count > 1 && !histories[0].continued) memories[0].own_blocks = little_in_common(histories, count);
  for (std::size_t i = 0; i != count; ++i) {
    engines.emplace_back(histories[i], settings, clocks == nullptr ? nullptr : &clocks->of(i), memories[i],
                         memories[memories[0].own_blocks ? i : 0].blocks, scratch);
  }
  const auto at = [&engines](std::int32_t i) -> rank_engine& { return engines[static_cast<std::size_t>(i)]; };

  const std::int64_t earliest_ns =
      transport.minimum([&](std::int32_t i) { return histories[static_cast<std::size_t>(i)].begin_ns; });
  for (std::size_t i = 0; i != count; ++i) engines[i].observe(first_pass);
  const auto hear = [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
    at(i).hear(source, data, size);
  };
  transport.exchange([&](std::int32_t i, outbox_call to, std::size_t room) { at(i).announce(to, room); }, hear);
  transport.exchange([&](std::int32_t i, outbox_call to, std::size_t) { at(i).conclude(to); }, hear);
  for (std::size_t i = 0; i != count; ++i) engines[i].decide(earliest_ns, first_pass);
  first_pass = {};
  transport.exchange([&](std::int32_t i, outbox_call to, std::size_t room) { at(i).forward().request(to, room); },
                     [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
                       at(i).forward().take_requests(source, base::packet_reader(data, size));
                     });
  transport.exchange([&](std::int32_t i, outbox_call to, std::size_t room) { at(i).forward().promise(to, room); },
                     [&](std::int32_t i, std::int32_t, const unsigned char* data, std::size_t size) {
                       at(i).forward().take_promises(base::packet_reader(data, size));
                     });
  // Where a process hosts many ranks, each goes on to its classes at once, while it is in the cache.
  transport.forward(
      [&](std::int32_t i, post_call post) {
        if (at(i).finished()) return true;
        const bool all = at(i).forward().advance(post);
        if (all && count > 1) at(i).finish(merging, static_cast<std::size_t>(i));
        return all;
      },
      [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
        if (!at(i).finished()) at(i).forward().receive(source, data, size);
      },
      [&](std::int32_t i, int step) { at(i).prefetch(step); }, rank_engine::prefetch_steps);
  for (std::size_t i = 0; i != count; ++i) {
    if (!engines[i].finished()) engines[i].finish(merging, i);
  }

  if (clocks != nullptr) clocks->charge_delays(transport);
  for (std::uint32_t round = 0; round != settings.classes_per_key; ++round) {
    merging.propose();
    transport.reduce([&](std::int32_t) { return merging.pack(); },
                     [&](std::int32_t, const unsigned char* data, std::size_t size) { merging.merge(data, size); });
    base::packet leaders;
    transport.broadcast([&](std::int32_t) { return merging.pack(); },
                        [&](std::int32_t i, const unsigned char* data, std::size_t size) {
                          if (i == 0) leaders.assign(data, data + size);  // the same for all
                        });
    if (leaders.empty()) break;
    merging.settle(leaders);
  }
  merging.close();
  for (std::size_t i = 0; i != count; ++i) engines[i].sum_classes();
  transport.reduce(
      [&](std::int32_t i) { return at(i).pack_result(); },
      [&](std::int32_t i, const unsigned char* data, std::size_t size) { at(i).merge_result(data, size); });
  if (clocks != nullptr) clocks->turn(transport, earliest_ns);
  if (count == 0) return {};
  return histories[0].rank == 0 ? engines[0].present_result() : engines[0].totals();
}

}  // namespace detail

/// Says why the ranks waited: the one entry point of the room. Collective over the ranks of the transport,
/// each of which brings the histories of the `count` ranks it hosts (1 under MPI, all in a simulation). The
/// result is complete where rank 0 is hosted, elsewhere it holds the totals of the ranks below in the tree.
/// All ranks pass the same options. Four exchanges, one forward pass, one reduction; no rank sees the
/// records of another. About 1 us per wait; a chain of waits through several ranks costs one message latency
/// each, waits of two ranks for each other in turn do not. Throws
/// std::bad_alloc, std::invalid_argument (wrong number of histories) and what the transport throws.
///
/// A transport hosts `hosted()` ranks of `ranks()`, in the order of their numbers, and offers
///   minimum(value(i))                     smallest value over all ranks
///   exchange(produce(i, to, room), consume(i, source, data, size))   in rounds, until all have nothing to say:
///                                         to(rank) is the empty packet for that rank, to be filled up to about
///                                         `room` bytes; what was consumed may lead to more in the next round
///   forward(advance(i, post) -> finished, receive(i, source, data, size))   until all are finished
///                                         with many ranks it may take prefetch(i, step) and the number of steps, too:
///                                         see transport_calls.hpp
///   reduce(pack(i), merge(i, data, size)) binomial tree to rank 0
///   broadcast(pack(i) on rank 0, take(i, data, size) on all)
template <class Transport>
outcome explain(Transport& transport, const rank_history* histories, std::size_t count, const options& settings = {}) {
  if (count != static_cast<std::size_t>(transport.hosted())) {
    throw std::invalid_argument("whywait-X002: the transport hosts another number of ranks");
  }
  transport_calls_of<Transport> calls(transport);
  base::vector<epoch_memory> memories(count);
  return detail::explain_over(calls, histories, count, settings, memories.data());
}

/// The same for one epoch of a longer run: `rank_history::continues` and `continued` say where it lies, `memories` (one
/// for each history, fresh before the first epoch) hold what was before. The result is that of all epochs so far.
template <class Transport>
outcome explain_epoch(Transport& transport, const rank_history* histories, epoch_memory* memories, std::size_t count,
                      const options& settings = {}) {
  if (count != static_cast<std::size_t>(transport.hosted())) {
    throw std::invalid_argument("whywait-X002: the transport hosts another number of ranks");
  }
  transport_calls_of<Transport> calls(transport);
  return detail::explain_over(calls, histories, count, settings, memories);
}

/// `explain` for the usual case of one rank per process.
template <class Transport>
outcome explain(Transport& transport, const rank_history& history, const options& settings = {}) {
  return explain(transport, &history, 1, settings);
}

/// The same for all ranks of a simulation, in the order of their numbers.
template <class Transport>
outcome explain(Transport& transport, const base::vector<rank_history>& histories, const options& settings = {}) {
  return explain(transport, histories.data(), histories.size(), settings);
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
