#!/usr/bin/env python3
"""Runs bench_record and every bench_peer_* of the folders briefly, in shuffled order, and prints all rows in one table.

    compare.py build/openmpi/benchmarks [more folders] [turns [rounds]]

Each program measures its own floor between its batches, and ratios refer to it. The table shows the smallest minimum
and the median of the medians over all turns. A program that fails or does not record what it timed is listed with the
number of missing turns.
"""
import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def main():
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    folders = [pathlib.Path(word) for word in sys.argv[1:] if not word.isdigit()]
    if not folders or len(numbers) > 2:
        sys.exit("usage: compare.py FOLDER... [turns [rounds]]")
    turns, rounds = (numbers + [10, 200][len(numbers):])
    programs = [program for folder in folders
                for program in (*folder.glob("bench_record"), *sorted(folder.glob("bench_peer_*")))]
    if not programs:
        sys.exit(f"compare.py: no bench_record and no bench_peer_* in {', '.join(map(str, folders))}")
    rows, failed, loads = {}, collections.defaultdict(list), [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "out.json"
        for _ in range(turns):
            random.shuffle(programs)
            for program in programs:
                done = subprocess.run([program, f"--rounds={rounds}", f"--json={out}"], capture_output=True, text=True,
                                      errors="replace", check=False)
                loads.append(os.getloadavg()[0])
                if done.returncode != 0:
                    failed[program.name].append((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
                    continue
                for row in json.loads(out.read_text())["benchmarks"]:
                    rows.setdefault(row["name"], []).append(row)
    for program, reasons in failed.items():
        print(f"{program}: {len(reasons)} of {turns} turns failed: {reasons[-1]}", file=sys.stderr)
    print(f"{processor()}, {os.cpu_count()} processors, load {min(loads):.1f} to {max(loads):.1f}, "
          f"{turns} turns of {rounds} rounds")
    print(f"{'ns':<24}{'minimum':>10}{'median':>10}{'x floor':>9}{'median':>9}")
    for name, found in sorted(rows.items(), key=lambda item: min(r["min_ns"] for r in item[1])):
        least = min(r["min_ns"] for r in found)
        median = statistics.median(r["median_ns"] for r in found)
        ratio = statistics.median(r["min_ns"] / r["floor_min_ns"] for r in found)
        middle = statistics.median(r["median_ns"] / r["floor_median_ns"] for r in found)
        print(f"{name:<24}{least:>10.2f}{median:>10.2f}{ratio:>9.2f}{middle:>9.2f}")


main()
