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

namespace whywait {
inline namespace v0 {
namespace explain {

namespace detail {

// The votes of all ranks, and of earlier epochs.
inline void learn_progress(transport_calls& transport, base::vector<rank_engine>& engines, const options& settings,
                           epoch_memory* memories, rank_engine::scratch& first_pass) {
  const auto at = [&engines](std::int32_t i) -> rank_engine& { return engines[static_cast<std::size_t>(i)]; };
  const auto exchange = [&] {
    transport.exchange([&](std::int32_t i, outbox_call to, std::size_t room) { at(i).send_progress(to, room); },
                       [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
                         at(i).receive_progress(source, data, size);
                       });
  };
  for (rank_engine& e : engines) e.find_blocked(first_pass);
  exchange();
  progress_votes epoch;
  for (rank_engine& e : engines) e.count_progress(epoch);
  const auto packed = [](const progress_votes& votes) {
    base::packet out;
    put(out, votes);
    return out;
  };
  transport.reduce([&](std::int32_t i) { return i == 0 ? packed(epoch) : base::packet(); },
                   [&](std::int32_t, const unsigned char* data, std::size_t size) {
                     if (size != 0) epoch.add(base::packet_reader(data, size).get<progress_votes>());
                   });
  transport.broadcast(
      [&](std::int32_t) {
        if (memories[0].progress != nullptr) epoch.add(*memories[0].progress);
        return packed(epoch);
      },
      [&](std::int32_t, const unsigned char* data, std::size_t size) {
        epoch = base::packet_reader(data, size).get<progress_votes>();
      });
  if (engines.empty()) return;
  memories[0].progress.reset(new progress_votes(epoch));
  for (rank_engine& e : engines) e.add_progress_waits(*memories[0].progress);
  if (settings.clocks != nullptr && epoch.any()) exchange();
}

inline outcome explain_over(transport_calls& transport, const rank_history* histories, std::size_t count,
                            const options& settings, epoch_memory* memories) {
  forward_scratch scratch;  // declared first, because its memory pool must outlive all lists that use it
  const std::unique_ptr<run_clocks> clocks =
      settings.clocks == nullptr ? nullptr : settings.clocks(histories, count, settings, scratch.merging.memory);
  shape_leaders none;
  class_merger merging(settings, count, count == 0 ? none : memories[0].leaders, scratch.merging);
  rank_engine::scratch first_pass;
  base::vector<rank_engine> engines;
  engines.reserve(count);
  for (std::size_t i = 0; i != count; ++i) {
    engines.emplace_back(histories[i], settings, clocks == nullptr ? nullptr : &clocks->of(i), memories[i], scratch);
  }
  const auto at = [&engines](std::int32_t i) -> rank_engine& { return engines[static_cast<std::size_t>(i)]; };

  const std::int64_t earliest_ns =
      transport.minimum([&](std::int32_t i) { return histories[static_cast<std::size_t>(i)].begin_ns; });
  for (std::size_t i = 0; i != count; ++i) engines[i].read_records(first_pass);
  const auto receive_postings = [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
    at(i).receive_postings(source, data, size);
  };
  transport.exchange([&](std::int32_t i, outbox_call to, std::size_t room) { at(i).send_postings(to, room); },
                     receive_postings);
  transport.exchange([&](std::int32_t i, outbox_call to, std::size_t) { at(i).send_remaining_answers(to); }, receive_postings);
  learn_progress(transport, engines, settings, memories, first_pass);
  for (std::size_t i = 0; i != count; ++i) engines[i].decide_arrivals(earliest_ns, first_pass);
  first_pass = {};
  transport.exchange(
      [&](std::int32_t i, outbox_call to, std::size_t room) { at(i).forward().send_snapshot_requests(to, room); },
      [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
        at(i).forward().receive_snapshot_requests(source, base::packet_reader(data, size));
      });
  transport.exchange([&](std::int32_t i, outbox_call to, std::size_t room) { at(i).forward().send_base_records(to, room); },
                     [&](std::int32_t i, std::int32_t, const unsigned char* data, std::size_t size) {
                       at(i).forward().receive_base_records(base::packet_reader(data, size));
                     });
  transport.forward([&](std::int32_t i, post_call post) { return at(i).forward().advance(post); },
                    [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
                      at(i).forward().receive_snapshots(source, data, size);
                    });
  if (settings.maps)
    reduce_maps(
        transport, count, [&](std::size_t i) -> map_stage& { return engines[i].maps(); },
        count == 0 ? base::pod_vector<core::stable_key>() : memories[0].sums.maps.blocks, scratch.merging.memory);
  for (std::size_t i = 0; i != count; ++i) engines[i].hand_over_classes(merging, i);

  if (clocks != nullptr) clocks->compute_delay_costs(transport);
  for (std::uint32_t round = 0; round != settings.classes_per_key; ++round) {
    merging.propose_leaders();
    transport.reduce([&](std::int32_t) { return merging.take_proposals(); },
                     [&](std::int32_t, const unsigned char* data, std::size_t size) { merging.merge_proposals(data, size); });
    base::packet leaders;
    transport.broadcast([&](std::int32_t) { return merging.take_proposals(); },
                        [&](std::int32_t i, const unsigned char* data, std::size_t size) {
                          if (i == 0) leaders.assign(data, data + size);  // all ranks receive the same leaders
                        });
    if (leaders.empty()) break;
    merging.join_leaders(leaders);
  }
  merging.finish_rounds();
  for (std::size_t i = 0; i != count; ++i) engines[i].place_clock_classes();
  transport.reduce([&](std::int32_t i) { return at(i).pack_result(); },
                   [&](std::int32_t i, const unsigned char* data, std::size_t size) { at(i).merge_result(data, size); });
  if (clocks != nullptr) clocks->answer_questions(transport, earliest_ns);
  if (count == 0) return {};
  return histories[0].rank == 0 ? engines[0].present_result() : engines[0].take_totals();
}

}  // namespace detail

/// Explains why the ranks waited: the entry point of the room. Collective over the ranks of the transport. Each process
/// passes the histories of the `count` ranks that it hosts: 1 under MPI, all ranks in a simulation. The result is
/// complete where rank 0 is hosted; elsewhere it holds the totals of the ranks below in the reduction tree. All ranks
/// must pass the same options. No rank sees the records of another; engine.hpp lists the messages between them.
///
/// Cost: about 1 us per wait. A chain of waits through several ranks costs one message latency per link; waits of two
/// ranks for each other in turn do not. Throws std::bad_alloc, std::invalid_argument (wrong number of histories) and
/// whatever the transport throws.
///
/// A transport hosts `hosted()` of `ranks()` ranks, in the order of their numbers, and offers
///    minimum(value(i))                     smallest value over all ranks
///    exchange(produce(i, to, room), consume(i, source, data, size))   in rounds, until no rank produces anything:
///                                          to(rank) is the packet for that rank, empty at first, to be filled up to
///                                          about `room` bytes; consumed data may cause more packets in the next round
///    forward(advance(i, post) -> finished, receive(i, source, data, size))   until all ranks are finished
///    reduce(pack(i), merge(i, data, size)) binomial tree to rank 0
///    broadcast(pack(i) on rank 0, take(i, data, size) on all)
template <class Transport>
outcome explain(Transport& transport, const rank_history* histories, std::size_t count, const options& settings = {}) {
  if (count != static_cast<std::size_t>(transport.hosted())) {
    throw std::invalid_argument("whywait-X002: the transport hosts another number of ranks");
  }
  transport_calls_of<Transport> calls(transport);
  base::vector<epoch_memory> memories(count);
  return detail::explain_over(calls, histories, count, settings, memories.data());
}

/// Explains one epoch of a longer run, delimited by `rank_history::continues` and `continued`. `memories` holds what
/// earlier epochs left, one element per history, default-constructed before the first epoch. Returns the result of all
/// epochs so far.
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

/// `explain` for all ranks of a simulation, in the order of their numbers.
template <class Transport>
outcome explain(Transport& transport, const base::vector<rank_history>& histories, const options& settings = {}) {
  return explain(transport, histories.data(), histories.size(), settings);
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
