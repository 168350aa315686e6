#ifndef WHYWAIT_DATA_FINALIZE_COMMUNICATION_ANALYSIS_HPP
#define WHYWAIT_DATA_FINALIZE_COMMUNICATION_ANALYSIS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/classify.hpp>
#include <whywait/data/analysis/examine.hpp>
#include <whywait/data/analysis/page_book.hpp>
#include <whywait/data/analysis/sharing_merge.hpp>
#include <whywait/data/finalize/data_facts_of.hpp>
#include <whywait/data/finalize/data_history.hpp>
#include <whywait/data/finalize/node_sharing.hpp>
#include <whywait/data/finalize/thread_sharing.hpp>
#include <whywait/data/report/communication_assemble.hpp>
#include <whywait/data/report/communication_section.hpp>
#include <whywait/explain/wait_list.hpp>
#include <whywait/finalize/data_analysis.hpp>
#include <whywait/finalize/mpi_transport.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/process_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// Why data was sent, where it is and which ranks share it: from the data records of the ranks to classes, placements and
/// sharing, then to names, then to the section of the report. Epoch by epoch; its memory is bounded by arrays, classes and
/// loops.
class communication_analysis final : public finalize::data_analysis {
 public:
  explicit communication_analysis(mpi::state& process)
      : process_(process),
        team_(process.tool_comm),
        history_(process.rank, process.size),
        classes_(history_.data()),
        footprints_(history_.data()) {}

  explain::observer* begin(const explain::rank_history& epoch) override {
    history_.take(*process_.registry, epoch, &memory_of_window, &process_);
    epoch_ = &epoch;
    over_ = !epoch.continues;
    waits_ = std::make_unique<explain::wait_list>(epoch);
    return waits_.get();
  }

  void fold(bool lossy) override {
    add_waits();
    finalize::mpi_transport transport(team_);
    data::follow(transport, {&classes_});
    footprints_.take_all();
    // Each process by itself; the same arrays of all come together in the result. What ranks share is looked at apart, with the
    // threads of each as one.
    threads_.take(*process_.registry, history_.data(), over_);
    nodes_.fold(history_.data(), *epoch_, team_);
    history_.forget(*process_.registry);
    waits_.reset();
    epoch_ = nullptr;
    if (!lossy) return;
    classes_.restart_orders();
    history_.restart_orders();
  }

  std::shared_ptr<const reports::section> result(finalize::name_gatherer gather, const finalize::process_names& history,
                                                 base::vector<std::string>& warnings,
                                                 const rules::data_facts*& facts) override {
    const std::int32_t rank = process_.rank, ranks = process_.size;
    finalize::mpi_transport transport(team_);
    const data::classified classes = data::classes_so_far(transport, {&classes_}, over_);
    const data::placement_report placed = data::examine_together(transport, {footprints_.result()}, rank, ranks);
    data::sharing_report shared = threads_.result();
    add_up(transport, shared, options_);
    data::sharing_report nodes = nodes_.result();
    add_up(transport, nodes, options_);
    const base::pod_vector<data::far_use> far = gather_far_uses();
    base::vector<core::stable_key> keys;
    if (rank == 0) keys = data::keys_of(classes, placed, {&shared, &nodes});
    for (const data::far_use& u : far) {
      keys.push_back(u.array);
      keys.push_back(u.block);
    }
    const base::names names = gather(std::move(keys), history, team_);
    const data_losses lost = history_.losses(*process_.registry);
    std::uint64_t losses[] = {lost.records,   lost.registrations,     lost.unknown_ranges,
                              lost.unordered, nodes_.cut() ? 1u : 0u, threads_.pages_refused() ? 1u : 0u};
    team_.all_reduce(losses, 6, MPI_UINT64_T, MPI_SUM);
    if (rank != 0) return nullptr;
    const data_losses all_lost{losses[0], losses[1], losses[2], losses[3]};
    const std::int64_t dropped =
        std::max(classes.dropped, static_cast<std::int64_t>(shared.dropped)) - static_cast<std::int64_t>(losses[3]);
    warn_of_losses(all_lost, static_cast<std::uint64_t>(std::max<std::int64_t>(0, dropped)), losses[5], warnings);
    warn(classes, all_lost, warnings);
    if (losses[4] != 0)
      warnings.push_back(
          "memory sharing between ranks covers only parts of the run: there are too many records of shared arrays");
    const data::data_naming named(names);
    data::communication found;
    data::add_classes(found, classes, named);
    data::add_placements(found, placed, named);
    data::add_sharing(found, nodes, options_, "rank", named);
    data::add_sharing(found, shared, options_, "thread", named);
    data::add_shared_data(found.facts, nodes, false, named);
    data::add_shared_data(found.facts, shared, true, named);
    data::add_far_data(found.facts, far, named);
    auto section = std::make_shared<data::communication_section>(std::move(found));
    facts = &section->all.facts;
    return section;
  }

 private:
  void add_waits() {
    data::rank_data& data = history_.data();
    for (std::size_t l = 0; l != data.locations.size(); ++l) {
      base::vector<data::call_time>& calls = data.locations[l].calls;
      for (std::size_t i = 0; i != calls.size(); ++i) calls[i].wait_ns = waits_->of(l, i);
    }
  }

  base::pod_vector<data::far_use> gather_far_uses() const {
    base::pod_vector<data::far_use> all = threads_.far(process_.rank);
    team_.gather(all.data(), process_.rank != 0 ? all.size() * sizeof(data::far_use) : 0,
                 [&](const unsigned char* data, std::size_t size) {
                   base::packet_reader from(data, size);
                   while (!from.empty()) all.push_back(from.get<data::far_use>());
                 });
    if (process_.rank != 0) all.clear();
    data::most_bytes_first(all);
    return all;
  }

  static void add_up(finalize::mpi_transport& transport, data::sharing_report& found, const data::sharing_options& options) {
    transport.reduce([&](std::int32_t) { return data::pack(found); },
                     [&](std::int32_t, const unsigned char* data, std::size_t size) {
                       data::merge(found, data::unpack_sharing(data, size), options.group_distance);
                     });
  }

  static void warn(const data::classified& classes, const data_losses& lost, base::vector<std::string>& warnings) {
    if (lost.unordered != 0)
      warnings.push_back(base::counted(static_cast<std::int64_t>(lost.unordered), "message", "messages") +
                         " with registered data not followed: the call buffer was full; increase WHYWAIT_MEMORY");
    if (classes.unmatched != 0)
      warnings.push_back(base::counted(classes.unmatched, "transfer", "transfers") +
                         " of registered data not followed: the buffer of the other side is in no registered array");
    if (classes.coarse != 0)
      warnings.push_back("the history of " + base::counted(classes.coarse, "array", "arrays") +
                         " was too fine to store exactly; the origin of some data is unknown");
  }

  mpi::state& process_;
  const finalize::team team_;
  const data::sharing_options options_;
  data_history history_;
  data::classifier classes_;
  data::footprint_book footprints_;
  thread_sharing threads_{options_};
  bool over_ = false;  // the run
  node_sharing nodes_{options_};
  const explain::rank_history* epoch_ = nullptr;
  std::unique_ptr<explain::wait_list> waits_;
};

inline std::unique_ptr<finalize::data_analysis> make_communication_analysis(mpi::state& process) {
  return std::make_unique<communication_analysis>(process);
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
