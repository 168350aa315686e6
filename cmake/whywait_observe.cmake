# Defines whywait::observer and whywait_observe(target). The MPI wrappers and the analysis are compiled once per build
# tree, with the options of the directory that finds or adds whywait. Part of the tree and of the installed package.
#
#   whywait_observe(my_program)         observes the MPI calls of my_program and of its libraries
#   whywait_observe(my_program DATA)    also explains traffic of registered data: <whywait/communication.hpp>
#   whywait_observe(my_program THREADS) of a program without MPI: explains how its threads wait for each other
#   whywait_observe(my_program THREADS DATA)  also which of them share registered data: <whywait/sharing.hpp>
#
# whywait::preload is the same as a shared library for LD_PRELOAD, which observes programs that were built without whywait;
# whywait::preload_threads observes programs without MPI.
#
# In the sources of such a target <whywait/mpi.hpp> and <whywait/whywait.hpp> only declare the public functions. Prefer executables, because
# their wrappers take precedence for every library. With a static library the observer is added to the targets that
# link it, because a linker takes only referenced objects out of an archive.
# It may be included again once whywait::mpi exists.

# Everything is compiled with -fPIC, so that one object serves executables and shared libraries.
function(whywait_add_observer name source definition library)
  add_library(whywait_${name}_object OBJECT EXCLUDE_FROM_ALL "${source}")
  set_target_properties(whywait_${name}_object PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_link_libraries(whywait_${name}_object PRIVATE ${library})
  # avoids calls of inline functions through the PLT of a shared library, because nothing interposes them
  target_compile_options(whywait_${name}_object PRIVATE -fno-semantic-interposition)
  add_library(whywait_${name} INTERFACE)
  add_library(whywait::${name} ALIAS whywait_${name})
  target_compile_definitions(whywait_${name} INTERFACE ${definition})
  target_link_libraries(whywait_${name} INTERFACE ${library})
  set(type $<TARGET_PROPERTY:TYPE>)  # type of the direct or indirect user
  set(links "$<OR:$<STREQUAL:${type},EXECUTABLE>,$<STREQUAL:${type},SHARED_LIBRARY>,$<STREQUAL:${type},MODULE_LIBRARY>>")
  target_sources(whywait_${name} INTERFACE "$<${links}:$<TARGET_OBJECTS:whywait_${name}_object>>")
endfunction()

if(NOT TARGET whywait_observer_threads)
  whywait_add_observer(observer_threads "${CMAKE_CURRENT_LIST_DIR}/observe_threads.cpp" WHYWAIT_OBSERVED whywait::whywait)

  whywait_add_observer(observer_sharing "${CMAKE_CURRENT_LIST_DIR}/observe_sharing.cpp" WHYWAIT_OBSERVED_DATA whywait::whywait)

  # The functions of pthread and of GCC's OpenMP runtime that libraries for LD_PRELOAD interpose. Programs include <whywait/pthread.hpp>
  # and <whywait/gomp.hpp> instead.
  foreach(interposed IN ITEMS pthread gomp)
    add_library(whywait_${interposed}_object OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/observe_${interposed}.cpp")
    set_target_properties(whywait_${interposed}_object PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
    target_link_libraries(whywait_${interposed}_object PRIVATE whywait::whywait)
    target_compile_options(whywait_${interposed}_object PRIVATE -fno-semantic-interposition)
  endforeach()

  # A shared library for LD_PRELOAD whose only symbols are the functions that it interposes.
  function(whywait_add_preload name output library)
    set(objects ${ARGN})
    list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:whywait_\\1_object>")
    add_library(whywait_${name} SHARED EXCLUDE_FROM_ALL ${objects})
    add_library(whywait::${name} ALIAS whywait_${name})
    set_target_properties(whywait_${name} PROPERTIES OUTPUT_NAME "${output}" LINKER_LANGUAGE CXX
                          LINK_DEPENDS "${whywait_observe_dir}/preload.map")
    target_link_libraries(whywait_${name} PRIVATE ${library})
    target_link_options(whywait_${name} PRIVATE "LINKER:--version-script=${whywait_observe_dir}/preload.map")
  endfunction()
  set(whywait_observe_dir "${CMAKE_CURRENT_LIST_DIR}")
  # libwhywait_threads.so works with programs without MPI.
  whywait_add_preload(preload_threads whywait_threads whywait::whywait observer_threads observer_sharing pthread gomp)
endif()

if(TARGET whywait::mpi AND NOT TARGET whywait_mpi_missing AND NOT TARGET whywait_observer)
  whywait_add_observer(observer "${CMAKE_CURRENT_LIST_DIR}/observe.cpp" WHYWAIT_OBSERVED whywait::mpi)
  whywait_add_observer(observer_data "${CMAKE_CURRENT_LIST_DIR}/observe_data.cpp" WHYWAIT_OBSERVED_DATA whywait::mpi)

  # libwhywait_mpi.so works with programs that use the MPI library of this build tree.
  set(whywait_observe_dir "${CMAKE_CURRENT_LIST_DIR}")
  whywait_add_preload(preload whywait_mpi whywait::mpi observer observer_data pthread gomp)
endif()

function(whywait_observe target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "DATA;THREADS" "" "")
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "whywait_observe(${ARGV}): there is no target ${target}; expected whywait_observe(target [THREADS] [DATA])")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "whywait_observe(${ARGV}): expected whywait_observe(target [THREADS] [DATA])")
  endif()
  get_target_property(real "${target}" ALIASED_TARGET)
  if(real)
    set(target "${real}")
  endif()
  set(observers whywait::observer)
  if(arg_THREADS)
    set(observers whywait::observer_threads)
    if(arg_DATA)
      list(APPEND observers whywait::observer_sharing)
    endif()
  elseif(NOT TARGET whywait_observer)
    message(FATAL_ERROR "whywait_observe(${ARGV}): whywait::mpi was not provided: MPI 3.0 or Boost 1.81 was not found, or WHYWAIT_MPI is "
                        "OFF; if(whywait_HAS_MPI) makes the call optional; whywait_observe(target THREADS) does without MPI")
  elseif(arg_DATA)
    list(APPEND observers whywait::observer_data)
  endif()
  # Sets properties, because target_link_libraries() must not mix its signatures with and without keywords.
  get_target_property(type "${target}" TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    set_property(TARGET "${target}" APPEND PROPERTY LINK_LIBRARIES ${observers})
  endif()
  if(type MATCHES "^(STATIC|OBJECT|INTERFACE)_LIBRARY$")
    set_property(TARGET "${target}" APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${observers})
  endif()
endfunction()
