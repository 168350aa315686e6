// Beside observe.cpp for programs that register data: the analysis of it, in a file of its own as well.
#include <whywait/communication.hpp>
