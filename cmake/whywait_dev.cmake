# Private: what the tests, examples and benchmarks of whywait itself are compiled with.
add_library(whywait_dev INTERFACE)
if(WHYWAIT_DEV_WARNINGS)
  target_compile_options(whywait_dev INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
endif()
if(WHYWAIT_SANITIZE)
  target_compile_options(whywait_dev INTERFACE -fsanitize=${WHYWAIT_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(whywait_dev INTERFACE -fsanitize=${WHYWAIT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # the checks that it inserts confuse g++: false alarms inside the standard library
    target_compile_options(whywait_dev INTERFACE -Wno-maybe-uninitialized)
  endif()
  if(WHYWAIT_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # ThreadSanitizer of g++ does not understand fences and says so at each
    target_compile_options(whywait_dev INTERFACE -Wno-tsan)
  endif()
endif()

# Headers of the tree or, to try the generated files, a folder in which every header of the tree forwards to
# the single header that contains it.
if(WHYWAIT_TEST_SINGLE_INCLUDE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(whywait_forwarders "${PROJECT_BINARY_DIR}/single_include_forwarders")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/scripts/amalgamate.py"
                          --forwarders "${whywait_forwarders}" COMMAND_ERROR_IS_FATAL ANY)
  target_include_directories(whywait_dev BEFORE INTERFACE "${whywait_forwarders}")
endif()
