#ifndef WHYWAIT_MPI_COMMUNICATION_HPP
#define WHYWAIT_MPI_COMMUNICATION_HPP

#include <whywait/comm/classify.hpp>
#include <whywait/comm/examine.hpp>
#include <whywait/comm/sharing_merge.hpp>
#include <whywait/core/plain_vector.hpp>
#include <whywait/explain/wait_list.hpp>
#include <whywait/mpi/data_analysis.hpp>
#include <whywait/mpi/data_history.hpp>
#include <whywait/mpi/node_sharing.hpp>
#include <whywait/report/communication_assemble.hpp>
#include <whywait/report/communication_section.hpp>
#include <whywait/sync/mpi/team.hpp>
#include <whywait/sync/mpi/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Why data was sent, where it is and who shares it: what the ranks recorded about data -> classes, placements, sharing ->
/// names -> the section of the report. Epoch by epoch; what it keeps is bounded by arrays, classes and loops.
class communication_analysis final : public data_analysis {
 public:
  [[gnu::cold]] explicit communication_analysis(sync::mpi::state& process)
      : process_(process), team_(process.tool_comm), history_(process), classes_(history_.data()), footprints_(history_.data()) {}

  [[gnu::cold]] explain::observer* begin(const explain::rank_history& epoch) override {
    history_.take(process_, epoch);
    epoch_ = &epoch;
    over_ = !epoch.continues;
    waits_ = std::make_unique<explain::wait_list>(epoch);
    return waits_.get();
  }

  [[gnu::cold]] void fold(bool lossy) override {
    add_waits();
    sync::mpi_transport transport(team_);
    comm::follow(transport, {&classes_});
    footprints_.take_all();
    fold_sharing_of_threads();
    nodes_.fold(history_.data(), *epoch_, team_);
    history_.forget(process_);
    waits_.reset();
    epoch_ = nullptr;
    if (!lossy) return;
    classes_.restart_orders();
    history_.restart_orders();
  }

  [[gnu::cold]] std::shared_ptr<const report::section> result(name_gatherer gather, const process_history& history,
                                                              std::vector<std::string>& warnings) override {
    const std::int32_t rank = process_.rank, ranks = process_.size;
    sync::mpi_transport transport(team_);
    const comm::classified classes = comm::classes_so_far(transport, {&classes_}, over_);
    const comm::placement_report placed = comm::examine_together(transport, {footprints_.result()}, rank, ranks);
    comm::sharing_report shared = shared_by_ > 1 ? sharing_->result() : comm::sharing_report();
    add_up(transport, shared, options_);
    comm::sharing_report nodes = nodes_.result();
    add_up(transport, nodes, options_);
    const report::names names =
        gather(rank == 0 ? report::keys_of(classes, placed, {&shared, &nodes}) : std::vector<core::stable_key>(), history, team_);
    const data_losses lost = history_.losses(process_);
    std::uint64_t losses[] = {lost.records, lost.registrations, lost.unknown_ranges, lost.unordered, nodes_.cut() ? 1u : 0u};
    team_.all_reduce(losses, 5, MPI_UINT64_T, MPI_SUM);
    if (rank != 0) return nullptr;
    warn(classes, shared, {losses[0], losses[1], losses[2], losses[3]}, warnings);
    if (losses[4] != 0)
      warnings.push_back("who shares memory is about parts of the run only: there are too many records of arrays that ranks share");
    const report::data_naming named(names);
    report::communication found;
    report::add_classes(found, classes, named);
    report::add_placements(found, placed, named);
    report::add_sharing(found, nodes, options_, "rank", named);
    report::add_sharing(found, shared, options_, "thread", named);
    return std::make_shared<report::communication_section>(std::move(found));
  }

 private:
  void add_waits() {
    comm::rank_data& data = history_.data();
    for (std::size_t l = 0; l != data.locations.size(); ++l) {
      std::vector<comm::call_time>& calls = data.locations[l].calls;
      for (std::size_t i = 0; i != calls.size(); ++i) calls[i].wait_ns = waits_->of(l)[i];
    }
  }

