// The interposed pthread functions of the libraries for LD_PRELOAD, in addition to observe.cpp or observe_threads.cpp.
#include <whywait/pthread.hpp>
