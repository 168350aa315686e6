// Archives of the Open Trace Format 2, in addition to observe.cpp. Linked by whywait::otf2.
#include <whywait/otf2.hpp>
