#!/usr/bin/env python3
"""The hot headers compile alone and twice without exceptions and RTTI; all headers compile together; no warnings.

    headers.py compiler -std=c++NN [options ...]              each hot header, alone
    headers.py --together compiler -std=c++NN [options ...]   all headers in one file

header_sets.py checks that every header compiles alone.
"""
import sys

import tools

import rooms


def is_hot(name):
    return rooms.room_of(name) in rooms.HOT - {"mpi"} or name == "whywait/record.hpp"


def main():
    together = "--together" in sys.argv
    if together:
        sys.argv.remove("--together")
    compiler, options = tools.arguments()
    failures = []
    names = [name for name in rooms.headers() if name.removeprefix("whywait/").split("/")[0].removesuffix(".hpp") not in rooms.LEAVES]
    if together:
        code, _, messages = tools.run([compiler, *tools.WARNINGS, *options, f"-I{rooms.TREE}", "-fsyntax-only",
                                       "-x", "c++", "-"], "".join(f"#include <{name}>\n" for name in names))
        if code != 0:
            failures.append(f"all headers in one file, {' '.join(options)}:\n{messages}")
        tools.end(failures, f"{len(names)} headers compile together with {compiler}")
    hot = [name for name in names if is_hot(name)]
    for name in hot:
        code, _, messages = tools.run([compiler, *tools.WARNINGS, *options, "-fno-exceptions", "-fno-rtti", f"-I{rooms.TREE}",
                                       "-fsyntax-only", "-x", "c++", "-"], f"#include <{name}>\n#include <{name}>\n")
        if code != 0:
            failures.append(f"include/{name} alone, {' '.join(options)}:\n{messages}")
    tools.end(failures, f"{len(hot)} hot headers compile alone with {compiler}")


main()
