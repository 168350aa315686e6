#!/usr/bin/env python3
"""Whether a page is well formed and shows the numbers of its JSON file. Needs no browser.

    structure.py PAGE.html ...     each beside its JSON file of the same name
    structure.py --made-by PAGES FOLDER   makes the special pages and those of simulated runs there, and examines them; that of
                                   4,096 ranks must be made within a second
    structure.py --can-fail        damages a small page in every way and expects that it is noticed

tests/check.py calls problems() for every page that a program writes.
"""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import consistent  # noqa: E402

MOST_BYTES = 5_000_000
VOID = {"meta", "link", "br", "input", "path", "circle", "img", "hr"}
SCRIPTS = 2  # the data, the script
ALLOWED = {"a", "article", "b", "body", "br", "button", "caption", "circle", "code", "data", "dd", "defs", "details", "div", "dl", "dt",
           "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "head", "header", "html", "i", "input", "label", "li", "link", "main",
           "mark", "marker", "meta", "nav", "ol", "output", "p", "path", "pre", "script", "section", "small", "span", "style", "summary",
           "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul"}


def numbers(value, into):
    """All numbers of a JSON document, as they are written in the page."""
    if isinstance(value, dict):
        for member in value.values():
            numbers(member, into)
    elif isinstance(value, list):
        for member in value:
            numbers(member, into)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        into.add(float(value))


def texts(value):
    """All texts of a JSON document."""
    if isinstance(value, dict):
        value = list(value.values())
    return [value] if isinstance(value, str) else [t for member in value for t in texts(member)] if isinstance(value, list) else []


class reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.found, self.ids, self.links, self.figures, self.scripts, self.data, self.text = [], [], set(), [], [], 0, None, []
        self.style = ""

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag not in ALLOWED:
            self.found.append(f"<{tag}> is not an element of the page")
        if len(given) != len(attributes):
            self.found.append(f"<{tag}> has an attribute twice")
        for name, value in attributes:
            if name.startswith("on"):
                self.found.append(f"<{tag}> has {name}")
            if name in ("src", "srcset", "action", "ping", "poster", "background"):
                self.found.append(f"<{tag}> has {name}")
            if name in ("href", "xlink:href") and not value.startswith(("#", "data:,")):
                self.found.append(f"<{tag}> leads to {value[:60]}")
        if "id" in given:
            if given["id"] in self.ids:
                self.found.append(f"two elements have the id {given['id']}")
            self.ids.add(given["id"])
        if tag == "a":
            self.links.append(given.get("href", ""))
        for name in ("for", "aria-labelledby"):
            if name in given:
                self.links.append("#" + given[name])
        if tag == "data":
            self.figures.append(given.get("value"))
        if tag == "script":
            self.scripts += 1
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_startendtag(self, tag, attributes):
        if tag not in VOID:
            self.found.append(f"<{tag}/> closes itself")
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.found.append(f"</{tag}> closes <{self.open[-1][0] if self.open else 'nothing'}> in line {self.getpos()[0]}")
        elif self.open:
            self.open.pop()

    def handle_data(self, data):
        here = self.open[-1] if self.open else ("", {})
        if here[0] == "script" and here[1].get("type") == "application/json":
            self.data = (self.data or "") + data
        elif here[0] == "style":
            self.style += data
        elif here[0] != "script":
            self.text.append(data)


def in_page(report):
    """The part of a report that its page contains: 200 waits, and of more than 4,096 ranks not the figures of each rank."""
    report = dict(report, waits=report["waits"][:200])
    if report["run"]["ranks"] <= 4096:
        return report
    short = {name: dict(report[name], ranks=[]) for name in ("not_understood", "files", "other_worlds")}
    return dict(report, ranks={name: [] for name in report["ranks"]}, **short)


