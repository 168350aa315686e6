#ifndef WHYWAIT_CORE_OVERHEAD_HPP
#define WHYWAIT_CORE_OVERHEAD_HPP

namespace whywait {
inline namespace v0 {
namespace core {

/// What recording one MPI call costs the thread that makes it, ns (overhead 3.2: o_pre, o_in, o_post).
struct call_overhead {
  double before_ns;  ///< before the call's time stamp
  double inside_ns;  ///< between its two time stamps, before MPI has the call
  double after_ns;   ///< after the second
  double error_ns;   ///< by how much the sum of the three may be wrong, either way
};

/// What one mark costs the thread that passes it, ns.
struct mark_overhead {
  double region_ns;  ///< one visit of a timed region, begin and end
  double step_ns;    ///< one visit of an untimed step
  double error;      ///< by how much either may be wrong, either way, as a part of it
  double reading_ns; ///< one reading of the clock: a call that timed itself (sync_flag::timed) took three more
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
