#!/usr/bin/env python3
"""Compares answers to what-if questions with real runs of the changed programs.

    whatif.py --program NAME=PATH ... [--ranks-limit N] [--only WORD] [--tries N] [--ask-only] [--unchanged X] -- launcher ...

Each case runs a program with WHYWAIT_WHATIF and then the changed program without it. The work of the programs takes
time but no processor. On a busy machine it may still be late, so that a case may be repeated, and the fastest run of
either program counts. Every answer must be within 5 % of the truth, those about code and network within 3 %, and at
least 9 of 10 intervals must contain it. Half of the replays of the unchanged runs must be within --unchanged.
Questions beyond the models must be refused.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# program, arguments, ranks, question, additional arguments of the changed program, factor of its ranks; None means
# refused
CASES = []


def case(program, arguments, ranks, question, changed, factor=1):
    CASES.append((program, arguments.split(), ranks, question, None if changed is None else changed.split(), factor))


slow = "--speed 0.3 --iterations 30"  # with long sleeps late wake-ups matter less
case("jacobi", slow, 4, "block interior x2", "--speed 0.6")
case("jacobi", slow, 4, "balance steps", "--even")
case("jacobi", slow, 4, "ranks x2 weak", "", 2)
case("jacobi", slow, 4, "ranks x2", "--speed 0.6", 2)
case("jacobi", slow, 3, "ranks x1.333 weak", "", 4 / 3)
for shape, arguments, ranks in [("sweep", "sweep --imbalance 0.3 --noise 0.2 --steps 12", 4),
                                ("bulk", "bulk --imbalance 0.4 --noise 0.3", 4),
                                ("ring", "ring --imbalance 0.2 --noise 0.5", 4)]:
    case("whatif", arguments, ranks, "block compute x2", "--speed 2")
    case("whatif", arguments, ranks, "balance steps", "--even")
    case("whatif", arguments, ranks, "balance", "--imbalance 0")
    case("whatif", arguments, ranks, "ranks x2", f"--strong {ranks}", 2)
    case("whatif", arguments, ranks, "ranks x2 weak", "", 2)
case("whatif", "bulk --imbalance 0.4 --noise 0.3", 2, "ranks x2", "--strong 2", 2)
agreeing = "agree --imbalance 0.3 --noise 0.2"
case("whatif", agreeing, 4, "compute=0.5", "--speed 2")
case("whatif", agreeing, 4, "network=0", "--operation 0")
case("whatif", agreeing, 4, "network x2", "--operation 0.002")
case("whatif", agreeing, 4, "compute=0.5,network=0", "--operation 0 --speed 2")
case("whatif", "tasks --noise 0.5", 4, "block compute x2", None)
case("whatif", "tasks --noise 0.5", 4, "ranks x2", None)
case("whatif", "sweep --steps 2", 2, "ranks x2", None)


def disturbed(answer):
    """Whether a refusal correctly states that the busy machine made the run unsuitable for the models."""
    said = [e["seconds"] for e in answer["engines"] if "refusal" not in e]
    if re.fullmatch(r"the models disagree by \d+ %", answer["refusal"]):
        return max(said) > 1.25 * min(said)
    if answer["refusal"].startswith("the ranks worked on shared processors: "):
        return True
    rests = re.match(r"only (\d+) % of the run is understood", answer["refusal"]) or \
        re.match(r"what is understood of the program as it is takes (\d+) % of the measured time", answer["refusal"])
    return rests is not None and abs(100 - int(rests[1])) >= 10


def main():
    split = sys.argv.index("--")
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", action="append", required=True)
    options.add_argument("--ranks-limit", type=int, default=64)
    options.add_argument("--only", default="")
    options.add_argument("--tries", type=int, default=3)
    options.add_argument("--ask-only", action="store_true",
                         help="every third case once, without running the changed programs, on however busy a machine: right "
                              "questions are answered, with an interval that owns up to how far off the replay of the "
                              "unchanged run was, or refused because the models were further apart than they may be; wrong "
                              "ones are refused")
    options.add_argument("--unchanged", type=float, default=0.01, help="for launchers whose ranks spin: more")
    options = options.parse_args([a for a in sys.argv[1:split] if a])
    launcher = sys.argv[split + 1:]
    programs = dict(p.split("=", 1) for p in options.program)
    scratch = tempfile.TemporaryDirectory(prefix="whatif.")
    directory = pathlib.Path(scratch.name)

    def run(program, arguments, ranks, question=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WHYWAIT_")}
        environment |= {"WHYWAIT_REPORT": "none", "WHYWAIT_OUTPUT": "run"}
        if question:
            environment["WHYWAIT_WHATIF"] = question
        subprocess.run(launcher + [str(ranks), programs[program]] + arguments, cwd=directory, env=environment, check=True,
                       stdout=subprocess.DEVNULL, timeout=100)
        return json.loads((directory / "run.json").read_text())

    def says(question, *wanted):
        """Invalid questions are reported once, the others are answered, and the program is unaffected."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WHYWAIT_")}
        environment |= {"WHYWAIT_WHATIF": question, "WHYWAIT_REPORT": "full"}
        done = subprocess.run(launcher + ["3", programs["whatif"], "ring", "--steps", "12"], cwd=directory, env=environment,
                              capture_output=True, text=True, timeout=100)
        problems = [] if done.returncode == 0 and done.stdout == "done\n" else [f"ended with {done.returncode}: {done.stdout}"]
        problems += [f"lacks {w!r}" for w in wanted if w not in done.stderr]
        if question.strip(" ;") and done.stderr.count("whywait-P023") != question.count("bad"):
            problems.append("complaints do not match")
        return [f"{question!r}: {p}\n{done.stderr}" for p in problems]

    failures, inside, answered, errors, unchanged = [], 0, 0, [], []
    if "whatif" in programs and not options.only:
        failures += says("block compute x2; ranks x2 bad; balance; block unknown x2",
                         "whywait: WHYWAIT_WHATIF: cannot read 'bad' at character 28, in 'ranks x2 bad': expected ';' or the end "
                         "(whywait-P023); the question is skipped\n",
                         "\n      block compute x2: ", "\n      balance: ",
                         "block unknown x2: no answer: no time was recorded for a block 'unknown'")
        failures += says("bad", "whywait-P023")
        failures += says(" ; ")
    print(f"{'case':74} {'now':>7} {'predicted':>9} {'truth':>7} {'error':>7}  interval")
    for program, arguments, ranks, question, changed, factor in CASES[::3] if options.ask_only else CASES:
        name = f"{program} {' '.join(arguments)} on {ranks}: {question}"
        if program not in programs or options.only not in name or round(ranks * factor) > options.ranks_limit:
            continue
        # a busy machine can only delay the work, so that the fastest run of each program is the most accurate
        now, truth = None, None
        for attempt in range(options.tries):
            p = run(program, arguments, ranks, question)["prediction"]
            if now is None or p["measured_seconds"] < now["measured_seconds"]:
                now = p
            a = now["answers"][0]
            if options.ask_only and "refusal" not in a:
                half = min(1 - a["low_seconds"] / a["seconds"], a["high_seconds"] / a["seconds"] - 1)
                good = changed is not None and half >= (1 - a["rests_on"]) * min(1, p["measured_seconds"] / a["seconds"])
                print(f"{name:74} {now['measured_seconds']:7.3f} {a['seconds']:9.3f} +- {100 * half:.1f} %, replay "
                      f"{100 * p['unchanged_error']:+.3f} %")
                answered += good
                break
            if options.ask_only and changed is not None:
                good = disturbed(a)
                print(f"{name:74} {a['refusal']}: {a['engines']}")
                answered += good
                break
            if changed is None or "refusal" in a:
                good = (changed is None) == ("refusal" in a)
                print(f"{name:74} {a.get('refusal', 'was answered')}")
                break
            seconds = run(program, arguments + changed, round(ranks * factor))["run"]["seconds"]
            truth = min(truth or seconds, seconds)
            error = a["seconds"] / truth - 1
            holds = a["low_seconds"] <= truth <= a["high_seconds"]
            low, high = a["low_seconds"] / a["seconds"] - 1, a["high_seconds"] / a["seconds"] - 1
            good = abs(error) <= (0.03 if a["engine"] == "clocks" else 0.05)
            if good and holds:
                break
        if truth is not None:
            print(f"{name:74} {now['measured_seconds']:7.3f} {a['seconds']:9.3f} {truth:7.3f} {100 * error:+6.2f}%  "
                  f"{100 * low:+.1f} {100 * high:+.1f} % {'holds' if holds else 'MISSES'}, tries: {attempt + 1}", flush=True)
        if changed is not None and "refusal" not in a and not options.ask_only:
            answered += 1
            inside += holds
            unchanged.append(abs(now["unchanged_error"]))
            errors.append(abs(error))
        if not good:
            failures.append(name)
    if answered and not options.ask_only:
        errors.sort()
        print(f"{answered} answers, median error {100 * errors[len(errors) // 2]:.2f} %, largest {100 * errors[-1]:.2f} %, "
              f"{inside} intervals hold; the replay of the unchanged run is off by {100 * sorted(unchanged)[len(unchanged) // 2]:.2f} %")
        if sorted(unchanged)[len(unchanged) // 2] > options.unchanged:
            failures.append("the replay of the unchanged run")
        if inside * 10 < answered * 9:
            failures.append(f"only {inside} of {answered} intervals hold")
    elif not answered:
        failures.append("nothing was answered")
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
