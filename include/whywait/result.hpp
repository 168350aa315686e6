#ifndef WHYWAIT_RESULT_HPP
#define WHYWAIT_RESULT_HPP

/// What a program can read about itself: why it waited so far, in plain values (`whywait::result`). `whywait::mpi::explain(comm)`
/// of <whywait/mpi.hpp> returns a result, and so does `whywait::report()`. Nothing of the recorder is in this header.

#include <whywait/core/version.hpp>

#include <whywait/report/report_now.hpp>
#include <whywait/report/result_since.hpp>
#include <whywait/report/run_result.hpp>

#endif
