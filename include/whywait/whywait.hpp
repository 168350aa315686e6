#ifndef WHYWAIT_WHYWAIT_HPP
#define WHYWAIT_WHYWAIT_HPP

/// Everything that does without MPI: marking and recording, the explanation of histories from wherever they
/// come (explain::explain over explain::simulated_transport, explain::interval_diff alone), the report. A program
/// whose MPI calls are to be explained includes <whywait/mpi.hpp>; code with marks only includes
/// <whywait/record.hpp>.

#include <whywait/core/version.hpp>

#include <whywait/explain/explain.hpp>
#include <whywait/explain/interval_diff.hpp>
#include <whywait/explain/simulated_transport.hpp>
#include <whywait/record.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/symbolise.hpp>
#include <whywait/report/text.hpp>

#endif
