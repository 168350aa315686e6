#!/usr/bin/env python3
"""A program spawns two processes of itself: both worlds report, the report of the spawned one says so, and each has its own file.

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
if len(announced) != 1 or len(re.findall(r"^whywait · 1 rank ", done.stderr, re.M)) != 1:
    sys.exit(f"expected two reports: {done.stderr}")
ranks = {path.name: json.loads(path.read_text(encoding="utf-8"))["run"]["ranks"] for path in folder.glob("out*.json")}
if ranks != {"out.json": 1, f"out.spawned-{announced[0]}.json": 2}:
    sys.exit(f"files: {ranks}")
print("two worlds")
