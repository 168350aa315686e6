#!/usr/bin/env python3
"""Runs bench_record and every bench_peer_* of a build, short and in an order that changes, and puts all rows in one table.

    compare.py build/openmpi/benchmarks [turns [rounds]]

Each program has a floor of its own, measured between its batches; ratios are to that. Of the turns the smallest minimum
and the median of the medians.
"""
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: compare.py FOLDER [turns [rounds]]")
    folder = pathlib.Path(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    programs = [folder / "bench_record", *sorted(folder.glob("bench_peer_*"))]
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "out.json"
        for _ in range(turns):
            random.shuffle(programs)
            for program in programs:
                done = subprocess.run([program, f"--rounds={rounds}", f"--json={out}"], capture_output=True, text=True,
                                      check=False)
                if done.returncode != 0:
                    print(f"{program.name} failed: {done.stderr.strip()[-200:]}", file=sys.stderr)
                    continue
                for row in json.loads(out.read_text())["benchmarks"]:
                    rows.setdefault(row["name"], []).append(row)
    print(f"{'ns':<16}{'minimum':>10}{'median':>10}{'x floor':>9}{'median':>9}")
    for name, found in sorted(rows.items(), key=lambda item: min(r["min_ns"] for r in item[1])):
        least = min(r["min_ns"] for r in found)
        median = statistics.median(r["median_ns"] for r in found)
        ratio = statistics.median(r["min_ns"] / r["floor_min_ns"] for r in found)
        middle = statistics.median(r["median_ns"] / r["floor_median_ns"] for r in found)
        print(f"{name:<16}{least:>10.2f}{median:>10.2f}{ratio:>9.2f}{middle:>9.2f}")


main()
