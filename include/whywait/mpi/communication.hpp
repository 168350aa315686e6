#ifndef WHYWAIT_MPI_COMMUNICATION_HPP
#define WHYWAIT_MPI_COMMUNICATION_HPP

#include <whywait/comm/classify.hpp>
#include <whywait/comm/examine.hpp>
#include <whywait/comm/sharing_merge.hpp>
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
/// names -> the section of the report.
class communication_analysis final : public data_analysis {
 public:
  [[gnu::cold]] communication_analysis(sync::mpi::state& process, const explain::rank_history& own)
      : team_(process.tool_comm), own_(own), data_(collect_data(process, own, &lost_)), waits_(own) {}

  explain::observer* watch() override { return &waits_; }

  [[gnu::cold]] std::shared_ptr<const report::section> result(name_gatherer gather, const process_history& history,
                                                              std::vector<std::string>& warnings) override {
    add_waits();
    sync::mpi_transport transport(team_);
    const comm::classified classes = comm::classify(transport, &data_, 1);
    const comm::placement_report placed = comm::examine(transport, &data_, 1);
    const comm::sharing_options options;
    const comm::sharing_report shared = sharing_of_threads(transport, options);
    bool cut = false;
    comm::sharing_report nodes = node_sharing::find(data_, own_, options, team_, cut);
    add_up(transport, nodes, options);
    const report::names names =
        gather(data_.rank == 0 ? report::keys_of(classes, placed, {&shared, &nodes}) : std::vector<core::stable_key>(), history, team_);
    std::uint64_t losses[] = {lost_.records, lost_.registrations, lost_.unknown_ranges, lost_.unordered, cut ? 1u : 0u};
    team_.all_reduce(losses, 5, MPI_UINT64_T, MPI_SUM);
    if (data_.rank != 0) return nullptr;
    warn(classes, shared, {losses[0], losses[1], losses[2], losses[3]}, warnings);
    if (losses[4] != 0)
      warnings.push_back("who shares memory is about the beginning of the run only: there are too many records of arrays that ranks share");
    const report::data_naming named(names);
    report::communication found;
    report::add_classes(found, classes, named);
    report::add_placements(found, placed, named);
    report::add_sharing(found, nodes, options, "rank", named);
    report::add_sharing(found, shared, options, "thread", named);
    return std::make_shared<report::communication_section>(std::move(found));
  }

 private:
  void add_waits() {
    for (std::size_t l = 0; l != data_.locations.size(); ++l) {
      std::vector<comm::call_time>& calls = data_.locations[l].calls;
      for (std::size_t i = 0; i != calls.size(); ++i) calls[i].wait_ns = waits_.of(l)[i];
    }
  }

  // Each process by itself, then the same arrays of all together. Only where there are threads to share.
  comm::sharing_report sharing_of_threads(sync::mpi_transport& transport, const comm::sharing_options& options) {
    comm::sharing_report found;
    std::size_t threads = 0;
    for (const comm::location_data& l : data_.locations) threads += l.records.size() != 0 ? 1 : 0;
    if (threads > 1) {  // what ranks share is looked at apart, with its threads as one
      comm::sharing_book book(data_, options);
      book.take_all();
      found = book.result();
    }
    add_up(transport, found, options);
    return found;
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

  sync::team team_;
  data_losses lost_;
  const explain::rank_history& own_;
  comm::rank_data data_;
  explain::wait_list waits_;
};

[[gnu::cold]] inline std::unique_ptr<data_analysis> make_communication_analysis(sync::mpi::state& process,
                                                                               const explain::rank_history& own) {
  return std::make_unique<communication_analysis>(process, own);
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
