#ifndef WHYWAIT_MPI_ANALYSIS_HPP
#define WHYWAIT_MPI_ANALYSIS_HPP

#include <whywait/core/complaint.hpp>
#include <whywait/mpi/advising.hpp>
#include <whywait/mpi/asking.hpp>
#include <whywait/mpi/data_analysis.hpp>
#include <whywait/mpi/epochs.hpp>
#include <whywait/mpi/facts.hpp>
#include <whywait/mpi/keys.hpp>
#include <whywait/mpi/naming.hpp>
#include <whywait/mpi/prediction.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/text.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What is said of the run so far: records -> explanation -> names -> rules -> report, the whole way of the data.
/// The result is complete on rank 0. Collective over the process's tool communicator.
[[gnu::cold]] inline report::result analyse(sync::mpi::state& process, epoch& now) {
  report::run_facts facts = gather_facts(process, now.records(), now.so_far().first_comers, process.tool_comm);
  const data_so_far& data = now.so_far().data;
  if (data.in_vain) facts.warnings.push_back(data_in_vain);
  explain::outcome found = now.explain();
  if (!now.unnamed().empty()) facts.warnings.push_back(now.unnamed());
  rules::contribution contributions = now.contribute(true);
  const report::names names =
      gather_names(keys_to_name(found, keys_of(contributions)), now.history(), process.tool_comm);
  rules::evaluation said;
  if (process.rank == 0)
    said = advise(process.registry->config.rules, found, names, std::move(contributions), facts);
  report::result result = report::assemble(found, names, std::move(facts), said);
  if (data.analysis != nullptr)
    result.communication = data.analysis->result(&gather_names, now.history(), result.run.warnings);
  answer_questions(process, now.history(), process.tool_comm, now.so_far().calls, now.so_far().asked, found, result);
  return result;
}

/// Hook of MPI_Finalize: explains, and prints and writes what the settings of rank 0 ask for.
[[gnu::cold]] inline void at_finalize(sync::mpi::state& process) {
  const core::settings& wanted = process.registry->config;
  int needed = wanted.report || wanted.output != nullptr || rules::rules_setting::parse(wanted.rules).list ? 1 : 0;
  PMPI_Bcast(&needed, 1, MPI_INT, 0, process.tool_comm);  // rank 0 writes; the environment of others may differ
  if (needed == 0) return;
  try {
    epoch last(process, nullptr);
    const report::result result = analyse(process, last);
    if (process.rank != 0) return;
    if (wanted.report) report::print_text(result, stderr);
    if (wanted.output == nullptr) return;
    const std::string problem = report::write_json_file(result, std::string(wanted.output) + ".json");
    if (!problem.empty()) core::complain(problem.c_str());
  } catch (const std::exception& problem) {
    core::complain("no report: ", problem.what());
  }
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
