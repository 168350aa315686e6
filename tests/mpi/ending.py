#!/usr/bin/env python3
"""How a run ends: WHYWAIT_FAIL ends the process of rank 0 with status 3 if a condition holds, and changes nothing else.
WHYWAIT_OUTPUT names files by process, job, time and host, and a path that cannot be written is reported by MPI_Init.

    ending.py PROGRAM -- LAUNCHER ...
"""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

split = sys.argv.index("--")
program, launcher = sys.argv[1], sys.argv[split + 1:]
failures = []


def run(expected, reasons, conditions, *arguments, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHYWAIT_")}
    environment |= {"WHYWAIT_FAIL": conditions} | more
    done = subprocess.run([*launcher, "2", program, *arguments], env=environment, capture_output=True, text=True, timeout=60)
    said = re.findall(r"^whywait: (WHYWAIT_FAIL.*)", done.stderr, re.M)
    wanted = len(said) == len(reasons) and all(re.search(r, s) for r, s in zip(reasons, said))
    ended = sorted(re.findall(r"^rank (\d) ends after MPI_Finalize with 0$", done.stdout, re.M))
    print(f"{conditions!r} {arguments}: status {done.returncode}, {said}")
    # Open MPI stops what still runs when a process fails: only the lines of rank 0 are certain then
    handler = "a handler from before MPI_Init" in done.stderr
    if done.returncode != expected or not wanted or not handler or "0" not in ended or (expected == 0 and ended != ["0", "1"]):
        failures.append(f"{conditions!r} {arguments}: expected status {expected} and {reasons}, got {done.returncode}:\n"
                        f"{done.stdout}{done.stderr}")
    return done.stderr


ends = "; this process ends with status 3$"
run(0, [], "waiting>90%; efficiency<1%")
run(3, [r"waiting is \d\d\.\d %, above 10\.0 %" + ends], "waiting>10%; efficiency<1%")
run(3, [r"efficiency is \d\d\.\d %, below 99\.9 %" + ends], "efficiency<99.9%", WHYWAIT_REPORT="none")
run(3, [r"waiting\(MPI_Barrier\) is"], "waiting(MPI_Barrier)>1%")
run(7, [r"waiting is \d\d\.\d %, above 10\.0 %" + ends], "waiting>10%", "7")  # the program's own status
run(0, [], "waiting>10%", WHYWAIT_ENABLE="0")
text = run(3, ["WHYWAIT_FAIL: expected <, <=, > or >="], "waiting 10%")
if "\n  waiting 10%\n          ^\n" not in text:
    failures.append(f"no caret:\n{text}")

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    run(0, [], "", WHYWAIT_OUTPUT=f"{folder}/a-%j-%h-%t-%p%%", SLURM_JOB_ID="47/11", WHYWAIT_TIMELINE="drop_newest")
    found = sorted(path.name for path in folder.iterdir())
    pattern = rf"a-47_11-{re.escape(socket.gethostname())}-20\d{{6}}-\d{{6}}-\d+%\.(html|json|trace\.json|txt)"
    if len(found) != 4 or not all(re.fullmatch(pattern, f) for f in found):
        failures.append(f"files {found}")
    facts = json.loads((folder / found[1]).read_text())["run"]
    if facts["settings"]["WHYWAIT_OUTPUT"] != f"{folder}/a-%j-%h-%t-%p%%" or not facts["program"].endswith(pathlib.Path(program).name):
        failures.append(f"facts {facts}")
    missing = f"{folder}/missing/b"
    text = run(0, [], "", WHYWAIT_OUTPUT=missing)
    at_init, _, later = text.partition("MPI_Init has returned")
    line = f"cannot write {missing}.json: No such file or directory"
    if at_init.count(line) != 1 or later.count(line) != 1 or re.search(rf"{missing}\.(txt|html)", text):
        failures.append(f"not reported at once, and at the end:\n{text}")
    if "contains a sequence that is not known" not in run(0, [], "", WHYWAIT_OUTPUT=f"{folder}/%x"):
        failures.append("an unknown sequence is not reported")
for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
