// The wrappers and the analysis for one program, compiled once. CMake does this for whywait_observe(target). Without CMake,
// compile this file with -I include and link its object. Other files then include <whywait/mpi.hpp> with
// -DWHYWAIT_OBSERVED, which gives declarations only, or <whywait/record.hpp> alone.
#include <whywait/observer.hpp>
