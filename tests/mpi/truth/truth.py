#!/usr/bin/env python3
"""Compares reports with what programs did by their own stamps.

    truth.py GROUP --programs FOLDER --work FOLDER --mpi LIBRARY [--sizes all] [--jobs N] [--tries N] [--only WORD]
             -- launcher ...

GROUP is halo, trees, chain, shapes, unseen, flow_control, idle_threads or all. The work of the programs takes time but no
processor. Each writes when its parts and its MPI calls began and ended. The true waiting is the time that a rank spent
in an MPI call while another rank worked, until another rank entered MPI for the last time before the call returned.
Waits, causes, what-if answers and advice must agree with it. A case that fails is repeated, because work is late on a
busy machine (tests/attempts.py). Delays only lengthen runs, so of all attempts the shortest run of each program
counts. A case that fails while other programs disturb every attempt is not decided: then the exit status is 77, unless
another case fails. The same holds if the stamps show that the run which is asked was interrupted, and the runs with the true
answers were not.
--sizes all runs every size, and not only those that differ most.
"""
import argparse
import bisect
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import consistent  # noqa: E402
from attempts import attempts  # noqa: E402

QUESTIONS = {"halo": "block interior x2; balance", "chain": "block sweep x2; balance"}


class case:
    def __init__(self, group, ranks, arguments, check, **facts):
        self.group, self.ranks, self.arguments, self.check, self.facts = group, ranks, arguments, check, facts
        self.interrupted = False  # in the last attempt: the run that is asked, by its stamps, and its twins were not
        self.name = f"{group} {arguments} on {ranks}" + (" over TCP" if "tcp" in facts else "") + \
            (" that spin" if check is spinning else "")


class outcome:
    """One run: its report, its text and its stamps."""

    def __init__(self, folder, ranks, text):
        self.text = text
        self.report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
        self.run = self.report["run"]
        self.work, self.calls = [[] for _ in range(ranks)], []
        for rank in range(ranks):
            for line in (folder / f"stamps.{rank}").read_text().splitlines():
                name, begin, end = line.split()
                if name.startswith("MPI_"):
                    self.calls.append((rank, name, float(begin), float(end)))
                elif name == "run":
                    self.begin, self.end = float(begin), float(end)
                else:
                    self.work[rank].append((float(begin), float(end), name))
        self.seconds = self.end - self.begin
        self.useful = sum(end - begin for all_ in self.work for begin, end, _ in all_)
        # Per call: while another rank worked, until the last time that another rank entered MPI before the call returned. What
        # follows is transfer, or the scheduler's. Where all ranks complete a round in MPI_Waitall, none needs what another one
        # does after it entered that of the same round.
        self.blocked = collections.Counter()
        others = [[w for other, all_ in enumerate(self.work) if other != rank for w in all_] for rank in range(ranks)]
        entries = [sorted(begin for who, _, begin, _ in self.calls if who == rank) for rank in range(ranks)]
        rounds = collections.defaultdict(list)
        for rank, name, begin, end in self.calls:
            rounds[rank, name].append((begin, end))
        for (rank, name), all_ in rounds.items():
            for number, (begin, end) in enumerate(all_):
                needed = begin
                for other in range(ranks):
                    same = rounds.get((other, name), [])
                    round_ends = name == "MPI_Waitall" and len(same) == len(all_)
                    until = min(end, same[number][0]) if round_ends else end
                    last = bisect.bisect_right(entries[other], until)
                    if other != rank and last > 0:
                        needed = max(needed, entries[other][last - 1])
                self.blocked[name] += overlap(begin, needed, others[rank])
        self.waiting = sum(self.blocked.values())
        self.inside = sum(end - begin for _, _, begin, end in self.calls)
        # Per rank: in calls while no work of another rank held them up. Transfer, and the time without a processor.
        self.beyond = (self.inside - self.waiting) / ranks
        self.waits = [w for w in self.report["waits"] if w["operation"]["call"] != "MPI_Finalize"]
        self.reported = sum(w["seconds"] for w in self.waits)

    def not_understood(self):
        return self.report.get("not_understood", {}).get("seconds", 0.0)

    def advice(self):
        """All advice, most saving first."""
        all_ = [a for w in self.report["waits"] for a in w["advice"]] + self.report["problems"]
        return sorted((a for a in all_ if a["text"]), key=lambda a: -a["saving_seconds"])

    def head(self):
        """The text up to the first numbered entry."""
        return re.split(r"\n *1  |\n *\*  |\n *critical path", self.text)[0]


