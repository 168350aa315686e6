#!/usr/bin/env python3
"""What whywait's headers cost a compiler: processor time, memory, size of the object file, functions. For the documents; the limits
are in tests/build/weight.py and tests/build/growth.py, which count and do not time.

    benchmarks/weight.py [--compiler=g++] [--mpi-compiler=mpicxx] [--rounds=7] [row ...]

Each row is the minimum of the rounds, in user seconds; the rounds of all cheap rows alternate. Rows that take more than a second
(those of mpi.hpp) are compiled once. Run it on an otherwise idle machine.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
RECORD = "#include <whywait/record.hpp>\n"
MARK = RECORD + 'void f();\nvoid f() { WHYWAIT_REGION("f"); }\n'
MPI = "#include <whywait/mpi.hpp>\n"
# name -> source, options, whether the MPI compiler is needed
ROWS = {
    "empty": ("", ["-fsyntax-only"], False),
    "vector": ("#include <vector>\n", ["-fsyntax-only"], False),
    "record": (RECORD, ["-fsyntax-only"], False),
    "record_O2": (RECORD, ["-O2"], False),
    "first_mark_O2": (MARK, ["-O2"], False),
    "mpi_O0": (MPI, ["-O0"], True),
    "mpi_O2": (MPI, ["-O2"], True),
    "observed_O0": (MPI, ["-O0", "-DWHYWAIT_OBSERVED"], True),
    "observed_O2": (MPI, ["-O2", "-DWHYWAIT_OBSERVED"], True),
    "wrappers_O2": ("#include <whywait/mpi/wrappers.hpp>\n", ["-O2"], True),
    "communication_O2": ("#include <whywait/communication.hpp>\n", ["-O2"], True),
}


def compile_once(command, source, path):
    """(user seconds, peak MiB) of one compilation; ends the program if it fails."""
    with subprocess.Popen([*command, "-x", "c++", "-", "-o", str(path)], stdin=subprocess.PIPE) as process:
        process.stdin.write(source.encode())
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_utime, usage.ru_maxrss / 1024


def sizes(path):
    if not path.exists():
        return "", "", ""
    bss = subprocess.run(["size", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()[1].split()[2]
    symbols = subprocess.run(["nm", "--defined-only", str(path)], capture_output=True, text=True, check=True).stdout
    functions = sum(1 for line in symbols.splitlines() if line.split()[-2] in "tTwW")
    return f"{path.stat().st_size}", bss, f"{functions}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--mpi-compiler", default="mpicxx")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("rows", nargs="*", default=[])
    options = parser.parse_args()
    wanted = options.rows or list(ROWS)
    best, peak = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.rounds):
            for name in ["empty", "vector", *(n for n in wanted if n not in ("empty", "vector"))]:
                source, flags, needs_mpi = ROWS[name]
                if needs_mpi and turn > 0:
                    continue
                compiler = options.mpi_compiler if needs_mpi else options.compiler
                command = [compiler, "-std=c++17", "-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1", f"-I{INCLUDE}", *flags]
                command += [] if "-fsyntax-only" in flags else ["-c"]
                seconds, mib = compile_once(command, source, pathlib.Path(folder) / f"{name}.o")
                best[name] = min(best.get(name, seconds), seconds)
                peak[name] = mib
        print(f"{'':16}{'user s':>10}{'x vector':>10}{'MiB':>8}{'object B':>12}{'.bss B':>10}{'functions':>10}")
        unit = best["vector"] - best["empty"]
        for name, seconds in best.items():
            size, bss, functions = sizes(pathlib.Path(folder) / f"{name}.o")
            print(f"{name:16}{seconds:10.3f}{(seconds - best['empty']) / unit:10.2f}{peak[name]:8.0f}{size:>12}{bss:>10}{functions:>10}")


if __name__ == "__main__":
    main()
