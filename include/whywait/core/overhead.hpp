#ifndef WHYWAIT_CORE_OVERHEAD_HPP
#define WHYWAIT_CORE_OVERHEAD_HPP

namespace whywait {
inline namespace v0 {
namespace core {

/// What recording one MPI call costs the thread that makes it, ns (overhead 3.2: o_pre, o_in in two parts, o_post).
struct call_overhead {
  double before_ns;  ///< before the call's time stamp
  double inside_ns;  ///< from there to when MPI has the call
  double back_ns;    ///< from when MPI has given it back to the second time stamp
  double after_ns;   ///< after that
  double error_ns;   ///< by how much the sum of the four may be wrong, either way
};

/// What one mark costs the thread that passes it, ns.
struct mark_overhead {
  double region_ns;  ///< one visit of a timed region, begin and end
  double step_ns;    ///< one visit of an untimed step
  double error;      ///< by how much either may be wrong, either way, as a part of it
  double reading_ns; ///< one reading of the clock
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
