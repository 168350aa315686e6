#!/usr/bin/env python3
"""What examples/quickstart.sh configures needs only the packages of `scripts/dependencies.sh quickstart`.

    quickstart.py MPI_COMPILER

Configures with the options of the script while every package that only tests and benchmarks need is hidden.
"""
import pathlib
import re
import sys
import tempfile

import tools

HIDDEN = ["doctest", "benchmark", "nlohmann_json", "valijson", "Python3", "Python"]


def main():
    failures = []
    script = (tools.ROOT / "examples" / "quickstart.sh").read_text(encoding="utf-8")
    options = re.findall(r"-DWHYWAIT_\w+=\w+", script)
    if "-DWHYWAIT_BUILD_TESTS=OFF" not in options:
        failures.append("examples/quickstart.sh: its options for CMake were not found")
    with tempfile.TemporaryDirectory() as build:
        code, out, err = tools.run(["cmake", "-S", str(tools.ROOT), "-B", build, "-G", "Ninja", *options,
                                    f"-DMPI_CXX_COMPILER={sys.argv[1]}",
                                    *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in HIDDEN)])
        if code != 0:
            failures.append(f"does not configure:\n{out}{err}")
        else:
            cache = (pathlib.Path(build) / "CMakeCache.txt").read_text(encoding="utf-8")
            for name in HIDDEN:
                if re.search(rf"^_?{name}_(DIR|EXECUTABLE)", cache, re.MULTILINE):
                    failures.append(f"looks for {name}")
            code, out, err = tools.run(["ninja", "-C", build, "-t", "query", "example_jacobi"])
            if code != 0:
                failures.append(f"the target example_jacobi is missing:\n{out}{err}")
    tools.end(failures, f"configures without {', '.join(HIDDEN)}")


main()
