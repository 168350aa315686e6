#!/usr/bin/env python3
"""Takes the picture of a page for the documents: the answer and the map of waits, as WebP.

    scripts/page_picture.py PAGE.html docs/images/page.webp [--dark]
"""
import base64
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "page"))
import chromium  # noqa: E402

WIDTH, HEIGHT = 1180, 1330


def main():
    dark = "--dark" in sys.argv
    source, target = [a for a in sys.argv[1:] if not a.startswith("--")]
    with chromium.Browser() as browser, browser.page(dark=dark, width=WIDTH, height=HEIGHT) as page:
        page.open(source)
        page.run("document.getElementById('advice')?.remove()")
        data = page.send("Page.captureScreenshot", format="webp", quality=80,
                         clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1})["data"]
    pathlib.Path(target).write_bytes(base64.b64decode(data))
    print(f"{target}: {pathlib.Path(target).stat().st_size} bytes")


main()
