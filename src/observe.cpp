// All that one program needs to be observed, compiled once: CMake does so for whywait_observe(target); without CMake compile
// this file with -I include and add its object to the program. Other files then include <whywait/mpi.hpp> with
// -DWHYWAIT_OBSERVED, which leaves the declarations, or <whywait/record.hpp> alone.
#include <whywait/observer.hpp>
