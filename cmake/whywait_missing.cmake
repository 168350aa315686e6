# Targets of whywait that cannot be provided here exist all the same. Linking one is an error of CMake that names what is missing:
#
#   The link interface of target "whywait_mpi_missing" contains:
#     whywait::mpi_needs_MPI_3.0_and_Boost_1.81 (Debian: libopenmpi-dev or libmpich-dev, libboost1.81-dev)
#
# whywait_HAS_MPI, whywait_HAS_MODELS and whywait_HAS_OTF2 tell before.
include_guard(GLOBAL)

function(whywait_missing reason)
  foreach(name IN LISTS ARGN)
    add_library(whywait_${name}_missing INTERFACE IMPORTED GLOBAL)
    set_property(TARGET whywait_${name}_missing PROPERTY INTERFACE_LINK_LIBRARIES "whywait::${name}_${reason}")
    add_library(whywait::${name} ALIAS whywait_${name}_missing)
  endforeach()
endfunction()
