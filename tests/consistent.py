#!/usr/bin/env python3
"""Whether a report contradicts itself.

    consistent.py FILE.json [--text FILE]    checks one report, with its text if there is one
    consistent.py --can-fail FILE.json ...   damages each number of correct reports and expects that it is noticed

tests/check.py calls contradictions() for every report that a program writes.
"""
import argparse
import json
import pathlib
import re
import sys

TINY = 1e-6  # seconds; numbers are rounded to nanoseconds and added


def close(a, b, scale=0.0):
    return abs(a - b) <= TINY + 1e-6 * max(abs(a), abs(b), abs(scale))


def most(a, b):
    """Whether a <= b."""
    return a <= b or close(a, b)


class checker:
    def __init__(self, report, text):
        self.report, self.text, self.found = report, text, []
        self.run = report["run"]

    def expect(self, good, place, *words):
        if not good:
            self.found.append(f"{place}: " + " ".join(f"{w:.9g}" if isinstance(w, float) else str(w) for w in words))

    def all(self):
        run = self.run
        self.totals()
        for i, wait in enumerate(self.report["waits"]):
            self.wait(f"waits[{i}]", wait)
        for i, v in enumerate(self.report.get("verdict", [])):
            self.expect(most(v["saving_seconds"], run["seconds"]), f"verdict[{i}]", "saves", v["saving_seconds"], "of",
                        run["seconds"])
            self.expect(v.get("rank", 0) < run["ranks"], f"verdict[{i}]", "names rank", v.get("rank"))
            low, high = v.get("saving_range", [v["saving_seconds"]] * 2)
            self.expect(low <= v["saving_seconds"] <= high and most(high, run["seconds"]), f"verdict[{i}]", "saves", low, "to",
                        high, "of", run["seconds"])
        if run.get("nothing_worth_changing"):
            self.nothing()
        for i, problem in enumerate(self.report["problems"]):
            self.advice(f"problems[{i}]", problem)
        self.critical_path()
        self.efficiency()
        self.overhead()
        self.delays()
        self.maps()
        self.prediction(self.report["prediction"])
        self.communication()
        for i, region in enumerate(self.report.get("regions", [])):
            self.region(f"regions[{i}] {region['region']}", region)
        for i, message in enumerate(self.report.get("messages", [])):
            self.message(f"messages[{i}] {message.get('call')}", message)
        self.each_rank()
        self.not_understood()
        for i, end in enumerate(self.report.get("last_words", [])):
            place = f"last_words[{i}]"
            self.expect(run["partial"], place, "of a run that is not partial")
            self.expect(end["rank"] < run["ranks"], place, "rank", end["rank"], "of", run["ranks"])
            self.expect(most(end.get("since_seconds", 0), end["seconds"]), place, "the last call begins after the end")
        if self.text is not None:
            self.words()
        return self.found

    def totals(self):
        run, waits = self.run, self.report["waits"]
        listed = sum(w["seconds"] for w in waits)
        self.expect(run["locations"] >= run["ranks"] or run["partial"] or run["locations"] == 0, "run",
                    "fewer locations than ranks")
        self.expect(most(run["location_seconds"], run["locations"] * run["seconds"]), "run",
                    "location_seconds", run["location_seconds"], "of", run["locations"], "locations x", run["seconds"], "s")
        self.expect(most(run["waiting_seconds"], run["location_seconds"]), "run", "more waiting than rank time:",
                    run["waiting_seconds"], run["location_seconds"])
        self.expect(most(run["waiting_seconds"], run["locations"] * run["seconds"]), "run", "more waiting than locations x run")
        self.expect(most(run.get("unseen_seconds", 0), run["seconds"]), "run", "unseen_seconds above seconds")
        low, high = run.get("waiting_of_all", [0, 0])
        self.expect(0 <= low <= high <= 1, "run", "waiting_of_all", low, "to", high)
        self.expect(most(run.get("paused_seconds", 0), run["location_seconds"]), "run", "paused_seconds above rank time")
        self.expect(most(listed + run["undescribed_seconds"], run["waiting_seconds"]), "run", "waits and undescribed_seconds are",
                    listed + run["undescribed_seconds"], "of", run["waiting_seconds"], "s of waiting")
        unexplained = sum(w["unexplained_seconds"] for w in waits)
        unlisted = run["waiting_seconds"] - listed - run["undescribed_seconds"]
        self.expect(most(run["unexplained_seconds"], run["waiting_seconds"]), "run", "more unexplained than waiting")
        self.expect(close(run["unexplained_seconds"], unexplained + unlisted, run["waiting_seconds"]), "run",
                    "unexplained_seconds", run["unexplained_seconds"], "are not", unexplained, "of waits plus", unlisted,
                    "unlisted")
        self.expect(run["mpi_calls"] > 0 or not waits or any(w["pattern"] in THREADS for w in waits), "run",
                    "MPI waits without MPI calls")
        self.expect(all(a["seconds"] >= b["seconds"] - TINY for a, b in zip(waits, waits[1:])), "waits", "not the largest first")

    def locations(self, place, all_, total):
        self.expect(all(-1 <= l["rank"] < self.run["ranks"] for l in all_), place, "a rank beyond", self.run["ranks"])
        listed = [(l["rank"], l["thread"]) for l in all_ if l["rank"] >= 0]
        self.expect(len(listed) == len(set(listed)), place, "a location twice")
        for l in all_:
            self.expect(l["rank"] < 0 or most(l["seconds"], self.run["seconds"]) or place.endswith("causers"), place,
                        "rank", l["rank"], "waited longer than the run")
        self.expect(close(sum(l["seconds"] for l in all_), total), place, "add up to", sum(l["seconds"] for l in all_),
                    "of", total)

    def wait(self, place, wait):
        seconds, explained = wait["seconds"], sum(r["seconds"] for r in wait["residual"])
        self.expect(close(explained + wait["unexplained_seconds"], seconds, sum(abs(r["seconds"]) for r in wait["residual"])),
                    place, "the residual", explained, "and", wait["unexplained_seconds"], "unexplained are not", seconds)
        self.expect(wait["count"] >= 1 and most(wait["longest_seconds"], seconds) and
                    most(seconds, wait["count"] * wait["longest_seconds"]), place,
                    "longest", wait["longest_seconds"], "of", wait["count"], "waits of", seconds, "s")
        typical = wait["typical_seconds"]  # of waits in whole microseconds
        self.expect(most(seconds / wait["count"], typical + 1e-6) and most(typical, wait["longest_seconds"]), place, "typically",
                    typical, "s, on average", seconds / wait["count"], "at most", wait["longest_seconds"])
        self.expect(most(wait["longest_seconds"], self.run["seconds"]), place, "a wait is longer than the run")
        self.expect(wait.get("wrong_order_count", 0) <= wait["count"] and
                    most(wait.get("wrong_order_seconds", 0), seconds), place, "more in wrong order than there is")
        self.expect(wait.get("wrong_order", False) == (wait.get("wrong_order_count", 0) > 0), place,
                    "wrong_order without a count")
        self.expect(most(wait.get("saving_seconds", 0), self.run["seconds"]), place, "saves more than the run takes")
        self.expect(close(wait["indirect_seconds"], sum(r["inherited_seconds"] for r in wait["residual"]), seconds) or
                    most(wait["indirect_seconds"], seconds), place, "inherited", wait["indirect_seconds"], "of", seconds)
        self.locations(f"{place}.waiters", wait["waiters"], seconds)
        self.locations(f"{place}.causers", wait["causers"], seconds)
        for i, r in enumerate(wait["residual"]):
            self.residual(f"{place}.residual[{i}] {r['block']}", r, wait["count"])
        for i, a in enumerate(wait["advice"]):
            self.advice(f"{place}.advice[{i}]", a)

    def residual(self, place, r, count):
        size = abs(r["causer_seconds"]) + abs(r["waiter_seconds"])
        self.expect(close(r["visits_seconds"] + r["speed_seconds"], r["seconds"], size), place, "visits",
                    r["visits_seconds"], "and speed", r["speed_seconds"], "are not", r["seconds"])
        # times of visits up to the same place; merged waits may have been in opposite directions
        self.expect("lead_visits" in r and (count > 1 or r["lead_visits"] != 0) or
                    close(r["causer_seconds"] - r["waiter_seconds"], r["seconds"], size), place, "ran", r["causer_seconds"],
                    "and", r["waiter_seconds"], "which do not differ by", r["seconds"])
        # the waiting side may be compared at a place that it has not reached: then its visits and their time are extrapolated
        visits = count + r["waiter_visits"] if "lead_visits" in r else count
        for side, times in ("causer_seconds", count), ("waiter_seconds", visits):
            self.expect(-TINY <= r[side] and most(r[side], times * self.run["location_seconds"]), place, side, r[side])
        equal = r["causer_work"] == r["waiter_work"] if r["causer_work"] and r["waiter_work"] else \
            r["causer_visits"] == r["waiter_visits"] != 0
        # of several waits some may have more visits and others fewer
        self.expect(count > 1 or not equal or close(r["visits_seconds"], 0, size), place, r["visits_seconds"],
                    "s for visits, of which there are equally many")
        if "speed" in r:
            why = r["speed"]
            parts = [v for name, v in why.items() if name.endswith("_seconds") and name != "memory_seconds"]
            self.expect(close(sum(parts), r["speed_seconds"], size), place, "the parts of speed", sum(parts), "are not",
                        r["speed_seconds"])
            of_memory = sorted((0, why.get("cycles_seconds", 0)))
            self.expect(most(of_memory[0], why.get("memory_seconds", 0)) and most(why.get("memory_seconds", 0), of_memory[1]), place,
                        why.get("memory_seconds"), "s on memory of", why.get("cycles_seconds"), "s of cycles")

    def advice(self, place, a):
        self.expect(most(a["saving_seconds"], self.run["seconds"]), place, a["problem"], "saves", a["saving_seconds"],
                    "of a run of", self.run["seconds"], "s")
        self.expect(most(a["seconds"], self.run["location_seconds"]), place, a["problem"], "costs", a["seconds"], "of",
                    self.run["location_seconds"], "s of rank time")

    def critical_path(self):
        path, run = self.report["critical_path"], self.report["overhead"].get("run_seconds", self.run["seconds"])
        total = sum(e["seconds"] for e in path)
        self.expect(not path or close(total, run), "critical_path", "takes", total, "of", run)
        for e in path:
            place = f"critical_path {e['block']}"
            self.expect(most(e["imbalance_seconds"], max(0.0, e["seconds"])), place, "has more imbalance than time")
            self.expect(most(e.get("saving_seconds", 0), 0.5 * max(0.0, e["seconds"])), place, "saves",
                        e.get("saving_seconds"), "when it takes half of", e["seconds"], "s")

    def efficiency(self):
        x = self.report["efficiency"]
        if not x:
            return
        place = "efficiency"
        for name, value in x.items():
            if isinstance(value, float):
                self.expect(0 <= value <= 1 + 1e-6 or name in ("serialisation", "transfer"), place, name, value)
        for name, value in x.items():
            if name.endswith("_range"):
                least, greatest = value
                self.expect(most(least, x[name[:-6]]) and most(x[name[:-6]], greatest), place, x[name[:-6]], "of", name[:-6],
                            "is not between", least, "and", greatest)
        if "parallel" not in x:
            return
        self.expect(abs(x["parallel"] - x["load_balance"] * x["communication"]) < 1e-4, place,
                    "parallel is not load_balance x communication")
        self.expect(abs(x["communication"] - x["serialisation"] * x.get("files", 1) * x["transfer"]) < 1e-4, place,
                    "communication is not serialisation x files x transfer")
        if "balance_in_nodes" in x:
            self.expect(abs(x["load_balance"] - x["balance_in_nodes"] * x["balance_between_nodes"]) < 1e-4, place,
                        "load_balance is not its factors")
        if "transfer_in_nodes" in x:
            self.expect(abs(x["transfer"] - x["transfer_in_nodes"] * x["transfer_between_nodes"]) < 1e-4, place,
                        "transfer is not its factors")
        # useful time and waiting exclude each other
        waiting = self.run["waiting_seconds"] / max(self.run["location_seconds"], TINY)
        if self.run["locations"] == self.run["ranks"]:
            self.expect(x["parallel"] + waiting <= 1.02, place, x["parallel"], "useful and", waiting, "waiting")

    def overhead(self):
        o = self.report["overhead"]
        if "run_seconds" not in o:
            return
        self.expect(most(o["without_seconds"], o["run_seconds"]), "overhead", "the run is longer without it")
        self.expect(most(o["bound_seconds"], o["run_seconds"]), "overhead", "made the run longer by more than the run takes")
        self.expect(most(o["run_seconds"] - o["without_seconds"], o["bound_seconds"] + o["error_seconds"] + TINY), "overhead",
                    "bound_seconds", o["bound_seconds"], "but", o["run_seconds"] - o["without_seconds"], "without it")
        self.expect(most(o["seconds"], self.run["location_seconds"]), "overhead", "more than all rank time")

    def delays(self):
        sums, costs = self.report["delay_sums"], self.report["delay_costs"]
        if not sums:
            return
        total = sum(c["short_seconds"] + c["long_seconds"] for c in costs) + sums["nobody_seconds"]
        self.expect(most(total, self.run["waiting_seconds"]), "delay_costs", "add up to", total, "of",
                    self.run["waiting_seconds"], "s of waiting")
        self.expect(close(sums["propagating_seconds"] + sums["terminal_seconds"], total, self.run["waiting_seconds"]),
                    "delay_sums", "propagating and terminal are not", total)
        # the waits without a cause also have a part that was charged on, which is neither direct nor indirect
        parts = sums["direct_seconds"] + sums["indirect_seconds"]
        self.expect(most(parts, total) and most(total, parts + sums["nobody_seconds"]), "delay_sums", "direct and indirect are",
                    parts, "of", total)

    def maps(self):
        run, waits = self.run, self.report["waits"]
        m, place = self.report["time_map"], "time_map"
        length = self.report["overhead"].get("run_seconds", run["seconds"])
        if m:
            each = (run["ranks"] - 1) // 64 + 1
            series = [m["waiting"], m["calls"], m["other"]] + [b["seconds"] for b in m["blocks"]]
            self.expect(m["ranks_per_row"] == each and m["rows"] == (run["ranks"] - 1) // each + 1, place, m["rows"], "rows of",
                        m["ranks_per_row"], "ranks of", run["ranks"])
            self.expect(all(len(s) == m["rows"] and all(len(row) == m["bins"] for row in s) for s in series), place,
                        "is not", m["rows"], "rows of", m["bins"], "bins")
            self.expect(0 <= m["bins"] <= 128 and most(length, m["bins"] * m["bin_seconds"]) and
                        most((m["bins"] - 1) * m["bin_seconds"], length), place, m["bins"], "bins of", m["bin_seconds"],
                        "s for", length, "s")
            waiting, all_ = sum(map(sum, m["waiting"])), sum(sum(map(sum, s)) for s in series)
            self.expect(close(waiting, run["waiting_seconds"]), place, "waiting adds up to", waiting, "of",
                        run["waiting_seconds"])
            self.expect(close(all_, run["location_seconds"]), place, "adds up to", all_, "of", run["location_seconds"])
            self.expect(all(cell >= 0 for s in series for row in s for cell in row), place, "has negative time")
        m, place = self.report["rank_matrix"], "rank_matrix"
        if m:
            self.expect(m["ranks_per_row"] == self.report["time_map"]["ranks_per_row"] and
                        m["rows"] == self.report["time_map"]["rows"], place, "has other rows than time_map")
            for entry in m["messages"] + m["waits"]:
                self.expect(0 <= entry[0] < m["rows"] and 0 <= entry[1] < m["rows"], place, "names a row that does not exist")
            seconds, count = sum(w[3] for w in m["waits"]), sum(w[2] for w in m["waits"])
            self.expect(close(seconds, run["waiting_seconds"]), place, "waits add up to", seconds, "of", run["waiting_seconds"])
            known = sum(w["count"] for w in waits) + run["undescribed_waits"]
            self.expect(count == known, place, count, "waits of", known)
        kind = [(w["pattern"], w["operation"], w["cause"]) for w in waits]
        inherited = {}
        for i, link in enumerate(self.report["propagation"]):
            place = f"propagation[{i}]"
            if not (0 <= link["wait"] < len(waits) and 0 <= link["through"] < len(waits)):
                self.expect(False, place, "names a wait that does not exist")
                continue
            self.expect(link["seconds"] >= 0, place, link["seconds"], "s")
            inherited[link["wait"]] = inherited.get(link["wait"], 0) + link["seconds"]
        for wait, seconds in inherited.items():
            whole = sum(w["seconds"] for w, k in zip(waits, kind) if k == kind[wait])
            self.expect(most(seconds, whole), "propagation", seconds, "s inherited of", whole)
        for i, s in enumerate(self.report["speeds"]):
            place = f"speeds[{i}]"
            answers = s["answers"]
            self.expect([a["factor"] for a in answers] == [0, 0.25, 0.5, 0.75], place, "asks for other factors")
            for a, b in zip(answers, answers[1:] + [{"seconds": length}]):
                self.expect(close(a["seconds"] + a["saving_seconds"], length), place, "saves", a["saving_seconds"], "of", length,
                            "which leaves", a["seconds"])
                self.expect(most(a["seconds"], b["seconds"]), place, "the run is shorter with slower code")
        for i, b in enumerate(self.report["balances"]):
            place = f"balances[{i}]"
            self.expect(close(b["seconds"] + b["saving_seconds"], length), place, "saves", b["saving_seconds"], "of", length,
                        "which leaves", b["seconds"])
            self.expect(most(b["saving_seconds"], length) and b["saving_seconds"] >= 0, place, "saves", b["saving_seconds"])
            self.expect(2 <= b["among"] <= run["locations"], place, "among", b["among"])

    def prediction(self, p):
        if not p:
            return
        self.expect(most(p["measured_seconds"], 1.01 * self.run["seconds"]),
                    "prediction", "asked about more than the run")
        for a in p["answers"]:
            place = f"prediction {a['question']}"
            if "refusal" in a:
                continue
            self.expect(most(a["low_seconds"], a["seconds"]) and most(a["seconds"], a["high_seconds"]), place,
                        a["seconds"], "is not between", a["low_seconds"], "and", a["high_seconds"])
            # what is not understood is in the interval too; its digits are those of a sentence
            self.expect(0 <= a["rests_on"] <= 1 + 1e-9, place, "rests on", a["rests_on"], "of the run")
            # the clocks answer for the time from the first begin to the last end
            runs = [p["measured_seconds"], self.report["overhead"].get("run_seconds", p["measured_seconds"])]
            self.expect(any(close(a["saving_seconds"], run - a["seconds"], run) for run in runs), place, "saves",
                        a["saving_seconds"], "of", p["measured_seconds"], "which leaves", a["seconds"])
            engine = [e for e in a["engines"] if e["engine"] == a["engine"]]
            self.expect(engine and "refusal" not in engine[0] and close(engine[0]["seconds"], a["seconds"]), place,
                        "is not the answer of", a["engine"])

    def communication(self):
        for c in self.report["communication_classes"]:
            place = f"communication_classes {c['data']}"
            self.expect(most(c["wait_seconds"], c["seconds"]), place, "waits longer than its calls take")
            self.expect(c["unchanged_count"] <= c["count"] and c["held_count"] <= c["unchanged_count"] and
                        c["unchanged_bytes"] <= c["bytes"] and c["read_bytes"] <= c["watched_bytes"] <= c["bytes"], place,
                        "a part is more than the whole")
            for problem in c["problems"]:
                self.expect(most(problem["saving_seconds"], self.run["location_seconds"]), place, problem["problem"],
                            "saves more than all rank time")
                self.expect(problem["needless_count"] <= problem["count"] and problem["needless_bytes"] <= problem["bytes"],
                            place, problem["problem"], "a part is more than the whole")

        for d in self.report["distributions"]:
            place = f"distributions {d['data']}"
            self.expect(0 <= d["agreement"] <= 1, place, "agreement", d["agreement"])
            for use in d["uses"]:
                shares = [use["agreement"], use.get("remote_share", 0), use["remote_elements_share"]]
                self.expect(all(0 <= share <= 1 for share in shares), place, use["loop"], "shares", shares)
                better = use.get("better")
                if better:
                    self.expect(0 <= better["remote_share"] <= use.get("remote_share", 1), place, use["loop"],
                                "is not better after the change")
                    # time of calls on all ranks, as the document of the report states
                    self.expect(most(better["saving_seconds"], self.run["location_seconds"]), place, use["loop"],
                                "saves more than all rank time")
        for s in self.report["sharing"]:
            place = f"sharing {s['data']}"
            self.expect(s["granules"] <= s["granules_watched"] <= s["granules_of_array"], place, "more granules than there are")
            self.expect(0 <= s["standard_error"] <= 1, place, "standard_error", s["standard_error"])
            leaving = {}
            for t in s["transitions"]:
                leaving[t["from"]] = leaving.get(t["from"], 0) + t["count"]
            for t in s["transitions"]:
                self.expect(t["from"] < len(s["nodes"]) and t["to"] < len(s["nodes"]), place, "transition of an unknown node")
                self.expect(abs(t["share"] - t["count"] / leaving[t["from"]]) < 1e-4, place, "share", t["share"],
                            "of", t["count"], "transitions from", t["from"])

    def region(self, place, r):
        run, n = self.run, r["ranks"]
        least, mean, greatest = r["min_seconds"], r["mean_seconds"], r["max_seconds"]
        self.expect(1 <= n <= run["ranks"] and r["visits"] >= 0 and r["threads"] >= 1, place, n, "ranks with", r["threads"],
                    "threads and", r["visits"], "visits")
        # other threads go on while the run so far is explained
        longest = run["seconds"] + self.report["overhead"].get("pause_seconds", 0)
        self.expect(0 <= least and most(greatest, longest * r["threads"]), place, least, "to", greatest, "s in a run of", longest,
                    "s with", r["threads"], "threads")
        # one rank has the minimum and one the maximum, all others lie between them
        self.expect(most(greatest + (n - 1) * least, n * mean) and most(n * mean, least + (n - 1) * greatest), place, "mean of",
                    n, "ranks:", mean, "of", least, "to", greatest)
        for name in "min_rank", "max_rank":
            self.expect(0 <= r[name] < run["ranks"], place, name, r[name], "of", run["ranks"])
        self.expect((r["min_rank"] == r["max_rank"]) <= close(least, greatest), place, "rank", r["min_rank"], "takes", least, "and",
                    greatest)
        own, in_mpi = r["own_seconds"], r["mpi_seconds"]
        self.expect(own >= 0 and in_mpi >= 0 and most(own + in_mpi, n * mean), place, own, "s of its own and", in_mpi,
                    "s in MPI of", n * mean)
        x = r.get("efficiency")
        if x is None:
            return
        self.expect(r["threads"] == 1 and "recursive" not in r, place, "efficiency of a sum over threads or levels")
        for name, value in x.items():
            self.expect(0 <= value <= 1 + 1e-9, place, name, value)
        self.expect(abs(x["parallel"] - x["load_balance"] * x["communication"]) < 1e-6, place, "parallel", x["parallel"],
                    "is not load_balance x communication")
        # useful time is what is not in MPI
        self.expect(most(n * x["parallel"] * greatest, n * mean - in_mpi), place, n * x["parallel"] * greatest, "s useful and",
                    in_mpi, "s in MPI of", n * mean)

    def message(self, place, m):
        self.expect(1 <= m["ranks"] <= self.run["ranks"] and m["count"] >= 1, place, m["count"], "of", m["ranks"], "ranks")
        self.expect(0 <= m["seconds"] and most(m["seconds"], self.run["location_seconds"]), place, m["seconds"], "of",
                    self.run["location_seconds"], "s of rank time")
        if "bytes" not in m:
            return
        count, least, greatest = m["count"], m["least_bytes"], m["most_bytes"]
        self.expect(0 <= least <= greatest and greatest + (count - 1) * least <= m["bytes"] <= least + (count - 1) * greatest,
                    place, count, "messages of", least, "to", greatest, "bytes have", m["bytes"])
        self.expect(sum(s["count"] for s in m["sizes"]) == count and sum(s["bytes"] for s in m["sizes"]) == m["bytes"], place,
                    "sizes do not add up to", count, "messages of", m["bytes"], "bytes")
        lows = [s["least_bytes"] for s in m["sizes"]]
        self.expect(lows == sorted(set(lows)) and lows[0] <= least and greatest < max(1, 2 * lows[-1]), place, "sizes", lows,
                    "for", least, "to", greatest, "bytes")
        for s in m["sizes"]:
            low = s["least_bytes"]
            self.expect(s["count"] * low <= s["bytes"] <= s["count"] * max(0, 2 * low - 1), place, s["count"], "messages from",
                        low, "bytes have", s["bytes"])

    def each_rank(self):
        ranks, run = self.report.get("ranks"), self.run
        if not ranks or not ranks["seconds"]:
            return  # a report of files that a killed program left behind
        place, n = "ranks", run["ranks"]
        self.expect(all(len(ranks[name]) == n for name in ("host", "seconds", "mpi_seconds", "waiting_seconds")), place,
                    "not one value for each of", n)
        self.expect(1 <= len(ranks["hosts"]) <= n and run["nodes"] == len(ranks["hosts"]), place, len(ranks["hosts"]),
                    "hosts on", run["nodes"], "nodes")
        self.expect(all(0 <= h < len(ranks["hosts"]) for h in ranks["host"]) and
                    set(ranks["host"]) == set(range(len(ranks["hosts"]))), place, "hosts", ranks["host"])
        for i, (seconds, in_mpi, waiting) in enumerate(zip(ranks["seconds"], ranks["mpi_seconds"], ranks["waiting_seconds"])):
            rank = f"{place}[{i}]"
            self.expect(0 <= seconds and most(seconds, run["seconds"]), rank, seconds, "of", run["seconds"], "s of the run")
            self.expect(0 <= in_mpi and most(in_mpi, seconds), rank, in_mpi, "in MPI of", seconds)
            # not in MPI are waits in loops of tests and of other threads
            self.expect(0 <= waiting and (run["locations"] > n or most(waiting, seconds)), rank, waiting, "waiting of", seconds)
        if "unseen_seconds" not in run:
            self.expect(close(max(ranks["seconds"]), run["seconds"]), place, "the longest takes", max(ranks["seconds"]), "of",
                        run["seconds"])
        self.expect(most(sum(ranks["seconds"]), run["location_seconds"] + run.get("unseen_seconds", 0) * n), place,
                    "take", sum(ranks["seconds"]), "of", run["location_seconds"], "s of rank time")
        self.expect(close(sum(ranks["waiting_seconds"]), run["waiting_seconds"]), place, "wait", sum(ranks["waiting_seconds"]),
                    "of", run["waiting_seconds"])

    def not_understood(self):
        n, whole = self.report.get("not_understood"), self.run["location_seconds"]
        if n is None:
            return
        place = "not_understood"
        self.expect(most(n["seconds"], whole), place, n["seconds"], "of", whole, "s of rank time")
        self.expect(abs(n["share"] * whole - n["seconds"]) <= TINY + 1e-5 * whole, place, "share", n["share"], "is not",
                    n["seconds"], "of", whole)
        self.expect(most(n["polling_seconds"] + n["between_polls_seconds"], n["seconds"]), place, "more polling than all of it")
        self.expect(most(sum(c["seconds"] for c in n["calls"]), n["seconds"]), place, "calls are more than", n["seconds"])
        self.locations("not_understood.ranks", n["ranks"], n["seconds"])
        for kind in "files", "other_worlds", "asleep", "outside":
            t = self.report.get(kind)
            if t is None:
                continue
            self.expect(most(t["seconds"], whole), kind, t["seconds"], "of", whole, "s of rank time")
            self.expect(abs(t["share"] * whole - t["seconds"]) <= TINY + 1e-5 * whole, kind, "share", t["share"], "is not",
                        t["seconds"], "of", whole)
            self.expect(most(sum(c["seconds"] for c in t["calls"]), t["seconds"]), kind, "calls are more than", t["seconds"])
            self.locations(f"{kind}.ranks", t["ranks"], t["seconds"])
        machine = self.report["processor_sharing"]
        self.expect(most(machine["seconds"], whole), "processor_sharing", machine["seconds"], "of", whole, "s of rank time")
        self.expect(most(machine["code_seconds"], machine["seconds"]), "processor_sharing", machine["code_seconds"], "of",
                    machine["seconds"], "s outside MPI")
        self.expect(0 <= machine["processors"] <= 65536 and (machine["processors"] > 0) == (machine["ranks"] > 0),
                    "processor_sharing", machine["ranks"], "ranks on", machine["processors"], "processors")

    def words(self):
        run, text = self.run, re.sub(r"\s+", " ", self.text)
        for share in re.findall(r"(\d[\d,]*(?:\.\d+)?) % of (?:the waiting|rank time|the run|that)", text):
            self.expect(float(share.replace(",", "")) <= 100, "text", share, "% of a whole")
        said = "nothing worth changing" in text
        alone = run["ranks"] == 1  # the text says that there is no other rank
        self.expect(alone or said == run.get("nothing_worth_changing", said) or "waiting" not in text, "text", "differs from",
                    "nothing_worth_changing")
        if said:
            self.nothing()
        share = run["waiting_seconds"] / max(run["location_seconds"], TINY)
        if run["waiting_seconds"] > 0.01 and share >= 0.051 and run["mpi_calls"] > 0:
            unknown = self.report.get("not_understood", {}).get("share", 0)
            self.expect(self.report.get("verdict") or "no verdict:" in text or unknown >= 0.0099, "text",
                        f"{share:.3f} of rank time is waiting, without a verdict or why there is none")

    def nothing(self):
        run = self.run
        place = '"nothing worth changing"'
        self.expect(run.get("nothing_worth_changing", True), place, "but not in the JSON file")
        self.expect(not run["partial"], place, "of a partial run")
        parallel = self.report["efficiency"].get("parallel", 1.0)
        if run["locations"] > 1:  # of one rank and one thread it is only the share of time outside MPI
            self.expect(parallel >= 0.9, place, "at an efficiency of", parallel)
        share = run["waiting_seconds"] / max(run["location_seconds"], TINY)
        self.expect(share < 0.1, place, "with", share, "of rank time waiting")
        unknown = self.report.get("not_understood", {}).get("share", 0)
        self.expect(unknown < 0.01, place, "with", unknown, "of rank time not understood")
        for kind, limit in ("files", 0.1), ("other_worlds", 0.01), ("asleep", 0.1), ("outside", 0.1):
            share = self.report.get(kind, {}).get("share", 0)
            self.expect(share <= limit + 1e-9, place, "with", share, "of rank time in", kind)
        self.expect(run.get("paused_seconds", 0) == 0, place, "of a run that was paused")
        self.expect(run.get("unseen_seconds", 0) <= 0.01 * run["seconds"] + TINY, place, "of a run that was explained in part")


