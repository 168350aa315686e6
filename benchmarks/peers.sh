#!/bin/sh
# Fetches other recorders, at the commits that were measured, into a folder of their own, to be compared with:
#
#   benchmarks/peers.sh build/peers
#   cmake --preset openmpi -DWHYWAIT_PEERS="$PWD/build/peers" && cmake --build --preset openmpi --target bench_peers
#   benchmarks/compare.py build/openmpi/benchmarks
#
# Nothing of them is part of whywait. What cannot be fetched is left out.
set -u
folder=${1:?usage: peers.sh FOLDER}
mkdir -p "$folder"
fetch() {
  [ -d "$folder/$1" ] && return
  git init -q "$folder/$1" &&
    git -C "$folder/$1" fetch -q --depth 1 "https://github.com/$2" "$3" &&
    git -C "$folder/$1" checkout -q FETCH_HEAD || { rm -rf "${folder:?}/$1"; echo "peers.sh: $1 is left out" >&2; }
}
fetch spall-web colrdavidson/spall-web 9403174cbefb01f49370bc352d67adb0c4eea948
fetch minitrace hrydgard/minitrace 242da50d4bc757ca79ca4925690683612f0e7457
fetch microprofile jonasmr/microprofile 593a25d6c800f67bf7d2eccfe6402761e281941e
fetch binlog morganstanley/binlog fd20f5a7592f040141ccbdcc737386235bc8b0cf
fetch NanoLog PlatformLab/NanoLog 2a94d70f9d1db4da416053b1b926387fa068a59b
fetch palanteer dfeneyrou/palanteer 910bde9a0125417d6f218467c5b0e9c8f31fb510
fetch Remotery Celtoys/Remotery c3e8a2f38603c054be479bcefeaa54ad455dd4b9
fetch quill odygrd/quill c4f3fa4e366d17010e87c0e5afb2e586f6404266
fetch tracy wolfpld/tracy aa53e377e723d52126531ff864b8610d716a0177
