#!/usr/bin/env python3
"""Opens pages in Chromium and uses them: every section, every click, the keyboard, dark, on paper, on a phone, without script.

    browser.py PAGE.html ...              each beside its JSON file
    browser.py --screenshots FOLDER ...   also writes a picture of each section, light, dark and on a phone

Ends with 77 and a line if there is no Chromium. The first page is examined in every way, the others in most; those after
--special N in light only.
"""
import argparse
import json
import pathlib
import sys

import chromium

SKIPPED = 77
# The colour that text has over the colour behind it, both as the browser computes them.
CONTRAST = """(() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const light = c => { const f = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
                       return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const known = new Map(), behind = e => {
    if (!e) return [255, 255, 255, 1];
    if (!known.has(e)) { const c = parse(getComputedStyle(e).backgroundColor); known.set(e, c[3] > .99 ? c : behind(e.parentElement)); }
    return known.get(e);
  };
  const bad = [];
  for (const e of document.querySelectorAll('main *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.offsetParent) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(1) + ' ' + e.textContent.slice(0, 30));
  }
  return bad.slice(0, 5);
})()"""
MODES = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 1130}, "tablet": {"width": 800}, "phone": {"width": 390, "height": 844},
         "dark phone": {"width": 390, "height": 844, "dark": True}}
VISIBLE_WAITS = "[...document.querySelectorAll('article.wait')].filter(e => e.offsetParent).map(e => e.id)"
FOCUSABLE = "a[href],button,input,summary,[tabindex='0']"


