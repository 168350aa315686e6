// The analysis of registered data of a program without MPI, in addition to observe_threads.cpp. Linked by
// whywait_observe(target THREADS DATA).
#include <whywait/sharing.hpp>
