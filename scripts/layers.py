#!/usr/bin/env python3
"""Checks the includes between rooms, the guards and the sizes of headers. Writes nothing.

Each finding is one line "file:line: message"; the exit code is 1 if there is any. The rules are those of
include/whywait/README.md; the table is in rooms.py. --self-test checks that every rule can fail.
"""
import pathlib
import re
import sys
import tempfile

import rooms

MOST_LINES = 400
# Includes that are too expensive for files with marks, because <whywait/record.hpp> must be nearly free.
HEAVY = {"string", "vector", "atomic", "chrono", "mutex", "thread", "condition_variable", "functional", "memory",
         "map", "unordered_map", "algorithm", "string_view", "tuple", "variant", "optional", "future", "sstream"}
NEVER = {"iostream"}
LIGHT = ("record.hpp", "data.hpp")  # umbrellas that must reach none of them
MPI_HEADER = "whywait/mpi/mpi_header.hpp"
COLD_BEGIN, COLD_END = "whywait/base/cold_begin.hpp", "whywait/base/cold_end.hpp"


def reached(name, seen):
    """All project headers that `name` includes, directly or indirectly."""
    for line in rooms.read(name):
        target = line.include
        if target and target.startswith("whywait/") and target not in seen and (rooms.TREE / target).exists():
            seen.add(target)
            reached(target, seen)
    return seen


def check(name, light):
    room = rooms.room_of(name)
    path = f"include/{name}"
    lines = rooms.read(name)
    if room is None and name.split("/")[-1] not in rooms.UMBRELLAS:
        yield f"{path}:1: unknown umbrella: add it to UMBRELLAS of scripts/rooms.py"
    if room is not None and room not in rooms.MAY_INCLUDE:
        yield f"{path}:1: unknown room {room}: add it to MAY_INCLUDE of scripts/rooms.py"
        return

    code = [line for line in lines if line.bare.strip()]
    guard = rooms.guard_of(name)
    if (len(code) < 3 or code[0].bare.strip() != f"#ifndef {guard}" or code[1].bare.strip() != f"#define {guard}"
            or not rooms.CONDITION_CLOSES.match(code[-1].bare)):
        yield f"{path}:1: the guard must be {guard}, around everything"
    if len(lines) > MOST_LINES:
        yield f"{path}:{MOST_LINES + 1}: {len(lines)} lines; at most {MOST_LINES}: one idea per header"

    for line in lines:
        here = f"{path}:{line.number}"
        if re.match(r"^\s*#\s*pragma\s+once", line.bare):
            yield f"{here}: #pragma once: use the guard {guard}"
        target = line.include
        if not target:
            continue
        if not target.startswith("whywait/"):
            if line.kind == '"':
                yield f'{here}: "{target}": write <whywait/room/file.hpp>'
            if target == "mpi.h" and name != MPI_HEADER:
                yield f"{here}: <mpi.h>: include <{MPI_HEADER}>, which leaves out its C++ bindings"
            if target in NEVER:
                yield f"{here}: <{target}> must not be in a header"
            if name in light and (target in HEAVY or target.startswith("boost/")):
                yield f"{here}: <{target}> is too heavy: every file with marks would pay for it"
            continue
        if line.kind == '"':
            yield f'{here}: "{target}": write it in <>'
        if line.depth > 0 and rooms.ONLY_IMPLEMENTATION.get(name) != target:
            yield f"{here}: <{target}> under #if: project includes are unconditional"
        if not (rooms.TREE / target).exists():
            yield f"{here}: <{target}> does not exist"
            continue
        other = rooms.room_of(target)
        umbrella = room is None
        if umbrella:
            continue  # umbrellas join rooms; their reach is checked below
        if other is None:
            yield f"{here}: {room}/ includes the umbrella <{target}>"
        elif other != room and other not in rooms.MAY_INCLUDE[room]:
            may = ", ".join(sorted(rooms.MAY_INCLUDE[room])) or "nothing"
            yield f"{here}: {room}/ must not include {other}/ (it may include: {may})"
        elif other != room and "/detail/" in target:
            yield f"{here}: <{target}> is private to {other}/"

    if room is None:
        for forbidden in sorted(rooms.UMBRELLAS.get(name.split("/")[-1], ())):
            for target in sorted(reached(name, set())):
                if f"{target}/".startswith(f"whywait/{forbidden}/"):
                    yield f"{path}:1: reaches <{target}>, but must do without {forbidden}/"