class Test:
    def __init__(self, browser, path, shots):
        self.browser, self.path, self.shots, self.found = browser, pathlib.Path(path), shots, []
        self.report = json.loads(self.path.with_suffix(".json").read_text(encoding="utf-8"))

    def expect(self, good, *words):
        if not good:
            self.found.append(f"{self.path.name}: " + " ".join(map(str, words)))

    def quiet(self, page, where):
        for problem in page.problems():
            self.expect(False, where, problem)

    def all(self, thorough, modes):
        with self.browser.page() as page:
            page.open(self.path)
            self.expect(page.run("document.title").endswith("whywait"), "its title is", page.run("document.title"))
            self.contents(page)
            self.waits(page)
            self.maps(page)
            self.sliders(page)
            self.folds(page)
            self.fits(page, 1280)
            if modes:
                self.names(page)
            if thorough:
                self.keyboard(page)
            self.quiet(page, "light:")
        for what in modes:
            settings = MODES[what]
            with self.browser.page(**settings) as page:
                page.open(self.path)
                self.expect(not (bad := page.run(CONTRAST)), f"{what}: hardly legible:", bad)
                self.fits(page, settings.get("width", 1280))
                colour = page.run("getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0]")
                self.expect((colour < 80) == bool(settings.get("dark")), f"{what}: the background is", colour)
                self.quiet(page, what + ":")
                if self.shots:
                    for id_ in page.run("[...document.querySelectorAll('main > *')].map(e => e.id)"):
                        page.screenshot(self.shots / f"{self.path.stem}-{what.replace(' ', '-')}-{id_}.png", "#" + id_)
        if modes:
            self.paper()
        self.without_script()
        self.fragments()
        return self.found

    def contents(self, page):
        sections = page.run("[...document.querySelectorAll('main > section')].map(e => e.id)")
        entries = page.run("[...document.querySelectorAll('#toc a')].map(e => e.hash.slice(1))")
        self.expect(sections == entries, "contents", entries, "of", sections)
        for id_ in sections:
            page.click(f"#toc a[href='#{id_}']")
            top = page.run(f"document.getElementById('{id_}').getBoundingClientRect().top")
            bottom = page.run("document.documentElement.scrollHeight - scrollY - innerHeight")
            self.expect(-5 <= top <= 120 or bottom < 5, f"#{id_} is at", top, "after a click in the contents")

    def waits(self, page):
        waits = self.report["waits"]
        if not waits:
            return
        shown = page.run(VISIBLE_WAITS)
        self.expect(shown == ["w0"], "shows", shown, "at first")
        tiles = page.run("[...document.querySelectorAll('.map a.tile')].filter(e => e.clientWidth > 3 && e.clientHeight > 3)"
                         ".map(e => e.getAttribute('href'))")
        self.expect("#w0" in tiles, "has no tile of the first wait")
        for href in tiles[:12]:
            page.click(f".map a.tile[href='{href}']")
            if href.startswith("#w"):
                shown = page.run(VISIBLE_WAITS)
                self.expect(shown == [href[1:]], "shows", shown, "after a click on the tile of", href)
                self.expect(page.run("document.activeElement.id") == href[1:], "the focus does not follow to", href)
                marked = page.run("[...document.querySelectorAll('.tile[aria-current]')].map(e => e.getAttribute('href'))")
                self.expect(marked == [href], "marks", marked, "for", href)
        for i in range(min(3, len(waits))):
            page.click(f".waits a[href='#w{i}']")
            shown = page.run(VISIBLE_WAITS)
            self.expect(shown == [f"w{i}"], "shows", shown, "after a click in the table on", i)
            text = page.run(f"document.getElementById('w{i}').innerText")
            for word in [waits[i]["operation"]["call"], waits[i]["cause"]["call"]]:
                self.expect(word.split()[0] in text, f"w{i} does not name", word)
            rows = page.run(f"document.querySelectorAll('#w{i} .paths tbody tr:not(.beside) .diff').length")
            self.expect(not waits[i]["residual"] or rows >= len(waits[i]["residual"]), f"w{i} has", rows, "rows")
            sources = page.run(f"document.querySelectorAll('#w{i} .paths a.src').length")
            copies = page.run(f"document.querySelectorAll('#w{i} .beside figure').length")
            self.expect((sources > 0) == (copies > 0), f"w{i} has", copies, "excerpts beside", sources, "places")
        for link in page.run("[...document.querySelectorAll('.links a, .advice a')].filter(e => !e.closest('details:not([open])'))"
                             ".map(e => e.getAttribute('href'))")[:6]:
            page.click(f".links a[href='{link}'], .advice a[href='{link}']")
            self.expect(page.run(VISIBLE_WAITS) == [link[1:]], "does not show", link, "after a click")

    def maps(self, page):
        for number, group in enumerate(page.run("[...document.querySelectorAll('.maps')].map(e => e.dataset.map)")):
            inputs = page.run(f"[...document.querySelectorAll('.maps')][{number}].querySelectorAll(':scope > input').length")
            for i in range(inputs):
                page.run(f"document.querySelectorAll('.maps')[{number}].scrollIntoView()")
                page.click(f".maps[data-map={group}] > label:nth-of-type({i + 1})")
                shown = page.run(f"[...document.querySelectorAll('.maps')[{number}].querySelectorAll('.pane')].map(e => !!e.offsetParent)")
                self.expect(shown == [k == i for k in range(inputs)], group, "shows the panes", shown, "for choice", i)
                if page.run(f"!!document.querySelectorAll('.maps')[{number}].querySelector('.pane svg')"):
                    self.reading(page, group, number)

    def reading(self, page, group, number):
        """The value under the pointer is that of the JSON file."""
        box = page.run(f"(()=>{{const s=[...document.querySelectorAll('.maps')[{number}].querySelectorAll('.stacked')].find(e=>e.offsetParent);"
                       "s.scrollIntoView({block:'center'});const b=s.getBoundingClientRect();return [b.x,b.y,b.width,b.height]})()")
        page.mouse("mouseMoved", box[0] + 0.37 * box[2], box[1] + 0.61 * box[3])
        words = page.run(f"document.querySelectorAll('.maps')[{number}].querySelector('.readout').textContent")
        if group == "ranks":
            m = self.report["rank_matrix"]
            x, y = int(0.37 * m["rows"]), int(0.61 * m["rows"])
            self.expect(f"{x * m['ranks_per_row']}" in words and f"{y * m['ranks_per_row']}" in words, "reads", words, "at", x, y)
            return
        m = self.report["time_map"]
        x, y = int(0.37 * m["bins"]), int(0.61 * m["rows"])
        series = page.run(f"[...document.querySelectorAll('.maps')[{number}].querySelectorAll('.pane')].find(e=>e.offsetParent).dataset.series")
        all_ = [m["waiting"], m["calls"], m["other"]] + [b["seconds"] for b in m["blocks"]]
        value = all_[int(series)][y][x]
        ranks = min(m["ranks_per_row"], self.report["run"]["ranks"] - y * m["ranks_per_row"])
        share = round(100 * value / m["bin_seconds"] / ranks)
        noun = "thread" if self.report["run"].get("threads_only") else "rank"
        self.expect(words.startswith(f"{noun}{'s' if ranks > 1 else ''} {y * m['ranks_per_row']}"), "reads", words, "in row", y)
        self.expect(any(f"({s} %)" in words for s in (share - 1, share, share + 1)), "reads", words, "where the JSON file has", value)

    def sliders(self, page):
        speeds = self.report["speeds"] if self.report["overhead"] else []
        self.expect(page.run("document.querySelectorAll('.slider').length") == len(speeds), "has another number of sliders than", len(speeds))
        for i, speed in enumerate(speeds):
            page.run(f"document.getElementById('slide{i}').focus()")
            page.key("Home")
            for answer in reversed(speed["answers"]):
                page.key("ArrowRight")
                words = page.run(f"document.querySelectorAll('.slider output')[{i}].textContent")
                value = page.run(f"Number(document.querySelectorAll('tr.speed')[{i}].querySelector('[data-factor=\"{answer['factor']:.2f}\"] data').value)")
                self.expect(value == answer["seconds"], "slider", i, "has", value, "instead of", answer["seconds"])
                self.expect(f"{round(100 * answer['factor'])} %" in words, "slider", i, "reads", words, "at", answer["factor"])

    def folds(self, page):
        count = page.run("document.querySelectorAll('.fold button').length")
        for i in range(min(count, 2)):
            page.run(f"document.querySelectorAll('.fold button')[{i}].click()")
            self.expect(page.run(f"document.querySelectorAll('.fold button')[{i}].getAttribute('aria-expanded')") == "true", "rows alike stay folded")
        count = page.run("document.querySelectorAll('main summary').length")
        for i in range(min(count, 12)):
            before = page.run(f"document.querySelectorAll('main summary')[{i}].parentNode.open")
            page.run(f"document.querySelectorAll('main summary')[{i}].click()")
            self.expect(page.run(f"document.querySelectorAll('main summary')[{i}].parentNode.open") != before, "summary", i, "does not react")

    def names(self, page):
        """Whatever can be used has a name for those that do not see it."""
        for node in page.send("Accessibility.getFullAXTree")["nodes"]:
            role, name = node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
            if node.get("ignored") or role not in ("link", "button", "radio", "slider", "image", "DisclosureTriangle"):
                continue
            self.expect(name.strip(), "a", role, "has no name")

    def fits(self, page, width):
        needed = page.run("document.documentElement.scrollWidth")
        self.expect(needed <= width, "needs", needed, "pixels of", width)
        hidden = page.run("(toc => toc.scrollWidth - toc.clientWidth)(document.getElementById('toc'))")
        self.expect(hidden <= 0 or width < 700, "the contents need", hidden, "more pixels than", width)

    def keyboard(self, page):
        """Tab reaches everything that can be used; the focus is seen; Enter on a tile and arrows in maps work."""
        page.run("document.querySelectorAll('main details').forEach(d => d.open = false); document.activeElement.blur(); scrollTo(0, 0)")
        wanted = page.run(f"[...document.querySelectorAll({json.dumps(FOCUSABLE)})].filter(e => e.offsetParent && e.type !== 'radio' &&"
                          " !(e.matches('summary') ? e.parentNode.parentNode : e).closest('details:not([open])')).length")
        groups = page.run("new Set([...document.querySelectorAll('input[type=radio]')].map(e => e.name)).size")
        page.run("window.reached = new Set(); window.unseen = []; document.addEventListener('focusin', e => { reached.add(e.target);"
                 " const s = getComputedStyle(e.target), l = e.target.type === 'radio' ? getComputedStyle(e.target.nextElementSibling) : s;"
                 " if (l.outlineStyle === 'none' && !e.target.matches('.skip')) unseen.push(e.target.outerHTML.slice(0, 80)); })")
        page.run("document.body.tabIndex = -1; document.body.focus()")
        for _ in range(wanted + groups + 10):
            page.key("Tab")
        reached = page.run("[...reached].filter(e => e.type !== 'radio').length")
        radios = page.run("new Set([...reached].filter(e => e.type === 'radio').map(e => e.name)).size")
        self.expect(reached >= wanted, "Tab reaches", reached, "of", wanted, "elements")
        self.expect(radios == groups, "Tab reaches", radios, "of", groups, "groups of maps")
        unseen = page.run("unseen.filter(e => !e.startsWith('<body'))")
        self.expect(not unseen, "the focus is not seen on", unseen[:3])
        if self.report["waits"]:
            page.run("document.querySelector('.map a.tile').focus()")
            for key, step in (("ArrowRight", 1), ("ArrowLeft", 0)):
                page.key(key)
                at = page.run("[...document.querySelectorAll('.map a.tile')].indexOf(document.activeElement)")
                count = page.run("document.querySelectorAll('.map a.tile').length")
                self.expect(at == step % count, key, "leads to tile", at)
            href = page.run("document.activeElement.getAttribute('href')")
            page.key("Enter")
            self.expect(page.run(VISIBLE_WAITS) == [href[1:]], "Enter does not show", href)
        if page.run("!!document.querySelector('.stacked')"):
            page.run("document.querySelector('.stacked').focus()")
            first = page.run("document.querySelector('.readout').textContent")
            page.key("ArrowRight")
            self.expect(first and page.run("document.querySelector('.readout').textContent") != first, "arrow keys do not move the cursor of a map")
            page.run("document.querySelector('.maps > input').focus()")
            page.key("ArrowRight")
            self.expect(page.run("document.querySelectorAll('.maps > input')[1].checked"), "arrow keys do not choose another map")

    def paper(self):
        with self.browser.page(dark=True) as page:
            page.open(self.path)
            pdf = page.pdf()
            self.expect(pdf.startswith(b"%PDF") and len(pdf) > 5000, "cannot be printed")
            page.emulate(dark=True, media="print")
            colour = page.run("getComputedStyle(document.documentElement).backgroundColor")
            self.expect(colour == "rgb(255, 255, 255)", "is printed on", colour)
            page.run("dispatchEvent(new Event('beforeprint'))")
            shown = len(page.run(VISIBLE_WAITS))
            self.expect(shown == min(10, len(self.report["waits"])), "prints", shown, "waits")
            if self.report["speeds"] and self.report["overhead"]:
                self.expect(page.run("!!document.querySelector('.speeds').offsetParent"), "does not print the speeds")
            self.quiet(page, "print:")

    def without_script(self):
        with self.browser.page(script=False) as page:
            page.open(self.path)
            self.expect(page.run("document.documentElement.className") == "", "without script: the script ran")
            words = page.run("document.querySelector('main').innerText")
            for w in self.report["waits"][:3]:
                self.expect(w["operation"]["call"].split()[0] in words, "without script: does not name", w["operation"]["call"])
            waits = len(page.run(VISIBLE_WAITS))
            wanted = min(200, len(self.report["waits"]))  # the page explains no more
            self.expect(waits == wanted, "without script: shows", waits, "waits, not", wanted)
            self.expect("How far to trust this" in words, "without script: does not show all sections")
            speeds = page.run("[...document.querySelectorAll('.speeds')].filter(e => e.offsetParent).length")
            self.expect(speeds == (1 if self.report["speeds"] and self.report["overhead"] else 0), "without script: no table of speeds")

    def fragments(self):
        if len(self.report["waits"]) > 1:
            with self.browser.page() as page:
                page.open(self.path, "#w1")
                self.expect(page.run(VISIBLE_WAITS) == ["w1"], "#w1 shows", page.run(VISIBLE_WAITS))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pages", nargs="+", type=pathlib.Path)
    options.add_argument("--screenshots", type=pathlib.Path)
    options.add_argument("--special", type=int, default=99, help="the number of pages before those that are opened once only")
    options = options.parse_args()
    if chromium.find() is None:
        print("SKIPPED: no Chromium here (Debian: chromium); the pages were not opened")
        return SKIPPED
    failures = []
    with chromium.Browser() as browser:
        for number, path in enumerate(options.pages):
            modes = MODES if number == 0 or options.screenshots else ("dark", "phone") if number < options.special else ()
            failures += Test(browser, path, options.screenshots).all(number == 0, modes)
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(options.pages)} pages, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
