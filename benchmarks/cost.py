#!/usr/bin/env python3
"""Runs bench_record, bench_mpi and bench_finalize, and prints what recording and explaining cost, as ratios within one run
where that is possible; or compares two results.

    cost.py build/openmpi/benchmarks [result.json]
    cost.py --compare earlier.json later.json      exit status 1 if a row is worse
    cost.py --self-test

Each row has the ratio of minima and that of medians. A row is worse if both grew by more than a tenth. `recorder`: the same
for two clock readings and a record of 48 bytes a call. RUNNER in the environment replaces "mpirun".
"""
import collections
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

FLOOR, PLAIN, ADDED = "x floor", "x plain", "x recorder"  # ADDED: what whywait adds / what the recorder adds


class rows:
    """The rows of some benchmarks, as minimum or median."""

    def __init__(self, found, which):
        self.found, self.which = found, which

    def __getitem__(self, name):
        return self.found[name][self.which]


def over(name, other):
    return lambda r: r[name] / r[other]


def added(name):
    return lambda r: (r[name + "_whywait"] - r[name + "_plain"]) / (r[name + "_recorder"] - r[name + "_plain"])


def alone(name):
    return lambda r: r[name]


# name, value, its unit, the same of the trivial recorder, aim
TABLE = [
    ("region", over("region", "floor"), FLOOR, None, 1.05),
    ("WHYWAIT_NEXT", over("next", "floor"), FLOOR, None, 0.55),
    ("region in a shared library", over("so_linked", "floor"), FLOOR, None, 1.05),
    ("begin and end in a shared library", over("so_dynamic", "dynamic"), "x program", None, 1.05),
    ("region, off or inert", over("off", "floor"), FLOOR, None, 0.08),
    ("block, off or inert", over("off_block", "floor"), FLOOR, None, 0.03),
    ("kernel with inert blocks", over("kernel_off", "kernel"), "x kernel", None, 1.03),
    ("MPI_Isend + MPI_Wait", added("null"), ADDED, None, 1.0),
    ("MPI_Send", added("send"), ADDED, None, 1.0),
    ("4 Irecv, 4 Isend, Waitall with oneself", added("halo"), ADDED, None, 1.15),
    ("8 requests between two ranks", over("step_whywait", "step_plain"), PLAIN, over("step_recorder", "step_plain"), None),
    ("ping-pong", over("pingpong_whywait", "pingpong_plain"), PLAIN, over("pingpong_recorder", "pingpong_plain"), None),
    ("MPI_Allreduce", over("allreduce_whywait", "allreduce_plain"), PLAIN, over("allreduce_recorder", "allreduce_plain"), None),
    ("Jacobi 64 x 64", over("jacobi_whywait", "jacobi_plain"), PLAIN, over("jacobi_recorder", "jacobi_plain"), 1.05),
    ("... with two regions", over("jacobi_marked", "jacobi_plain"), PLAIN, None, 1.05),
    ("making and freeing a communicator", lambda r: (r["communicator_whywait"] - r["communicator_plain"]) / 1000, "us more",
     lambda r: (r["communicator_recorder"] - r["communicator_plain"]) / 1000, 5),
    ("two threads, messages", over("messages_whywait", "messages_plain"), PLAIN, over("messages_recorder", "messages_plain"), 1.2),
    ("two threads, blocking calls", over("blocking_whywait", "blocking_plain"), PLAIN, over("blocking_recorder", "blocking_plain"), 1.2),
    ("two threads, MPI_Mprobe", over("mprobe_whywait", "mprobe_plain"), PLAIN, over("mprobe_recorder", "mprobe_plain"), 1.2),
    ("a thread with a region", over("thread_whywait", "thread_plain"), PLAIN, None, 1.2),
    ("a thread with an MPI_Alltoall", over("alltoall_whywait", "alltoall_plain"), PLAIN, None, 1.2),
    ("MPI_Finalize, 2 ranks x 10^6 calls, ping-pong", alone("pingpong_s"), "s", None, 0.7),
    ("... memory beside the records", alone("pingpong_mib"), "MiB", None, 60),
    ("MPI_Finalize, 10^6 collectives", alone("collectives_s"), "s", None, 0.7),
    ("... memory beside the records of them", alone("collectives_mib"), "MiB", None, 60),
    ("MPI_Finalize, 10^6 messages one way", alone("oneway_s"), "s", None, 0.7),
    ("... memory beside the records of those", alone("oneway_mib"), "MiB", None, 60),
    ("MPI_Finalize, 64 ranks x 1,000 calls", alone("many_s"), "s", None, 1.0),
    ("10^7 messages in 64 MiB, pauses included", over("endless_whywait_s", "endless_plain_s"), PLAIN, None, 1.5),
    ("memory of a thread that has ended", alone("thread_kib"), "KiB", None, 0.01),
    ("mappings of a thread that has ended", alone("thread_mappings"), "", None, 0.01),
    ("memory of such a thread with a call", alone("alltoall_kib"), "KiB", None, 0.5),
    (".bss of a library with marks", alone("bss_kib"), "KiB", None, 64),
    ("stripped executable that observes itself", alone("stripped_kib"), "KiB", None, 800),
]
RUNS = [([], "bench_record", ["--rounds=301"]), (["-n", "2"], "bench_mpi", ["--rounds=301"]),
        (["-n", "1"], "bench_mpi", ["--threads", "--rounds=41"])]

