#ifndef WHYWAIT_EXPLAIN_HISTORY_HPP
#define WHYWAIT_EXPLAIN_HISTORY_HPP

#include <whywait/core/rank_history.hpp>

namespace whywait {
inline namespace v0 {
namespace explain {

// What the explanation reads: the history of each rank, as core/ defines it.
using core::communicator;
using core::counted_code;
using core::location_history;
using core::overhead_of;
using core::rank_history;

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