def overlap(begin, end, intervals):
    """Length of the union of the intervals within begin and end."""
    total, reached = 0.0, begin
    for a, b, *_ in sorted(intervals):
        a, b = max(a, reached), min(b, end)
        if b > a:
            total, reached = total + b - a, b
    return total


def percent(x):
    return f"{100 * x:.1f} %"


# --- What every case expects

def waiting(r, tolerance=0.05, extra=0.0):
    """The reported waiting, between the true waiting and the time inside calls where transfer may count as waiting."""
    low, high = (1 - tolerance) * r.waiting, (1 + tolerance) * (r.waiting + extra)
    if not low <= r.reported <= high:
        yield f"waiting {r.reported:.3f} s, truth {r.waiting:.3f} s"
    if "nothing worth changing" in r.text:
        yield '"nothing worth changing"'


def explained(r, block, rank, share=0.95):
    """`block` of `rank` is the explanation: run by the causer, or inherited from it."""
    time = other = inside = 0.0
    for wait in r.waits:
        if wait["quality"] == "hidden_tree" and any(c["rank"] == rank for c in wait["causers"]):
            time += wait["seconds"]  # cannot be decided, which the report says
            continue
        direct = sum(c["seconds"] for c in wait["causers"] if c["rank"] == rank) / wait["seconds"]
        for term in wait["residual"]:
            if term["block"] == block and term["kind"] == "region":
                inherited = max(0.0, min(term["inherited_seconds"], (1 - direct) * term["seconds"]))
                time += direct * term["seconds"] + inherited
                other += (1 - direct) * term["seconds"] - inherited
            elif term["kind"] == "call" and term["seconds"] > 0:
                inside += term["seconds"]
    if not share <= time / r.waiting <= 1.3:  # above 1: the others' calls returned late
        yield f"{block} of rank {rank} explains {percent(time / r.waiting)} of the waiting"
    if other > (1 - share) * r.waiting:
        yield f"{block} of other ranks explains {percent(other / r.waiting)} of the waiting"
    if inside > (1 - share) * r.waiting:
        yield f"slow calls explain {percent(inside / r.waiting)} of the waiting"


def no_visits(r, block):
    """Every rank ran the block equally often."""
    visits = sum(abs(t["visits_seconds"]) for w in r.waits for t in w["residual"] if t["block"] == block)
    if visits > 0.05 * r.waiting:
        yield f"{percent(visits / r.waiting)} of the waiting by visits of {block} that were not there"
    if r.run["ranks"] == 2:  # more ranks share what they inherit
        true = max(sum(name == block for *_, name in all_) for all_ in r.work)
        for side in "causer_visits", "waiter_visits":
            told = sum(t[side] for w in r.waits for t in w["residual"] if t["block"] == block)
            if told > 1.05 * true:
                yield f"{told} {side.replace('_', ' ')} of {block}, of which there were {true}"
    said = re.findall(rf"{block} .*\n?.*?(\d+ (?:more|fewer) visits?)", r.text)
    if said:
        yield f"the text says {said[0]} of {block}"


def efficiency(r):
    """Stated, or a range that contains the truth."""
    x, truth = r.report["efficiency"], r.useful / (r.run["ranks"] * r.run["seconds"])
    low, high = x.get("parallel_range", [x.get("parallel", 1.0)] * 2)
    if not low - 0.05 <= truth <= high + 0.05:
        yield f"efficiency {percent(low)} to {percent(high)}, truth {percent(truth)}"


def saves(r, verdict, truth, least=0.9, slack=0.01):
    """The verdict states what removing its cause saves, or where ranks share processors a range that contains it."""
    low, high = verdict.get("saving_range", [verdict["saving_seconds"]] * 2)
    bound = "by up to" in verdict["text"]  # of what a rule knows
    if "by at least" in verdict["text"] and "MPICH" in r.run["mpi"]:
        least = min(least, 0.7)  # ranks that wait spin, where others would work: sending first ends that as well
    slack *= r.run["seconds"]
    if high < least * truth - slack or (not bound and low > 1.1 * truth + slack):
        yield f"the verdict saves {low:.3f} s to {high:.3f} s, truth {truth:.3f} s"
    if high - low > 1.5 * r.run["seconds"] * r.report["processor_sharing"]["seconds"] / r.run["location_seconds"] + 0.6 * high:
        yield f"the verdict saves {low:.3f} s to {high:.3f} s, which says too little"
    units = {"s": 1, "ms": 1e-3, "us": 1e-6}
    said = re.search(r"shorten the run by (?:about |at least |up to |([\d.]+) (m?u?s) to )([\d.]+) (m?u?s)\b", verdict["text"])
    if not said or abs(float(said[3]) * units[said[4]] - high) > 0.05 * high or \
            (said[1] and abs(float(said[1]) * units[said[2]] - low) > 0.05 * low):
        yield f"the verdict saves {low:.3f} s to {high:.3f} s and says: {verdict['text']}"