def sections(report):
    """The ids of the sections that a report must have."""
    wanted = ["answer", "trust"]
    families = {"mutex_contention", "condition_variable", "thread_barrier", "latch", "semaphore", "future", "join"}
    if any(w["advice"] for w in report["waits"]) or report["problems"]:
        wanted.append("advice")
    if report["waits"]:
        wanted.append("waits")
    if report["time_map"] and report["time_map"]["bins"]:
        wanted.append("time")
    if report["run"]["ranks"] > 1 and report["rank_matrix"] and (report["rank_matrix"]["messages"] or report["rank_matrix"]["waits"]):
        wanted.append("ranks")
    if report["critical_path"]:
        wanted.append("path")
    if report["overhead"] and (report["speeds"] or report["prediction"]):
        wanted.append("whatif")
    if report["propagation"]:
        wanted.append("chain")
    for name, id_ in (("communication_classes", "classes"), ("distributions", "arrays"), ("sharing", "sharing"), ("last_words", "end")):
        if report.get(name):
            wanted.append(id_)
    for id_ in "regions", "messages":
        if report.get(id_):
            wanted.append(id_)
    if any(w["pattern"] in families for w in report["waits"]):
        wanted.append("locks")
    return wanted


def wrong_sizes(page, report):
    """Sentences about the histogram of message sizes: each class has as many calls as all call sites together, none is left out."""
    counts = {}
    for message in report.get("messages", []):
        for size in message.get("sizes", []):
            counts[size["least_bytes"]] = counts.get(size["least_bytes"], 0) + size["count"]
    wanted = []
    if counts:
        for size in sorted(counts):
            if wanted and size != following:
                wanted.append(0)  # all empty classes between two are one row
            wanted.append(counts[size])
            following = max(1, 2 * size)
    table = re.search(r'<table class="sizes">.*?</table>', page, re.S)
    rows = re.findall(r'<tr><th scope="row">[^<]+</th><td class="n">([\d,]+)</td>', table[0]) if table else []
    shown = [int(row.replace(",", "")) for row in rows]
    return [] if shown == wanted else [f"the histogram of message sizes has {shown} instead of {wanted}"]


def problems(page, report):
    """Sentences about what is wrong with a page (text) of a report (parsed JSON)."""
    found = []
    if len(page.encode()) > MOST_BYTES:
        found.append(f"{len(page.encode())} bytes, more than {MOST_BYTES}")
    at = reader()
    at.feed(page)
    at.close()
    found += at.found[:5]
    if at.open:
        found.append(f"<{at.open[-1][0]}> is not closed")
    if at.scripts != SCRIPTS:
        found.append(f"{at.scripts} scripts instead of {SCRIPTS}")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page):
        found.append("has control characters")
    if re.search(r"url\(|@import|https?:", at.style):
        found.append("its style refers to other files")
    for link in at.links:
        if link.startswith("#") and link[1:] not in at.ids:
            found.append(f"{link} does not exist")
            break
    try:
        if json.loads(at.data or "") != in_page(report):
            found.append("its data differ from the JSON file")
    except ValueError as problem:
        found.append(f"its data are not JSON: {problem}")
    for id_ in sections(report):
        if id_ not in at.ids:
            found.append(f"has no section {id_}")
    for i in range(len(report["waits"])):
        if f"w{i}" not in at.ids:
            found.append(f"does not show waits[{i}]")
            break
    known = set()
    numbers(report, known)
    for value in at.figures:
        try:
            good = value is not None and float(value) in known
        except ValueError:
            good = False
        if not good:
            found.append(f"shows {value}, which the JSON file does not have")
            break
    words = " ".join(" ".join(at.text).split())
    if report["run"].get("threads_only"):
        named = "\n".join(texts(report))  # by the program
        for text in at.text:
            if re.search(r"\branks?\b|\bMPI\b", text) and text.strip() not in named:
                found.append("speaks of ranks or MPI, though the program has threads only: " + text.strip()[:60])
                break
    found += wrong_sizes(page, report)
    for v in report["verdict"]:
        text = re.sub(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]", "?", v["text"])
        if " ".join(text.split())[1:] not in words:
            found.append("does not show the verdict: " + v["text"][:60])
    return found