def cycles():
    """Include cycles, including those inside one room."""
    state, stack = {}, []

    def visit(name):
        state[name] = "open"
        stack.append(name)
        for line in rooms.read(name):
            target = line.include
            if not target or not target.startswith("whywait/") or not (rooms.TREE / target).exists():
                continue
            if state.get(target) == "open":
                ring = stack[stack.index(target):] + [target]
                yield f"include/{name}:{line.number}: a ring of includes: {' -> '.join(ring)}"
            elif target not in state:
                yield from visit(target)
        stack.pop()
        state[name] = "done"

    for name in rooms.headers():
        if name not in state:
            yield from visit(name)


def same_names():
    """Headers with the same base name, which would make a search for a file ambiguous."""
    seen = {}
    for name in rooms.headers():
        base = name.split("/")[-1]
        if rooms.room_of(name) is not None and base in seen:
            yield f"include/{name}:1: {seen[base]} has the same base name"
        seen[base] = f"include/{name}"


def leaks():
    """Standard headers that are first included between cold_begin.hpp and cold_end.hpp: its pragma would hold for code of
    theirs that other code uses."""
    seen, outside = set(), set()

    def visit(name, inside):
        seen.add(name)
        for line in rooms.read(name):
            target = line.include
            if not target:
                continue
            if not target.startswith("whywait/"):
                if not inside:
                    outside.add(target)
                elif target not in outside:
                    yield (f"include/{name}:{line.number}: <{target}> is first included between {COLD_BEGIN} and {COLD_END}: "
                           f"add it to {COLD_BEGIN}")
            elif target not in seen and (rooms.TREE / target).exists():
                if target == COLD_END:
                    inside = False
                yield from visit(target, inside)
                if target == COLD_BEGIN:
                    inside = True

    if (rooms.TREE / "whywait/observer.hpp").exists():
        yield from visit("whywait/observer.hpp", False)