def balance(r, block, rank, seconds, noise=0.0):
    """The verdict and the best advice are about balance, name the rank and the block, and save what it really saves."""
    best = r.advice()[0] if r.advice() else {"text": "", "description": "", "saving_seconds": 0}
    said = best["description"] + " " + best["text"]
    if not re.search(r"balanc|spread|evenly|give some", said) or f"rank {rank}" not in said or block not in said:
        yield f"the best advice is not to balance {block} of rank {rank}: {said.strip() or 'none'}"
    head = re.sub(r"\s+", " ", r.head())
    if f"rank {rank}" not in head or block not in head:
        yield f"the verdict does not name rank {rank} and {block}: {head.strip()[:300]}"
    truth = r.run["seconds"] - seconds
    verdict = r.report.get("verdict", [])
    if verdict and (verdict[0].get("rank") != rank or verdict[0].get("block") != block):
        yield f"the first verdict is {verdict[0]['text']}"
    if verdict:
        yield from saves(r, verdict[0], truth, slack=0.01 + noise)
    high = verdict[0].get("saving_range", [0, 0])[1] if verdict else 0  # "saves at most"
    if best["saving_seconds"] > max(high, 1.25 * truth) + (0.01 + noise) * r.run["seconds"]:
        yield f"the best advice saves {best['saving_seconds']:.3f} s, truth {truth:.3f} s"
    for a in r.advice():
        if re.search(r"\bin turn\b|another order than|order of sending", a["description"] + a["text"]):
            yield f"{a['problem']}: {a['description'] or a['text']}"


def what_if(r, truths, held, noise, crowded):
    """`crowded`: large messages between more ranks than processors, for which the interval counts."""
    for answer, truth in zip(r.report["prediction"].get("answers", []), truths):
        if "refusal" in answer:
            yield f"{answer['question']}: {answer['refusal']}"
            continue
        error = answer["seconds"] / truth - 1
        held.append(answer["low_seconds"] * (1 - noise) <= truth <= answer["high_seconds"] * (1 + noise))
        if abs(error) > 0.05 + noise and not (crowded and held[-1]):
            yield f"{answer['question']}: {answer['seconds']:.3f} s, truth {truth:.3f} s ({100 * error:+.1f} %)"
    if not r.report["prediction"].get("answers"):
        yield "no answers"


# --- The groups

def uneven(c, execute, held):
    """Programs in which one rank takes longer in one block: halo and chain."""
    block, rank = c.facts["block"], c.facts["slow"]
    r = execute(c.arguments, QUESTIONS[c.group])
    faster, even = execute(c.arguments + " --faster 2"), execute(c.arguments + " --even 1")
    noise = abs(execute(c.arguments).run["seconds"] / r.run["seconds"] - 1)  # how much two runs of the same program differ
    if not c.facts.get("large"):  # else transfer takes longer where ranks compute
        c.interrupted = r.beyond > 1.5 * max(faster.beyond, even.beyond) + 0.002  # seconds
    yield from waiting(r)
    # four ranks that copy 1 MiB on two processors take 0.5 to 1 ms of each step for it, which the others wait for as well:
    # 5 to 7 % of the waiting is explained by these calls
    yield from explained(r, block, rank, 0.90 if c.facts.get("large") else 0.95)
    yield from no_visits(r, block)
    yield from efficiency(r)
    yield from what_if(r, [faster.run["seconds"], even.run["seconds"]], held, noise, c.facts.get("large") and c.ranks > 2)
    yield from balance(r, block, rank, even.run["seconds"], noise)


