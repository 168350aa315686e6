#ifndef WHYWAIT_TESTS_SANITIZERS_HPP
#define WHYWAIT_TESTS_SANITIZERS_HPP

// Whether a sanitizer is compiled in, which g++ and clang state in different ways.

#if defined(__has_feature)
#define WHYWAIT_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define WHYWAIT_TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || WHYWAIT_TEST_HAS_FEATURE(address_sanitizer)
#define WHYWAIT_TEST_ADDRESS_SANITIZER 1
#else
#define WHYWAIT_TEST_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__) || WHYWAIT_TEST_HAS_FEATURE(thread_sanitizer)
#define WHYWAIT_TEST_THREAD_SANITIZER 1
#else
#define WHYWAIT_TEST_THREAD_SANITIZER 0
#endif

/// How many random cases a test runs: fewer with a sanitizer, where each costs ten times as much. ThreadSanitizer needs the fewest,
/// because most of such code has no threads.
template <class Number>
constexpr Number repetitions(Number wanted) {
  return WHYWAIT_TEST_ADDRESS_SANITIZER ? wanted / 5 : WHYWAIT_TEST_THREAD_SANITIZER ? wanted / 10 : wanted;
}

#endif
