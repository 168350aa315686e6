// What a program adds in one file to have its pthread functions observed. CMake compiles the report.
#include <whywait/pthread.hpp>
