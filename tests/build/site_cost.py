#!/usr/bin/env python3
"""Limits the instructions that a WHYWAIT_REGION adds to a function, to 42 on the straight path.

    site_cost.py compiler [options ...]

Compares two files that differ in one mark in each of 8 functions. Both have marks, so that the cost per file cancels.
The cold part (first visits, exceptions) is counted separately; clang leaves it in the same section.
"""
import pathlib
import re
import tempfile

import tools

MOST = {"region": (42, 100), "next": (30, 50), "block": (20, 30)}  # straight path, including the cold part
MARK = {"region": 'WHYWAIT_REGION("r{0}");', "next": 'WHYWAIT_NEXT("n{0}");', "block": 'WHYWAIT_BLOCK("b{0}");'}
FUNCTIONS = 8


def source(kind, more):
    lines = ["#include <whywait/record.hpp>", "void work(int);"]
    for i in range(FUNCTIONS):  # each mark in its own scope
        marks = "\n".join("{ " + MARK[kind].format(f"{i}_{k}") + f" work({k}); work({k} + 1); work({k} + 2); work({k} + 3); }}" for k in range(2 if more else 1))
        if kind == "next":
            marks = f'WHYWAIT_REGION("around{i}"); work(9); {marks}'
        lines.append(f"void f{i}(); void f{i}() {{ {marks} {'' if more else 'work(1); work(2); work(3); work(4);'} }}")
    return "\n".join(lines) + "\n"


def instructions(compiler, options, text):
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "sites.o"
        code, _, messages = tools.run([compiler, "-O2", "-std=c++17", *options, f"-I{tools.ROOT / 'include'}", "-c", "-x",
                                       "c++", "-", "-o", str(path)], text)
        if code != 0:
            tools.end([messages], "")
        listing = tools.run(["objdump", "-d", "--no-show-raw-insn", str(path)])[1]
    counts = {"all": 0, "straight": 0}
    cold = False
    for line in listing.splitlines():
        section = re.match(r"^Disassembly of section (\S+):", line)
        symbol = re.match(r"^[0-9a-f]+ <(.*)>:", line)
        if section:
            cold = ".text.unlikely" in section[1]
        elif symbol:
            symbol_cold = cold or "cold" in symbol[1]
        elif re.match(r"^\s+[0-9a-f]+:\t", line) and not re.search(r"\t(nop|xchg\s+%ax,%ax|cs nop|data16)", line):
            counts["all"] += 1
            counts["straight"] += not symbol_cold
    return counts


def main():
    compiler, options = tools.arguments()
    failures, counts = [], []
    for kind, most in MOST.items():
        one = instructions(compiler, options, source(kind, False))
        two = instructions(compiler, options, source(kind, True))
        each = (two["straight"] - one["straight"]) / FUNCTIONS
        counts.append(f"{kind} {each:.1f} ({(two['all'] - one['all']) / FUNCTIONS:.1f} with the cold part)")
        if each < 3:
            failures.append(f"a {kind} adds {each:.1f} instructions: this check checks nothing")
        limit = most[1] if "clang" in compiler else most[0]
        if each > limit or (two["all"] - one["all"]) / FUNCTIONS > most[1]:
            failures.append(f"too many instructions, at most {most[0]} ({most[1]}): {counts[-1]}")
    tools.end(failures, f"instructions of one more mark with {compiler}: {', '.join(counts)}")


main()
