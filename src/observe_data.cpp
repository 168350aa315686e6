// The analysis of registered data, beside observe.cpp: whywait_observe(target DATA).
#include <whywait/communication.hpp>
