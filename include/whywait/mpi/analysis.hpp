#ifndef WHYWAIT_MPI_ANALYSIS_HPP
#define WHYWAIT_MPI_ANALYSIS_HPP

#include <whywait/core/complaint.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/explain/ledger/virtual_clocks.hpp>
#include <whywait/mpi/advising.hpp>
#include <whywait/mpi/asking.hpp>
#include <whywait/mpi/code_lines.hpp>
#include <whywait/mpi/facts.hpp>
#include <whywait/mpi/history.hpp>
#include <whywait/mpi/keys.hpp>
#include <whywait/mpi/naming.hpp>
#include <whywait/mpi/pictures.hpp>
#include <whywait/mpi/prediction.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/code_blocks.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/text.hpp>
#include <whywait/sync/mpi/collect.hpp>
#include <whywait/sync/mpi/node.hpp>
#include <whywait/sync/mpi/transport.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Explains everything recorded so far: records -> explanation -> names -> rules -> report, the whole way of the data.
/// The result is complete on rank 0. Collective over the process's tool communicator.
[[gnu::cold]] inline report::result analyse(sync::mpi::state& process) {
  sync::mpi::collected_process all = sync::mpi::collect(process, sync::mpi::finish_clock(process));
  all.node = sync::mpi::node_of(process.tool_comm);
  report::run_facts facts = gather_facts(process, all, process.tool_comm);
  const report::code_blocks code(process.registry->sources, code_that_ran(all),
                                 common_filter(process.registry->config, process.tool_comm));
  std::string unnamed;
  const bool left_out = any_problem(code, process.tool_comm, unnamed);
  if (left_out) facts.warnings.push_back(std::move(unnamed));
  const process_history history(all, process.registry->sites, process.registry->sources, left_out ? nullptr : &code);
  explain::options settings;
  settings.clock_error_ns = static_cast<std::int64_t>(facts.clock_error_seconds * 1e9);
  settings.threshold_ns = std::max(settings.threshold_ns, 2 * settings.clock_error_ns);
  settings.clocks = &explain::virtual_clocks;
  const asked_questions asked = read_questions(process, history, process.tool_comm);
  settings.questions = asked.clocks;
  sync::mpi_transport transport(process.tool_comm);
  explain::outcome found = explain::explain(transport, history.view(), settings);
  gather_pictures(found, history.view(), process.registry->config.path_order, process.tool_comm);
  rules::contribution contributions = gather_contributions(transport, history.view(), settings.clock_error_ns);
  const report::names names = gather_names(keys_to_name(found, keys_of(contributions)), history, process.tool_comm);
  rules::evaluation said;
  if (process.rank == 0)
    said = advise(process.registry->config.rules, found, names, std::move(contributions), facts);
  report::result result = report::assemble(found, names, std::move(facts), said);
  answer_questions(process, history, process.tool_comm, asked, found, result);
  return result;
}

/// Hook of MPI_Finalize: explains, and prints and writes what the settings of rank 0 ask for.
[[gnu::cold]] inline void at_finalize(sync::mpi::state& process) {
  const core::settings& wanted = process.registry->config;
  int needed = wanted.report || wanted.output != nullptr || rules::rules_setting::parse(wanted.rules).list ? 1 : 0;
  PMPI_Bcast(&needed, 1, MPI_INT, 0, process.tool_comm);  // rank 0 writes; the environment of others may differ
  if (needed == 0) return;
  try {
    const report::result result = analyse(process);
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
