"""Results as Markdown: the table of one study, and the page of all of them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kitchensinks.papers.experiments import names
from kitchensinks.papers.experiments.claims import FAILS, HOLDS, IN_PART

Facts = dict[str, Any]

_SCORES = {1.0: "yes:", 0.5: "in part:", 0.0: "no:"}
_HEAD = """# Does it hold?

Tables and figures of the four papers, run again on the data sets that are named. Each claim is put
to checks by the rule in `papers/experiments/claims.py`, which the code applies to the results: a
number within two standard deviations or a stated tolerance of the paper's, or better than it; an
order of two means; a ratio of them. All checks: *holds*. At least half: *holds in part*. Less:
*does not hold*. `sinks reproduce NAME` runs one again; the folder `results/` has every number. This
page is written by `sinks reproduce --page docs/holds.md`.
"""


def markdown(facts: Facts) -> str:
    """table.md of one results.json."""
    lines = [f"# {facts['name']}: {facts['source']}", "", f"{facts['what']}.", ""]
    if facts["quick"]:
        lines += ["A quick run on few rows: these are not the numbers of the study.", ""]
    for table in facts["tables"]:
        lines += [*_table(table), ""]
    lines += ["What the paper claims:", "", *_claims(facts["claims"]), ""]
    if facts["notes"]:
        lines += [facts["notes"], ""]
    return "\n".join([*lines, _measured_on(facts), ""])


def page(results: Path, docs: Path) -> str:
    """'Does it hold?': every full run in the folder `results`, as a page of the folder `docs`."""
    studies = [
        json.loads(path.read_text("utf-8")) for path in sorted(results.glob("*/results.json"))
    ]
    studies = [facts for facts in studies if facts["complete"] and not facts["quick"]]
    verdicts = [claim["verdict"] for facts in studies for claim in facts["claims"]]
    hold, in_part, fail = (verdicts.count(kind) for kind in (HOLDS, IN_PART, FAILS))
    counts = f"{hold} hold, {in_part} hold in part, {fail} do not hold"
    lines = [_HEAD, f"Of {len(verdicts)} claims {counts}.", ""]
    missing = sorted(set(names()) - {facts["name"] for facts in studies})
    if missing:
        lines += [f"Not run in full here, and so not on this page: {', '.join(missing)}.", ""]
    lines += ["| | hold | in part | do not |", "|---|---|---|---|"]
    for facts in studies:
        found = [claim["verdict"] for claim in facts["claims"]]
        own = " | ".join(str(found.count(kind) or "") for kind in (HOLDS, IN_PART, FAILS))
        lines.append(f"| {facts['name']} | {own} |")
    lines.append("")
    up = Path(os.path.relpath(results, docs)).as_posix()
    for facts in studies:
        lines += [f"## {facts['name']}: {facts['source']}", "", f"{facts['what']}.", ""]
        lines += [*_claims(facts["claims"]), ""]
        if (results / facts["name"] / "figure.svg").exists():
            lines += [f"![{facts['name']}]({up}/{facts['name']}/figure.svg)", ""]
        for table in facts["tables"]:
            lines += [*_table(table), ""]
        if facts["notes"]:
            lines += [facts["notes"], ""]
        lines += [_measured_on(facts), ""]
    return "\n".join(lines)


def _claims(claims: list[Facts]) -> Iterator[str]:
    for claim in claims:
        better = " (ours is better)" if claim["better"] and claim["verdict"] == HOLDS else ""
        yield f"- **{claim['verdict']}**{better}: {claim['claim']}."
        yield from (f"  - {_SCORES[check['score']]} {check['ours']}" for check in claim["checks"])
        if claim["why"]:
            yield f"  - Why: {claim['why']}"


def _table(table: Facts) -> Iterator[str]:
    digits, notes = table["digits"], any(line["note"] for line in table["lines"])
    unit = f", {table['unit']}" if table["unit"] else ""
    yield f"**{table['title']}{unit}**"
    yield ""
    yield "| | paper | ours | difference |" + (" |" if notes else "")
    yield "|---|---|---|---|" + ("---|" if notes else "")
    for line in table["lines"]:
        paper = _number(line["paper"], digits, line["paper_spread"])
        ours = _number(line["ours"], digits, line["deviation"] if line["seeds"] > 1 else None)
        difference = "" if line["difference"] is None else f"{line['difference']:+.{digits}f}"
        yield f"| {line['label']} | {paper} | {ours} | {difference} |" + (
            f" {line['note']} |" if notes else ""
        )


def _number(mean: float | None, digits: int, deviation: float | None) -> str:
    if mean is None:
        return ""
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def _measured_on(facts: Facts) -> str:
    """Where and when, in one line."""
    cells, machine = facts["cells"], facts["machine"]
    commits = ", ".join(sorted({str(record["commit"]) for record in cells}))
    minutes = sum(record["processor_seconds"] for record in cells) / 60
    return (
        f"{len(cells)} cells, {minutes:.1f} minutes of one {machine['processor']} thread, commit "
        f"{commits}, {cells[-1]['finished'][:10]}."
    )
