#ifndef WHYWAIT_BASE_COLD_BEGIN_HPP
#define WHYWAIT_BASE_COLD_BEGIN_HPP

// Between this header and cold_end.hpp <whywait/observer.hpp> includes the cold rooms. An optimising g++ compiles them at
// -O1: that takes a fifth less time than -O2, and the explanation at the end of a run is as fast. Other compilers see nothing
// of it. The pragma holds for everything that is parsed, so the standard headers of the cold rooms are included before it:
// code outside must not get another optimisation level. scripts/layers.py checks that the list is complete.
#include <cxxabi.h>
#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif

#endif