def can_fail():
    run = {"ranks": 1, "seconds": 2.5}
    report = {"run": run, "waits": [], "problems": [], "time_map": {}, "rank_matrix": {}, "critical_path": [], "overhead": {}, "speeds": [],
              "balances": [], "prediction": {}, "propagation": [], "verdict": [{"text": "a b"}]}
    good = ('<!doctype html><html><head><title>x</title><style>a{b:c}</style></head><body><header id="answer"><p>A b</p><a href="#trust">t</a>'
            '<data value="2.5">2.5 s</data></header><section id="trust"></section><script type="application/json">' + json.dumps(report) +
            "</script><script>1</script></body></html>")
    failures = [f"a good page: {p}" for p in problems(good, report)]
    for old, new in (('<p>A b</p>', '<p>A b'), ('<p>', '<p onclick="x">'), ('<p>', '<p><img src="x">'), ('href="#trust"', 'href="http://x"'),
                     ('href="#trust"', 'href="#none"'), ('2.5">', '2.51">'), ('id="trust"', 'id="answer"'), ("<script>1</script>", ""),
                     ('"ranks": 1', '"ranks": 2'), ("A b", "A c"), ("b:c", "b:url(x)"), ("A b", "A b\x01"), ("A b", "A b" + "x" * MOST_BYTES),
                     ('value="2.5"', "value"), ("<p>A b</p>", "<p>A b</p><iframe></iframe>")):
        if good.replace(old, new) == good or not problems(good.replace(old, new), report):
            failures.append(f"{old[:40]} -> {new[:40]} is not noticed")
    threads = dict(report, run=dict(run, threads_only=True), verdict=[{"text": "A rank waits"}])
    shown = good.replace(json.dumps(report), json.dumps(threads)).replace("A b", "A rank waits")
    failures += [f"a verdict of the report: {p}" for p in problems(shown, threads)]
    for words in "ranks", "inside MPI":
        if not problems(shown.replace(">t<", f">{words}<"), threads):
            failures.append(f"{words} is not noticed on the page of a program without MPI")
    sent = dict(report, messages=[{"sizes": [{"least_bytes": 8, "count": 1200}, {"least_bytes": 64, "count": 1}]}])
    table = '<table class="sizes">' + "".join(f'<tr><th scope="row">x</th><td class="n">{n}</td></tr>' for n in ("1,200", 0, 1)) + "</table>"
    shown = good.replace(json.dumps(report), json.dumps(sent)).replace('<section id="trust">', '<section id="messages"></section><section id="trust">' + table)
    failures += [f"a good histogram: {p}" for p in problems(shown, sent)]
    for old, new in (("1,200", "1,201"), (">0<", ">1<"), (table, "")):
        if not problems(shown.replace(old, new), sent):
            failures.append(f"{old[:40]} -> {new} is not noticed in the histogram")
    return failures


def made_by(program, folder):
    """Makes pages, and returns their names and what is wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([program, folder, "special"], check=True)
    failures = []
    for ranks in 1, 5, 4096:
        told = json.loads(subprocess.run([program, folder, "simulated", str(ranks)], check=True, stdout=subprocess.PIPE).stdout)
        print(told)
        if told["page_seconds"] > 1:
            failures.append(f"the page of {ranks} ranks took {told['page_seconds']} s")
        report = json.loads((folder / f"simulated{ranks}.json").read_text(encoding="utf-8"))
        failures += [f"simulated{ranks}.json: {c}" for c in consistent.contradictions(report)]
    return sorted(folder.glob("*.html")), failures


def main():
    names, failures = sys.argv[1:], []
    if names == ["--can-fail"]:
        names, failures = [], can_fail()
    elif names[:1] == ["--made-by"]:
        names, failures = made_by(names[1], pathlib.Path(names[2]))
    for name in names:
        path = pathlib.Path(name)
        report = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        failures += [f"{path.name}: {p}" for p in problems(path.read_text(encoding="utf-8"), report)]
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
