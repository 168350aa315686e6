// All that a program of several files needs to be observed: one file of one line, compiled once, so that no other file
// pays for the analysis. Examples that include only <whywait/record.hpp> are linked to it; jacobi.cpp does without.
#include <whywait/mpi.hpp>
