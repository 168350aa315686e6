#!/usr/bin/env bash
# From a clean clone to an explanation. Installs missing packages, builds examples/jacobi, runs it on 4 ranks, prints
# why it waited, then runs the corrected variant and prints the speed-up.
#
#   examples/quickstart.sh [openmpi|mpich]    default is the installed one, Open MPI first
#   examples/quickstart.sh threads            examples/bank instead: threads without MPI, only a compiler is needed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The programs print "<name>: <variant> <seconds> s, ..." on standard output, whywait its report on standard error.
seconds_of() {
  awk -v name="$1:" '$1 == name && $4 ~ /^s,?$/ { seconds = $3 } END { if (seconds == "") exit 1; print seconds }'
}
broken() {
  echo "quickstart: the example ended badly or printed no time:" >&2
  printf '%s\n' "$1" >&2
  exit 1
}
# Runs the example $1 as it is ($2 says how that is) and corrected, by the function `run`.
compare() {
  local told before after
  told="$(run)" || broken "$told"
  printf '%s\n' "$told"
  before="$(printf '%s\n' "$told" | seconds_of "$1")" || broken "$told"
  echo
  told="$(WHYWAIT_REPORT=none run --corrected)" || broken "$told"
  printf '%s\n' "$told"
  after="$(printf '%s\n' "$told" | seconds_of "$1")" || broken "$told"
  echo
  awk -v before="$before" -v after="$after" -v first="$2" 'BEGIN {
    if (after <= 0) exit 1
    printf "speed-up: %.2f (%s s %s, %s s corrected)\n", before / after, before, first, after
  }'
}

case "${1:-}" in
  "" | openmpi | mpich | threads) ;;
  *)
    echo "quickstart: what is $1? expected openmpi, mpich or threads, or nothing" >&2
    exit 2
    ;;
esac
if [ "${1:-}" = threads ]; then
  scripts/dependencies.sh threads
  mkdir -p build
  build=(g++ -std=c++17 -O1 -g -I include examples/bank.cpp -o build/bank -pthread)
  echo "\$ ${build[*]}" >&2
  if command -v ccache >/dev/null; then build=(ccache "${build[@]}"); fi
  "${build[@]}"
  run() {
    echo "\$ build/bank $*" >&2
    timeout 120 build/bank "$@" </dev/null
  }
  compare bank "as written"
  exit
fi

scripts/dependencies.sh quickstart

# Select an MPI whose compiler and launcher are both installed; the suffixed names of Debian allow both at once.
mpi_compiler="" mpi_run=""
for name in ${1:-openmpi mpich}; do
  for launcher in "mpirun.$name" "mpiexec.$name"; do
    if command -v "mpicxx.$name" >/dev/null && command -v "$launcher" >/dev/null; then
      mpi_compiler="mpicxx.$name" mpi_run="$launcher"
      break 2
    fi
  done
done
if [ -z "$mpi_compiler" ]; then
  mpi_compiler=mpicxx mpi_run=mpirun
fi
command -v "$mpi_compiler" >/dev/null || { echo "quickstart: no $mpi_compiler: install Open MPI or MPICH" >&2; exit 3; }
# Allow more ranks than cores, root and containers. Open MPI needs a setting for each; MPICH needs none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none

build="build/quickstart-${mpi_compiler#mpicxx.}"
log="build/quickstart.log"
mkdir -p build
launcher_options=()
if command -v ccache >/dev/null; then launcher_options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -g1" \
             -DWHYWAIT_MPI=ON "-DMPI_CXX_COMPILER=$mpi_compiler" "-DMPIEXEC_EXECUTABLE=$mpi_run" \
             -DWHYWAIT_BUILD_TESTS=OFF -DWHYWAIT_BUILD_BENCHMARKS=OFF -DWHYWAIT_INSTALL=OFF "${launcher_options[@]}" &&
       cmake --build "$build" --target example_jacobi; } >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "quickstart: examples/jacobi does not build" >&2
  exit 1
fi
jacobi="$build/examples/jacobi"

run() {
  echo "\$ $mpi_run -n 4 $jacobi $*" >&2
  timeout 120 "$mpi_run" -n 4 "$jacobi" "$@" </dev/null
}
compare jacobi "as in the paper"