# name, ranks, kind of bench_finalize, calls of each rank, environment, repetitions
JOBS = [("pingpong", 2, "pingpong", 1000000, {"WHYWAIT_MEMORY": "1G"}, 3),
        ("collectives", 2, "collectives", 1000000, {"WHYWAIT_MEMORY": "1G"}, 3),
        ("oneway", 2, "oneway", 1000000, {"WHYWAIT_MEMORY": "1G"}, 3),
        ("many", 64, "halo", 1000, {}, 3),
        ("endless_plain", 2, "window", 10100000, {"WHYWAIT_ENABLE": "0"}, 1),
        ("endless_whywait", 2, "window", 10100000, {"WHYWAIT_MEMORY": "64M"}, 1)]


def measure_jobs(folder, environment, name):
    """Whole jobs: seconds of MPI_Finalize (of the endless ones: from beginning to end), and MiB that it needs."""
    found, out = {}, pathlib.Path(name) / "out.json"
    for key, ranks, kind, calls, settings, repetitions in JOBS:
        seconds, memory = [], []
        for _ in range(repetitions):
            subprocess.run([*shlex.split(os.environ.get("RUNNER", "mpirun")), "-n", str(ranks), str(folder / "bench_finalize"),
                            f"--kind={kind}", f"--calls={calls}", f"--json={out}"], check=True, stdout=subprocess.DEVNULL,
                           env=dict(environment, WHYWAIT_OUTPUT=str(pathlib.Path(name) / "report"), **settings))
            job = json.loads(out.read_text())
            seconds.append(job["finalize_s"] + (job["loop_s"] if key.startswith("endless") else 0))
            memory.append(job["grown_mib"])
        for what, values in (("s", seconds), ("mib", memory)):
            found[f"{key}_{what}"] = {"min": min(values), "median": statistics.median(values)}
    return found


def measure_sizes(folder):
    """KiB of zeroed data that each module with marks has, and of a small program that contains the recorder and the analysis."""
    sections = subprocess.run(["size", "-A", str(folder / "libbench_record_linked.so")], check=True, capture_output=True, text=True)
    bss = sum(int(line.split()[1]) for line in sections.stdout.splitlines() if re.match(r"\.t?bss\s", line))
    with tempfile.TemporaryDirectory() as name:
        stripped = pathlib.Path(name) / "stripped"
        subprocess.run(["strip", "-o", str(stripped), str(folder / "bench_finalize")], check=True)
        size = stripped.stat().st_size
    return {key: {"min": value / 1024, "median": value / 1024} for key, value in (("bss_kib", bss), ("stripped_kib", size))}


def measure(folder):
    found = measure_sizes(folder)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", WHYWAIT_REPORT="none")
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "out.json"
        for ranks, program, flags in RUNS:
            launch = [*shlex.split(os.environ.get("RUNNER", "mpirun")), *ranks] if ranks else []
            subprocess.run([*launch, str(folder / program), *flags, f"--json={out}"], check=True, env=environment,
                           stdout=subprocess.DEVNULL)
            for row in json.loads(out.read_text())["benchmarks"]:
                found[row["name"]] = {"min": row["min_ns"], "median": row["median_ns"]}
        found.update(measure_jobs(folder, environment, name))
    return found


