#ifndef WHYWAIT_BASE_NEEDS_EXCEPTIONS_HPP
#define WHYWAIT_BASE_NEEDS_EXCEPTIONS_HPP

// First in what implements whywait in a program: one message where exceptions are off, and the end. The name of the missing header
// is the message.
#if !defined(__cpp_exceptions) && !defined(WHYWAIT_DISABLE)
#include <this header of whywait needs exceptions: compile the file that includes it with -fexceptions, or include it in a file of its own>
#endif

#endif
