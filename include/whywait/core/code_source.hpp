#ifndef WHYWAIT_CORE_CODE_SOURCE_HPP
#define WHYWAIT_CORE_CODE_SOURCE_HPP

#include <whywait/core/sync_record.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Where a code source puts what it counted: `take` is called once for each block that ran.
struct step_sink {
  void* self;
  void (*take)(void* self, const path_step& step) noexcept;
};

/// The counters that g++ keeps of one function (-fprofile-arcs): one for each arc that cannot be derived.
struct counted_function {
  uint32_t ident;           ///< number and checksum that identify it in the notes file (.gcno)
  uint32_t checksum;
  uint32_t first;           ///< of its counters, in the source
  uint32_t count;
  const uint64_t* counters;  ///< the compiler's; only ever read
};

/// Counters that lie together in memory, with at most a few other words between functions, scanned in one pass.
struct counted_span {
  const uint64_t* counters;
  uint64_t* known;    ///< their values at the last synchronisation
  uint32_t words;
  uint32_t function;  ///< the first in it; functions are in the order of their addresses
  uint32_t functions;
};

/// A function that the compiler makes a region of, and its number in the site table.
struct function_site {
  uintptr_t function;
  uint32_t site;
};

/// Code whose basic blocks the compiler counts: one object file with counters, or one module with callbacks. Its
/// blocks have the numbers from `first` on, in one range with the numbers of marked places and beyond them, so that
/// none of them needs a place in the site table. Lives as long as the process; so does its module.
struct code_source {
  enum class kind : uint8_t {
    arcs,       ///< counters of arcs; lines are in the notes file
    addresses,  ///< number - first = (return address of the callback - base) / 4
    guards,     ///< number - first = the compiler's dense number; `addresses` has where it was seen
    functions   ///< no blocks: regions, whose places are in `function_sites`
  };
  code_source* next;
  kind what;
  uint32_t first;
  uint32_t count;
  /// Hands over what ran since the last call: in the calling thread, or with arcs in the process.
  void (*collect)(code_source& self, const step_sink& sink) noexcept;

  const char* notes;                 ///< arcs: path of the data file as the compiler wrote it (.gcda)
  uint32_t stamp;                    ///< arcs: must be that of the notes file
  uint32_t function_count;           ///< arcs, functions
  counted_function* functions;       ///< arcs
  counted_span* spans;               ///< arcs
  uint32_t span_count;               ///< arcs
  uintptr_t base;                    ///< addresses
  const uintptr_t* addresses;        ///< guards: a return address of each, 0 if it never ran
  const function_site* function_sites;  ///< functions: `function_count` of them; those with site 0 are none
  uint32_t busy;                     ///< arcs: 1 while a thread collects
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