  // Each process by itself; the same arrays of all come together in the result. Only where there are threads to share; what
  // ranks share is looked at apart, with the threads of each as one.
  void fold_sharing_of_threads() {
    const comm::rank_data& data = history_.data();
    records_.resize(data.locations.size(), 0);
    for (std::size_t l = 0; l != data.locations.size(); ++l) {
      const bool any = data.locations[l].records.size() != data.locations[l].first;
      shared_by_ += any && records_[l] == 0 ? 1 : 0;
      records_[l] = records_[l] != 0 || any ? 1 : 0;
    }
    // A thread that has recorded nothing about data yet may do so in a later epoch; before there is one nobody can share.
    if (sharing_ == nullptr && (over_ ? shared_by_ : data.locations.size()) < 2) return;
    if (sharing_ == nullptr) sharing_ = std::make_unique<comm::sharing_book>(data, options_);
    sharing_->begin_part();
    sharing_->take_all();
  }

  static void add_up(sync::mpi_transport& transport, comm::sharing_report& found, const comm::sharing_options& options) {
    transport.reduce([&](std::int32_t) { return comm::pack(found); },
                     [&](std::int32_t, const unsigned char* data, std::size_t size) {
                       comm::merge(found, comm::unpack_sharing(data, size), options.group_distance);
                     });
  }

  static void warn(const comm::classified& classes, const comm::sharing_report& shared, const data_losses& lost,
                   std::vector<std::string>& warnings) {
    const auto amount = [](std::uint64_t n, const char* one, const char* many) {
      return comm::detail::count_text(static_cast<std::int64_t>(n), one, many);
    };
    if (lost.records != 0)
      warnings.push_back(amount(lost.records, "record", "records") +
                         " of data found no memory, so that less is known than happened; give more than WHYWAIT_MEMORY allows");
    if (lost.registrations != 0)
      warnings.push_back(amount(lost.registrations, "array was", "arrays were") + " not registered, for there are too many");
    if (lost.unknown_ranges != 0)
      warnings.push_back(amount(lost.unknown_ranges, "range was", "ranges were") + " said to be read or written, but in no registered array");
    if (lost.unordered != 0)
      warnings.push_back(amount(lost.unordered, "message", "messages") +
                         " with registered data could not be followed: the memory for calls was used up");
    if (classes.unmatched != 0)
      warnings.push_back(comm::detail::count_text(classes.unmatched, "transfer", "transfers") +
                         " of registered data could not be followed: the other side's buffer is in no registered array");
    const std::int64_t dropped = std::max(classes.dropped, static_cast<std::int64_t>(shared.dropped)) - static_cast<std::int64_t>(lost.unordered);
    if (dropped > 0)
      warnings.push_back(comm::detail::count_text(dropped, "record", "records") +
                         " of data were left out: they name an array, a place or a rank that is not known");
    if (classes.coarse != 0)
      warnings.push_back("the history of " + comm::detail::count_text(classes.coarse, "array", "arrays") +
                         " was too fine to be kept exactly: origins of its data are partly unknown");
  }

  sync::mpi::state& process_;
  const sync::team team_;
  const comm::sharing_options options_;
  data_history history_;
  comm::classifier classes_;
  comm::footprint_book footprints_;
  std::unique_ptr<comm::sharing_book> sharing_;  // of threads
  core::plain_vector<std::uint8_t> records_;            // by location: it ever had any
  std::size_t shared_by_ = 0;                    // so many had
  bool over_ = false;                            // the run
  node_sharing nodes_{options_};
  const explain::rank_history* epoch_ = nullptr;
  std::unique_ptr<explain::wait_list> waits_;
};

[[gnu::cold]] inline std::unique_ptr<data_analysis> make_communication_analysis(sync::mpi::state& process) {
  return std::make_unique<communication_analysis>(process);
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
