#ifndef WHYWAIT_MPI_COMMUNICATION_HPP
#define WHYWAIT_MPI_COMMUNICATION_HPP

#include <whywait/comm/classify.hpp>
#include <whywait/comm/examine.hpp>
#include <whywait/comm/sharing_merge.hpp>
#include <whywait/explain/wait_list.hpp>
#include <whywait/mpi/data_analysis.hpp>
#include <whywait/mpi/data_history.hpp>
#include <whywait/report/communication_assemble.hpp>
#include <whywait/report/communication_section.hpp>
#include <whywait/sync/mpi/transport.hpp>

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
  [[gnu::cold]] communication_analysis(sync::mpi::state& process, const sync::mpi::collected_process& all,
                                       const explain::rank_history& own)
      : comm_(process.tool_comm), own_(own), data_(data_of(process, all)), waits_(own) {}

  explain::observer* watch() override { return &waits_; }

  [[gnu::cold]] std::shared_ptr<const report::section> result(name_gatherer gather, const process_history& history,
                                                              std::vector<std::string>& warnings) override {
    add_times();
    sync::mpi_transport transport(comm_);
    const comm::classified classes = comm::classify(transport, &data_, 1);
    const comm::placement_report placed = comm::examine(transport, &data_, 1);
    const comm::sharing_options options;
    const comm::sharing_report shared = sharing_of_threads(transport, options);
    const report::names names =
        gather(data_.rank == 0 ? report::keys_of(classes, placed, {&shared}) : std::vector<core::stable_key>(), history, comm_);
    if (data_.rank != 0) return nullptr;
    warn(classes, shared, warnings);
    const report::data_naming named(names);
    report::communication found;
    report::add_classes(found, classes, named);
    report::add_placements(found, placed, named);
    report::add_sharing(found, shared, options, "thread", named);
    return std::make_shared<report::communication_section>(std::move(found));
  }

 private:
  // What the calls took that completed transfers, and how long of it they waited.
  void add_times() {
    for (std::size_t l = 0; l < data_.locations.size() && l < own_.locations.size(); ++l) {
      if (data_.locations[l].records.size() == 0) continue;
      const auto& records = own_.locations[l].records;
      const std::vector<std::int64_t>& waits = waits_.of(l);
      data_.locations[l].calls.resize(records.size());
      for (std::size_t i = 0; i != records.size(); ++i)
        data_.locations[l].calls[i] = {std::llround(static_cast<double>(records[i].duration) * own_.clock.ns_per_tick), waits[i]};
    }
  }

  // Each process by itself, then the same arrays of all together. Only where there are threads to share.
  comm::sharing_report sharing_of_threads(sync::mpi_transport& transport, const comm::sharing_options& options) {
    comm::sharing_report found;
    std::size_t threads = 0;
    for (const comm::location_data& l : data_.locations) threads += l.records.size() != 0 ? 1 : 0;
    if (threads > 1) {
      comm::sharing_book book(data_, options);
      book.take_all();
      found = book.result();
    }
    transport.reduce([&](std::int32_t) { return comm::pack(found); },
                     [&](std::int32_t, const unsigned char* data, std::size_t size) {
                       comm::merge(found, comm::unpack_sharing(data, size), options.group_distance);
                     });
    return found;
  }

  static void warn(const comm::classified& classes, const comm::sharing_report& shared, std::vector<std::string>& warnings) {
    if (classes.unmatched != 0)
      warnings.push_back(comm::detail::count_text(classes.unmatched, "transfer", "transfers") +
                         " of registered data could not be followed: the other side's buffer is in no registered array");
    if (classes.dropped + static_cast<std::int64_t>(shared.dropped) != 0)
      warnings.push_back(comm::detail::count_text(classes.dropped + static_cast<std::int64_t>(shared.dropped), "record", "records") +
                         " of data were left out: they name an array, a place or a rank that is not known");
    if (classes.coarse != 0)
      warnings.push_back("the history of " + comm::detail::count_text(classes.coarse, "array", "arrays") +
                         " was too fine to be kept exactly: origins of its data are partly unknown");
  }

  MPI_Comm comm_;
  const explain::rank_history& own_;
  comm::rank_data data_;
  explain::wait_list waits_;
};

[[gnu::cold]] inline std::unique_ptr<data_analysis> make_communication_analysis(sync::mpi::state& process,
                                                                               const sync::mpi::collected_process& all,
                                                                               const explain::rank_history& own) {
  return std::make_unique<communication_analysis>(process, all, own);
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
