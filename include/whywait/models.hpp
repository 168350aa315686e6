#ifndef WHYWAIT_MODELS_HPP
#define WHYWAIT_MODELS_HPP

/// \file
/// Models of parallel programs: the methodology of Kapelnikov, Muntz and Ercegovac (UCLA CSD-870038, 1987) with
/// exact Markov chains, segment algebra, queueing networks and simulation. Usable alone: no MPI, no recording.
/// docs/internals/models.md.

#include <whywait/core/version.hpp>

#include <whywait/models/bard_schweitzer.hpp>
#include <whywait/models/branches.hpp>
#include <whywait/models/chain.hpp>
#include <whywait/models/composition.hpp>
#include <whywait/models/error.hpp>
#include <whywait/models/expression.hpp>
#include <whywait/models/graph.hpp>
#include <whywait/models/layered.hpp>
#include <whywait/models/learn.hpp>
#include <whywait/models/lump.hpp>
#include <whywait/models/machine.hpp>
#include <whywait/models/network.hpp>
#include <whywait/models/parallel.hpp>
#include <whywait/models/program.hpp>
#include <whywait/models/random.hpp>
#include <whywait/models/reduce.hpp>
#include <whywait/models/route.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/models/segment.hpp>
#include <whywait/models/sensitivity.hpp>
#include <whywait/models/simulate.hpp>
#include <whywait/models/solution.hpp>
#include <whywait/models/solve.hpp>
#include <whywait/models/special_functions.hpp>
#include <whywait/models/subsets.hpp>
#include <whywait/models/token_game.hpp>
#include <whywait/models/weight.hpp>

#endif
