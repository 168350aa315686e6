// GCC's OpenMP runtime, for the libraries for LD_PRELOAD, in addition to observe_pthread.cpp.
#define WHYWAIT_PRELOADED
#include <whywait/gomp.hpp>
