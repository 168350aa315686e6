#ifndef WHYWAIT_CALIPER_HPP
#define WHYWAIT_CALIPER_HPP

/// The marks of Caliper as marks of whywait: include it instead of <caliper/cali.h>. Functions, scopes, phases, loops and regions
/// are regions; the iterations of a loop are regions in it. Nothing of Caliper is needed.
///
///     CALI_CXX_MARK_FUNCTION;
///     CALI_MARK_BEGIN("assemble");  ...  CALI_MARK_END("assemble");
///     CALI_CXX_MARK_LOOP_BEGIN(steps, "time loop");
///     for (...) { CALI_CXX_MARK_LOOP_ITERATION(steps, i); ... }
///     CALI_CXX_MARK_LOOP_END(steps);

#if defined(CALI_CALI_H) || defined(CALI_CXX_MARK_FUNCTION)
#error "include <whywait/caliper.hpp> instead of <caliper/cali.h>"
#endif

#include <whywait/record.hpp>

#define CALI_CXX_MARK_FUNCTION const ::whywait::region cali_function_region(__func__)
#define CALI_CXX_MARK_SCOPE(name) const ::whywait::region WHYWAIT_CALIPER_JOIN(cali_scope_region_, __COUNTER__)(name)
#define WHYWAIT_CALIPER_JOIN2(a, b) a##b
#define WHYWAIT_CALIPER_JOIN(a, b) WHYWAIT_CALIPER_JOIN2(a, b)

#define CALI_MARK_FUNCTION_BEGIN ::whywait::begin(__func__)
#define CALI_MARK_FUNCTION_END ::whywait::end(__func__)
#define CALI_MARK_BEGIN(name) ::whywait::begin(name)
#define CALI_MARK_END(name) ::whywait::end(name)
#define CALI_MARK_PHASE_BEGIN(name) ::whywait::begin(name)
#define CALI_MARK_PHASE_END(name) ::whywait::end(name)
#define CALI_MARK_COMM_REGION_BEGIN(name) ::whywait::begin(name)
#define CALI_MARK_COMM_REGION_END(name) ::whywait::end(name)

#define CALI_CXX_MARK_LOOP_BEGIN(id, name)      \
  const char* const cali_loop_name_##id = name; \
  ::whywait::begin(cali_loop_name_##id)
#define CALI_CXX_MARK_LOOP_END(id) ::whywait::end(cali_loop_name_##id)
#define CALI_CXX_MARK_LOOP_ITERATION(id, number)                               \
  const ::whywait::region cali_iteration_region_##id("iteration of the loop"); \
  static_cast<void>(number)
#define CALI_MARK_LOOP_BEGIN(id, name) CALI_CXX_MARK_LOOP_BEGIN(id, name)
#define CALI_MARK_LOOP_END(id) CALI_CXX_MARK_LOOP_END(id)
#define CALI_MARK_ITERATION_BEGIN(id, number) (static_cast<void>(number), ::whywait::begin("iteration of the loop"))
#define CALI_MARK_ITERATION_END(id) ::whywait::end("iteration of the loop")

#define CALI_WRAP_STATEMENT(name, ...)         \
  do {                                         \
    const ::whywait::region cali_region(name); \
    __VA_ARGS__;                               \
  } while (false)

#endif
