#!/usr/bin/env python3
"""Checks that tests/check.py, which judges the test programs, detects each kind of failure."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import tools

CHECK = tools.ROOT / "tests" / "check.py"
CASES = [  # checks, shell program, exit code of check.py
    ("stdout ~ ^b$\n", "echo a; echo b", 0),
    ("stdout ~ ^c$\n", "echo a; echo b", 1),
    ("stdout !~ b\n", "echo a; echo b", 1),
    ("stderr ~ a\n", "echo a", 1),
    ("stderr ~ {ranks} ranks\n", "echo 3 ranks >&2", 0),
    ("exit 0\n", "exit 3", 1),
    ("", "exit 3", 1),
    ("exit nonzero\n", "exit 3", 0),
    ("exit nonzero\n", "exit 0", 1),
    ("exit any\n", "exit 3", 0),
    ("tries 2\n", "[ -e ../tried ] || { touch ../tried; exit 3; }", 0),
    ("tries 2\n", "exit 3", 1),
    ("tries 2\n", "kill $$; sleep 1", 1),
    ("file f ~ x\n", "echo x > f", 0),
    ("file f ~ y\n", "echo x > f", 1),
    ("file f ~ x\n", "true", 1),
    ("json f\n", "echo '{}' > f", 0),
    ("json f\n", "echo '{' > f", 1),
    ("no file f\n", "true", 0),
    ("no file f\n", "echo > f", 1),
    ("", "sleep 20", 1),
    ("", "test -z \"$WHYWAIT_REPORT\"", 0),
    ("stdout = a\n", "echo a", 1),
    ("run: ranks 1\nstdout ~ a\nrun: ranks 2\nstdout ~ b\n", "echo a", 0),
]

# A report of two ranks, one of which waits 2 ms of 1 s, and changes that contradict its text or the rest of it.
REPORT = {
    "schema": "whywait/1",
    "run": {"ranks": 2, "locations": 2, "seconds": 1.0, "location_seconds": 2.0, "waiting_seconds": 0.002,
            "unexplained_seconds": 0.0, "undescribed_seconds": 0.0, "mpi_calls": 9, "partial": False},
    "waits": [{"pattern": "wait_at_barrier", "seconds": 0.002, "count": 1, "longest_seconds": 0.002, "typical_seconds": 0.002, "quality": "exact",
               "unexplained_seconds": 0.0, "indirect_seconds": 0.0, "advice": [], "operation": {}, "cause": {},
               "residual": [{"block": "solve", "seconds": 0.002, "visits_seconds": 0.0, "speed_seconds": 0.002,
                             "causer_visits": 3, "waiter_visits": 3, "causer_work": 0, "waiter_work": 0,
                             "causer_seconds": 0.5, "waiter_seconds": 0.498, "inherited_seconds": 0.0}],
               "waiters": [{"rank": 0, "thread": 0, "seconds": 0.002}],
               "causers": [{"rank": 1, "thread": 0, "seconds": 0.002}]}],
    "problems": [], "critical_path": [], "overhead": {}, "delay_costs": [], "delay_sums": {}, "prediction": {},
    "efficiency": {"parallel": 0.95, "load_balance": 0.95, "communication": 1.0, "serialisation": 1.0, "transfer": 1.0},
    "not_understood": {"seconds": 0.002, "share": 0.001, "polling_seconds": 0.0, "between_polls_seconds": 0.0, "calls": [],
                       "ranks": [{"rank": 0, "thread": 0, "seconds": 0.002}]},
    "processor_sharing": {"seconds": 0.0, "code_seconds": 0.0, "ranks": 2, "processors": 2},
    "communication_classes": [], "distributions": [], "sharing": [], "time_map": None, "rank_matrix": None, "propagation": [],
    "speeds": [], "balances": [],
}
VERDICT = {"text": "balancing it", "block": "solve", "rank": 1, "ratio": 2.0, "saving_seconds": 0.05}
FINE = "whywait · 2 ranks · 1.00 s\n  0.1 % of rank time is waiting: nothing worth\n  changing here.\n"
WAITING = "whywait · 2 ranks · 1.00 s · 10 % of rank time is waiting (0.2 s)\n"
A_FIFTH = {path: 0.2 for path in ["run.waiting_seconds", "waits.0.seconds", "waits.0.longest_seconds", "waits.0.typical_seconds", "waits.0.waiters.0.seconds",
                                  "waits.0.causers.0.seconds", "waits.0.residual.0.seconds", "waits.0.residual.0.speed_seconds"]}
A_FIFTH.update({"waits.0.residual.0.causer_seconds": 0.5, "waits.0.residual.0.waiter_seconds": 0.3,
                "efficiency.parallel": 0.9, "efficiency.load_balance": 0.9})
CHANGES = [  # text, members of the report and their values, exit code of check.py
    (FINE, {}, 0),
    (FINE.replace("0.1 %", "101 %"), {}, 1),
    (FINE, {"run.partial": True}, 1),
    (FINE, {"efficiency.parallel": 0.76, "efficiency.load_balance": 0.76}, 1),
    (FINE.split(":")[0], {"efficiency.parallel": 0.76, "efficiency.load_balance": 0.76}, 0),
    (FINE, {"not_understood.seconds": 0.1, "not_understood.share": 0.05, "not_understood.ranks.0.seconds": 0.1}, 1),
    (FINE, {"waits.0.residual.0.visits_seconds": 0.001, "waits.0.residual.0.speed_seconds": 0.001}, 1),
    (FINE, {"waits.0.waiters.0.rank": 2}, 1),
    (FINE, {"run.location_seconds": 60.6}, 1),
    (FINE, {"run.paused_seconds": 0.5}, 1),
    (FINE.split(":")[0], {"run.paused_seconds": 0.5}, 0),
    (FINE.split(":")[0], {"run.paused_seconds": 2.5}, 1),
    (FINE, {"run.locations": 1}, 1),
    (FINE, {"waits.0.indirect_seconds": 0.003}, 1),
    (WAITING, A_FIFTH, 1),
    (WAITING + "  no verdict: no change is known", A_FIFTH, 0),
    ("", {"verdict": [VERDICT | {"saving_range": [0.02, 0.1]}]}, 0),
    ("", {"verdict": [VERDICT | {"saving_range": [0.06, 0.1]}]}, 1),
]


def changed(changes):
    report = copy.deepcopy(REPORT)
    for path, value in changes.items():
        here = report
        *parents, last = path.split(".")
        for p in parents:
            here = here[int(p)] if isinstance(here, list) else here[p]
        here[last] = value
    return json.dumps(report)


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for checks, program, wanted in CASES:
            path = directory / "case.check"
            path.write_text(checks)
            code, text, messages = tools.run([sys.executable, str(CHECK), "--checks", str(path), "--ranks", "3",
                                              "--seconds", "1" if "sleep" in program else "20", "--directory", str(directory / "run"), "--",
                                              "sh", "-c", program], env={"PATH": "/usr/bin:/bin", "WHYWAIT_REPORT": "x"})
            if code != wanted:
                failures.append(f"{checks!r} on {program!r}: {code}, wanted {wanted}\n{text}{messages}")
        for text, changes, wanted in CHANGES:
            (directory / "report.json").write_text(changed(changes))
            (directory / "report.txt").write_text(text)
            program = f"cp {directory}/report.json .; cat {directory}/report.txt >&2"
            code, output, messages = tools.run([sys.executable, str(CHECK), "--directory", str(directory / "run"), "--", "sh",
                                                "-c", program])
            if code != wanted:
                failures.append(f"a report with {changes} and {text!r}: {code}, wanted {wanted}\n{output}{messages}")
        source = directory / "case.cpp"
        for head, wanted in (("// stdout ~ b\nint x;\n", 1), ("// stdout ~ a\nint x;\n// stdout ~ b\n", 0)):
            source.write_text(head)
            code = subprocess.run([sys.executable, str(CHECK), "--checks", str(source), "--", "echo", "a"], check=False,
                                  stdout=subprocess.DEVNULL).returncode
            if code != wanted:
                failures.append(f"{head!r}: {code}, wanted {wanted}")
    tools.end(failures, f"{len(CASES) + len(CHANGES) + 2} cases")


main()
