#!/usr/bin/env python3
"""Makes docs/gallery: reports of real programs, with what was changed because of them and what that gained.

    gallery.py examples BUILD [NAME ...]    runs the examples of a build tree (CMake preset openmpi) and their changed variants
    gallery.py program NAME --title T --about A --changed C --before COMMAND --after COMMAND [--link URL] [--whywait "whywait run"]
                                            the same with any program; COMMAND is a line for the shell, run in the working folder
    gallery.py write                        writes docs/gallery/README.md from docs/gallery/gallery.json again
    gallery.py --check [--form PAGES]       compares only: reports must be those of the present examples and the present form of
                                            reports, which PAGES (tests/page/pages.cpp) prints; exit code 1 if something is stale

Both variants run five times in turn (--runs), without whywait: WHYWAIT_ENABLE=0, or with --whywait as they are. The times are
those of the whole command, so that the start of the program is in both. With --whywait the command runs behind it for the report. Then the first variant runs with whywait: its report and
its page are shown. Needs Chromium for the picture of the page. Nothing of a program but its report is kept.
"""
import argparse
import base64
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import amalgamate

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "gallery"
DATA, PAGE = FOLDER / "gallery.json", FOLDER / "README.md"
WIDTH, HEIGHT, MOST_BYTES = 1100, 1000, 150_000
# Examples: how they run, and how their change is made: other arguments, or texts of the source that are replaced.
EXAMPLES = {
    "jacobi": dict(
        title="A halo that is sent too late", ranks=4, after="--corrected",
        about="Jacobi iteration of the Carnival paper on four ranks. Each rank computes its interior, then sends its edges.",
        changed="The edges are computed and sent first, then the interior (`--corrected`)."),
    "master_worker": dict(
        title="A master that prepares all tasks itself", ranks=4,
        about="A master prepares tasks and sends them to three workers that request them.",
        changed="Workers prepare their tasks themselves, and the long task is handed out first.",
        replaced=[("? prepare_task(prepared++) :", "? prepared++ :"), ("result = solve_task(task);", "result = solve_task(prepare_task(task));"),
                  ("number == tasks - 1", "number == 0")]),
    "transpose": dict(
        title="A loop across the distribution of its data", ranks=4, before="--columns --size 1536 --steps 40", after="--rows --size 1536 --steps 40",
        about="Ranks own rows of a matrix and normalise its columns, for which they exchange all of it in each step.",
        changed="Each rank sums its own rows; only the sums are sent (`--rows`), as the line `data:` of the report advises.",
        advised="by the line `data:`, without a time for the run"),
    "bank": dict(
        title="A lock that is held too long", ranks=0, after="--corrected",
        about="A program without MPI: four threads book transfers, and one lock protects all accounts.",
        changed="The statement is written outside the lock (`--corrected`)."),
    "uneven": dict(
        title="One rank with three times the work", ranks=4,
        about="The program of the README: rank 2 has 900 cells, the others have 300.",
        changed="All ranks have 450 cells.", replaced=[("rank == 2 ? 900 : 300", "450")]),
}


def digest(path):
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


def form_of(pages):
    """A digest of how short reports look: which kinds of lines they have, by indentation and first word, without numbers."""
    text = subprocess.run([pages, "form"], check=True, stdout=subprocess.PIPE).stdout
    kinds = {re.sub(rb"[0-9][0-9.,]*", b"#", re.match(rb" *\S*", line)[0]) for line in text.splitlines()}
    return hashlib.sha256(b"\n".join(sorted(kinds))).hexdigest()[:16]


def version():
    return amalgamate.version()


def load():
    return json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {"entries": {}}


def seconds_of(command, folder, off):
    environment = dict(os.environ, **({"WHYWAIT_ENABLE": "0"} if off else {}))
    begin = time.monotonic()
    subprocess.run(command, shell=True, check=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def picture(page, target):
    """The answer and the map of waits, as WebP. Source text is left out."""
    sys.path.insert(0, str(ROOT / "tests" / "page"))
    import chromium
    with chromium.Browser() as browser, browser.page(width=WIDTH, height=HEIGHT) as tab:
        tab.open(page)
        tab.run("document.getElementById('advice')?.remove(); document.querySelectorAll('figure, tr.beside').forEach(e => e.remove())")
        for quality in (70, 50, 30):
            data = tab.send("Page.captureScreenshot", format="webp", quality=quality,
                            clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1})["data"]
            picture_bytes = base64.b64decode(data)
            if len(picture_bytes) < MOST_BYTES:
                break
    target.write_bytes(picture_bytes)