def evaluate(found):
    result = []
    for name, value, unit, recorder, aim in TABLE:
        row = {"name": name, "unit": unit, "aim": aim}
        for which in ("min", "median"):
            row[which] = round(value(rows(found, which)), 3)
            if recorder is not None:
                row[f"recorder_{which}"] = round(recorder(rows(found, which)), 3)
        result.append(row)
    return result


def show(result):
    print(f"{'':<42}{'minima':>9}{'medians':>9}  {'':<12}{'recorder':>9}{'aim':>7}")
    for row in result:
        recorder = f"{row['recorder_median']:.2f}" if "recorder_median" in row else ""
        aim = "" if row["aim"] is None else f"{row['aim']:g}"
        missed = "" if row["aim"] is None or row["median"] <= row["aim"] else "  missed"
        print(f"{row['name']:<42}{row['min']:>9.2f}{row['median']:>9.2f}  {row['unit']:<12}{recorder:>9}{aim:>7}{missed}")


def compare(earlier, later):
    before = {row["name"]: row for row in earlier}
    worse = 0
    for row in later:
        old = before.get(row["name"])
        if old is None:
            continue
        # what is next to nothing has no ratio
        if all(row[which] > 1.1 * old[which] + 0.01 for which in ("min", "median")):
            worse += 1
            print(f"worse: {row['name']}: {old['min']:.2f} -> {row['min']:.2f} (medians {old['median']:.2f} -> "
                  f"{row['median']:.2f}) {row['unit']}")
    missing = [name for name in before if name not in {row["name"] for row in later}]
    for name in missing:
        print(f"worse: {name}: not measured")
    return worse + len(missing)


def self_test():
    """Whether the comparison reports what is worse, and only that."""
    row = {"name": "a", "unit": PLAIN, "aim": None, "min": 1.0, "median": 1.2}
    failures = [text for text, earlier, later, wanted in [
        ("equal results", [row], [row], 0),
        ("one that is faster", [row], [dict(row, min=0.5, median=0.6)], 0),
        ("noise of a median", [row], [dict(row, median=2.0)], 0),
        ("a row that is worse", [row], [dict(row, min=1.2, median=1.5)], 1),
        ("something instead of nothing", [dict(row, min=0, median=0)], [dict(row, min=0.5, median=0.5)], 1),
        ("a row that is gone", [row], [], 1),
        ("a new row", [row], [row, dict(row, name="b")], 0),
    ] if compare(earlier, later) != wanted]
    # each row of the table grows with what whywait takes
    names = collections.defaultdict(lambda: {"min": 2.0, "median": 2.0})
    names.update({name: {"min": 1.0, "median": 1.0} for name in ("floor", "dynamic", "kernel", "endless_plain_s")})
    for name in ("null", "send", "halo", "step", "pingpong", "allreduce", "jacobi", "communicator", "messages", "blocking", "mprobe",
                 "thread", "alltoall"):
        names[name + "_plain"] = {"min": 1.0, "median": 1.0}
    before = evaluate(names)
    slower = {name: dict(of) for name, of in names.items()}
    for name in slower:
        if not name.endswith(("_plain", "_recorder", "_plain_s")) and name not in ("floor", "dynamic", "kernel"):
            slower[name] = {"min": 2000.0, "median": 2000.0}
    failures += [f"row {old['name']}" for old, new in zip(before, evaluate(slower)) if new["min"] <= old["min"]]
    for text in failures:
        print(f"cost.py: the self-test failed: {text}", file=sys.stderr)
    sys.exit(1 if failures else 0)


def main(words):
    if words == ["--self-test"]:
        self_test()
    if len(words) == 3 and words[0] == "--compare":
        earlier, later = (json.loads(pathlib.Path(name).read_text())["rows"] for name in words[1:])
        sys.exit(1 if compare(earlier, later) != 0 else 0)
    if not 1 <= len(words) <= 2 or words[0].startswith("-"):
        sys.exit(__doc__)
    loads = [os.getloadavg()[0]]
    found = measure(pathlib.Path(words[0]))
    loads.append(os.getloadavg()[0])
    result = evaluate(found)
    print(f"{os.cpu_count()} processors, load {min(loads):.1f} to {max(loads):.1f}")
    show(result)
    if len(words) == 2:
        pathlib.Path(words[1]).write_text(json.dumps({"rows": result, "benchmarks": found, "loads": loads}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