def spinning(c, execute, _):
    """Ranks that wait keep others from working: the verdict is about the cause all the same, and its range contains the truth."""
    block, rank = c.facts["block"], c.facts["slow"]
    r = execute(c.arguments)
    even = sorted(execute(c.arguments + " --even 1").run["seconds"] for _ in range(3))[1]  # varies by a fifth
    yield from balance(r, block, rank, even)
    if not re.search(r"^ranks share|^\d+ ranks share \d+ processors", re.sub(r"\s+", " ", r.text.split("\n", 1)[1]).strip()):
        yield f"the headline does not say that ranks share processors: {r.head()[:300]}"
    if r.reported < 0.95 * r.waiting or r.reported > 1.05 * r.inside:
        yield f"waiting {r.reported:.3f} s, truth {r.waiting:.3f} s of {r.inside:.3f} s inside calls"


def tree(c, execute, _):
    """Every other rank waits for the late one in each round, in the collective or in the barrier."""
    r = execute(c.arguments)
    yield from waiting(r, extra=r.inside - r.waiting if c.facts["large"] else 0.0)  # also for the transfer of the late rank
    yield from explained(r, "solve", c.facts["late"], 0.80 if c.facts["large"] else 0.95)
    name = c.facts["call"]
    said = sum(w["seconds"] for w in r.waits if w["operation"]["call"] == name)
    if abs(said - r.blocked[name]) > 0.05 * r.waiting:
        yield f"waiting in {name} {said:.3f} s, truth {r.blocked[name]:.3f} s"


def shape(c, execute, _):
    """The first verdict is about the cause, and what it saves is what removing the cause saves."""
    r = execute(c.arguments)
    if c.facts.get("polls"):  # a loop with long pauses between polls may work
        head = re.sub(r"\s+", " ", r.head())
        if "between polls that found nothing" not in head or "MPI_Testall" not in head:
            yield f"the headline says nothing about the polls: {head.strip()[:300]}"
        if re.search(r"rank 0 takes", head) or any(a["description"].startswith("rank 0 takes") for a in r.advice()):
            yield f"rank 0, which polls, is blamed: {head.strip()[:300]}"
        for a in r.advice():
            if re.search(r"the code between MPI_Isend .* and MPI_Testall", a["text"]) and a["saving_seconds"] > 0:
                yield f"advice about code that is not understood: {a['text']}"
        return
    yield from waiting(r)
    even = None if c.facts.get("unknown") else execute(c.arguments + " --even 1")
    for v in even.report["verdict"] if "left" in c.facts else []:
        sentence, share = c.facts["left"]
        if not re.search(sentence, v["text"]) or abs(v["saving_seconds"] / even.run["seconds"] - share) > 0.05:
            yield f"a verdict without the cause: {v['text']}"
    if len(r.report["verdict"]) > c.facts.get("most", 3):
        yield f"more than one verdict about one cause: {r.report['verdict'][1]['text']}"
    verdict = r.report["verdict"][0] if r.report["verdict"] else {"text": "none", "saving_seconds": 0}
    if not re.search(c.facts["verdict"], verdict["text"]):
        yield f"the verdict is not about {c.facts['verdict']}: {verdict['text']}"
    if c.facts.get("few") and not ("most of it in at most" in r.text and "slower on average" in r.text):
        yield "the report does not say that few waits have most of the time"
    if r.report["verdict"] and not c.facts.get("unknown"):
        yield from saves(r, verdict, r.run["seconds"] - even.run["seconds"], c.facts.get("least", 0.9), 0.015)


def unseen(c, execute, _):
    """Waits that are explained, or time that the headline calls not understood; nothing is lost silently."""
    r = execute(c.arguments)
    known = r.reported + r.not_understood()
    if known < 0.95 * r.waiting or r.reported > 1.05 * r.waiting:
        yield f"{r.reported:.3f} s waiting and {r.not_understood():.3f} s not understood, truth {r.waiting:.3f} s"
    if "nothing worth changing" in r.text:
        yield '"nothing worth changing"'
    if r.reported < 0.95 * r.waiting:
        head = re.sub(r"\s+", " ", r.head())
        if "not understand" not in head and "not understood" not in head or not any(n in head for n in c.facts["calls"]):
            yield f"the headline names none of {', '.join(c.facts['calls'])}: {head.strip()[:300]}"
        if r.waits and any(w["quality"] == "exact" and w["seconds"] > 0.05 * r.waiting for w in r.waits):
            yield "exact although much of the time is not understood"
    yield from efficiency(r)
    if c.facts["calls"] == ["MPI_Win_lock"]:  # each rank waits until the one before it has released the lock
        held = sum(w["seconds"] for w in r.waits if w["pattern"] == "window_lock_contention")
        if held < 0.9 * r.waiting:
            yield f"{held:.3f} s of lock contention, truth {r.waiting:.3f} s"


