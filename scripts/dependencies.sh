#!/usr/bin/env bash
# Installs the packages of Debian 12 that whywait needs; run by examples/quickstart.sh and tests/run.sh.
#
#   scripts/dependencies.sh quickstart    only what the examples need: one MPI, a compiler, Boost
#   scripts/dependencies.sh threads       what examples without MPI need: a compiler
#   scripts/dependencies.sh tests         all that the tests need: both MPIs, both compilers
#   scripts/dependencies.sh peers         other recorders, which benchmarks/compare.py compares ours with
#
# As root it installs missing packages through apt; without missing packages it does nothing. Otherwise it lists them in one
# line. Exit code 3 means that packages are missing and could not be installed.
set -euo pipefail

what="${1:-tests}"

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

common=(g++ cmake ninja-build libboost1.81-dev libdw1)
case "$what" in
  quickstart)
    packages=("${common[@]}")
    # either MPI suffices, and an installed one is used even if it is not from Debian
    if command -v mpicxx >/dev/null && command -v mpirun >/dev/null; then :
    elif installed libopenmpi-dev && installed openmpi-bin; then :
    elif installed libmpich-dev && installed mpich; then :
    else packages+=(libopenmpi-dev openmpi-bin)
    fi
    ;;
  threads)
    packages=(g++ libdw1)
    ;;
  tests)
    packages=("${common[@]}" libopenmpi-dev openmpi-bin libmpich-dev mpich doctest-dev libbenchmark-dev
              nlohmann-json3-dev libvalijson-dev clang-16 libclang-rt-16-dev libomp-16-dev clang-format-16 binutils pkg-config ccache
              python3 util-linux gfortran python3-mpi4py
              libotf2-trace-dev otf2-tools)
    ;;
  peers)
    packages=("${common[@]}" libbenchmark-dev clang-16 libclang-rt-16-dev liblttng-ust-dev lttng-tools babeltrace2 libmicroprofile-dev
              python3 procps)
    ;;
  *)
    echo "usage: $0 quickstart|threads|tests|peers" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "whywait: no dpkg here; these packages of Debian 12 are needed: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  # Debian 12 installs pkgconf under this name
  if [ "$package" = pkg-config ] && command -v pkg-config >/dev/null; then continue; fi
  # a newer CMake or Ninja than Debian's is fine
  if [ "$package" = cmake ] && command -v cmake >/dev/null; then continue; fi
  if [ "$package" = ninja-build ] && command -v ninja >/dev/null; then continue; fi
  if [ "$package" = python3 ] && command -v python3 >/dev/null; then continue; fi
  installed "$package" || missing+=("$package")
done
if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "whywait: please install: sudo apt-get install ${missing[*]}" >&2
  exit 3
fi

echo "whywait: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
if ! { apt-get -qq -o DPkg::Lock::Timeout=120 update &&
       apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1
then
  cat "$log" >&2
  echo "whywait: apt could not install: ${missing[*]}" >&2
  exit 3
fi
