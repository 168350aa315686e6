#!/usr/bin/env python3
"""With WHYWAIT_DISABLE the object code equals that of a file without whywait.

    off.py compiler [options ...]

off/with/steps.cpp uses everything in record.hpp and mpi.hpp; off/without/steps.cpp is the same program without
whywait. Their object files must be identical with WHYWAIT_DISABLE and must differ without it.
"""
import pathlib
import tempfile

import tools

HERE = pathlib.Path(__file__).resolve().parent / "off"


def compile_to(path, compiler, options, source):
    code, _, messages = tools.run([compiler, *tools.WARNINGS, "-std=c++17", *options, f"-I{tools.ROOT / 'include'}",
                                   "-c", source.name, "-o", str(path)], cwd=source.parent)
    if code != 0:
        tools.end([f"{source}: {messages}"], "")
    return path.read_bytes()


def difference(first, second):
    """The differences of two object files, as assembly and symbols."""
    shown = []
    for command in (["nm"], ["readelf", "-SW"], ["objdump", "-dr", "--no-show-raw-insn"]):
        a = tools.run([*command, str(first)])[1].splitlines()
        b = tools.run([*command, str(second)])[1].splitlines()
        only = [line for line in a if line not in b and str(first) not in line]
        shown += [f"    {' '.join(command)}: {line.strip()}" for line in only[:8]]
    return "\n".join(shown)


def main():
    compiler, options = tools.arguments()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        # Without optimisation an empty inline function remains a function, so that only the macros are compared. With
        # MPI g++ keeps constants of the standard library's headers, so that -O0 is skipped. The enabled variant takes
        # long to compile and behaves alike at each level; with MPI the presence of wrappers suffices.
        mpi = "-DHAS_MPI" in options
        levels = [("-O1", [], not mpi), ("-O2", [], False)]
        if not mpi:
            levels += [("-O0", ["-DONLY_MACROS"], True), ("-O3", [], False)]
        for level, what, try_on in levels:
            flags = [*options, level, *what]
            plain = compile_to(directory / "without.o", compiler, flags, HERE / "without" / "steps.cpp")
            off = compile_to(directory / "off.o", compiler, [*flags, "-DWHYWAIT_DISABLE"], HERE / "with" / "steps.cpp")
            if off != plain:
                failures.append(f"{level}: with WHYWAIT_DISABLE there is more than nothing:\n"
                                + difference(directory / "off.o", directory / "without.o"))
            if try_on and plain == compile_to(directory / "on.o", compiler, flags, HERE / "with" / "steps.cpp"):
                failures.append(f"{level}: without WHYWAIT_DISABLE nothing is recorded: this check checks nothing")
        if mpi:
            calls = [tools.run([compiler, "-std=c++17", *options, *more, f"-I{tools.ROOT / 'include'}", "-E",
                                str(HERE / "with" / "steps.cpp")])[1].count("PMPI_Isend") for more in ([], ["-DWHYWAIT_DISABLE"])]
            if calls[0] <= calls[1]:  # in addition to the declarations of MPI
                failures.append("without WHYWAIT_DISABLE no wrapper is defined: this check checks nothing")
    tools.end(failures, f"off is nothing with {compiler}")


main()
