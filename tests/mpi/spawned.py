#!/usr/bin/env python3
"""A program spawns two processes of itself: both worlds report, the report of the spawned one says so, and each has its own file.
The first names the time in which it waited for the other world. In the other one a message within it, on a communicator of both
worlds, is explained like others.

    spawned.py FOLDER PROGRAM -- LAUNCHER [OPTION ...] -n"""
import json
import os
import pathlib
import re
import subprocess
import sys

folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
folder.mkdir(parents=True, exist_ok=True)
for old in folder.glob("out*.json"):
    old.unlink()
transport = os.environ.get("OMPI_MCA_btl", "self,vader") + ",tcp"  # worlds reach each other by no other one
done = subprocess.run([*sys.argv[4:], "1", program], capture_output=True, text=True, timeout=60,
                      env=dict(os.environ, WHYWAIT_OUTPUT=str(folder / "out"), OMPI_MCA_btl=transport))
for line in ("first rank 0", "spawned rank 0", "spawned rank 1"):
    if f"{line} finished\n" not in done.stdout:
        sys.exit(f"{line} did not finish: {done.stdout} {done.stderr}")
announced = re.findall(r"^whywait: the next report is that of 2 spawned ranks, of which process (\d+) is rank 0$", done.stderr, re.M)
if len(announced) != 1 or len(re.findall(r"^whywait · \S+ · 1 rank ", done.stderr, re.M)) != 1:
    sys.exit(f"expected two reports: {done.stderr}")
reports = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("out*.json")}
ranks = {name: report["run"]["ranks"] for name, report in reports.items()}
if ranks != {"out.json": 1, f"out.spawned-{announced[0]}.json": 2}:
    sys.exit(f"files: {ranks}")
parent, child = reports["out.json"], reports[f"out.spawned-{announced[0]}.json"]
started, received = map(float, re.search(r"started (\S+) received (\S+)", done.stdout).groups())
named = {call["call"]: call["seconds"] for call in parent["other_worlds"]["calls"]}
for call, truth in ("MPI_Comm_spawn", started), ("MPI_Recv", received):
    if not 0.9 * truth - 0.01 <= named.get(call, 0) <= truth + 0.001:
        sys.exit(f"{call}: {named.get(call)} s of {truth} s wait for the other world")
if "processes of another world" not in re.sub(r"\s+", " ", done.stderr) or "no other rank to wait for" in done.stderr:
    sys.exit(f"not named: {done.stderr}")
if parent["not_understood"]["share"] > 0.02:
    sys.exit(f"not understood: {parent['not_understood']}")
waits = [w for w in child["waits"] if w["pattern"] == "late_sender" and w["operation"]["call"] == "MPI_Recv"]
late = sum(r["seconds"] for w in waits for r in w["residual"] if r["block"] == "late")
if not 0.18 <= sum(w["seconds"] for w in waits) <= 0.3 or late < 0.18:
    sys.exit(f"the message within the spawned world: {waits}")
print("two worlds")