def packaged():
    """Headers that programs without MPI need and that a package without MPI leaves out, by the patterns of CMakeLists.txt."""
    text = (rooms.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    of_mpi, without = (re.search(rf'whywait_mpi_headers {which} REGEX "(.+)"', text)[1] for which in ("INCLUDE", "EXCLUDE"))
    for umbrella, forbidden in rooms.UMBRELLAS.items():
        name = f"whywait/{umbrella}"
        if "mpi" not in forbidden or not (rooms.TREE / name).exists():
            continue
        for target in sorted(reached(name, {name})):
            path = f"include/{target}"
            if rooms.room_of(target) != "mpi" and re.search(of_mpi, path) and not re.search(without, path):
                yield f"{path}:1: missing in a package without MPI, where <{name}> needs it: add it to CMakeLists.txt"


def findings():
    light = set()
    for umbrella in LIGHT:
        if (rooms.TREE / "whywait" / umbrella).exists():
            light |= reached(f"whywait/{umbrella}", {f"whywait/{umbrella}"})
    for name in rooms.headers():
        yield from check(name, light)
    yield from same_names()
    yield from cycles()
    yield from leaks()
    yield from packaged()


def self_test():
    """Each broken tree must give exactly the expected finding."""
    def header(name, body):
        guard = rooms.guard_of(name)
        return f"#ifndef {guard}\n#define {guard}\n{body}\n#endif\n"

    cases = [
        ("a hot room includes a cold one", {"whywait/record/a.hpp": "#include <whywait/explain/b.hpp>",
                                            "whywait/explain/b.hpp": ""}, "record/ must not include explain/"),
        ("a cold room includes a hot one", {"whywait/report/a.hpp": "#include <whywait/record/b.hpp>",
                                            "whywait/record/b.hpp": ""}, "report/ must not include record/"),
        ("core includes a room", {"whywait/core/a.hpp": "#include <whywait/record/b.hpp>",
                                  "whywait/record/b.hpp": ""}, "may include: nothing"),
        ("a cold room includes a standard header first", {
            "whywait/observer.hpp": "#include <whywait/base/cold_begin.hpp>\n#include <whywait/explain/a.hpp>\n"
                                    "#include <whywait/base/cold_end.hpp>",
            "whywait/base/cold_begin.hpp": "#include <string>", "whywait/base/cold_end.hpp": "",
            "whywait/explain/a.hpp": "#include <string>\n#include <vector>"}, "<vector> is first included between"),
        ("a room includes an umbrella", {"whywait/mpi/a.hpp": "#include <whywait/record.hpp>",
                                         "whywait/record.hpp": ""}, "includes the umbrella"),
        ("a cold room includes the end of a run", {"whywait/report/a.hpp": "#include <whywait/finalize/b.hpp>",
                                                   "whywait/finalize/b.hpp": ""}, "report/ must not include finalize/"),
        ("parts of one vertical room", {"whywait/data/marks/a.hpp": "#include <whywait/data/analysis/b.hpp>",
                                        "whywait/data/analysis/b.hpp": ""}, "data/marks/ must not include data/analysis/"),
        ("two headers of one name", {"whywait/core/a.hpp": "", "whywait/record/a.hpp": ""}, "the same base name"),
        ("an include under #if", {"whywait/mpi/a.hpp": "#if 1\n#include <whywait/core/b.hpp>\n#endif",
                                  "whywait/core/b.hpp": ""}, "under #if"),
        ("an include in quotes", {"whywait/core/a.hpp": '#include "b.hpp"', "whywait/core/b.hpp": ""}, "write <"),
        ("a missing header", {"whywait/core/a.hpp": "#include <whywait/core/no.hpp>"}, "does not exist"),
        ("a private header", {"whywait/mpi/a.hpp": "#include <whywait/core/detail/b.hpp>",
                              "whywait/core/detail/b.hpp": ""}, "is private to core/"),
        ("a heavy include", {"whywait/record/a.hpp": "#include <vector>",
                             "whywait/record.hpp": "#include <whywait/record/a.hpp>"}, "too heavy"),
        ("iostream", {"whywait/report/a.hpp": "#include <iostream>"}, "must not be in a header"),
        ("mpi.h elsewhere", {"whywait/mpi/a.hpp": "#include <mpi.h>"}, "leaves out its C++ bindings"),
        ("too long", {"whywait/core/a.hpp": "\n" * MOST_LINES}, "one idea per header"),
        ("an umbrella that reaches too far", {"whywait/record.hpp": "#include <whywait/mpi/a.hpp>",
                                              "whywait/mpi/a.hpp": ""}, "must do without mpi/"),
        ("a ring", {"whywait/core/a.hpp": "#include <whywait/core/b.hpp>",
                    "whywait/core/b.hpp": "#include <whywait/core/a.hpp>"}, "a ring of includes"),
        ("a wrong guard", {"whywait/core/a.hpp": None}, "the guard must be WHYWAIT_CORE_A_HPP"),
        ("a header that a package without MPI lacks", {"whywait/whywait.hpp": "#include <whywait/finalize/new.hpp>",
                                                       "whywait/finalize/new.hpp": ""}, "missing in a package without MPI"),
        ("an unknown room", {"whywait/attic/a.hpp": ""}, "unknown room"),
    ]
    wrong = 0
    tree = rooms.TREE
    for title, files, wanted in cases:
        with tempfile.TemporaryDirectory() as directory:
            rooms.TREE = pathlib.Path(directory)
            for name, body in files.items():
                path = rooms.TREE / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("#ifndef A_HPP\n#define A_HPP\n#endif\n" if body is None else header(name, body))
            found = list(findings())
        if len(found) != 1 or wanted not in found[0]:
            print(f"scripts/layers.py: {title}: wanted one finding with '{wanted}', got {found}")
            wrong += 1
    rooms.TREE = tree
    return wrong


def main():
    if "--self-test" in sys.argv[1:]:
        return 1 if self_test() else 0
    found = list(findings())
    for line in found:
        print(line)
    if not found:
        print(f"{len(rooms.headers())} headers, all arrows point the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
