# Registration of tests. Every test has a time limit; WHYWAIT_TEST_PREFIX is prepended to every name.
include_guard(GLOBAL)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Sanitizers may require address randomisation to be off on kernels with large vm.mmap_rnd_bits.
set(whywait_run_with "")
if(WHYWAIT_SANITIZE)
  file(WRITE "${CMAKE_BINARY_DIR}/sanitizer_probe.cpp" "int main() { return 0; }\n")
  try_run(whywait_probe_ran whywait_probe_compiled "${CMAKE_BINARY_DIR}/sanitizer_probe"
          SOURCES "${CMAKE_BINARY_DIR}/sanitizer_probe.cpp"
          COMPILE_DEFINITIONS -fsanitize=${WHYWAIT_SANITIZE} LINK_OPTIONS -fsanitize=${WHYWAIT_SANITIZE})
  if(NOT whywait_probe_compiled)
    message(FATAL_ERROR "whywait: this compiler cannot link with -fsanitize=${WHYWAIT_SANITIZE}")
  elseif(NOT whywait_probe_ran EQUAL 0)
    find_program(WHYWAIT_SETARCH setarch REQUIRED)
    message(STATUS "whywait: programs with -fsanitize=${WHYWAIT_SANITIZE} run without address randomisation here")
    set(whywait_run_with "${WHYWAIT_SETARCH}" -R)
  endif()
endif()

# Removes the settings in the caller's environment from tests. The names are read from settings.hpp.
set(whywait_settings "${PROJECT_SOURCE_DIR}/include/whywait/core/settings.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${whywait_settings}")
file(READ "${whywait_settings}" whywait_settings_text)
string(REGEX MATCHALL "\"WHYWAIT_[A-Z0-9_]+\"" whywait_settings "${whywait_settings_text}")
list(REMOVE_DUPLICATES whywait_settings)
if(NOT "\"WHYWAIT_ENABLE\"" IN_LIST whywait_settings)
  message(FATAL_ERROR "whywait: core/settings.hpp names no settings as \"WHYWAIT_...\"; tests need the list")
endif()
list(TRANSFORM whywait_settings REPLACE "\"(.*)\"" "\\1=unset:")

