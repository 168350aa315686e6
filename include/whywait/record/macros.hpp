#ifndef WHYWAIT_RECORD_MACROS_HPP
#define WHYWAIT_RECORD_MACROS_HPP

#include <whywait/record/region.hpp>

#ifndef WHYWAIT_DISABLE

// The counter makes two regions on one line different; both helpers must stay, the public macros use them.
#define WHYWAIT_DETAIL_JOIN2(a, b) a##b
#define WHYWAIT_DETAIL_JOIN(a, b) WHYWAIT_DETAIL_JOIN2(a, b)

#endif

#endif
