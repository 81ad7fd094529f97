"""The tables of README.md and of the pages of docs/, and plots, from results/.

python -m benchmarks.report
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import (
    attempts,
    equal_error,
    growth,
    learned_law,
    out_of_core,
    pool,
    predictions,
    tables,
    threads,
)
from benchmarks.constants import report as constants_table
from benchmarks.law_contestants import FIXED, OURS, PEER
from benchmarks.store import FOLDER, read

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"


def load(name: str) -> dict[str, Any]:
    return read(FOLDER / f"{name}.json")


def fits_table(work: dict[str, Any]) -> str:
    """One row a contestant; the ratio is its fit time over that of the first, which is ours."""
    lines = ["| work | contestant | fit, s (range) | × ours | memory, MB | test error, % |"]
    lines.append("|---|---|---|---|---|---|")
    for name, rows in work.items():
        own = next(iter(rows.values())).get("fit_seconds")
        for contestant, row in rows.items():
            if "failed" in row:
                lines.append(f"| {name} | {contestant} | {row['failed']} | | | |")
                continue
            low, high = row["fit_seconds_range"]
            ratio = row["fit_seconds"] / own if own else float("nan")
            spread = f" ({low:.2g}–{high:.2g})" if row["repeats"] > 1 else ""
            lines.append(
                f"| {name} | {contestant} | {row['fit_seconds']:.3g}{spread} | {ratio:.2f} | "
                f"{row['memory_mb']:.0f} | {row['test_error_percent']:.2f} |"
            )
    return "\n".join(lines)


def law_table(results: dict[str, Any]) -> str:
    """With nothing chosen: error and processor seconds of ours, of trees and of a fixed kernel."""
    names = (OURS, PEER, FIXED)
    lines = ["| set | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for name, runs in learned_law.summaries(results).items():
        cells = []
        for contestant in names:
            own = runs.get(contestant)
            if own is None:
                cells.append("out of memory" if f"{name}|{contestant}|0" in results else "–")
                continue
            error = np.mean([run["error"] for run in own])
            seconds = np.median([run["fit"] for run in own])
            cells.append(f"{error:.2f} ({seconds:.{1 if seconds < 10 else 0}f} s)")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def floor_table(speed: dict[str, Any]) -> str:
    """Share of the floor now and before, by processor time; by the clock where that is known."""
    lines = [
        "| fit | gemm, syrk, Cholesky, GFLOP/s | floor, s | fit, s | share of the floor | before | "
        "by the clock, two threads |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in speed.items():
        if not name.startswith("floor"):
            continue
        own = row["processor"]
        rates = ", ".join(f"{value:.0f}" for value in own["gigaflops"].values())
        before = speed.get(f"before, {name}")
        earlier = f"{before['processor']['share_of_floor']:.2f}" if before else "–"
        clock = f"{row['clock']['share_of_floor']:.2f}" if "clock" in row else "–"
        lines.append(
            f"| {name.removeprefix('floor, ')} | {rates} | {own['floor_seconds']:.2f} | "
            f"{own['fit_seconds']:.2f} | {own['share_of_floor']:.2f} | {earlier} | {clock} |"
        )
    return "\n".join(lines)


def prediction_table(speed: dict[str, Any]) -> str:
    lines = []
    if "prediction" in speed:
        lines.append(
            "| 100,000 rows, d = 784, K = 5000 | seconds | times as fast as scikit-learn |"
        )
        lines.append("|---|---|---|")
        for name, row in speed["prediction"].items():
            lines.append(f"| {name} | {row['seconds']:.2f} | {row['ratio']:.2f} |")
        lines.append("")
    lines += ["| one row, d = 100, K = 2000 | microseconds |", "|---|---|"]
    lines += [f"| {name} | {value:.0f} |" for name, value in speed.get("latency", {}).items()]
    return "\n".join(lines)


def growth_table(speed: dict[str, Any]) -> str:
    lines = ["| time of a fit against | log-log slope | standard error |", "|---|---|---|"]
    for name, row in speed.get("growth", {}).items():
        lines.append(f"| {name} | {row['slope']:.3f} | {row['standard_error']:.3f} |")
    return "\n".join(lines)


def fill(text: str, parts: dict[str, str]) -> str:
    """The text with each part between its two marks."""
    for mark, table in parts.items():
        start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        head, rest = text.split(start)
        _, tail = rest.split(end)
        text = f"{head}{start}\n{table}\n{end}{tail}"
    return text


def parts() -> dict[str, dict[str, str]]:
    """What stands between the marks of each page, by its path."""
    speed, pools, others = load("speed"), load("pool"), load("tables")
    laws = load("learned_law")
    return {
        "README.md": {
            "law": law_table(laws),
            "tables": tables.summary(others),
            "pool": pool.summary(pools),
        },
        "docs/measured.md": {
            "results": learned_law.table(laws),
            "tables": tables.table(others),
            "pool": pool.table(pools),
        },
        "docs/tried.md": {"attempts": attempts.table(load("attempts"))},
        "docs/constants.md": {"constants": constants_table(load("constants"))},
        "docs/benchmarks.md": {
            "results": fits_table(load("fits")["work"]),
            "floor": floor_table(speed),
            "prediction": prediction_table(speed),
            "predictions": predictions.table(load("predictions")),
            "growth": growth_table(speed),
            "equal error": equal_error.table(load("equal_error")),
            "threads": threads.table(load("threads")),
            "sizes": growth.table(load("growth")),
            "command": out_of_core.command_table(load("out_of_core").get("command", {})),
        },
    }


def draw() -> None:
    """Time against rows, inputs and features, with the slopes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    panels = figure.subplots(1, 3)
    for panel, (name, row) in zip(panels, load("speed").get("growth", {}).items(), strict=True):
        size, spent = zip(*row["points"], strict=True)
        panel.loglog(size, spent, "o-")
        panel.set(xlabel=name, ylabel="seconds of a fit", title=f"slope {row['slope']:.2f}")
    figure.savefig(PICTURES / "growth.svg", metadata={"Date": None})


def main() -> None:
    for name, own in parts().items():
        page = ROOT / name
        page.write_text(fill(page.read_text(), own))
    if "growth" in load("speed"):
        draw()
    growth.draw(load("growth"), PICTURES / "sizes.svg")


if __name__ == "__main__":
    main()
