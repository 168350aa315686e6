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
#include <whywait/data/marks/page_lookup.hpp>
#include <whywait/data/report/communication_assemble.hpp>
#include <whywait/data/report/communication_section.hpp>
#include <whywait/explain/wait_list.hpp>
#include <whywait/finalize/data_analysis.hpp>
#include <whywait/finalize/mpi_transport.hpp>
#include <whywait/finalize/team.hpp>

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
        history_(process),
        classes_(history_.data()),
        footprints_(history_.data()) {}

  explain::observer* begin(const explain::rank_history& epoch) override {
    history_.take(process_, epoch);
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
    look_at_pages();
    pages_.take_all(history_.data(), nodes_of_pages_);
    fold_sharing_of_threads();
    nodes_.fold(history_.data(), *epoch_, team_);
    history_.forget(process_);
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
    data::sharing_report shared = shared_by_ > 1 ? sharing_->result() : data::sharing_report();
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
    const data_losses lost = history_.losses(process_);
    std::uint64_t losses[] = {lost.records,   lost.registrations,     lost.unknown_ranges,
                              lost.unordered, nodes_.cut() ? 1u : 0u, pages_refused_ != 0 ? 1u : 0u};
    team_.all_reduce(losses, 6, MPI_UINT64_T, MPI_SUM);
    if (rank != 0) return nullptr;
    warn(classes, shared, {losses[0], losses[1], losses[2], losses[3]}, warnings);
    if (losses[4] != 0)
      warnings.push_back(
          "memory sharing between ranks covers only parts of the run: there are too many records of shared arrays");
    if (losses[5] != 0)
      warnings.push_back("on which NUMA nodes registered arrays are is not known: move_pages is not permitted on " +
                         base::counted(static_cast<std::int64_t>(losses[5]), "rank"));
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
      for (std::size_t i = 0; i != calls.size(); ++i) calls[i].wait_ns = waits_->of(l)[i];
    }
  }

  // Each process by itself; the same arrays of all come together in the result. Only where there are threads to share;
  // what ranks share is looked at apart, with the threads of each as one.
  void fold_sharing_of_threads() {
    const data::rank_data& data = history_.data();
    records_.resize(data.locations.size(), 0);
    for (std::size_t l = 0; l != data.locations.size(); ++l) {
      const bool any = data.locations[l].records.size() != data.locations[l].first;
      shared_by_ += any && records_[l] == 0 ? 1 : 0;
      records_[l] = records_[l] != 0 || any ? 1 : 0;
    }
    // A thread without records of data may have some in a later epoch; sharing needs at least two threads with records.
    if (sharing_ == nullptr && (over_ ? shared_by_ : data.locations.size()) < 2) return;
    if (sharing_ == nullptr) sharing_ = std::make_unique<data::sharing_book>(data, options_);
    sharing_->begin_part();
    sharing_->take_all();
  }

  // Where the pages of arrays are now. What is no longer registered stays where it was seen last.
  void look_at_pages() {
    static_assert(data::page_nodes::most >= data::page_lookup::most_pages, "room for what is read");
    const data::data_state* const known = data::state_of(*process_.registry);
    if (known == nullptr || !data::page_lookup::is_possible()) return;
    const data::data_objects& objects = known->objects;
    nodes_of_pages_.resize(history_.data().objects.size(), data::page_nodes());
    std::size_t looked_at = 0;
    for (std::uint32_t i = 1; i < nodes_of_pages_.size() && looked_at != most_arrays; ++i) {
      const data::known_object& o = objects[i];
      if (!o.active || o.end - o.begin < least_bytes) continue;
      ++looked_at;
      data::page_nodes known_nodes;
      known_nodes.count = data::page_lookup::nodes_of(o.begin, o.end, known_nodes.nodes, pages_refused_);
      if (pages_refused_ != 0) return;
      nodes_of_pages_[i] = known_nodes;
    }
  }
  base::pod_vector<data::far_use> gather_far_uses() const {
    base::pod_vector<data::far_use> all = pages_.far(process_.rank);
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

  static void warn(const data::classified& classes, const data::sharing_report& shared, const data_losses& lost,
                   base::vector<std::string>& warnings) {
    const auto amount = [](std::uint64_t n, const char* one, const char* many) {
      return base::counted(static_cast<std::int64_t>(n), one, many);
    };
    if (lost.records != 0)
      warnings.push_back(amount(lost.records, "record", "records") +
                         " of data dropped because the record buffer was full; transfers and sharing are incomplete; "
                         "increase WHYWAIT_MEMORY");
    if (lost.registrations != 0)
      warnings.push_back(amount(lost.registrations, "array was", "arrays were") +
                         " not registered and not analysed: too many arrays");
    if (lost.unknown_ranges != 0)
      warnings.push_back(amount(lost.unknown_ranges, "accessed range was", "accessed ranges were") +
                         " ignored: in no registered array");
    if (lost.unordered != 0)
      warnings.push_back(amount(lost.unordered, "message", "messages") +
                         " with registered data not followed: the call buffer was full; increase WHYWAIT_MEMORY");
    if (classes.unmatched != 0)
      warnings.push_back(base::counted(classes.unmatched, "transfer", "transfers") +
                         " of registered data not followed: the buffer of the other side is in no registered array");
    const std::int64_t dropped =
        std::max(classes.dropped, static_cast<std::int64_t>(shared.dropped)) - static_cast<std::int64_t>(lost.unordered);
    if (dropped > 0)
      warnings.push_back(base::counted(dropped, "record", "records") + " of data ignored: unknown array, place or rank");
    if (classes.coarse != 0)
      warnings.push_back("the history of " + base::counted(classes.coarse, "array", "arrays") +
                         " was too fine to store exactly; the origin of some data is unknown");
  }

  mpi::state& process_;
  static constexpr std::uint64_t least_bytes = 256 << 10;  // smaller arrays are in a cache
  static constexpr std::size_t most_arrays = 256;  // whose pages are looked at in an epoch

  const finalize::team team_;
  const data::sharing_options options_;
  data_history history_;
  data::classifier classes_;
  data::footprint_book footprints_;
  std::unique_ptr<data::sharing_book> sharing_;  // of threads
  base::pod_vector<std::uint8_t> records_;  // by location: it ever had any
  std::size_t shared_by_ = 0;  // number of threads with records
  bool over_ = false;  // the run
  data::page_book pages_;
  base::pod_vector<data::page_nodes> nodes_of_pages_;  // by object
  int pages_refused_ = 0;  // errno
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