THREADS = {"mutex_contention", "condition_variable", "thread_barrier", "latch", "semaphore", "future", "join"}


def contradictions(report, text=None):
    """Sentences about what cannot be true in a report, and in its text if given."""
    return checker(report, text).all()


# Members whose change cannot be noticed, because nothing else in the report depends on them.
FREE = re.compile(r"""
    (^|\.)(line|last_line|offset|visits|work|depth|count|first_comers|unmatched|clock_violations|dropped_events|mpi_calls|epochs
           |pid|thread|causer_visits|waiter_visits|causer_work|waiter_work|inherited_seconds|wrong_order_count
           |undescribed_waits|clock_error_seconds|unchanged_error|bytes|unchanged_bytes|moved_bytes|least_bytes|calls|pairs
           |fan_out|most_hops|inversions|records|ranks|rank|extent|element_bytes|granule_bytes|granules|first_granule
           |granules_of_array|misses|writers|readers|lead_visits|ratio|other_threads|other_thread_seconds|more_page_faults
           |more_migrations)$
    |(^|\.)(settings|picture|unseen|last_words|engines|shares|calls)\.
    |^overhead\.(waiting_without_seconds|error_seconds|seconds|pause_seconds|poll_seconds)$ |^not_understood\.scheduler_seconds$
    |\.compensated_seconds$ |^rank_matrix\.messages$ |^run\.(unseen|paused)_seconds$""", re.VERBOSE)


