#ifndef WHYWAIT_DATA_HPP
#define WHYWAIT_DATA_HPP

/// \file
/// Marks for the arrays of a program and for what its loops do with them. Include it where these marks are. C headers only.
/// Messages whose buffers lie in a registered array are then followed by <whywait/mpi.hpp> on its own.
///
///     WHYWAIT_DATA("u", u, whywait::part(rows, rank * rows, all_rows), columns);
///     WHYWAIT_ITERATIONS("update", first, last);
///     WHYWAIT_READS("update", whywait::range(u, n));
///     WHYWAIT_WRITES("update", whywait::range(v, whywait::box({1, rows - 1}, {1, columns - 1})));
///     WHYWAIT_PACKS(out, &u[columns - 1], rows, columns);   // column -> buffer
///     whywait::array_view<double, 2> view(u, rows, columns); // exact, access by access
///
/// With WHYWAIT_DISABLE defined all of it is nothing. docs/how-to/data.md.

#include <whywait/core/version.hpp>

#include <whywait/data/marks/data_macros.hpp>
#include <whywait/data/marks/data_marks.hpp>
#include <whywait/data/marks/disabled_data_marks.hpp>
#include <whywait/data/marks/tracked.hpp>

#endif
