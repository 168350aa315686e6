#ifndef WHYWAIT_BASE_NEEDS_EXCEPTIONS_HPP
#define WHYWAIT_BASE_NEEDS_EXCEPTIONS_HPP

// First in what implements whywait in a program: one message where exceptions are off, and the end.
#if !defined(__cpp_exceptions) && !defined(WHYWAIT_DISABLE)
#error \
    "the implementation of whywait needs exceptions: compile it in a file of its own (whywait_observe), or this one with -fexceptions"
#include <exceptions>
#endif

#endif
