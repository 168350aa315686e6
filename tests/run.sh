#!/usr/bin/env bash
# All tests, from a clean clone on Debian 12: installs what is missing (scripts/dependencies.sh), builds each
# configuration below build/ and runs the tests of all of them in one go, ending with ctest's closing line.
#
#   tests/run.sh                        what continuous integration runs
#   tests/run.sh openmpi asan           only these configurations (presets of CMakePresets.json)
#   tests/run.sh clang asan threads     clang, sanitizers over all rooms and MPI programs, ThreadSanitizer where threads are
#   tests/run.sh tsan headers           ThreadSanitizer over everything, every header alone
#   tests/run.sh openmpi -- -L build    arguments after -- go to ctest
#   WHYWAIT_JOBS=4 tests/run.sh         builds and tests with 4 processes instead of 2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

configurations=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  configurations+=("$1")
  shift
done
[ $# -eq 0 ] || shift
if [ "${#configurations[@]}" -eq 0 ]; then
  # g++ and Open MPI with everything; then what differs: the other MPI, the generated headers with clang, and sanitizers
  # with clang over unit tests, MPI programs and the corpora of the fuzz targets (CMakePresets.json lists which)
  configurations=(openmpi mpich single sanitized)
fi

scripts/dependencies.sh tests
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_SLOPPINESS=pch_defines,time_macros  # for the precompiled header of the preset single
fi
jobs="${WHYWAIT_JOBS:-2}"
unset WHYWAIT_JOBS  # no setting of the programs, which would report it
[ -t 1 ] || export TERM=dumb
# the programs' temporary files, so that killed ones leave none; a short path, because Open MPI puts sockets there
TMPDIR="$(mktemp -d "${TMPDIR:-/tmp}/whywait.XXXXXX")"
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

mkdir -p build
log=build/run.log
for configuration in "${configurations[@]}"; do
  began=$SECONDS
  if ! { cmake --preset "$configuration" && cmake --build --preset "$configuration" -j "$jobs"; } >"$log" 2>&1; then
    # the output from the first failure on, without lines of successful steps; the last lines if no failure is found
    if grep -qE '^FAILED:|CMake Error' "$log"; then
      sed -n '/^FAILED:/,$p;/CMake Error/,$p' "$log" | grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' >&2 || true
    else
      tail -n 50 "$log" >&2
    fi
    echo "whywait: $configuration does not build" >&2
    exit 1
  fi
  grep -E '^-- whywait: .*(MISSING|left out|not found)' "$log" || true
  echo "built $configuration in $((SECONDS - began)) s"
done

# A single list of tests over all build trees gives a single closing line.
{
  echo "# written by tests/run.sh"
  for configuration in "${configurations[@]}"; do
    echo "subdirs(\"$configuration\")"
  done
} >build/CTestTestfile.cmake
ctest --test-dir build --output-on-failure --no-tests=error --timeout 300 -j "$jobs" "$@"
