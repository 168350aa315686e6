#!/usr/bin/env python3
"""Kills ranks of an MPI program and checks that the next run and a reader without MPI find all records.

    left_behind.py directory program reader -- launcher ... (the program's name is appended)

Runs tests/mpi/parts/left_behind.cpp, which makes 80 MPI calls per rank in a ring in which rank 1 is late, then SIGKILL.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def run(command, folder, **settings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHYWAIT_")}
    environment.update({"WHYWAIT_REPORT": "full"} | settings)
    child = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True, text=True, errors="replace")
    try:
        out, err = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        failures.append(f"{command[-1]}: did not end")
    print("$", " ".join(map(str, command)), settings, "->", child.returncode)
    print(out, err, sep="\n")
    return child.returncode, out, err


def check_report(folder, name, ranks, victim, took=0.0):
    path = folder / name
    if not path.exists():
        failures.append(f"{name} was not written")
        return
    report = json.loads(path.read_text())
    counts = [int((folder / f"calls.{rank}").read_text()) for rank in range(ranks)]
    found = {end["rank"]: end for end in report["last_words"]}
    check(report["run"]["partial"], "the report is not marked partial")
    check(report["run"]["ranks"] == ranks, "wrong number of ranks")
    check(report["run"]["mpi_calls"] == sum(counts), f"{report['run']['mpi_calls']} calls found, the program made {sum(counts)}")
    check(sorted(found) == list(range(ranks)), f"ranks {sorted(found)} left something")
    for rank, count in enumerate(counts):
        end = found.get(rank, {})
        check(end.get("mpi_calls") == count, f"rank {rank}: {end.get('mpi_calls')} calls found, it made {count}")
        check(end.get("records") == 81, f"rank {rank}: {end.get('records')} records found, 81 were written")
        if rank == victim:  # the launcher may end the others
            check(end.get("end") == "ended without MPI_Finalize, by an uncaught signal or _exit", f"rank {rank}: {end.get('end')}")
        check(end.get("torn_events") == 0 and end.get("lost_events") == 0, f"rank {rank}: torn or lost events")
        check({b["block"]: b["visits"] for b in end.get("blocks", [])} == {"round": 20, "compute": 20, "the end": 1},
              f"rank {rank}: blocks {end.get('blocks')}")
        check(end.get("regions") == "the end", f"rank {rank}: open regions {end.get('regions')}")
        if victim is not None and rank != victim:
            check(end.get("inside", {}).get("call") == "MPI_Recv", f"rank {rank}: inside {end.get('inside')}")
            check(end.get("inside", {}).get("file", "").endswith("left_behind.cpp"), f"rank {rank}: no file and line")
            check(end.get("whom") == f"from rank {victim} (tag 9)", f"rank {rank}: waited {end.get('whom')}")
            check(0.1 < end.get("since_seconds", 0) < took, f"rank {rank}: since {end.get('since_seconds')}")
    bins = report["time_map"].get("bins", 0)
    check(bins > 0 and len(report["time_map"]["waiting"]) == ranks, "the maps of the page are missing")
    waited = sum(w["seconds"] for w in report["waits"])
    drawn = sum(sum(row) for row in report["time_map"].get("waiting", []))
    check(abs(drawn - waited) < 0.05 * waited, f"the map has {drawn} s of waiting, the waits {waited} s")
    # only the next rank waits for it there, because all ranks have sent all their messages
    compute = sum(r["seconds"] for w in report["waits"] for r in w["residual"]
                  if r["block"] == "compute" and w["pattern"] == "late_sender" and any(c["rank"] == 1 for c in w["causers"]))
    callers = {w["operation"].get("caller", "").split(" ")[0] for w in report["waits"]
               if w["pattern"] == "late_sender" and w["operation"]["call"] == "MPI_Wait"}
    check(callers == {"end_even_round", "end_odd_round"}, f"MPI_Wait was called by {callers}")
    check(compute > 0.08, f"{compute} s of the waiting is explained by rank 1's computing; it computed 20 times 5 ms")


def main():
    split = sys.argv.index("--")
    folder, program, reader = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    launcher = sys.argv[split + 1:]
    ranks = int(launcher[-1])
    shutil.rmtree(folder, ignore_errors=True)
    kept = folder / "kept"
    kept.mkdir(parents=True)

    begin = time.monotonic()
    code, _, _ = run([*launcher, program, folder, "1"], folder, WHYWAIT_CRASH=str(kept), WHYWAIT_REPORT="none")
    took = time.monotonic() - begin
    check(code != 0, "a killed program ended well")
    check(len(list(kept.iterdir())) == ranks, f"not every rank left its file: {list(kept.iterdir())}")
    code, _, err = run([*launcher, program, folder, "none"], folder, WHYWAIT_CRASH=str(kept), WHYWAIT_OUTPUT="next")
    check(code == 0, "the next run did not end well")
    check(re.search(r"rank 0: .*in MPI_Recv .* from rank 1 \(tag 9\)", err), "the text does not say for whom rank 0 waited")
    check(re.search("PARTIAL", err), "the text is not marked partial")
    check_report(folder, "next.crash.json", ranks, 1, took)
    check((folder / "next.json").exists() and not json.loads((folder / "next.json").read_text())["run"]["partial"],
          "the next run's own report is missing or partial")
    check(not list(kept.iterdir()), f"files were left: {list(kept.iterdir())}")

    for count in folder.glob("calls.*"):
        count.unlink()
    code, _, _ = run([*launcher, program, folder, "all"], folder, WHYWAIT_CRASH=str(kept), WHYWAIT_REPORT="none")
    check(code != 0, "a killed program ended well")
    code, out, _ = run([reader, kept, folder / "read"], folder)
    check(code == 0 and out.startswith("whywait: ") and "1 programs left something" in out, "the reader found nothing")
    check_report(folder, "read.json", ranks, None)
    check(not list(kept.iterdir()), f"files were left: {list(kept.iterdir())}")

    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


sys.exit(main())
