"""Comparison of runs, by the program behind `whywait compare`: one implementation for all."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from .run import Error, Run


def program():
    """Path of the program: beside this installation, or that of the `whywait` in PATH. Error if there is none."""
    here = pathlib.Path(__file__).resolve()
    candidates = [parent / "libexec/whywait/compare" for parent in here.parents]
    script = shutil.which("whywait")
    if script:
        candidates.append(pathlib.Path(script).resolve().parent.parent / "libexec/whywait/compare")
    for each in candidates:
        if os.access(each, os.X_OK) and each.is_file():
            return each
    raise Error("the program libexec/whywait/compare was not found; install whywait with -DWHYWAIT_TOOLS=ON, or name it: "
                "compare(..., program=PATH)")


def compare(before, after, at_least=None, chance=None, program=None):
    """What changed, as docs/schema_compare.json describes it. Each side is a path, a Run, or a list of them (several runs measure
    the noise). `at_least`, `chance`: percent, as the options of `whywait compare`."""
    find = globals()["program"]
    with tempfile.TemporaryDirectory() as name:
        folder, made = pathlib.Path(name), 0

        def files(side):
            nonlocal made
            paths = []
            for each in side if isinstance(side, (list, tuple)) else [side]:
                if isinstance(each, Run):
                    made += 1
                    path = folder / f"{made}.json"
                    path.write_text(json.dumps(each.data), encoding="utf-8")
                    paths.append(str(path))
                else:
                    paths.append(os.fspath(each))
            return paths

        words = [str(program or find()), "--quiet", "--json", "-"]
        words += [f"--at-least={at_least}"] if at_least is not None else []
        words += [f"--chance={chance}"] if chance is not None else []
        words += ["--before", *files(before), "--after", *files(after)]
        done = subprocess.run(words, text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        raise Error(done.stderr.strip().removeprefix("whywait: ") or f"the comparison ended with {done.returncode}")
    return json.loads(done.stdout)
