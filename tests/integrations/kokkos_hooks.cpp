#include <whywait/kokkos.hpp>
