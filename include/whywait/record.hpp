#ifndef WHYWAIT_RECORD_HPP
#define WHYWAIT_RECORD_HPP

/// \file
/// Annotate: include it wherever code is marked. C headers only, a few milliseconds to include. Nothing to link.
///
///     void step() {
///       WHYWAIT_REGION("assemble");                               // timed scope
///       for (auto& cell : cells) { WHYWAIT_BLOCK("refine"); ... } // step of the path: a count, no clock
///       WHYWAIT_WORK(cells.size());                               // then "slower" means slower per cell
///     }
///
/// Without macros: whywait::region, waiting, begin, end, visit, work. With WHYWAIT_DISABLE defined (in the whole
/// program) all of it is nothing. docs/reference/marks.md.

#include <whywait/core/version.hpp>

#include <whywait/record/disabled_marks.hpp>
#include <whywait/record/mark_macros.hpp>
#include <whywait/record/region.hpp>

#endif
