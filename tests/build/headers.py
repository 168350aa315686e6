#!/usr/bin/env python3
"""Every header compiles alone and twice, without a warning; those for hot code also without exceptions and RTTI.

    headers.py compiler -std=c++NN [options ...]              each header alone, but those of finalize/ and postmortem/ and those that another header, a
                                                              unit test or an example includes first: they compile alone there
    headers.py --together compiler -std=c++NN [options ...]   all in one file: what another standard says of them
"""
import re
import sys

import tools

import rooms


UNITY = re.compile("core|record|explain|clocks|rules")  # rooms whose tests are compiled together: only the first of them begins a file


def first_include(path):
    """What `path` includes before anything else, and so compiles alone: nothing stands before it."""
    found = re.search(r"^#include [<\"](.*)[>\"]", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else None


def is_hot(name):
    return rooms.room_of(name) in rooms.HOT - {"mpi"} or name == "whywait/record.hpp"


def main():
    together = "--together" in sys.argv
    if together:
        sys.argv.remove("--together")
    compiler, options = tools.arguments()
    failures, names = [], rooms.headers()
    if together:
        code, _, messages = tools.run([compiler, *tools.WARNINGS, *options, f"-I{rooms.TREE}", "-fsyntax-only",
                                       "-x", "c++", "-"], "".join(f"#include <{name}>\n" for name in names))
        if code != 0:
            failures.append(f"all headers in one file, {' '.join(options)}:\n{messages}")
        tools.end(failures, f"{len(names)} headers compile together with {compiler}")
    compiled = {first_include(path) for path in (*tools.ROOT.glob("tests/unit/*/*.cpp"), *tools.ROOT.glob("examples/*.cpp"))
                if not UNITY.search(path.parent.name)}
    within = {True: set(), False: set()}  # [without exceptions and RTTI]: what nothing comes before in a header of the kind
    for name in names:
        if rooms.room_of(name) not in rooms.BOTH:
            within[is_hot(name)].add(first_include(rooms.TREE / name))
    for name in names:
        if rooms.room_of(name) in rooms.BOTH:
            continue  # these take longest, and every example compiles them
        hot = is_hot(name)
        if name in within[hot] or (name in compiled and not hot):
            continue
        flags = ["-fno-exceptions", "-fno-rtti"] if hot else []
        code, _, messages = tools.run([compiler, *tools.WARNINGS, *options, *flags, f"-I{rooms.TREE}", "-fsyntax-only",
                                       "-x", "c++", "-"], f"#include <{name}>\n#include <{name}>\n")
        if code != 0:
            failures.append(f"include/{name} alone, {' '.join(options + flags)}:\n{messages}")
    tools.end(failures, f"{len(names)} headers compile alone with {compiler}")


main()
