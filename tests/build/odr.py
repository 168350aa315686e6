#!/usr/bin/env python3
"""Lists strong symbols, which a second file with the same headers would define again; only the file's own are allowed.

    odr.py OBJECT|OBJECT...
"""
import sys

import tools

OWN = {"main", "second()"}


def main():
    failures, seen = [], 0
    for name in sys.argv[1].split("|"):
        code, symbols, messages = tools.run(["nm", "-C", "--defined-only", name])
        if code != 0:
            failures.append(f"{name}: {messages}")
        for line in symbols.splitlines():
            kind, symbol = line[17:18], line[19:]
            seen += kind in "WVu"
            if kind in "TDBRGSC" and symbol not in OWN:
                failures.append(f"{name}: {symbol} is defined in each file that includes its header")
    if seen < 1000:
        failures.append(f"only {seen} weak symbols: this check checks nothing")
    tools.end(failures, f"{seen} definitions may be repeated, no other is")


main()
