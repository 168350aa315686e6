#ifndef WHYWAIT_WHATIF_HPP
#define WHYWAIT_WHATIF_HPP

/// \file
/// Questions to a recorded run: how long it would have taken with faster code, an even load or more ranks. No MPI.
/// docs/internals/whatif.md.

#include <whywait/core/version.hpp>

#include <whywait/whatif/answer.hpp>
#include <whywait/whatif/ask.hpp>
#include <whywait/whatif/balance.hpp>
#include <whywait/whatif/change.hpp>
#include <whywait/whatif/more_ranks.hpp>
#include <whywait/whatif/question.hpp>
#include <whywait/whatif/records.hpp>
#include <whywait/whatif/replay.hpp>
#include <whywait/whatif/serial_blocks.hpp>
#include <whywait/whatif/supersteps.hpp>
#include <whywait/whatif/trace.hpp>

#endif
