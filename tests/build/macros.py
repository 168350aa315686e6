#!/usr/bin/env python3
"""Checks that the umbrella headers leave only public macros and guards defined.

    macros.py compiler [options ...]
"""
import os
import re

import tools

import rooms

PUBLIC = {"WHYWAIT_REGION", "WHYWAIT_BLOCK", "WHYWAIT_NEXT", "WHYWAIT_WORK", "WHYWAIT_WAIT", "WHYWAIT_DISABLE",
          "WHYWAIT_NO_COVERAGE",
          "WHYWAIT_DATA", "WHYWAIT_READS", "WHYWAIT_WRITES", "WHYWAIT_ITERATIONS", "WHYWAIT_PACKS", "WHYWAIT_UNPACKS",
          "WHYWAIT_SYNC", "WHYWAIT_SYNC_ALL",
          "WHYWAIT_VERSION_MAJOR", "WHYWAIT_VERSION_MINOR", "WHYWAIT_VERSION_PATCH",
          # the expansion of public macros uses it, so it cannot be undefined
          "WHYWAIT_DETAIL_JOIN", "WHYWAIT_DETAIL_JOIN2", "WHYWAIT_DETAIL_SITE",
          "WHYWAIT_DETAIL_TEXT", "WHYWAIT_DETAIL_TEXT2",
          # documented switches of mpi.h, which must precede it
          "OMPI_SKIP_MPICXX", "MPICH_SKIP_MPICXX"}


OWN = f"{rooms.TREE}/whywait/"  # where headers of whywait are included from; a folder's name alone says nothing


def unquoted(name):
    """The path in a line marker: compilers may write bytes that are not ASCII as octal escapes."""
    raw = re.sub(rb'\\([0-7]{3}|.)', lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else m[1], os.fsencode(name))
    return os.fsdecode(raw)


def left_over(compiler, options, umbrella):
    """Macros that whywait defines and leaves defined, with the file."""
    code, text, messages = tools.run([compiler, *options, f"-I{rooms.TREE}", "-E", "-dD", "-x", "c++", "-"],
                                     f"#include <whywait/{umbrella}>\n")
    if code != 0:
        tools.end([messages], "")
    here, macros = "", {}
    for line in text.splitlines():
        marker = re.match(r'^# \d+ "((?:\\.|[^"\\])*)"', line)
        if marker:
            here = unquoted(marker[1])
        define = re.match(r"^#define (\w+)", line)
        if define and here.startswith(OWN):
            macros[define[1]] = here[len(OWN):]
        undefine = re.match(r"^#undef (\w+)", line)
        if undefine:
            macros.pop(undefine[1], None)
    return macros


def main():
    compiler, options = tools.arguments()
    failures, looked_at = [], []
    for umbrella in rooms.SINGLE_HEADERS:
        if not (rooms.TREE / "whywait" / umbrella).exists():
            continue
        for switch in ([], ["-DWHYWAIT_DISABLE"]):
            macros = left_over(compiler, options + switch, umbrella)
            guards = {rooms.guard_of(f"whywait/{path}") for path in macros.values()}
            if rooms.guard_of(f"whywait/{umbrella}") not in macros:
                failures.append(f"{umbrella}: its guard was not seen: this check checks nothing")
            for macro, path in sorted(macros.items()):
                if macro not in PUBLIC and macro not in guards:
                    failures.append(f"include/whywait/{path} leaves the macro {macro} behind")
        looked_at.append(umbrella)
    tools.end(sorted(set(failures)), f"{', '.join(looked_at)} leave only public macros and guards")


main()
