// The implementation for one program without MPI, compiled once. CMake does this for whywait_observe(target THREADS).
#include <whywait/threads_observer.hpp>
