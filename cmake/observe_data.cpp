// The analysis of registered data, in addition to observe.cpp. Linked by whywait_observe(target DATA).
#include <whywait/communication.hpp>
