#!/usr/bin/env python3
"""What the report of a program says about the saving is what following it really saves.

    saving.py [--no-verdict-about WORD] [--preload LIBRARY] PHRASE PROGRAM [ARGUMENT ...] [-- [ARGUMENT ...]]

Runs the program with the arguments before `--` and with those behind it, the corrected variant. The first verdict of the first
run must contain the phrase and predict the difference of the times that the program prints ("... 0.123 s"). Without `--` there is no
corrected variant. The word must be in no verdict.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from attempts import attempts


def seconds(program, arguments, **environment):
    # Threads of OpenMP that spin at barriers would take the processors that the other threads need after their sleep.
    environment = dict(os.environ, WHYWAIT_REPORT="none", OMP_WAIT_POLICY="passive", **environment)
    done = subprocess.run([program, *arguments], env=environment, check=True, timeout=60, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True)
    return float(re.search(r" ([\d.]+) s\b", done.stdout)[1])


def try_once(phrase, never, program, before, after, folder, library):
    written = seconds(program, before, WHYWAIT_OUTPUT=str(folder / "before"), **library)
    corrected = written if after is None else seconds(program, after, WHYWAIT_OUTPUT=str(folder / "after"), **library)
    verdicts = json.loads((folder / "before.json").read_text(encoding="utf-8"))["verdict"]
    if not verdicts:
        return "there is no verdict"
    first = verdicts[0]
    saved = written - corrected
    print(f"{written:.3f} s, corrected {corrected:.3f} s: saved {saved:.3f} s, predicted {first['saving_seconds']:.3f} s: "
          f"{first['text']}", flush=True)
    if phrase not in first["text"]:
        return f"the first verdict lacks: {phrase}"
    if never is not None and any(never in v["text"] for v in verdicts):
        return f"a verdict has {never}: {verdicts}"
    if after is not None and abs(first["saving_seconds"] - saved) > 0.25 * saved:
        return "the prediction is more than 25 % off"
    return None


def main():
    words = sys.argv[1:]
    library, never = {}, None
    if words[0] == "--no-verdict-about":
        never = words[1]
        del words[:2]
    if words[0] == "--preload":
        library["LD_PRELOAD"] = words[1]
        del words[:2]
    phrase, program, *arguments = words
    between = arguments.index("--") if "--" in arguments else len(arguments)
    after = arguments[between + 1:] if between < len(arguments) else None
    for _ in attempts(3):
        with tempfile.TemporaryDirectory() as folder:
            failure = try_once(phrase, never, program, arguments[:between], after, pathlib.Path(folder), library)
        if failure is None:
            return
        print(failure, flush=True)
    sys.exit(1)


main()
