#!/usr/bin/env bash
# Formats the C++ files of include, tests, examples and benchmarks with the settings of .clang-format.
#
#   scripts/format.sh                     rewrites the files that differ
#   scripts/format.sh --check             prints the first differing place of each file and writes nothing; exit code 1
#   scripts/format.sh [--check] FILE ...  only these files
#
# Another version of clang-format formats differently, so only version 16 is used (Debian: clang-format-16).
set -euo pipefail
check=""
if [ "${1:-}" = --check ]; then
  check=yes
  shift
fi
format="${CLANG_FORMAT:-clang-format-16}"
if ! command -v "$format" >/dev/null; then
  echo "scripts/format.sh: $format was not found; install clang-format-16" >&2
  exit 3
fi
files=("$@")
if [ "${#files[@]}" -eq 0 ]; then
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  # generated and third-party code has no place in these folders
  mapfile -d '' files < <(find include tests examples benchmarks -type f \( -name '*.hpp' -o -name '*.cpp' \) -print0 | sort -z)
fi
jobs="${WHYWAIT_JOBS:-2}"
if [ -z "$check" ]; then
  printf '%s\0' "${files[@]}" | xargs -0 -n 40 -P "$jobs" "$format" -i
  exit 0
fi
# clang-format prints one warning for each place; the first of each file is enough
if printf '%s\0' "${files[@]}" | xargs -0 -n 40 -P "$jobs" "$format" --dry-run 2>&1 |
   awk -F: '/\[-Wclang-format-violations\]$/ { if (!seen[$1]++) print $1 ":" $2 ": is not formatted" ; next }
            /^No such file|^[Ee]rror|: error: / { print }
            END { for (f in seen) n++; if (n) print n " files: run scripts/format.sh"; exit n > 0 }'; then
  echo "${#files[@]} files are formatted"
else
  exit 1
fi