def numbers(value, path=""):
    """Paths of all floating-point members."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from numbers(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for i, member in enumerate(value):
            yield from numbers(member, f"{path}.{i}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


def noticed(report, path, changes):
    """Whether one of the changes of a number is noticed. The number is changed in place, because reports are large."""
    *parents, last = path.split(".")
    here = report
    for p in parents:
        here = here[int(p)] if isinstance(here, list) else here[p]
    last = int(last) if isinstance(here, list) else last
    right = here[last]
    try:
        for change in changes:
            here[last] = change(right)
            if contradictions(report):
                return True
        return False
    finally:
        here[last] = right


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("reports", nargs="+", type=pathlib.Path)
    options.add_argument("--text", type=pathlib.Path)
    options.add_argument("--can-fail", action="store_true")
    options = options.parse_args()
    failures = []
    for path in options.reports:
        report = json.loads(path.read_text(encoding="utf-8"))
        text = options.text.read_text(encoding="utf-8") if options.text else None
        failures += [f"{path}: {f}" for f in contradictions(report, text)]
        if options.can_fail:
            kinds = {}
            for member in list(numbers(report)):
                if FREE.search(re.sub(r"\.\d+", "", member)):
                    continue
                kind = re.sub(r"\.\d+", "[]", member)
                caught = noticed(report, member, (lambda v: v * 1.01 + 100, lambda v: -1 - v))
                good, all_ = kinds.get(kind, (0, 0))
                kinds[kind] = good + caught, all_ + 1
            failures += [f"{path}: {kind}: only {good} of {all_} changes are noticed" for kind, (good, all_) in kinds.items()
                         if good < all_]
            print(f"{path}: {len(kinds)} kinds of numbers")
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
