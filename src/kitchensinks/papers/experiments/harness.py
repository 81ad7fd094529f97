"""Run the cells of a study one after the other, and write the results.

A folder has `results.json` (every number), `table.md`, `figure.png` and `figure.svg`. results.json
is replaced atomically after every cell, so that an interrupted run resumes at the next cell.
"""

import json
import os
import platform
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import kitchensinks
from kitchensinks.numerics.threads import threads
from kitchensinks.papers.experiments.study import Cell, Report, Results, Stopwatch, Study
from kitchensinks.papers.experiments.tables import markdown
from kitchensinks.tables.disk import atomic

RESULTS, TABLE, FIGURE = "results.json", "table.md", "figure"
# Packages whose versions are noted with results.
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def reproduce(
    study: Study,
    out: Path,
    quick: bool = False,
    told: Callable[[int, int, Cell], None] = lambda done, total, cell: None,
) -> dict[str, Any]:
    """Run the cells that have no result yet, write the folder, and return its results.json.

    `told(done, total, cell)` is called before each cell. Everything runs on one thread, so that
    processor times are comparable.
    """
    _need_matplotlib()
    folder = folder_of(study.name, out, quick)
    folder.mkdir(parents=True, exist_ok=True)
    cells = study.cells(quick)
    finished = _finished(folder / RESULTS, study, quick)
    facts = _about(study) | {"quick": quick, "complete": False, "machine": machine()}
    facts["cells"] = [finished[_key(c)] for c in cells if _key(c) in finished]
    with threads(1):
        for done, cell in enumerate(cells):
            if _key(cell) not in finished:
                told(done, len(cells), cell)
                facts["cells"].append(_measured(study, cell, quick))
                _write(folder / RESULTS, facts)
    rank = {_key(cell): number for number, cell in enumerate(cells)}
    facts["cells"].sort(key=lambda record: rank[_key(record["cell"])])
    report = study.report(results_of(facts))
    facts |= conclusions(report) | {"complete": True, "missing": []}
    _draw(report, folder)
    with atomic(folder / TABLE) as file:
        file.write_text(markdown(facts), encoding="utf-8")
    _write(folder / RESULTS, facts)
    return facts


def conclude(study: Study, folder: Path) -> dict[str, Any] | None:
    """Apply report and rule of today to the cells of a finished run, and write what follows.

    None where there is no finished run. `missing` are cells by which the grid has grown since. The
    cells, and on which machine they were measured, stay as they are; so does everything of another
    version, which today's report may not understand.
    """
    path = folder / RESULTS
    facts = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if not facts.get("complete"):
        return None
    if facts["version"] == study.version:
        facts |= _about(study) | conclusions(study.report(results_of(facts)))
        known = {_key(record["cell"]) for record in facts["cells"]}
        facts["missing"] = [cell for cell in study.cells(False) if _key(cell) not in known]
    with atomic(folder / TABLE) as file:
        file.write_text(markdown(facts), encoding="utf-8")
    _write(path, facts)
    return facts


def folder_of(name: str, out: Path, quick: bool) -> Path:
    """Quick runs have separate folders, because their numbers do not reproduce the papers'."""
    return out / "quick" / name if quick else out / name


def results_of(facts: dict[str, Any]) -> Results:
    return Results(record["cell"] | record["measured"] for record in facts["cells"])


def conclusions(report: Report) -> dict[str, Any]:
    """Tables, claims and notes of a report as plain text and numbers."""
    tables = [vars(one) | {"lines": [line.facts() for line in one.lines]} for one in report.tables]
    claims = [claim.facts() for claim in report.claims]
    return {"tables": tables, "claims": claims, "notes": report.notes}


def _about(study: Study) -> dict[str, Any]:
    return {key: getattr(study, key) for key in ("name", "source", "what", "substitute", "version")}


def _measured(study: Study, cell: Cell, quick: bool) -> dict[str, Any]:
    with Stopwatch() as watch:
        measured = study.run(dict(cell), quick)
    # Arrays and numbers of NumPy as JSON has them.
    text = json.dumps(measured, allow_nan=False, default=lambda value: value.tolist())
    return {
        "cell": cell,
        # What a cell says of its optimum; null where nothing is solved.
        "measured": {"gap": None, "converged": None} | json.loads(text),
        "processor_seconds": round(watch.processor, 3),
        "wall_seconds": round(watch.wall, 3),
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _finished(path: Path, study: Study, quick: bool) -> dict[str, dict[str, Any]]:
    """The cells of an earlier run of the same kind and version, by their key."""
    if not path.exists():
        return {}
    facts = json.loads(path.read_text("utf-8"))
    if (facts["name"], facts["version"], facts["quick"]) != (study.name, study.version, quick):
        return {}
    return {_key(record["cell"]): record for record in facts["cells"]}


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)


def _write(path: Path, facts: dict[str, Any]) -> None:
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[-+.\de,\s]+\]", lambda numbers: " ".join(numbers[0].split()), text)
    with atomic(path) as file:
        file.write_text(text + "\n", encoding="utf-8")


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        message = 'matplotlib is needed to draw the figures: pip install "kitchensinks[plot]".'
        raise ImportError(message, name=error.name) from error


def _draw(report: Report, folder: Path) -> None:
    """The figure as PNG and SVG; the same results give the same bytes of SVG."""
    if report.draw is None:
        return
    import matplotlib
    from matplotlib.figure import Figure

    plain = {"svg.hashsalt": "kitchensinks", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(plain):
        figure = Figure(figsize=report.size, layout="constrained")
        report.draw(figure)
        figure.savefig(folder / f"{FIGURE}.png", dpi=90)
        figure.savefig(folder / f"{FIGURE}.svg", metadata={"Date": None})


def machine() -> dict[str, Any]:
    """Processor, system and versions of the numerical packages."""
    versions = {name: version(name) for name in _PACKAGES}
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {"kitchensinks": kitchensinks.__version__, **versions},
    }


def commit() -> str | None:
    """The commit that last changed the package, with a plus where its files differ from it.

    None outside a repository of the package.
    """
    folder = Path(__file__).parents[1]
    found = _git(folder, "log", "-1", "--format=%h", "--", ".")
    if not found:
        return None
    return f"{found}+" if _git(folder, "status", "--porcelain", "--", ".") else found


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:  # no git on this machine
        return ""
    return done.stdout.strip()


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())
