#ifndef WHYWAIT_TESTING_HPP
#define WHYWAIT_TESTING_HPP

/// Assertions about waiting, for the tests of MPI programs:
///
///     whywait::testing::start(MPI_COMM_WORLD);   // what was before does not count
///     step();
///     WHYWAIT_CHECK(waiting_share(MPI_COMM_WORLD) < 0.05);
///     WHYWAIT_CHECK(cause_of("MPI_Allreduce") == "assemble");
///
/// The questions are collective and have the same answer on all ranks, so that all ranks get the same verdict. Rank 0 prints
/// what failed. If <doctest/doctest.h> was included before, a failure is one of doctest's; other frameworks install
/// `on_failure`. No answer depends on rank numbers. With WHYWAIT_ENABLE=0 or WHYWAIT_DISABLE nothing is checked.

#include <whywait/core/version.hpp>

#include <whywait/mpi.hpp>
#include <whywait/report/check.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace testing {

/// Begins the part of the run that later questions are about; without it that is the whole run. Collective over all ranks.
inline void start(MPI_Comm comm) { detail::the_part().begin(mpi::explain(comm)); }

/// Explains the part of the run since `start`. Collective over all ranks; about as expensive as the report at the end. The result
/// is valid until the next question.
inline const result& look(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return detail::the_part().end(mpi::explain(comm), rank == 0);
}

/// The share of rank time that was waiting. Not a number without a result. Collective, like the next three.
inline double waiting_share(MPI_Comm comm) {
  const result& r = look(comm);
  return detail::if_known(r, r.waiting_share());
}
/// The parallel efficiency: mean time outside MPI over the time of the part.
inline double efficiency(MPI_Comm comm) {
  const result& r = look(comm);
  return detail::if_known(r, r.efficiency ? r.efficiency->parallel : detail::unknown());
}
/// The load balance: mean over longest time outside MPI.
inline double load_balance(MPI_Comm comm) {
  const result& r = look(comm);
  return detail::if_known(r, r.efficiency ? r.efficiency->load_balance : detail::unknown());
}
/// The share of rank time that is inside MPI calls which whywait does not understand.
inline double not_understood_share(MPI_Comm comm) {
  const result& r = look(comm);
  return detail::if_known(r, r.rank_seconds > 0 ? r.not_understood_seconds / r.rank_seconds : 0);
}

/// What explains most of the waiting at a call site, as result::cause_of, in what the last question explained; if there was none
/// since `start`, it is explained now.
inline std::string cause_of(std::string_view site = {}) {
  if (!detail::the_part().ended()) look(MPI_COMM_WORLD);
  return look_at().cause_of(site);
}
/// The share of rank time that was waiting at a call site, likewise.
inline double waiting_share_at(std::string_view site) {
  if (!detail::the_part().ended()) look(MPI_COMM_WORLD);
  const result& r = look_at();
  return detail::if_known(r, r.rank_seconds > 0 ? r.waiting_at(site) / r.rank_seconds : 0);
}

}  // namespace testing
}  // namespace v0
}  // namespace whywait

#else

namespace whywait {
inline namespace v0 {
namespace testing {

template <class Communicator>
void start(const Communicator&) noexcept {}
inline int checks() noexcept { return 0; }
inline int failures() noexcept { return 0; }
inline int status() noexcept { return 0; }
template <class Tell>
void on_failure(const Tell&) noexcept {}

}  // namespace testing
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#if defined(WHYWAIT_DISABLE)
#define WHYWAIT_CHECK(...) static_cast<void>(0)
#else
#if defined(DOCTEST_LIBRARY_INCLUDED)
#define WHYWAIT_DETAIL_FAIL(judged)                                                    \
  if (!(judged).good) DOCTEST_ADD_FAIL_CHECK_AT(__FILE__, __LINE__, (judged).message); \
  else DOCTEST_CHECK((judged).good)
#else
#define WHYWAIT_DETAIL_FAIL(judged) static_cast<void>(judged)
#endif
/// Checks a condition, with the questions of whywait::testing in scope. On failure rank 0 prints the expression, its values and
/// the largest wait of the part, and the test goes on.
#define WHYWAIT_CHECK(...)                                                                                                 \
  do {                                                                                                                     \
    const ::whywait::testing::judgement whywait_judged = [&] {                                                             \
      using namespace ::whywait::testing;                                                                                  \
      _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wparentheses\"") return ::whywait::testing::judge( \
          ::whywait::testing::split() << __VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__);                                   \
      _Pragma("GCC diagnostic pop")                                                                                        \
    }();                                                                                                                   \
    WHYWAIT_DETAIL_FAIL(whywait_judged);                                                                                   \
  } while (false)
#endif

#endif
