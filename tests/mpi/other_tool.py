#!/usr/bin/env python3
"""Another MPI tool and whywait in one program: both see each call of the program once, in whatever way they are loaded. If the tool
is in front of whywait, one line says that there is no report.

    other_tool.py FOLDER WHYWAIT WITH WITHOUT TOOL WITH-LINKED WITHOUT-LINKED [TOOL WITH-LINKED WITHOUT-LINKED] -- LAUNCHER [OPTION ...] -n

WITH and WITHOUT contain whywait or do not, the linked ones are linked with the tool, WHYWAIT is the library for LD_PRELOAD."""
import json
import os
import pathlib
import subprocess
import sys

split = sys.argv.index("--")
folder, whywait, inside, plain = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
tools = [sys.argv[i:i + 3] for i in range(5, split, 3)]
launcher = sys.argv[split + 1:]
failures = []


def run(preload, program, tool, both):
    output = folder / "out.json"
    output.unlink(missing_ok=True)
    settings = dict(os.environ, WHYWAIT_OUTPUT=str(folder / "out"))
    command = [*launcher, "2"] + (["env", "LD_PRELOAD=" + ":".join(preload)] if preload else []) + [program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=settings)
    calls = json.loads(output.read_text(encoding="utf-8"))["run"]["mpi_calls"] if output.exists() else None
    line = tool + (" receives the MPI calls of this program after whywait" if both else " was loaded before whywait and takes")
    if (done.returncode != 0 or done.stdout.count(" finished\n") != 2 or done.stdout.count("tool: 1 1 1 1\n") != 2 or
            calls != (10 if both else None) or done.stderr.count(line) != 1):
        failures.append(f"{command}: exit code {done.returncode}, {calls} calls: {done.stdout} {done.stderr}")


folder.mkdir(parents=True, exist_ok=True)
for tool, inside_linked, plain_linked in tools:
    run([tool], inside, tool, True)
    run([], inside_linked, tool, True)
    run([whywait, tool], plain, tool, True)
    run([whywait], plain_linked, tool, True)
    run([tool, whywait], plain, tool, False)
if failures:
    sys.exit("\n".join(failures))
print("both see all calls")