def slow_receiver(c, execute, _):
    r = execute(c.arguments)
    truth, said = r.blocked["MPI_Send"], sum(w["seconds"] for w in r.waits if w["operation"]["call"] == "MPI_Send")
    if truth < 0.1:
        yield f"the buffers were never full: blocked for {truth:.3f} s"
        return
    if said < 0.95 * truth or said > 1.05 * truth + sum(e - b for _, n, b, e in r.calls if n == "MPI_Send") - truth + 0.02:
        yield f"waiting in MPI_Send {said:.3f} s, truth {truth:.3f} s"
    filtered = sum(t["seconds"] for w in r.waits for t in w["residual"]
                   if t["block"] == "filter" and w["operation"]["call"] == "MPI_Send")
    if abs(filtered / truth - 1) > 0.05:
        yield f"filter explains {percent(filtered / truth)} of the waiting in MPI_Send"
    if "out of the transfer" in r.text:
        yield '"came late out of the transfer"'
    if "nothing worth changing" in r.text:
        yield '"nothing worth changing"'


def threads(c, execute, _):
    r = execute(c.arguments)
    yield from waiting(r)
    yield from explained(r, "solve", 1)
    truth = r.reported and r.waiting / (r.run["ranks"] * r.run["seconds"])
    said = re.search(r"([\d.]+) % of rank time is waiting", re.sub(r"\s+", " ", r.head()))
    if said is None or abs(float(said[1]) / 100 - truth) > 0.03:
        yield f"{said[0] if said else 'no share of waiting'}, truth {percent(truth)}"
    yield from efficiency(r)
    saved = [e["saving_seconds"] for e in r.report["critical_path"] if e["block"] == "solve" and "saving_seconds" in e]
    if not saved or abs(saved[0] - 0.5 * 60 * 0.007) > 0.05 * 0.5 * 60 * 0.007:
        yield f"solve at half the time saves {saved} s, not {0.5 * 60 * 0.007} s"
    if r.run["location_seconds"] > r.run["locations"] * r.run["seconds"]:
        yield f"{r.run['location_seconds']:.1f} s on {r.run['locations']} threads of {r.run['seconds']:.2f} s"


# With MPICH those in which the library matters: collectives, messages that leave at once, persistent ones, wildcards, polls
SHAPES_OF_MPICH = {"allreduce", "alltoall", "persistent", "order", "polls", "particles", "bursts", "farm"}


def cases(mpich, everything):
    """Those of this MPI library; without `everything` the most telling ones."""
    for c in all_cases(mpich, everything):
        if everything or not mpich or c.group != "shapes" or c.arguments.split()[1] in SHAPES_OF_MPICH:
            yield c


