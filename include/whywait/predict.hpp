#ifndef WHYWAIT_PREDICT_HPP
#define WHYWAIT_PREDICT_HPP

// What if: the modelling methodology of Kapelnikov, Muntz and Ercegovac (UCLA CSD-870038, 1987) with exact chains,
// segment algebra, simulation, and questions to a recorded run. Usable alone: no MPI, no recording. docs/predict.md.

#include <whywait/core/version.hpp>

#include <whywait/predict/answer.hpp>
#include <whywait/predict/ask.hpp>
#include <whywait/predict/bard_schweitzer.hpp>
#include <whywait/predict/branches.hpp>
#include <whywait/predict/chain.hpp>
#include <whywait/predict/change.hpp>
#include <whywait/predict/composition.hpp>
#include <whywait/predict/error.hpp>
#include <whywait/predict/expression.hpp>
#include <whywait/predict/graph.hpp>
#include <whywait/predict/layered.hpp>
#include <whywait/predict/learn.hpp>
#include <whywait/predict/lump.hpp>
#include <whywait/predict/machine.hpp>
#include <whywait/predict/more_ranks.hpp>
#include <whywait/predict/network.hpp>
#include <whywait/predict/parallel.hpp>
#include <whywait/predict/program.hpp>
#include <whywait/predict/question.hpp>
#include <whywait/predict/records.hpp>
#include <whywait/predict/reduce.hpp>
#include <whywait/predict/replay.hpp>
#include <whywait/predict/route.hpp>
#include <whywait/predict/run_log.hpp>
#include <whywait/predict/segment.hpp>
#include <whywait/predict/sensitivity.hpp>
#include <whywait/predict/simulate.hpp>
#include <whywait/predict/solution.hpp>
#include <whywait/predict/solve.hpp>
#include <whywait/predict/subsets.hpp>
#include <whywait/predict/supersteps.hpp>
#include <whywait/predict/token_game.hpp>
#include <whywait/predict/trace.hpp>
#include <whywait/predict/weight.hpp>

#endif
