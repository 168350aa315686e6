#!/usr/bin/env python3
"""The timeline in the Trace Event Format: complete, nested, with arrows from causes to waits; through epochs; bounded.

    trace.py --mpirun LAUNCHER PROGRAM

The rules are those by which Perfetto's importer reads the format: complete events of a thread nest, and an arrow binds to slices of
its thread at its time.
"""
import argparse
import bisect
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STEPS, RANKS = 6000, 2
KEYS = {"X": {"ph", "pid", "tid", "ts", "dur", "cat", "name", "args"}, "i": {"ph", "s", "pid", "tid", "ts", "cat", "name", "args"},
        "s": {"ph", "pid", "tid", "ts", "cat", "name", "id"}, "f": {"ph", "bp", "pid", "tid", "ts", "cat", "name", "id"}}


def ns(microseconds):
    return round(microseconds * 1000)


def check(trace, complete, failures):
    def expect(what, fine, shown=""):
        if not fine and len(failures) < 20:
            failures.append(f"{what} {shown}")

    events = trace["traceEvents"]
    tracks, names, waits = collections.defaultdict(list), collections.Counter(), 0
    for e in events:
        expect("unknown keys in", e["ph"] == "M" or set(e) == KEYS[e["ph"]], e)
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e))
            names[e["name"]] += 1
            waits += ns(e["dur"]) if e["cat"] == "wait" else 0
    for track, slices in tracks.items():
        open_ends = []
        for begin, end, e in slices:
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            expect("does not nest:", not open_ends or end <= open_ends[-1], f"{track} {e}")
            open_ends.append(end)
        expect("not in order:", [s[0] for s in slices] == sorted(s[0] for s in slices), track)
    calls = {track: sorted(b for b, _, e in slices if e["cat"] == "mpi") for track, slices in tracks.items()}
    ends = {track: sorted(end for _, end, e in slices if e["cat"] == "wait") for track, slices in tracks.items()}
    starts, bound, arrows = {}, 0, 0
    for e in events:
        at, track = ns(e["ts"]) if "ts" in e else 0, (e["pid"], e.get("tid"))
        if e["ph"] == "s":
            starts[e["id"]] = at
            position = bisect.bisect_left(calls.get(track, []), at)
            bound += position < len(calls.get(track, [])) and calls[track][position] == at
        elif e["ph"] == "f":
            arrows += 1
            expect("an arrow without begin:", starts.get(e["id"]) == at, e)
            position = bisect.bisect_left(ends.get(track, []), at)
            expect("an arrow to no wait:", not complete or (position < len(ends[track]) and ends[track][position] == at), e)
    if complete:
        expect("arrows that begin at the late call:", bound >= 0.98 * arrows, f"{bound} of {arrows}")
        expect("work:", names["work"] == RANKS * STEPS, names)
        expect("MPI_Allreduce:", names["MPI_Allreduce"] == RANKS * STEPS, names)
        expect("late:", names["late"] == STEPS // 500, names)
        long = [e for e in events if e["ph"] == "X" and e["cat"] == "wait" and e["dur"] > 1500]
        blamed = [e for e in long if e["args"]["for rank"] == RANKS - 1 and e["args"].get("the late side ran 1", "").startswith("late (steps.cpp:")]
        expect("waits for `late`:", len(blamed) >= STEPS // 500 - 2, f"{len(blamed)}, for example {long[:1]}")
    return waits / 1e9


def check_archive(printed, trace, failures):
    """The archive has the same slices as the trace: enters and leaves alternate as brackets, with the same names and times."""
    wanted = collections.Counter((e["pid"], e["name"] if e["cat"] != "wait" else "wait: " + e["name"]) for e in trace["traceEvents"]
                                 if e["ph"] == "X")
    found, open_regions, attributes = collections.Counter(), collections.defaultdict(list), 0
    for line in printed.splitlines():
        match = re.match(r'^(ENTER|LEAVE)\s+(\d+)\s+(\d+)\s+Region: "([^"]*)"', line)
        attributes += "waited for rank" in line
        if not match:
            continue
        kind, location, _, name = match.groups()
        if kind == "ENTER":
            open_regions[location].append(name)
            found[int(location), name] += 1
        elif not open_regions[location] or open_regions[location].pop() != name:
            failures.append(f"the archive leaves {name} that it did not enter")
            break
    if found != wanted:
        failures.append(f"the archive has {dict(found)}, the trace {dict(wanted)}")
    if not attributes:
        failures.append("the archive has no attributes of waits")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--mpirun", required=True)
    options.add_argument("--otf2-print")
    options.add_argument("program")
    options = options.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(prefix, **settings):
            subprocess.run([options.mpirun, "-n", str(RANKS), options.program, str(STEPS)], check=True, timeout=60,
                           env=dict(os.environ, WHYWAIT_REPORT="none", WHYWAIT_OUTPUT=str(folder / prefix), **settings),
                           stdin=subprocess.DEVNULL)
            return (json.loads((folder / f"{prefix}.json").read_text(encoding="utf-8")),
                    json.loads((folder / f"{prefix}.trace.json").read_text(encoding="utf-8")))

        for prefix, settings in (("whole", {}), ("epochs", {"WHYWAIT_MEMORY": "1M"})):
            report, trace = run(prefix, WHYWAIT_TIMELINE="drop_newest", **settings)
            waits = check(trace, True, failures)
            if options.otf2_print:
                archive = folder / f"{prefix}.otf2" / "traces.otf2"
                printed = subprocess.run([options.otf2_print, "-A", archive], text=True, check=False, capture_output=True)
                if printed.returncode != 0 or printed.stderr:
                    failures.append(f"otf2-print: {printed.returncode} {printed.stderr[:500]}")
                check_archive(printed.stdout, trace, failures)
            if abs(waits - report["run"]["waiting_seconds"]) > 0.01 * waits + 1e-5:
                failures.append(f"{prefix}: waits of {waits} s in the trace, {report['run']['waiting_seconds']} s in the report")
            if (report["run"].get("epochs", 1) > 1) != (prefix == "epochs"):
                failures.append(f"{prefix}: {report['run'].get('epochs', 1)} epochs")
            if trace["otherData"]["left_out"]:
                failures.append(f"{prefix}: {trace['otherData']['left_out']}")
        for policy in ("drop_newest", "overwrite_oldest"):
            report, trace = run(policy, WHYWAIT_TIMELINE=policy + ":128K")
            check(trace, False, failures)
            if "for lack of memory" not in trace["otherData"]["left_out"]:
                failures.append(f"{policy}: nothing is said about lost events")
            if not any("for lack of memory" in w for w in report["run"]["warnings"]):
                failures.append(f"{policy}: the report has no warning")
            size = (folder / f"{policy}.trace.json").stat().st_size
            if size > RANKS * 128 * 1024 / 8 * 150:  # as if all were events of regions, with a line each
                failures.append(f"{policy}: {size} bytes")
        subprocess.run([options.mpirun, "-n", str(RANKS), options.program, "10"], check=True, timeout=60, cwd=folder,
                       env=dict(os.environ, WHYWAIT_REPORT="none", WHYWAIT_TIMELINE="drop_newest"))
        if len(list(folder.glob("*.trace.json"))) != 4:
            failures.append("without WHYWAIT_OUTPUT a file was written")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


sys.exit(main())
