#!/usr/bin/env python3
"""`whywait compare` through the script of an installation: its outputs, its status, and its JSON against docs/schema_compare.json.

    command.py COMPARE
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import schema

CALL = {"call": "MPI_Allreduce", "region": "main", "file": "app.cpp", "line": 20}
RELAX = {"block": "relax", "kind": "region", "region": "main/relax", "file": "app.cpp", "line": 8}


def report(seconds, waiting):
    """A run of four ranks that wait for relax of rank 1."""
    return {"schema": "whywait/1",
            "run": {"ranks": 4, "locations": 4, "seconds": seconds, "location_seconds": 4 * seconds, "waiting_seconds": waiting},
            "verdict": [{"text": "rank 1 takes 3 times as long as the others in relax (app.cpp:8): balancing it would shorten the run "
                                 "by about 2 s of 10 s", "block": "relax", "rank": 1, "ratio": 3, "saving_seconds": waiting / 4}],
            "waits": [{"pattern": "wait_at_nxn", "seconds": waiting, "count": 60, "operation": CALL, "cause": CALL,
                       "residual": [dict(RELAX, seconds=waiting, visits_seconds=0, speed_seconds=waiting)],
                       "causers": [{"rank": 1, "thread": 0, "seconds": waiting}]}],
            "critical_path": [dict(RELAX, seconds=seconds, visits=100)],
            "efficiency": {"parallel": 0.7, "load_balance": 0.7, "serialisation": 1, "transfer": 1},
            "prediction": {"answers": [{"question": "balance relax", "seconds": 8, "low_seconds": 7.5, "high_seconds": 8.5}]}}


def main():
    failures = []

    def expect(what, condition, shown=""):
        if not condition:
            failures.append(f"{what}: {shown}" if shown else what)

    with tempfile.TemporaryDirectory(prefix="whywait compare \u00fc ") as name:
        folder = pathlib.Path(name)
        for part in ("bin", "libexec/whywait"):
            (folder / part).mkdir(parents=True)
        shutil.copy(ROOT / "scripts/whywait", folder / "bin/whywait")
        for text, values in (("before", (10, 12)), ("after", (14, 26)), ("better", (8, 4))):
            (folder / f"{text}.json").write_text(json.dumps(report(*values)), encoding="utf-8")

        def run(*words):
            done = subprocess.run([folder / "bin/whywait", "compare", *map(str, words)], cwd=folder, text=True, check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True)
            return done.returncode, done.stdout, done.stderr

        code, _, err = run("before.json", "after.json")
        expect("without its program the script says what is missing", code == 2 and "build and install whywait" in err, err)
        shutil.copy(sys.argv[1], folder / "libexec/whywait/compare")

        code, out, err = run("before.json", "after.json", "--json", "out.json", "--markdown", "out.md", "--badge", "out.svg")
        expect("a regression ends with 1", code == 1 and not err, f"{code} {err}")
        for line in ("whywait compare: worse", "instead of 10.0 s", "relax (app.cpp:8)", "for rank 1"):
            expect("the text has " + line, line in out, out)
        wrong = schema.violations(json.loads((folder / "out.json").read_text(encoding="utf-8")),
                                  json.loads((ROOT / "docs/schema_compare.json").read_text(encoding="utf-8")))
        expect("the JSON is valid", not wrong, "; ".join(wrong))
        expect("the summary is Markdown", (folder / "out.md").read_text(encoding="utf-8").startswith("### whywait: worse\n"))
        expect("the badge is SVG", (folder / "out.svg").read_text(encoding="utf-8").startswith("<svg "))

        code, out, _ = run("before.json", "better.json")
        expect("an improvement ends with 0", code == 0 and "whywait compare: better" in out, out)
        expect("the saving is compared", "balancing relax: predicted to save 3.00 s" in " ".join(out.split()), out)
        expect("the answer is compared", "\"balance relax\": predicted 8.00 s" in " ".join(out.split()), out)
        code, out, _ = run("before.json", "before.json")
        expect("the same file is the same", code == 0 and "whywait compare: same" in out, out)
        code, out, err = run("before.json", "none.json")
        expect("a missing file ends with 2", code == 2 and err == "whywait: cannot read none.json: No such file or directory\n", err)
        (folder / "broken.json").write_text('{"schema": ', encoding="utf-8")
        code, out, err = run("before.json", "broken.json")
        expect("a broken file ends with 2", code == 2 and "broken.json:1:12: expected a JSON value" in err, err)
        for what, wrong, words in (("run", {"seconds": "10"}, '"seconds" is not a number'), ("run", 1, '"run" is not an object'),
                                   ("waits", [None], 'an element of "waits" is not an object'),
                                   ("waits", {}, '"waits" is not a list'), ("schema", 1, '"schema" is not a text')):
            other = report(10, 12)
            other[what] = dict(other[what], **wrong) if wrong and isinstance(wrong, dict) else wrong
            (folder / "wrong.json").write_text(json.dumps(other), encoding="utf-8")
            code, out, err = run("before.json", "wrong.json")
            expect("a wrong type ends with 2", code == 2 and err == f"whywait: wrong.json: {words}\n", f"{code} {out} {err}")
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in (["--help"], ["before.json", "before.json"]):
                done = subprocess.run([folder / "bin/whywait", "compare", *words], cwd=folder, text=True, check=False, stdout=full,
                                      stderr=subprocess.PIPE)
                expect("a full standard output ends with 2", done.returncode == 2 and
                       done.stderr == "whywait: cannot write standard output: No space left on device\n", done.stderr)
        code, out, _ = run("--help")
        expect("help is printed", code == 0 and "usage: whywait compare" in out)

        code, out, err = run("--baseline", "history", "--update", "before.json")
        expect("the first run begins a baseline", code == 0 and "nothing to compare with" in out, out + err)
        code, out, err = run("--baseline", "history", "--update", "--history", "before.json")
        expect("the second run is compared and added", code == 0 and "000002.json" in out, out + err)
        code, out, err = run("--baseline", "history", "--update", "after.json", "--markdown", "-", "--quiet")
        expect("a regression is not added", code == 1 and len(list((folder / "history").glob("*.json"))) == 2, out + err)
        expect("the summary has the history", "<summary>history</summary>" in out, out)
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


sys.exit(main())
