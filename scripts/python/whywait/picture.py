"""A picture of one run, as SVG without any library."""
import html
import pathlib

from .run import Run, load

WIDTH, LEFT, BAR, GAP = 760, 300, 16, 6
WAIT, USE, TEXT = "#c4622d", "#3b6ea8", "#222"


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


class Picture:
    """An SVG. Notebooks show it; `save` writes it."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def save(self, path):
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")
        return path


def bars(rows, title, top, colour, out):
    """Horizontal bars of (label, value, text); returns the y below them."""
    out.append(f'<text x="10" y="{top + 14}" font-weight="bold">{html.escape(title)}</text>')
    most = max((value for _, value, _ in rows), default=0) or 1
    y = top + 24
    for label, value, text in rows:
        short = label if len(label) <= 46 else label[:45] + "\u2026"
        width = max(value, 0) / most * (WIDTH - LEFT - 90)
        out.append(f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end"><title>{html.escape(label)}</title>{html.escape(short)}</text>'
                   f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
                   f'<text x="{LEFT + width + 6:.1f}" y="{y + 12}">{html.escape(text)}</text>')
        y += BAR + GAP
    return y + 12


def plot(run, most=8):
    """Efficiencies, the most costly kinds of waits, the critical path and the waiting of each rank (up to 32). `run`: a Run or a
    path."""
    run = run if isinstance(run, Run) else load(run)
    out, y = [], 34
    names = ("parallel", "load_balance", "serialisation", "transfer")
    known = [(n.replace("_", " "), run.efficiency[n], f"{100 * run.efficiency[n]:.0f} %")
             for n in names if run.efficiency.get(n) is not None]
    if known:
        y = bars(known, "efficiency", y, USE, out)
    waits = [(f"{w['pattern'].replace('_', ' ')}: {w['operation']}", w["seconds"], duration(w["seconds"])) for w in run.waits()[:most]]
    y = bars(waits, "waiting, summed over ranks", y, WAIT, out)
    path = [(b["place"] if b["kind"] == "region" else b["block"], b["seconds"], duration(b["seconds"])) for b in run.critical_path()[:most]]
    y = bars(path, "critical path", y, USE, out)
    if run.ranks <= 32:
        ranks = [(f"rank {r['rank']}", r["waiting_seconds"], duration(r["waiting_seconds"])) for r in run.rank_table()]
        y = bars(ranks, "waiting of each rank", y, WAIT, out)
    head = (f"{run.facts.get('program') or pathlib.Path(run.name).name}: {run.ranks} ranks, {duration(run.seconds)}, "
            f"{100 * run.waiting_share:.0f} % of rank time is waiting")
    return Picture(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
                   f'font-family="sans-serif" font-size="12" fill="{TEXT}"><rect width="100%" height="100%" fill="#fff"/>'
                   f'<text x="10" y="22" font-size="15">{html.escape(head)}</text>{"".join(out)}</svg>\n')