def all_cases(mpich, everything):
    sizes = [8, 512, 16384, 1 << 20]
    shapes = [(2, 1), (4, 1), (4, 2)]
    for ranks, dimensions in shapes:
        for size in sizes:
            if everything or (size == 16384 or (size == 512 and dimensions == 1) if mpich else
                              size > 8 if dimensions == 2 else size == 512 or (size == 1 << 20 and ranks == 2)):
                yield case("halo", ranks, f"--bytes {size} --dimensions {dimensions}", uneven, block="interior", slow=1,
                           large=size > 100000)
    for size in [] if mpich else [512, 65536] if everything else [512]:  # the kernel moves small messages meanwhile
        yield case("halo", 2, f"--bytes {size}", uneven, block="interior", slow=1, tcp=True)
    spins = mpich and len(os.sched_getaffinity(0)) < 4
    for size, dimensions in [] if not spins else [(8, 2), (16384, 1), (16384, 2), (1 << 20, 1)] if everything else [(16384, 1)]:
        yield case("halo", 4, f"--bytes {size} --dimensions {dimensions}", spinning, block="interior", slow=1)
    if spins and everything:
        yield case("chain", 4, "", spinning, block="sweep", slow=1)
    trees = [("bcast", 2, 8), ("reduce", 3, 8), ("scatter", 2, 8), ("gather", 3, 8), ("bcast", 2, 1000000)] if mpich else \
        [("bcast", 1, 8), ("reduce", 3, 8), ("scatter", 2, 8), ("gather", 3, 8), ("bcast", 1, 1000000)]
    if everything:
        trees += [("bcast", 1, 65536), ("reduce", 1, 65536), ("reduce", 3, 1000000), ("gather", 1, 4096), ("scatter", 3, 65536)]
    for name, late, size in trees:
        yield case("trees", 4, f"--call {name} --late {late} --bytes {size}", tree, late=late, call=f"MPI_{name.capitalize()}",
                   large=size > 100000)
    yield case("trees", 3, "--call bcast --late 1", tree, late=1, call="MPI_Bcast", large=False)
    yield case("chain", 4, "--steps 60", uneven, block="sweep", slow=1)
    for name, verdict in [("allreduce", "rank 1 takes .* solve"), ("alltoall", "rank 3 takes .* solve"),
                          ("ring", "rank 1 takes .* solve"), ("persistent", "rank 2 takes .* solve"),
                          ("some", "rank 2 takes .* solve"),
                          ("growing", "rank 3 takes .* solve"), ("serial", "only rank 0 runs output"),
                          ("master", "only rank 0 runs prepare"), ("few", "only 2 of 4 ranks run filter"),
                          ("turns", "ranks 0-3 are late in turn.* solve"),
                          ("order", r"sent only after solve \(shapes.cpp:\d+\): calling MPI_Send \(shapes.cpp:\d+ and \d+\)"),
                          ("polls", "rank 1 takes .* solve")]:
        yield case("shapes", 4, f"--shape {name}", shape, verdict=verdict)
    # one cause each, in programs whose first reports named others, or other ranks, or another saving
    for name, verdict in [("particles", "rank 3 takes .* solve"), ("as_it_comes", "rank 3 takes .* solve"),
                          ("halves", "ranks 2 and 3 take 3.0 times as long as the others in solve")]:
        yield case("shapes", 4, f"--shape {name}", shape, verdict=verdict, most=1)
    yield case("shapes", 4, "--shape bursts --marked 0", shape, verdict="rank 1 takes 2.0 times .* between MPI_Sendrecv", most=1,
               few=True)
    yield case("shapes", 4, "--shape dividing", shape, verdict=r"waited in MPI_Barrier \(shapes.cpp:\d+\) for rank 0, although")
    yield case("shapes", 4, "--shape leaders --marked 0", shape, most=1,
               verdict="ranks 0 and 2 do nearly all of the code after MPI_Reduce")
    yield case("shapes", 4, "--shape farm", shape, verdict="rank [123] takes .* task", most=1,
               left=("rank 0 waited .* while all others ran task: dividing it among all ranks", 1 / 4))
    yield case("shapes", 4, "--shape wavefront", shape, verdict="run solve in turn while others wait|handing on smaller pieces of solve", most=1)
    yield case("shapes", 4, "--shape token", shape, unknown=True, most=1,  # what a rank needs of its message is not known
               verdict="if a rank can begin with a part of what it waits for, which is not known, handing on smaller pieces of solve")
    for marked in 1, 0:
        yield case("shapes", 4, f"--shape polls --pause 2000 --marked {marked}", shape, polls=True)
    for name, verdict in [("master", "only rank 0 runs the code between MPI_Recv .* and MPI_Send"),
                          ("serial", "rank 0 takes [0-9.]+ times as long as the others in the code between MPI_Allreduce .* MPI_Barrier")]:
        yield case("shapes", 4, f"--shape {name} --marked 0", shape, verdict=verdict)
    for name, rank in [("allreduce", 1), ("ring", 1), ("persistent", 2), ("polls", 1)]:
        yield case("shapes", 4, f"--shape {name} --marked 0", shape, verdict=f"rank {rank} takes .* between")
    for name, calls in [("fence", ["MPI_Win_fence"]), ("post", ["MPI_Win_complete", "MPI_Win_wait", "MPI_Win_start"]),
                        ("lock", ["MPI_Win_lock", "MPI_Win_flush", "MPI_Win_unlock"]), ("mutex", ["MPI_Win_lock"]), ("test", ["MPI_Test"]),
                        ("file", ["MPI_File_write_at_all", "MPI_File_sync"]), ("neighbour", ["MPI_Wait", "MPI_Ineighbor_alltoall"]),
                        ("create_group", ["MPI_Comm_create_group"])]:
        yield case("unseen", 3 if not mpich else 2, f"--call {name}", unseen, calls=calls)
    for size in [8, 64, 1024] if everything else [64]:
        yield case("flow_control", 2, f"--bytes {size}", slow_receiver)
    for arguments in ["--pool 7", "--pool 63", "--short 1"]:
        yield case("idle_threads", 2, arguments, threads)


