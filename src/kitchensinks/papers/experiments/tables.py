"""Results as Markdown: the table of one study, and the page of all of them."""

import json
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from kitchensinks.papers.experiments import CATALOGUE
from kitchensinks.papers.experiments.claims import FAILS, HOLDS, UNDECIDED

StudyFacts = dict[str, Any]

_WORDS = {HOLDS: "yes:", UNDECIDED: "undecided:", FAILS: "no:"}
_KINDS = {"paper": "", "ours": ", a claim of ours", "construction": ", by construction of the data"}
_HEAD = """# Does it hold?

Tables and figures of the four papers, run again on the data sets that are named. Each claim is put
to checks by the rule in `papers/experiments/claims.py`, which the code applies to the results: a
number within a stated tolerance of the paper's, or better than it; an order of two means; a ratio
of them. Runs are paired by seed and judged by the standard error of the mean, two-sided at 5 %. A
claim *holds* where all of its checks do. It *does not hold* where one of its c checks fails at
5 %/c. What is neither is *undecided*, with the number of seeds that would decide it; one seed
decides nothing. Where the first seeds left a claim open and more are cheap, their number was fixed
and committed before they were run; the level is not lowered for this second look. Claims of ours,
and those that are true by construction of our own data, are shown and not counted. `sinks reproduce
NAME` runs one again; the folder `results/` has every number. This page is written by `sinks
reproduce --page docs/holds.md`, which applies the rule to all results anew.
[The verdicts by the rule before](holds_before.md) are kept.
"""


def markdown(facts: StudyFacts) -> str:
    lines = [f"# {facts['name']}: {facts['source']}", "", _what(facts), ""]
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
        lines += [f"## {name}: {facts['source']}", "", _what(facts), ""]
        lines += [*_claims(facts["claims"]), ""]
        if (results / name / "figure.svg").exists():
            lines += [f"![{name}]({up}/{name}/figure.svg)", ""]
        lines += [*_tables(facts), *_foot(facts)]
    return "\n".join(lines)


def _what(facts: StudyFacts) -> str:
    """The first line: on which data, where they are not the paper's, and what is shown."""
    other = f"On other data than the paper's: {s}. " if (s := facts["substitute"]) else ""
    known, old = CATALOGUE.get(facts["name"]), ""
    if known is not None and known.version != facts["version"]:
        old = " These are results of an earlier form of the study; "
        old += "the present one was not run in full."
    return f"{other}{facts['what']}.{old}{_missing(facts)}"


def _missing(facts: StudyFacts) -> str:
    """Which cells of the grid have no result yet: their entries, each with its values."""
    cells = facts.get("missing")
    if not cells:
        return ""
    entries = dict.fromkeys(key for cell in cells for key in cell)
    values = {key: list(dict.fromkeys(cell.get(key) for cell in cells)) for key in entries}
    listed = "; ".join(f"{key} {', '.join(map(str, own))}" for key, own in values.items())
    return f" {len(cells)} cells of the present grid were not run: {listed}."


def _overview(studies: list[StudyFacts]) -> Iterator[str]:
    """How many claims hold, in all and by study, and which studies have no results."""
    found = {
        facts["name"]: [c["verdict"] for c in facts["claims"] if c["kind"] == "paper"]
        for facts in studies
    }
    verdicts = [verdict for own in found.values() for verdict in own]
    hold, fail, still = (verdicts.count(kind) for kind in (HOLDS, FAILS, UNDECIDED))
    counts = f"{hold} hold, {fail} do not hold, {still} are undecided"
    others = sum(len(facts["claims"]) for facts in studies) - len(verdicts)
    told = f"Of {len(verdicts)} claims of the papers {counts}."
    yield from (f"{told} {others} more are ours or by construction.", "")
    if missing := sorted(set(CATALOGUE) - set(found)):
        yield from (f"Not run in full here, and so not on this page: {', '.join(missing)}.", "")
    yield from ("| study | hold | do not hold | undecided | not counted |", "|---|---|---|---|---|")
    for facts in studies:
        own = found[facts["name"]]
        numbers = [own.count(kind) for kind in (HOLDS, FAILS, UNDECIDED)]
        numbers.append(len(facts["claims"]) - len(own))
        yield f"| {' | '.join([facts['name'], *(str(number or '') for number in numbers)])} |"
    yield ""


def _tables(facts: StudyFacts) -> Iterator[str]:
    for table in facts["tables"]:
        yield from (*_table(table), "")


