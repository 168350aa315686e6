# Private compile options for the tests, examples and benchmarks of whywait itself.
add_library(whywait_dev INTERFACE)
if(WHYWAIT_DEV_WARNINGS)
  target_compile_options(whywait_dev INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
endif()
if(WHYWAIT_SANITIZE)
  target_compile_options(whywait_dev INTERFACE -fsanitize=${WHYWAIT_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(whywait_dev INTERFACE -fsanitize=${WHYWAIT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # the inserted checks cause false positives of g++ inside the standard library
    target_compile_options(whywait_dev INTERFACE -Wno-maybe-uninitialized)
  endif()
  if(WHYWAIT_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ warns at each fence, because its ThreadSanitizer does not support them
    target_compile_options(whywait_dev INTERFACE -Wno-tsan)
  endif()
endif()

# To test the generated files, every header of the tree is replaced by one that forwards to the single header that
# contains it.
if(WHYWAIT_TEST_SINGLE_INCLUDE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(whywait_forwarders "${PROJECT_BINARY_DIR}/single_include_forwarders")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/scripts/amalgamate.py"
                          --forwarders "${whywait_forwarders}" COMMAND_ERROR_IS_FATAL ANY)
  target_include_directories(whywait_dev BEFORE INTERFACE "${whywait_forwarders}")
endif()
