#ifndef WHYWAIT_DATA_REPORT_COMMUNICATION_RESULT_HPP
#define WHYWAIT_DATA_REPORT_COMMUNICATION_RESULT_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/data_facts.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace whywait {
inline namespace v0 {
namespace data {

/// What is wrong with the transfers of a class.
struct communication_problem_entry {
  std::string problem;  ///< relay_chain, unchanged_data, large_halo, tiny_messages, gather_then_scatter
  std::string text;     ///< description of the problem
  std::string advice;   ///< what to do
  std::int64_t count = 0, bytes = 0;                    ///< transfers concerned
  std::int64_t needless_count = 0, needless_bytes = 0;
  double saving_seconds = 0;                            ///< at most; of the time of the receiving calls
};

/// A rank and its transfers; rank -1: all that are not listed.
struct rank_transfers {
  std::int32_t rank = 0;
  std::int64_t count = 0;
};

/// Part of data of mixed origin.
struct origin_share {
  std::string origin;  ///< as communication_class::origin
  std::string name;    ///< of the block that produced it; empty otherwise
  std::int64_t bytes = 0;
};

/// Transfers of the same data between the same places that have the same history (definitions 2.1).
struct communication_class {
  std::string data;    ///< name of the array
  std::string region;  ///< "", or which part: "low side of dimension 0"
  base::place from, to;      ///< the calls that sent and received
  std::string origin;  ///< how the sender came by it: init, produced, relay, mixed, unknown, deep
  std::string why;     ///< the same in words
  bool loop = false;   ///< transfers of this class follow on others of it
  std::int64_t count = 0, bytes = 0;
  double seconds = 0, wait_seconds = 0;  ///< of the receiving calls
  std::int64_t unchanged_count = 0, unchanged_bytes = 0, held_count = 0;
  std::int64_t read_bytes = 0, watched_bytes = 0;
  std::int64_t most_hops = 0, fan_out = 0, pairs = 0;
  base::vector<rank_transfers> senders, receivers;
  base::vector<origin_share> shares;
  base::vector<communication_problem_entry> problems;
};

/// A placement that would make fewer accesses remote.
struct placement_advice {
  std::string change;                  ///< schedule, data, both
  std::string schedule, distribution;  ///< after the change
  double remote_share = 0;
  std::int64_t moved_bytes = 0;        ///< once, by moving the array
  double saving_seconds = 0;           ///< at most: of the calls that received this array
  std::string text;                    ///< description and suggestion
};

/// A loop that touches an array.
struct loop_use {
  base::place loop;
  std::string schedule;  ///< "block", "(block, *)", "irregular", ...
  double agreement = 0;  ///< share of the iterations that it describes; 1 if declared
  std::string access;    ///< "contiguous", "stencil with offsets -1, 0, 1", "transposed", ...
  std::optional<double> remote_share;   ///< of accesses (i, f(i)); nothing: no access function was found
  double remote_elements_share = 0;     ///< of the distinct elements that ranks touched and do not own
  std::optional<placement_advice> better;
};

/// Where an array is.
struct array_placement {
  std::string data;
  base::vector<std::uint64_t> extent;
  std::int64_t element_bytes = 1;
  std::string distribution;
  double agreement = 0;
  base::vector<loop_use> uses;
};

/// A miss: an access to data without a valid copy (figure 3 of the Carnival paper). Element [0] of a list is the begin.
struct sharing_miss {
  std::string request;  ///< R: where
  std::string invalidation;  ///< I: the synchronisation that made the writes visible; empty: it never had a copy
  base::vector<std::string> writes;  ///< W: where they were made
  base::vector<std::int32_t> readers, writers;  ///< threads or ranks that used the data afterwards
};

/// How often a miss followed on writes made at another, by their numbers in the list.
struct sharing_transition {
  std::int64_t from = 0, to = 0, count = 0;
  double share = 0;  ///< in all that follow on `from`
};

/// Pieces of an array that are shared alike.
struct sharing_entry {
  std::string data;
  std::string pattern;  ///< "false sharing", ...
  std::string advice;
  std::string who;  ///< what the numbers of readers and writers mean: "thread" or "rank"
  std::int64_t granules = 0, first_granule = 0, granule_bytes = 64;
  std::int64_t granules_watched = 0, granules_of_array = 0;
  double standard_error = 0;  ///< of the share of granules with this pattern; 0: all were watched
  std::int64_t misses = 0;
  base::vector<sharing_miss> nodes;
  base::vector<sharing_transition> transitions;
};

/// Why data was sent, and why it was not there already: the part of a report about registered data.
struct communication {
  base::vector<communication_class> classes;  ///< most waiting first, then most bytes
  base::vector<array_placement> arrays;  ///< most remote first
  rules::data_facts facts;  ///< also for rules
  base::vector<sharing_entry> sharing;  ///< what several are at at once first, then by misses
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