def add(entry, name, before, after, runs, whywait=None, folder=None):
    """Runs both commands and keeps what they took and what whywait reports of the first."""
    times = {"before": [], "after": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = folder or scratch
        for _ in range(runs):
            for which, command in (("before", before), ("after", after)):
                times[which].append(round(seconds_of(command, folder, whywait is None), 3))
        prefix = pathlib.Path(scratch) / name
        shown = {}
        for which, command in (("before", before), ("after", after)):
            environment = dict(os.environ, WHYWAIT_OUTPUT=str(prefix), LC_ALL="C.UTF-8")
            done = subprocess.run(f"{whywait} -- {command}" if whywait else command, shell=True, check=True, cwd=folder, text=True,
                                  env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            report = json.loads(prefix.with_suffix(".json").read_text(encoding="utf-8"))
            text = done.stderr[done.stderr.index("whywait \u00b7"):].rstrip()
            shown[which] = dict(text=text, seconds=report["run"]["seconds"], efficiency=report["efficiency"].get("parallel"))
            if which == "before":
                shown["saving"] = report["verdict"][0]["saving_seconds"] if report["verdict"] else None
                FOLDER.mkdir(exist_ok=True)
                picture(prefix.with_suffix(".html"), FOLDER / f"{name}.webp")
    entry.update(times=times, report=shown["before"]["text"], predicted_saving_seconds=shown["saving"],
                 efficiency=[shown["before"]["efficiency"], shown["after"]["efficiency"]], version=version())
    data = load()
    data["entries"][name] = entry
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{name}: {statistics.median(times['before']):.2f} s, changed {statistics.median(times['after']):.2f} s, "
          f"predicted saving {shown['saving']}", flush=True)


def examples(options):
    build = options.build.resolve()
    form = form_of(build / "tests" / "page" / "page_pages")
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    mpicxx, mpirun = (re.search(rf"^{name}:\w+=(.*)$", cache, re.M)[1] for name in ("MPI_CXX_COMPILER", "MPIEXEC_EXECUTABLE"))
    for name in options.names or [n for n in EXAMPLES if n in load()["entries"]] or EXAMPLES:
        about = dict(EXAMPLES[name])
        ranks, replaced = about.pop("ranks"), about.pop("replaced", [])
        before, after = about.pop("before", ""), about.pop("after", "")
        program, source = build / "examples" / name, ROOT / "examples" / f"{name}.cpp"
        with tempfile.TemporaryDirectory() as scratch:
            changed = program
            if replaced:
                text = source.read_text(encoding="utf-8")
                for old, new in replaced:
                    if old not in text:
                        sys.exit(f"gallery.py: examples/{name}.cpp has changed: it lacks {old}")
                    text = text.replace(old, new)
                copy, changed = pathlib.Path(scratch) / source.name, pathlib.Path(scratch) / name
                copy.write_text(text, encoding="utf-8")
                observer = [] if "whywait/mpi.hpp" in text else [build / "CMakeFiles/whywait_observer_object.dir/cmake/observe.cpp.o"]
                subprocess.run([mpicxx, "-std=c++17", "-O1", "-g1", f"-I{ROOT / 'include'}", copy, *observer, "-o", changed], check=True)
            start = f"{mpirun} -n {ranks} " if ranks else ""  # 0: threads only
            add(dict(about, command=f"mpirun -n {ranks} ./{name} {before}".strip() if ranks else f"./{name} {before}".strip(), sources={f"examples/{name}.cpp": digest(f"examples/{name}.cpp")},
                     form=form, link=f"../../examples/{name}.cpp"),
                name, f"{start}{program} {before}", f"{start}{changed} {after}", options.runs)
    write()


def program(options):
    add(dict(title=options.title, about=options.about, changed=options.changed, command=options.shown or options.before, sources={},
             form=form_of(options.form) if options.form else None, link=options.link),
        options.name, options.before, options.after, options.runs, options.whywait, os.getcwd())
    write()


def words(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def text_of(data):
    """docs/gallery/README.md."""
    out = ["# Gallery", "",
           "Reports of programs that waited, what was changed because of them, and what that gained. Written by `scripts/gallery.py`, "
           "which runs both variants in turn without whywait and takes the median of the wall time of the whole command.", "",
           "| program | | before | after | gained | predicted |", "|---|---|---|---|---|---|"]
    for name, e in data["entries"].items():
        before, after = (statistics.median(e["times"][which]) for which in ("before", "after"))
        predicted = e.get("advised") or (words(e["predicted_saving_seconds"]) if e["predicted_saving_seconds"] is not None else "no verdict")
        out.append(f"| [{name}](#{name.lower()}) | {e['title']} | {words(before)} | {words(after)} | {words(before - after)} | {predicted} |")
    out += ["", "*Predicted* is the saving that the first verdict of the report of the first variant states. Machine: 2 cores, Debian 12, g++ 12, Open MPI 4.1, shared with other work: the times of a variant vary."]
    for name, e in data["entries"].items():
        before, after = (statistics.median(e["times"][which]) for which in ("before", "after"))
        title = f"[{name}]({e['link']})" if e["link"] else name
        each = {which: ", ".join(f"{t:.2f}" for t in e["times"][which]) for which in ("before", "after")}
        out += ["", f"## {name}", "", f"{title}: {e['about']}", "", "```text", f"$ {e['command']}", e["report"], "```", "",
                f"![The page of {name}]({name}.webp)", "", f"Changed: {e['changed']}", "",
                f"The command took {words(before)} and takes {words(after)} now: {100 * (before - after) / before:.0f} % less "
                f"(all runs: {each['before']} s and {each['after']} s). The parallel efficiency was {100 * e['efficiency'][0]:.0f} % and is "
                f"{100 * e['efficiency'][1]:.0f} %. whywait {e['version']}."]
    return "\n".join(out) + "\n"


def write():
    PAGE.write_text(text_of(load()), encoding="utf-8")


def check(options):
    data, failures = load(), []
    form = form_of(options.form) if options.form else None
    again = "run: scripts/gallery.py examples build/openmpi"
    if len(data["entries"]) < 6:
        failures.append(f"the gallery has {len(data['entries'])} reports, not six")
    for name, e in data["entries"].items():
        for path, kept in e["sources"].items():
            if not (ROOT / path).exists() or digest(path) != kept:
                failures.append(f"{name}: {path} has changed since its report was made; {again} {name}")
        if form is not None and e["sources"] and e["form"] != form:
            failures.append(f"{name}: reports look different since its report was made; {again}")
        if e["version"].split(".")[:2] != version().split(".")[:2]:
            failures.append(f"{name}: its report is of whywait {e['version']}, this is {version()}")
        if not e["sources"] and not e["link"]:
            failures.append(f"{name}: neither an example nor a link")
        image = FOLDER / f"{name}.webp"
        if not image.exists() or not 1000 < image.stat().st_size < MOST_BYTES or image.read_bytes()[8:12] != b"WEBP":
            failures.append(f"{image.name} is missing, larger than {MOST_BYTES} bytes or no WebP")
        if not e["report"].startswith("whywait \u00b7 ") or min(len(e["times"][w]) for w in ("before", "after")) < 3:
            failures.append(f"{name}: no report, or fewer than three runs")
    for image in FOLDER.glob("*.webp"):
        if image.stem not in data["entries"]:
            failures.append(f"{image.name} belongs to no report")
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text_of(data):
        failures.append("docs/gallery/README.md is not that of gallery.json; run: scripts/gallery.py write")
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(data['entries'])} reports, {len(failures)} failures")
    return 1 if failures else 0


def main():
    if "--check" in sys.argv:
        options = argparse.ArgumentParser()
        options.add_argument("--check", action="store_true")
        options.add_argument("--form")
        return check(options.parse_args())
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = options.add_subparsers(dest="kind", required=True)
    of_examples = kinds.add_parser("examples")
    of_examples.add_argument("build", type=pathlib.Path)
    of_examples.add_argument("names", nargs="*")
    of_program = kinds.add_parser("program")
    of_program.add_argument("name")
    for name in ("title", "about", "changed", "before", "after"):
        of_program.add_argument(f"--{name}", required=True)
    for name in ("link", "whywait", "form", "shown"):
        of_program.add_argument(f"--{name}")
    for kind in (of_examples, of_program):
        kind.add_argument("--runs", type=int, default=5)
    kinds.add_parser("write")
    options = options.parse_args()
    if options.kind == "examples":
        examples(options)
    elif options.kind == "program":
        program(options)
    else:
        write()
    return 0


sys.exit(main())
