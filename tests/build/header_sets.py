#!/usr/bin/env python3
"""Every header compiles alone, with only the include paths of its target: builds what CMake's target
all_verify_interface_header_sets builds, without headers that another header of the target includes first, which shows the
same.

    header_sets.py BUILD
"""
import re
import subprocess
import sys

import tools

OBJECT = re.compile(r"^(\S*/(\w+)_verify_interface_header_sets/(whywait/\S+\.hpp)\.cxx\.o): ", re.M)
INCLUDE = re.compile(r"^#include (\S+)", re.M)


def main():
    build = sys.argv[1]
    _, targets, messages = tools.run(["ninja", "-C", build, "-t", "targets", "all"])
    objects = {(target, header): path for path, target, header in OBJECT.findall(targets)}
    if not objects:
        tools.end([f"{build} has no header sets to verify: {messages}"], "")
    shown = set()
    for target, header in objects:
        first = INCLUDE.search((tools.ROOT / "include" / header).read_text(encoding="utf-8"))
        if first:
            shown.add((target, first[1].strip("<>")))
    alone = sorted(path for key, path in objects.items() if key not in shown)
    code = subprocess.call(["ninja", "-C", build, "-j", "1", *alone])
    tools.end([] if code == 0 else [f"ninja ended with {code}"], f"{len(objects)} headers compile alone, {len(alone)} were compiled")


main()
