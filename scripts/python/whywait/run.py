"""One report as tables."""
import json
import pathlib


class Error(ValueError):
    """A file that is no report, or a comparison that failed; the text says which and why."""


def place(site):
    """A call site or block in one line: "MPI_Recv in exchange (halo.cpp:142)", "between MPI_Recv at exchange (halo.cpp:142) and ...".
    Unknown parts are left out."""
    if site.get("kind") in ("between", "call"):
        return site["block"]
    name = site.get("call") or site.get("block") or "a call"
    region = (site.get("region") or "").rpartition("/")[2] or site.get("function", "")
    file = pathlib.PurePath(site.get("file") or "").name
    where = f"{file}:{site['line']}" if file and site.get("line") else file
    if not where and site.get("module"):
        where = f"{site['module']}+{site.get('offset', 0):#x}"
    within = f" in {region}" if site.get("call") and region else ""
    return name + within + (f" ({where})" if where else "")


def table(rows):
    """A pandas.DataFrame of a list of dicts if pandas is installed, else the list itself."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


class Run:
    """A report. `data` is the document itself (docs/schema.json); what it does not have is empty, None or 0."""

    TABLES = ("waits", "causes", "ranks", "critical_path", "regions", "messages", "advice", "verdict")

    def __init__(self, data, name="a report"):
        if not isinstance(data, dict) or data.get("schema") != "whywait/1":
            raise Error(f"{name} is not a report of whywait (\"schema\" is not whywait/1)")
        self.data, self.name = data, str(name)
        self.facts = data["run"]

    def __repr__(self):
        return (f"<whywait.Run {self.name}: {self.ranks} ranks, {self.seconds:.3g} s, "
                f"{100 * self.waiting_share:.0f} % of rank time is waiting>")

    ranks = property(lambda self: self.facts["ranks"], doc="number of ranks")
    seconds = property(lambda self: self.facts["seconds"], doc="wall time")
    rank_seconds = property(lambda self: self.facts["location_seconds"], doc="rank time")
    waiting_seconds = property(lambda self: self.facts["waiting_seconds"], doc="sum of all waits, rank time")
    efficiency = property(lambda self: self.data.get("efficiency", {}), doc="efficiencies of POP; empty if unknown")

    @property
    def waiting_share(self):
        """Waiting over rank time."""
        return self.waiting_seconds / self.rank_seconds if self.rank_seconds else 0.0

    def verdict(self):
        """What makes the run long: text, saving_seconds (wall time)."""
        return [{"text": v["text"], "saving_seconds": v["saving_seconds"]} for v in self.data.get("verdict", [])]

    def waits(self):
        """One row for each kind of waits, most costly first. `cause`: the block that explains most of it."""
        rows = []
        for number, w in enumerate(self.data.get("waits", [])):
            top = max(w.get("residual", []), key=lambda r: r["seconds"], default=None)
            rows.append({"wait": number, "pattern": w["pattern"], "seconds": w["seconds"], "count": w["count"],
                         "share": w["seconds"] / self.waiting_seconds if self.waiting_seconds else 0.0,
                         "operation": place(w["operation"]), "late_call": place(w["cause"]),
                         "cause": place(top) if top and top["seconds"] > 0 else None,
                         "waiters": [x["rank"] for x in w.get("waiters", []) if x["rank"] >= 0],
                         "late_ranks": [x["rank"] for x in w.get("causers", []) if x["rank"] >= 0],
                         "quality": w.get("quality"), "unexplained_seconds": w.get("unexplained_seconds", 0.0)})
        return rows

    def causes(self):
        """One row for each block of each explanation. The seconds of a wait and its unexplained_seconds add up to the wait."""
        return [{"wait": number, "block": r["block"], "kind": r["kind"], "place": place(r), "seconds": r["seconds"],
                 "visits_seconds": r["visits_seconds"], "speed_seconds": r["speed_seconds"],
                 "late_visits": r["causer_visits"], "waiting_visits": r["waiter_visits"],
                 "inherited_seconds": r["inherited_seconds"]}
                for number, w in enumerate(self.data.get("waits", [])) for r in w.get("residual", [])]

    def rank_table(self):
        """Waiting of each rank, and waiting that it caused, of the listed waits."""
        rows = [{"rank": r, "waiting_seconds": 0.0, "caused_seconds": 0.0} for r in range(self.ranks)]
        for w in self.data.get("waits", []):
            for key, column in (("waiters", "waiting_seconds"), ("causers", "caused_seconds")):
                for x in w.get(key, []):
                    if 0 <= x["rank"] < self.ranks:
                        rows[x["rank"]][column] += x["seconds"]
        return rows

    def critical_path(self):
        """Blocks of the critical path, largest first; their seconds add up to the run."""
        return [{"block": b["block"], "kind": b["kind"], "place": place(b), "seconds": b["seconds"], "visits": b["visits"],
                 "above_mean_seconds": b["imbalance_seconds"], "saving_seconds": b.get("saving_seconds")}
                for b in self.data.get("critical_path", [])]

    def regions(self):
        """Marked regions over the ranks, as the document has them; empty in files of older versions."""
        return list(self.data.get("regions", []))

    def messages(self):
        """Traffic of call sites, as the document has it; empty in files of older versions."""
        return list(self.data.get("messages", []))

    def advice(self):
        """All advice, largest saving first: problem, text, saving_seconds (wall time)."""
        found = [a for w in self.data.get("waits", []) for a in w.get("advice", [])] + self.data.get("problems", [])
        rows = [{key: a[key] for key in ("problem", "text", "description", "saving_seconds")} for a in found]
        return sorted(rows, key=lambda row: -row["saving_seconds"])

    def table(self, name):
        """One of TABLES as a pandas.DataFrame, or as a list of dicts without pandas."""
        if name not in self.TABLES:
            raise Error(f"no table {name!r}; there are {', '.join(self.TABLES)}")
        return table(self.rank_table() if name == "ranks" else getattr(self, name)())


def load(path):
    """The report in a file, as a Run; of several paths or of a folder a list of them."""
    if isinstance(path, (list, tuple)):
        return [load(each) for each in path]
    path = pathlib.Path(path)
    if path.is_dir():
        return [load(each) for each in sorted(path.glob("*.json"))]
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise Error(f"cannot read {path}: {problem.strerror}") from problem
    except ValueError as problem:
        raise Error(f"{path} is not JSON: {problem}") from problem
    return Run(data, path)