# Options of the sanitizer run-time libraries. `whywait_sanitizer_mpi_environment` is for programs that load an MPI
# library, which is not instrumented. Its known leaks are suppressed, ThreadSanitizer reports nothing inside it, and
# signals are left to the program, because whywait's own handlers are tested.
set(whywait_timeout_factor 1)  # factor of all time limits
set(whywait_sanitizer_environment "")
set(whywait_sanitizer_mpi_environment "")
if(WHYWAIT_SANITIZE)
  set(whywait_timeout_factor 3)
  set(asan "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1")
  set(tsan "TSAN_OPTIONS=report_thread_leaks=0")  # a child of fork(2) never joins the threads of its parent
  find_program(WHYWAIT_SYMBOLIZER NAMES llvm-symbolizer-16 llvm-symbolizer-14 llvm-symbolizer)
  if(WHYWAIT_SYMBOLIZER)
    string(APPEND asan ":external_symbolizer_path=${WHYWAIT_SYMBOLIZER}")
    string(APPEND tsan ":external_symbolizer_path=${WHYWAIT_SYMBOLIZER}")
  else()
    message(STATUS "whywait: llvm-symbolizer was not found, so the sanitizers report addresses instead of lines")
  endif()
  set(whywait_sanitizer_environment "${asan}" "${tsan}" "UBSAN_OPTIONS=print_stacktrace=1")
  set(signals "handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:handle_abort=0")
  set(whywait_sanitizer_mpi_environment
      "${asan}:${signals}" "${tsan}:ignore_noninstrumented_modules=1:${signals}"
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/sanitizers/lsan.supp:print_suppressions=0")
endif()

# whywait_add_test(name TIMEOUT seconds [LABELS ...] [ENVIRONMENT ...] [SERIAL | RANKS] [LONG] COMMAND ...)
# A SERIAL test runs alone. Only one RANKS test runs at a time, together with other tests, because its ranks mostly sleep or
# wait for each other. RANKS tests start first, because they form a chain; LONG tests start next, so that none of them is
# the last to end.
function(whywait_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;RANKS;LONG" "TIMEOUT" "LABELS;ENVIRONMENT;COMMAND")
  if(NOT arg_TIMEOUT OR NOT arg_COMMAND OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "whywait_add_test(${name}): TIMEOUT and COMMAND, and nothing unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${whywait_timeout_factor}")
  # The last value of a variable counts. Reports have characters beyond ASCII where the locale has.
  list(PREPEND arg_ENVIRONMENT LC_ALL=C.UTF-8 ${whywait_sanitizer_environment})
  set(lock "")
  set(cost 0)
  if(arg_RANKS)
    set(lock RESOURCE_LOCK ranks)
    set(cost 1000)
  endif()
  if(arg_LONG)
    set(cost 100)
  endif()
  add_test(NAME "${WHYWAIT_TEST_PREFIX}${name}" COMMAND ${arg_COMMAND})
  set_tests_properties("${WHYWAIT_TEST_PREFIX}${name}" PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
                       ENVIRONMENT "${arg_ENVIRONMENT}" RUN_SERIAL "${arg_SERIAL}"
                       COST ${cost} ${lock}
                       ENVIRONMENT_MODIFICATION "${whywait_settings}")
endfunction()

# --- MPI programs
if(whywait_has_mpi)
  include(CheckCXXSymbolExists)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
  check_cxx_symbol_exists(OPEN_MPI mpi.h WHYWAIT_MPI_IS_OPEN_MPI)
  unset(CMAKE_REQUIRED_LIBRARIES)
  # Ranks may outnumber cores, so that waiting ranks yield and are not bound. Root and containers are allowed.
  if(WHYWAIT_MPI_IS_OPEN_MPI)
    set(WHYWAIT_MPI_NAME "Open MPI")
    set(WHYWAIT_MPI_MOST_RANKS 64)
    set(WHYWAIT_MPI_BESIDE RANKS)
    set(WHYWAIT_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
        OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader OMPI_MCA_osc=^rdma
        # what would be selected anyway: without libraries for other networks and devices, jobs start in half the time
        OMPI_MCA_pml=ob1 PMIX_MCA_gds=hash HWLOC_PLUGINS_PATH=/nonexistent)
  else()
    set(WHYWAIT_MPI_NAME "MPICH")
    set(WHYWAIT_MPI_MOST_RANKS 4)  # ranks spin and never yield
    set(WHYWAIT_MPI_BESIDE SERIAL)
    set(WHYWAIT_MPI_ENVIRONMENT UCX_WARN_UNUSED_ENV_VARS=n)
  endif()
  list(APPEND WHYWAIT_MPI_ENVIRONMENT ${whywait_sanitizer_mpi_environment})
  message(STATUS "whywait: MPI is ${WHYWAIT_MPI_NAME}, started by ${MPIEXEC_EXECUTABLE}")
endif()

# whywait_select_ranks(result ranks...)
# Selects the numbers of ranks of a test that this MPI supports. A sanitized build runs each program once, with
# ThreadSanitizer on the fewest ranks (at least two), otherwise on the most up to 4.
function(whywait_select_ranks result)
  set(selected "")
  foreach(ranks IN LISTS ARGN)
    if(ranks LESS_EQUAL WHYWAIT_MPI_MOST_RANKS)
      list(APPEND selected ${ranks})
    else()
      list(APPEND left_out ${ranks})
    endif()
  endforeach()
  if(left_out AND NOT WHYWAIT_SANITIZE)
    message(STATUS "whywait: ${name} on ${left_out} ranks is not run with ${WHYWAIT_MPI_NAME}")
  endif()
  if(WHYWAIT_SANITIZE)
    set(best "")
    foreach(ranks IN LISTS selected)
      if(NOT best OR (WHYWAIT_SANITIZE MATCHES "thread" AND (best EQUAL 1 OR (ranks GREATER 1 AND ranks LESS best))) OR
         (NOT WHYWAIT_SANITIZE MATCHES "thread" AND ranks GREATER best AND ranks LESS_EQUAL 4))
        set(best ${ranks})
      endif()
    endforeach()
    set(selected ${best})
  endif()
  set(${result} "${selected}" PARENT_SCOPE)
endfunction()

# whywait_mpi_run(name TARGET t RANKS n [TIMEOUT s] [CHECKS file [RUN n]] [ARGUMENTS ...] [ENVIRONMENT ...] [LABELS ...])
# Adds a test that runs `TARGET` on n ranks; tests/check.py checks its exit code and output.
function(whywait_mpi_run name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;RANKS;TIMEOUT;CHECKS;RUN" "ARGUMENTS;ENVIRONMENT;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  math(EXPR seconds "${arg_TIMEOUT} * ${whywait_timeout_factor}")
  set(options --ranks ${arg_RANKS} --seconds ${seconds} --directory "${CMAKE_BINARY_DIR}/runs/${name}")
  if(arg_CHECKS)
    list(APPEND options --checks "${arg_CHECKS}")
  endif()
  if(arg_RUN)
    list(APPEND options --run ${arg_RUN})
  endif()
  math(EXPR limit "${arg_TIMEOUT} + 20")  # check.py ends first and prints the output
  set(beside ${WHYWAIT_MPI_BESIDE})
  if(arg_RANKS EQUAL 1)
    set(beside "")
  elseif(arg_LABELS MATCHES "example|benchmark")
    set(beside SERIAL)  # they compute, and the checks depend on the order of their waits
  endif()
  whywait_add_test("${name}" TIMEOUT ${limit} LABELS ${arg_LABELS} ${beside}
                   ENVIRONMENT ${WHYWAIT_MPI_ENVIRONMENT}
                   COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/check.py" ${options} -- ${arg_ENVIRONMENT}
                           "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${arg_RANKS} ${MPIEXEC_PREFLAGS}
                           ${whywait_run_with} $<TARGET_FILE:${arg_TARGET}> ${MPIEXEC_POSTFLAGS} ${arg_ARGUMENTS})
endfunction()

# whywait_mpi_test(name [SOURCES ...] RANKS n... [TIMEOUT s] [CHECKS file] [LIBRARIES ...] [ARGUMENTS ...] [ENV ...]
#                  [OBSERVE [DATA]])
# Adds a program and one test for each number of ranks. OBSERVE calls whywait_observe(). MPICH runs at most 4 ranks;
# larger numbers are skipped.
function(whywait_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OBSERVE;DATA" "TIMEOUT;CHECKS" "SOURCES;RANKS;LIBRARIES;ARGUMENTS;ENV")
  if(NOT arg_RANKS)
    message(FATAL_ERROR "whywait_mpi_test(${name}): RANKS missing")
  endif()
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${name}.cpp)
  endif()
  add_executable(mpi_${name} ${arg_SOURCES})
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O2")
    target_compile_options(mpi_${name} PRIVATE -O0)  # the programs only; the observer has user flags
  endif()
  target_link_libraries(mpi_${name} PRIVATE whywait_dev whywait::mpi ${arg_LIBRARIES}
                        $<TARGET_NAME_IF_EXISTS:nlohmann_json::nlohmann_json>)
  if(arg_OBSERVE)
    if(arg_DATA)
      whywait_observe(mpi_${name} DATA)
    else()
      whywait_observe(mpi_${name})
    endif()
  endif()
  whywait_select_ranks(selected ${arg_RANKS})
  foreach(ranks IN LISTS selected)
    whywait_mpi_run("mpi.${name}.${ranks}" TARGET mpi_${name} RANKS ${ranks} TIMEOUT ${arg_TIMEOUT} LABELS mpi
                    CHECKS ${arg_CHECKS} ARGUMENTS ${arg_ARGUMENTS} ENVIRONMENT ${arg_ENV})
  endforeach()
endfunction()

# Reads "// <word>: values" from the comment at the top of a source file, or <default>.
function(whywait_read_directive file word default result)
  file(STRINGS "${file}" lines LIMIT_COUNT 40 REGEX "^// ${word}: ")
  set(value ${default})
  if(lines)
    list(GET lines 0 line)
    string(REGEX REPLACE "^// ${word}: +" "" line "${line}")
    string(REGEX REPLACE " +$" "" line "${line}")
    separate_arguments(value UNIX_COMMAND "${line}")
  endif()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()
