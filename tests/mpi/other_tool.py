#!/usr/bin/env python3
"""Another MPI tool is loaded before the program: whywait reports, and one line says that the tool sees nothing.

    other_tool.py PROGRAM TOOL -- LAUNCHER [OPTION ...] -n"""
import subprocess
import sys

program, tool = sys.argv[1:3]
done = subprocess.run([*sys.argv[4:], "2", "env", "LD_PRELOAD=" + tool, program], capture_output=True, text=True, timeout=60)
said = done.stderr.count(tool + " sees no MPI call")
if done.returncode != 0 or "whywait · 2 ranks" not in done.stderr or done.stdout.count(" finished\n") != 2 or said != 1:
    sys.exit(f"exit code {done.returncode}: {done.stdout} {done.stderr}")
print("one line")
