#ifndef WHYWAIT_FINALIZE_ONE_PROCESS_HPP
#define WHYWAIT_FINALIZE_ONE_PROCESS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/explain/simulated_transport.hpp>
#include <whywait/finalize/gathered_histories.hpp>
#include <whywait/finalize/mpi_transport.hpp>
#include <whywait/finalize/processor_time.hpp>
#include <whywait/finalize/team.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

// Where ranks outnumber processors, a message between two of them costs a turn of the ranks that share the processor. The
// explanation sends a message per link of a chain of waits; small runs of many such ranks are therefore explained by rank 0
// alone, which reads the records of all.

/// Whether rank 0 explains the run alone. `ranks_here`: on this machine. The same on all ranks. Collective.
/// `watched`: this rank needs more of its waits than their lengths.
inline bool explained_in_one_process(const core::rank_history& own, std::int64_t ranks_here, bool watched, const team& all) {
  constexpr std::int32_t fewest_ranks = 16;
  constexpr std::int64_t most_events = 250'000;  // about 50 MB and half a second
  if (all.size() < fewest_ranks) return false;
  std::int64_t sums[3] = {0, 0, 0};  // events, ranks that cannot send theirs, ranks that share processors
  for (const core::location_history& l : own.locations)
    sums[0] += static_cast<std::int64_t>(l.records.size() + l.steps.size() / 2);
  sums[1] = own.continued || own.continues || !own.code.empty() || watched ? 1 : 0;
  sums[2] = ranks_here > processors_of_machine() ? 1 : 0;
  all.all_reduce(sums, 3, MPI_INT64_T, MPI_SUM);
  return sums[0] <= most_events && sums[1] == 0 && sums[2] != 0;
}

namespace detail {

// The wait of a record.
struct record_wait {
  std::uint32_t location, record;
  std::int64_t wait_ns;
  std::int64_t counted;
};

// Keeps the waits of all ranks until they are sent back.
class waits_by_rank final : public explain::observer {
 public:
  explicit waits_by_rank(std::size_t ranks) : waits_(ranks) {}
  void wait(const explain::wait_instance& w) override {
    waits_[static_cast<std::size_t>(w.rank)].push_back({w.location, w.record, w.wait_ns, w.counted ? 1 : 0});
  }
  base::pod_vector<record_wait>& of(std::int32_t rank) { return waits_[static_cast<std::size_t>(rank)]; }

 private:
  base::vector<base::pod_vector<record_wait>> waits_;
};

// Names the functions of the calls of all ranks: of those that rank 0 made itself, and of the others what their ranks say.
class functions_of_all final : public explain::function_names {
 public:
  /// `own`: borrowed.
  functions_of_all(explain::function_names& own, const base::vector<core::rank_history>& histories, const team& all)
      : own_(&own) {
    base::pod_vector<core::stable_key> unknown;
    for (const core::rank_history& h : histories) {
      for (const core::location_history& l : h.locations) {
        for (const core::stable_key site : l.call_sites) {
          if (own.contains(site)) continue;
          const auto fresh = static_cast<std::uint32_t>(unknown.size());
          if (places_.intern(site, fresh) == fresh) unknown.push_back(site);
        }
      }
    }
    all.share(unknown);
    if (unknown.empty()) return;
    sources_.assign(unknown.size(), {});
    base::packet mine;
    for (std::uint32_t i = 0; all.rank() != 0 && i != unknown.size(); ++i) {
      const explain::source_keys source = own.source_of(unknown[i]);
      if (source.function == 0) continue;
      base::put(mine, i);
      base::put(mine, source);
    }
    all.gather(mine.data(), mine.size(), [this](const unsigned char* data, std::size_t size) {
      for (base::packet_reader in(data, size); !in.empty();) {
        const auto i = in.get<std::uint32_t>();
        sources_[i] = in.get<explain::source_keys>();
      }
    });
  }

  explain::source_keys source_of(core::stable_key site) override {
    const std::uint32_t place = places_.find(site);
    return place != base::key_map::none ? sources_[place] : own_->source_of(site);
  }
  bool contains(core::stable_key site) const override {
    return places_.find(site) != base::key_map::none || own_->contains(site);
  }

 private:
  explain::function_names* own_;
  base::key_map places_;  // index in sources_
  base::pod_vector<explain::source_keys> sources_;
};

}  // namespace detail

/// Explains a run of one epoch on rank 0. The outcome is that of explain::explain_epoch and complete on rank 0; the observer of
/// each rank receives the place and the length of its waits, nothing else of them. Collective.
inline explain::outcome explain_in_one_process(mpi_transport& transport, const core::rank_history& own,
                                               explain::epoch_memory& memory, explain::options settings, const team& all) {
  gathered_histories histories;
  base::packet mine;
  if (all.rank() == 0) histories.add(own);
  else put_history(mine, own);
  all.gather(mine.data(), mine.size(), [&](const unsigned char* data, std::size_t size) { histories.add({data, size}); });
  mine.release();
  std::optional<detail::functions_of_all> functions;
  if (settings.functions != nullptr) functions.emplace(*settings.functions, histories.all(), all);
  explain::observer* const watch = settings.watch;
  explain::outcome found;
  detail::waits_by_rank waits(histories.all().size());
  if (all.rank() == 0) {
    settings.watch = &waits;
    if (functions) settings.functions = &*functions;
    base::vector<explain::epoch_memory> memories(histories.all().size());
    memories[0] = std::move(memory);
    explain::simulated_transport inside(all.size());
    found = explain::explain_epoch(inside, histories.all().data(), memories.data(), memories.size(), settings);
    memory = std::move(memories[0]);
  }
  const auto take = [&](const detail::record_wait* first, std::size_t count) {
    explain::wait_instance w;
    w.rank = own.rank;
    for (std::size_t i = 0; watch != nullptr && i != count; ++i) {
      w.location = first[i].location;
      w.record = first[i].record;
      w.wait_ns = first[i].wait_ns;
      w.counted = first[i].counted != 0;
      watch->wait(w);
    }
  };
  if (all.rank() == 0) take(waits.of(0).data(), waits.of(0).size());
  transport.exchange(
      [&](std::int32_t, auto& to, std::size_t) {
        for (std::int32_t i = 1; all.rank() == 0 && i != all.size(); ++i) {
          base::pod_vector<detail::record_wait>& of = waits.of(i);
          if (of.empty()) continue;
          base::put_all(to(i), of);
          of.release();
        }
      },
      [&](std::int32_t, std::int32_t, const unsigned char* data, std::size_t size) {
        base::pod_vector<detail::record_wait> received;
        base::packet_reader in(data, size);
        base::get_all(in, received);
        take(received.data(), received.size());
      });
  return found;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