def main():
    split = sys.argv.index("--")
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("group")
    options.add_argument("--programs", type=pathlib.Path, required=True)
    options.add_argument("--work", type=pathlib.Path, required=True, help="folder for the runs")
    options.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    options.add_argument("--prefix", default="", help="of the programs' names")
    options.add_argument("--sizes", choices=["few", "all"], default="few")
    options.add_argument("--jobs", type=int, default=1, help="cases at the same time")
    options.add_argument("--tries", type=int, default=3)
    options.add_argument("--only", default="")
    options = options.parse_args(sys.argv[1:split])
    launcher = sys.argv[split + 1:]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WHYWAIT_")}

    def execute(c, folder, arguments, question=None):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        own = environment | {"WHYWAIT_OUTPUT": "out", "WHYWAIT_REPORT": "full"} | ({"WHYWAIT_WHATIF": question} if question else {})
        if "tcp" in c.facts:
            own["OMPI_MCA_btl"] = "self,tcp"
        if c.check is spinning:
            own["TRUTH_SPIN"] = "1"
        done = subprocess.run(launcher + [str(c.ranks), str(options.programs / (options.prefix + c.group))] + arguments.split(),
                              cwd=folder, env=own, capture_output=True, text=True, timeout=60)
        (folder / "report.txt").write_text(done.stderr)
        if done.returncode != 0:
            raise RuntimeError(f"ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return outcome(folder, c.ranks, done.stderr)

    def attempt(c, folder, shortest):
        broken, problems, held, count = [], [], [], [0]  # broken: what no other program excuses

        def one(arguments, question=None):
            count[0] += 1
            r = execute(c, folder / str(count[0]), arguments, question)
            broken.extend(f"contradiction: {x}" for x in consistent.contradictions(r.report, r.text))
            if r.run["undescribed_seconds"] > 0:
                broken.append(f"no rule describes {r.run['undescribed_seconds']:.3f} s of waiting")
            shortest[count[0]] = min(r, shortest.get(count[0], r), key=lambda x: x.seconds)
            return shortest[count[0]]

        try:
            problems.extend(c.check(c, one, held))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            broken.append(str(error))
        return broken, problems, held

    def judge(c):
        folder = options.work / re.sub(r"[^a-z0-9]+", "_", c.name)
        shortest, decided = {}, []  # shortest: by the position in the check; decided: failed undisturbed, or broken
        for _ in attempts(1 if undecided else options.tries, pause=1, calm=decided, interrupted=lambda: c.interrupted):
            c.interrupted = False
            broken, problems, held = attempt(c, folder, shortest)
            if broken:
                decided.append(True)
                problems = broken + problems
            if not problems:
                break
        if problems and not decided:
            undecided.append(c.name)
        verdict = "ok: " if not problems else "FAILED: " if decided else "NOT DECIDED on this busy machine: "
        print("\n  ".join([verdict + c.name] + problems), flush=True)
        return not problems or not decided, held if decided or not problems else []

    undecided = []  # cases
    wanted = [c for c in cases(options.mpi == "mpich", options.sizes == "all")
              if options.group in (c.group, "all") and options.only in c.name]
    if not wanted:
        sys.exit("no such case")
    alone = [c for c in wanted if c.check in (uneven, spinning, shape)]  # a second program would delay ranks at random
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        wanted = [c for c in wanted if c not in alone] + alone
        results = list(pool.map(judge, wanted[:len(wanted) - len(alone)])) + [judge(c) for c in alone]
    # 9 of 10 are stated. At that rate fewer than 3 of 4 are seen once in 70 samples of 26 intervals, in two samples once in
    # 4,900.
    held = [h for _, all_ in results for h in all_]
    for sample in (1, 2):
        if not held:
            break
        print(f"{sum(held)} of {len(held)} intervals contain the truth", flush=True)
        if len(held) < 10 or 4 * sum(held) >= 3 * len(held):
            break
        if sample == 2:
            print("FAILED: fewer than 3 of 4, twice")
            return 1
        held = [h for c, (_, before) in zip(wanted, results) if before for h in judge(c)[1]]
    if not all(good for good, _ in results):
        return 1
    return 77 if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
