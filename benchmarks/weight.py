#!/usr/bin/env python3
"""What whywait costs a compiler, one line a row: processor time, peak memory, object size, functions.

    benchmarks/weight.py [--compiler g++] [--mpi-include DIR ...] [row ...]

Rows are the names below; without any all are printed, which takes a minute or two. Let nothing else run: times are processor
seconds of one compilation each, and depend on the machine.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = {  # name -> source, options
    "mpi.hpp -O2": ("#include <whywait/mpi.hpp>\n", ["-O2"]),
    "mpi.hpp -O0": ("#include <whywait/mpi.hpp>\n", ["-O0"]),
    "mpi.hpp observed -O2": ("#include <whywait/mpi.hpp>\n", ["-O2", "-DWHYWAIT_OBSERVED"]),
    "mpi.hpp observed -O0": ("#include <whywait/mpi.hpp>\n", ["-O0", "-DWHYWAIT_OBSERVED"]),
    "wrappers alone -O2": ("#include <whywait/mpi/wrappers.hpp>\n", ["-O2"]),
    "communication.hpp -O2": ("#include <whywait/communication.hpp>\n", ["-O2"]),
    "string and vector -O2": ("#include <string>\n#include <vector>\n", ["-O2"]),
}


def mpi_includes():
    """What the MPI compiler of this machine adds."""
    for command in (["mpicxx", "--showme:compile"], ["mpicxx", "-compile_info"]):
        try:
            done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            return []
        if done.returncode == 0:
            return [word for word in done.stdout.split() if word.startswith("-I")]
    return []


def weigh(compiler, options, source):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "weighed.cpp").write_text(source, encoding="utf-8")
        command = [compiler, "-std=c++17", "-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1", f"-I{ROOT / 'include'}", *options, "-c",
                   folder / "weighed.cpp", "-o", folder / "weighed.o"]
        child = subprocess.Popen([str(word) for word in command])
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            raise SystemExit(f"weight: the compiler fails: {' '.join(map(str, command))}")
        symbols = subprocess.run(["nm", "--defined-only", folder / "weighed.o"], check=True, text=True, stdout=subprocess.PIPE).stdout
        functions = sum(1 for line in symbols.splitlines() if line.split()[-2] in ("t", "T", "w", "W"))
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, (folder / "weighed.o").stat().st_size, functions


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compiler", default="g++")
    options.add_argument("--mpi-include", action="append", default=[], metavar="DIR")
    options.add_argument("rows", nargs="*")
    options = options.parse_args()
    includes = [f"-isystem{folder}" for folder in options.mpi_include] or mpi_includes()
    print(f"{'':24} {'s':>7} {'MiB':>6} {'object KB':>10} {'functions':>10}")
    for name in options.rows or ROWS:
        source, flags = ROWS[name]
        seconds, memory, size, functions = weigh(options.compiler, includes + flags, source)
        print(f"{name:24} {seconds:7.2f} {memory:6.0f} {size / 1000:10.1f} {functions:10}", flush=True)


main()
