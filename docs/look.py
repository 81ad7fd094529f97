"""Look at the built pages and at a report in a real browser: `make look`, after `make docs`.

Each page is opened as on a phone and as on a desktop, in light and in dark. Printed are errors of
the console, what is cut off at the edge of the screen, and serious findings of axe-core
(accessibility); the exit status is their number, at most 99. It needs a Chromium (`CHROMIUM`
names it), and the packages playwright and axe-playwright-python. Nothing is loaded from the
network.

    python docs/look.py [--shots FOLDER] [PAGE ...]
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_diabetes

import kitchensinks as ks

BUILT = Path(__file__).parent / "_build" / "html"
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
VIEWS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]
# Milliseconds that a page may take to open beside other work.
_PATIENCE = 300_000
SERIOUS = ("serious", "critical")
# What ends to the right of the screen, and cannot be scrolled to.
CUT = """() => {
  const scrolls = (e) => e.closest("pre, .highlight, .formula, [tabindex]");
  return [...document.querySelectorAll("article *, body > :not(div) *")].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && !scrolls(e) && e.checkVisibility();
  }).map((e) => e.tagName.toLowerCase() + ": " + e.textContent.trim().slice(0, 40));
}"""


def report_page(folder: Path) -> Path:
    """The report on a small model."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = ks.KitchenSinkRegressor(random_state=0).fit(X[::2], y[::2])
    model.report(X[1::2], y[1::2]).save(folder / "report.html")
    return folder / "report.html"


def look(browser: Browser, path: Path, view: tuple[str, str], shots: Path | None) -> Iterator[str]:
    """What is wrong with one page."""
    kind, scheme = view
    size: Any = dict(zip(("width", "height"), SIZES[kind], strict=True))
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda one: said.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda one: said.append(str(one)))
    page.goto(path.resolve().as_uri(), wait_until="load", timeout=_PATIENCE)
    yield from (f"console: {text}" for text in said)
    cut = page.evaluate(CUT)
    if cut:
        yield f"{len(cut)} elements are cut off: {cut[:3]}"
    for found in Axe().run(page).response["violations"]:
        if found["impact"] in SERIOUS:
            where = "; ".join(str(node["target"]) for node in found["nodes"][:3])
            yield f"{found['impact']}: {found['help']}, {len(found['nodes'])} times: {where}"
    if shots is not None:
        folder = "" if path.parent == BUILT else f"{path.parent.name}-"
        page.screenshot(path=shots / f"{folder}{path.stem}-{kind}-{scheme}.png")
    context.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", help="files; default: all that are built, and a report")
    parser.add_argument("--shots", type=Path, help="folder for screenshots")
    options = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    if options.shots:
        options.shots.mkdir(exist_ok=True, parents=True)
    count = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = [Path(one) for one in options.pages]
        if not pages:
            pages = sorted([*BUILT.glob("*.html"), *BUILT.glob("[a-z]*/*.html")])
            pages.append(report_page(Path(folder)))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for path in pages:
            for view in VIEWS:
                for wrong in look(browser, path, view, options.shots):
                    count += 1
                    print(f"{path.name} ({', '.join(view)}): {wrong}", flush=True)
        browser.close()
    print(f"{len(pages)} pages, {count} findings")
    return min(count, 99)


if __name__ == "__main__":
    sys.exit(main())
