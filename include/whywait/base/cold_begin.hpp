#ifndef WHYWAIT_BASE_COLD_BEGIN_HPP
#define WHYWAIT_BASE_COLD_BEGIN_HPP

// Between this header and cold_end.hpp <whywait/observer.hpp> includes the cold rooms. An optimising g++ compiles them at
// -O1, without the passes that take long and gain these rooms nothing: the explanation at the end of a run is as fast as
// with -O2. Functions under the pragma are inlined only into functions with the same options, so the accessors of the
// containers are always_inline. Other compilers ignore all of this. The pragma holds for everything that is parsed, so the
// standard headers of the cold rooms are included before it: code outside must not get another optimisation level.
// scripts/layers.py checks that the list is complete.
#include <cxxabi.h>
#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cctype>
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
#pragma GCC optimize("O1", "no-if-conversion", "no-if-conversion2", "no-ivopts", "no-split-wide-types", \
                         "no-tree-dominator-opts", "no-tree-loop-optimize", "no-tree-pta")
#endif

#endif
