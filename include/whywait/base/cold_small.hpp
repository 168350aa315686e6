#ifndef WHYWAIT_BASE_COLD_SMALL_HPP
#define WHYWAIT_BASE_COLD_SMALL_HPP

// Between this header and cold_end.hpp <whywait/observer.hpp> includes the cold rooms that process the result of a run, not its
// records: rules, questions, report, and what explain/ and clocks/ do once per run. An optimising g++ compiles them for size,
// without the passes that take long and reduce the size by less than 2 %. What runs for each record is included before this
// header, because the explanation would be 1.7 times as slow.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("Os", "no-code-hoisting", "no-expensive-optimizations", "no-gcse", "no-if-conversion",              \
                         "no-if-conversion2", "no-ipa-cp", "no-ipa-icf", "no-ipa-sra", "no-ivopts", "no-peephole2",      \
                         "no-rerun-cse-after-loop", "no-schedule-insns2", "no-split-wide-types", "no-thread-jumps",      \
                         "no-tree-dominator-opts", "no-tree-fre", "no-tree-loop-optimize", "no-tree-pre", "no-tree-pta", \
                         "no-tree-vrp")
#endif

#endif
