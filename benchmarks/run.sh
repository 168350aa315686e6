#!/bin/sh
# Measures what recording costs and prints it as one table of ratios, beside a trivial recorder (about two minutes; use
# an idle machine). Or compares two such results and prints one line for each row that became worse.
#
#   benchmarks/run.sh [build folder [result.json]]     default build/openmpi
#   benchmarks/run.sh --compare earlier.json later.json
set -e
here=$(dirname "$0")
if [ "$1" = --compare ]; then exec python3 "$here/cost.py" "$@"; fi
build=${1:-build/openmpi}
cmake --build "$build" --target bench_record bench_mpi bench_finalize >&2
exec python3 "$here/cost.py" "$build/benchmarks" ${2:+"$2"}
