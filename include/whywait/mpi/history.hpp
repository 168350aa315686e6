#ifndef WHYWAIT_MPI_HISTORY_HPP
#define WHYWAIT_MPI_HISTORY_HPP

#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/record/location.hpp>
#include <whywait/report/code_place.hpp>
#include <whywait/report/names.hpp>
#include <whywait/report/symbolise.hpp>
#include <whywait/sync/mpi/state.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What one process recorded, in the words of the explanation: views of its records, and stable keys in place
/// of everything that means something in this process only. Also knows the way back from key to place. Owns
/// nothing of the records; build it when nothing is recorded any more.
class process_history {
 public:
  process_history(const sync::mpi::state& process, const sync::mpi::shared_clock& clock) : process_(process) {
    history_.rank = process.rank;
    history_.ranks = process.size;
    history_.clock = {clock.origin, clock.ns_per_tick, clock.offset_ns};
    history_.begin_ns = history_.clock(process.begin_ticks);
    history_.end_ns = history_.clock(process.closed ? process.closed_ticks : process.end_ticks);
    add_blocks();
    add_communicators();
    add_locations();
  }

  const explain::rank_history& view() const noexcept { return history_; }

  /// Places of those of `keys` that this process knows. Reads debug information: milliseconds.
  report::names names_of(const std::vector<core::stable_key>& keys) const {
    report::names found;
    report::symboliser symbols;
    for (core::stable_key key : keys) {
      const auto known = meanings_.find(key);
      if (known == meanings_.end()) continue;
      if (known->second.thread != nullptr)
        found.add(key, place_of_call(symbols, *known->second.thread, known->second.number));
      else
        found.add(key, place_of_block(known->second.number));
    }
    return found;
  }
  bool knows(core::stable_key key) const { return meanings_.count(key) != 0; }

 private:
  struct meaning {
    const sync::mpi::thread_state* thread;  // null: a block
    std::uint32_t number;                   // of the call site, or of the block
  };

  void add_blocks() {
    const core::site_table& sites = process_.registry->sites;
    history_.blocks.resize(sites.size());
    for (std::uint32_t number = 1; number < sites.size(); ++number) {
      history_.blocks[number] = sites[number].key;
      meanings_.emplace(sites[number].key, meaning{nullptr, number});
    }
  }

  void add_communicators() {
    for (std::uint32_t i = 0; i < process_.communicators.size(); ++i) {
      const sync::mpi::known_communicator& known = process_.communicators[i];
      explain::communicator c;
      c.id = known.id;
      c.size = known.size;
      c.rank = known.rank;
      c.inter = known.inter;
      if (known.world != nullptr) c.world.assign(known.world, known.world + known.size);
      history_.communicators.push_back(std::move(c));
    }
  }

  void add_locations() {
    std::vector<const record::location*> locations(process_.registry->location_count);
    for (const core::location_base* l = process_.registry->locations; l != nullptr; l = l->next)
      if (l->index < locations.size()) locations[l->index] = static_cast<const record::location*>(l);
    for (const record::location* from : locations) {
      explain::location_history location;
      location.thread = static_cast<std::int32_t>(history_.locations.size());
      if (from != nullptr && from->extension[0] != nullptr) {
        location.records = from->syncs.view();
        location.steps = from->steps.view();
        location.needs = from->needs.view();
        add_call_sites(*static_cast<const sync::mpi::thread_state*>(from->extension[0]), location);
      }
      history_.locations.push_back(std::move(location));
    }
  }

  // The key of a call site is made of module and offset, call, and the names of the regions around it.
  void add_call_sites(const sync::mpi::thread_state& thread, explain::location_history& location) {
    const core::site_table& sites = process_.registry->sites;
    for (std::uint32_t number = 0; number < thread.sites.size(); ++number) {
      const sync::mpi::call_site& site = thread.sites[number];
      const report::module_offset code = report::module_offset_of(site.address);
      core::stable_key key = core::combine(core::key_of(code.module), code.offset);
      key = core::combine(key, static_cast<std::uint64_t>(site.call));
      for (std::uint32_t level = 0; level < site.depth; ++level)
        key = core::combine(key, sites[thread.sites.region(site, level)].key);
      location.call_sites.push_back(key);
      meanings_.emplace(key, meaning{&thread, number});
    }
  }

  report::place place_of_call(report::symboliser& symbols, const sync::mpi::thread_state& thread,
                              std::uint32_t number) const {
    const sync::mpi::call_site& site = thread.sites[number];
    std::string region;
    for (std::uint32_t level = 0; level < site.depth; ++level) {
      if (level != 0) region += '/';
      region += process_.registry->sites[thread.sites.region(site, level)].name;
    }
    return report::call_place(symbols.of_call(site.address), core::name_of(site.call), std::move(region));
  }

  report::place place_of_block(std::uint32_t number) const {
    const core::site_info& site = process_.registry->sites[number];
    report::place p;
    p.name = site.name;
    p.kind = site.kind == core::site_kind::step ? "step" : site.kind == core::site_kind::waiting ? "waiting" : "region";
    p.file = site.file;
    p.line = static_cast<int>(site.line);
    return p;
  }

  const sync::mpi::state& process_;
  explain::rank_history history_;
  std::unordered_map<core::stable_key, meaning> meanings_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
