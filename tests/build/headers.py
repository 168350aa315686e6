#!/usr/bin/env python3
"""Every header compiles alone and twice, without a warning; those for hot code also without exceptions and RTTI.

    headers.py compiler -std=c++NN [options ...]              each header alone, but those of mpi/ and those that a unit test includes first
    headers.py --together compiler -std=c++NN [options ...]   all in one file: what another standard says of them
"""
import re
import sys

import tools

import rooms


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
    tested = {found.group(1) for test in tools.ROOT.glob("tests/[0-9]_*/*.cpp")
              if not re.search("explain|rules", test.parent.name)  # whose files are compiled together
              and (found := re.search(r"^#include [<\"](.*)[>\"]", test.read_text(encoding="utf-8"), re.MULTILINE))}
    for name in names:
        source = f"#include <{name}>\n#include <{name}>\n"
        hot = rooms.room_of(name) in ("core", "record") or name == "whywait/record.hpp"
        variants = [["-fno-exceptions", "-fno-rtti"]] if hot else [[]]
        if (name in tested and not hot) or rooms.room_of(name) == "mpi":
            continue  # it compiles alone there; what wires all rooms takes longest, and is compiled with every example
        for variant in variants:
            code, _, messages = tools.run([compiler, *tools.WARNINGS, *options, *variant, f"-I{rooms.TREE}",
                                           "-fsyntax-only", "-x", "c++", "-"], source)
            if code != 0:
                failures.append(f"include/{name} alone, {' '.join(options + variant)}:\n{messages}")
    tools.end(failures, f"{len(names)} headers compile alone with {compiler}")


main()