def _foot(facts: StudyFacts) -> Iterator[str]:
    if facts["notes"]:
        yield from (facts["notes"], "")
    yield from (_measured_on(facts) + _not_converged(facts), "")


def _not_converged(facts: StudyFacts) -> str:
    """In how many cells a solver ended before its tolerance, with the entries that they share."""
    ended = (one for one in facts["cells"] if one["measured"].get("converged") is False)
    cells = [record["cell"] for record in ended]
    if not cells:
        return ""
    kinds = {
        str(cell[key]): None
        for cell in cells
        for key in ("method", "model", "features")
        if cell.get(key) is not None
    }
    which = f" ({', '.join(kinds)})" if kinds else ""
    return f" In {len(cells)} cells{which} the solver ended before its tolerance or its target."


def _claims(claims: list[StudyFacts]) -> Iterator[str]:
    for claim in claims:
        better = " (ours is better)" if claim["better"] and claim["verdict"] == HOLDS else ""
        yield f"- **{claim['verdict']}**{_KINDS[claim['kind']]}{better}: {claim['claim']}."
        for check in claim["checks"]:
            lacks = f"; {check['open']}" if "open" in check else ""
            yield f"  - {_WORDS[check['verdict']]} {check['ours']}{lacks}"
        if claim["why"]:
            yield f"  - Why: {claim['why']}"


def _table(table: StudyFacts) -> Iterator[str]:
    """One line for each case, or a table of two ways where the lines have columns."""
    lines = table["lines"]
    two_ways = any(line["column"] for line in lines)
    heads, rows = _two_ways(table) if two_ways else _listed(table)
    told = f"{table['title']}, {table['unit']}" if table["unit"] else table["title"]
    if two_ways:
        told += f": ours{_spread_told(lines)}"
        told += ", (the paper's)" if any(line["paper"] is not None for line in lines) else ""
        told += f"; {table['note']}" if any(line["note"] for line in lines) else ""
    yield from (f"**{told}**", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|")
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _spread_told(lines: list[StudyFacts]) -> str:
    """What stands behind ±, where there is more than one seed."""
    counts = sorted({line["seeds"] for line in lines if line["seeds"] > 1})
    if not counts:
        return ""
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f" ± deviation over {seeds} seeds"


def _listed(table: StudyFacts) -> tuple[Collection[str], Iterable[Iterable[str]]]:
    """Headings and rows, a row for each line; columns without entries are left out."""
    lines, digits = table["lines"], table["digits"]
    away = [line["difference"] for line in lines]
    columns = {
        table["case"]: [line["label"] for line in lines],
        "paper": [_number(line["paper"], digits, line["paper_spread"]) for line in lines],
        f"ours{_spread_told(lines)}": [_ours(line, digits) for line in lines],
        "difference": ["" if each is None else f"{each:+.{digits}f}" for each in away],
        table["note"]: [line["note"] for line in lines],
    }
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    return shown, zip(*shown.values(), strict=True)


def _two_ways(table: StudyFacts) -> tuple[Collection[str], Iterable[Iterable[str]]]:
    """Headings and rows, a row for each label and a column for each `column` of the lines."""
    lines, digits = table["lines"], table["digits"]
    columns, labels = (
        list(dict.fromkeys(line[key] for line in lines)) for key in ("column", "label")
    )
    cells = {}
    for line in lines:
        text = _ours(line, digits)
        if line["paper"] is not None:
            text += f" ({_number(line['paper'], digits, line['paper_spread'])})"
        cells[line["label"], line["column"]] = text + (f"; {line['note']}" if line["note"] else "")
    if all(label.replace(",", "").isdigit() for label in labels):
        labels.sort(key=lambda label: int(label.replace(",", "")))
    heads = [table["case"], *(column or "ours" for column in columns)]
    return heads, [[label, *(cells.get((label, c), "") for c in columns)] for label in labels]


def _ours(line: StudyFacts, digits: int) -> str:
    return _number(line["ours"], digits, line["deviation"] if line["seeds"] > 1 else None)


def _number(mean: float | None, digits: int, deviation: float | None) -> str:
    if mean is None:
        return ""
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def _measured_on(facts: StudyFacts) -> str:
    """Number of cells, time, processor, commit and date, in one line."""
    cells, machine = facts["cells"], facts["machine"]
    commits = ", ".join(sorted({str(record["commit"]) for record in cells}))
    minutes = sum(record["processor_seconds"] for record in cells) / 60
    return (
        f"{len(cells)} cells, {minutes:.1f} minutes of one {machine['processor']} thread, commit "
        f"{commits}, {cells[-1]['finished'][:10]}."
    )
