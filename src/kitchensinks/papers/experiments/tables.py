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
    claims = ["What the paper claims:", "", *_claims(facts["claims"]), ""]
    return "\n".join([*lines, *_tables(facts), *claims, *_foot(facts)])


def page(results: Path, docs: Path) -> str:
    """'Does it hold?': every full run in the folder `results`, as a page of the folder `docs`."""
    read = (json.loads(path.read_text("utf-8")) for path in sorted(results.glob("*/results.json")))
    studies = [facts for facts in read if facts["complete"] and not facts["quick"]]
    up = Path(os.path.relpath(results, docs)).as_posix()
    lines = [_HEAD, *_overview(studies)]
    for facts in studies:
        name = facts["name"]
        lines += [f"## {name}: {facts['source']}", "", f"{facts['what']}.", ""]
        lines += [*_claims(facts["claims"]), ""]
        if (results / name / "figure.svg").exists():
            lines += [f"![{name}]({up}/{name}/figure.svg)", ""]
        lines += [*_tables(facts), *_foot(facts)]
    return "\n".join(lines)


def _overview(studies: list[Facts]) -> Iterator[str]:
    """How many claims hold, in all and by study, and which studies have no results."""
    found = {facts["name"]: [claim["verdict"] for claim in facts["claims"]] for facts in studies}
    verdicts = [verdict for own in found.values() for verdict in own]
    hold, in_part, fail = (verdicts.count(kind) for kind in (HOLDS, IN_PART, FAILS))
    counts = f"{hold} hold, {in_part} hold in part, {fail} do not hold"
    yield from (f"Of {len(verdicts)} claims {counts}.", "")
    if missing := sorted(set(names()) - set(found)):
        yield from (f"Not run in full here, and so not on this page: {', '.join(missing)}.", "")
    yield from ("| | hold | in part | do not |", "|---|---|---|---|")
    for name, own in found.items():
        cells = " | ".join(str(own.count(kind) or "") for kind in (HOLDS, IN_PART, FAILS))
        yield f"| {name} | {cells} |"
    yield ""


def _tables(facts: Facts) -> Iterator[str]:
    for table in facts["tables"]:
        yield from _table(table)
        yield ""


def _foot(facts: Facts) -> Iterator[str]:
    if facts["notes"]:
        yield from (facts["notes"], "")
    yield from (_measured_on(facts), "")


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
    """Number of cells, time, processor, commit and date, in one line."""
    cells, machine = facts["cells"], facts["machine"]
    commits = ", ".join(sorted({str(record["commit"]) for record in cells}))
    minutes = sum(record["processor_seconds"] for record in cells) / 60
    return (
        f"{len(cells)} cells, {minutes:.1f} minutes of one {machine['processor']} thread, commit "
        f"{commits}, {cells[-1]['finished'][:10]}."
    )
