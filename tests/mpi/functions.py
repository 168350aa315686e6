#!/usr/bin/env python3
"""Checks that each function of an MPI library that can block or communicate has a wrapper, and lists those without a model.

    functions.py LIBRARY PROGRAM

LIBRARY is the MPI library that PROGRAM, which contains the observer, was linked with. A function that PROGRAM does not define
must be in the list of scripts/mpi_reference.py: it is local and does not block. Functions with a wrapper must be in the table of
calls, and those without a model have a reason there."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import mpi_reference  # noqa: E402


def symbols(path, kinds, *options):
    lines = subprocess.run(["nm", *options, path], check=True, capture_output=True, text=True).stdout
    return set(re.findall(rf" [{kinds}] (P?MPI_\w+)$", lines, re.MULTILINE))


def main():
    library, program = sys.argv[1:]
    exported = symbols(library, "TWV", "-D")
    functions = {name[4:] for name in exported if name.startswith("MPI_") and "P" + name in exported}
    wrapped = {name[4:] for name in symbols(program, "TWV") if name.startswith("MPI_")}
    missing = sorted(name for name in functions - wrapped if not mpi_reference.is_local(name))
    listed = sorted(name for name in functions & wrapped if mpi_reference.is_local(name))
    explained, others = mpi_reference.read_table()
    unlisted = sorted((functions & wrapped) - set(explained) - set(others))
    print(f"{library}: {len(functions)} functions, {len(functions & wrapped)} with a wrapper, "
          f"{len(functions & set(explained))} explained")
    for group, reason, _ in mpi_reference.UNEXPLAINED:
        names = [n for n in others if n in functions and mpi_reference.reason_of(n)[0] == group]
        print(f"not explained: {group}: {reason}: {' '.join('MPI_' + n for n in names)}")
    if len(functions) < 200:
        sys.exit("this is no MPI library")
    if missing:
        sys.exit("neither explained nor counted: " + " ".join("MPI_" + name for name in missing))
    if unlisted:
        sys.exit("with a wrapper, but not in the table of calls: " + " ".join("MPI_" + name for name in unlisted))
    if listed:
        sys.exit("with a wrapper although listed as local: " + " ".join("MPI_" + name for name in listed))


main()
