"""A report as one HTML page that needs nothing else: no network, no scripts, no fonts."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TypeGuard

from kitchensinks.report import svg
from kitchensinks.report.facts import Report, Row

_STYLE = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;
--bar:#0b62c4;--second:#9a3412;--third:#116329;--fourth:#6e40c9;--shade:11,98,196}
@media (prefers-color-scheme:dark){:root{--ground:#14171c;--ink:#e8eaed;--soft:#a8b0ba;
--rule:#3a414b;--bar:#6cb1ff;--second:#ffa87d;--third:#7ee2a0;--fourth:#c9a7ff;--shade:108,177,255}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.5rem 1rem 4rem;background:var(--ground);
color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.25rem;margin:2.2rem 0 .4rem;
border-bottom:1px solid var(--rule);padding-bottom:.2rem}h3{font-size:1rem;margin:1.2rem 0 .2rem}
p{margin:.4rem 0}p.soft,caption,figcaption{color:var(--soft);text-align:left}
nav ul{padding:0;margin:.6rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none}
a{color:var(--bar)}
table{border-collapse:collapse;margin:.5rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;
max-width:34rem;overflow-wrap:break-word}
td.number,th.number{text-align:right}td.number{white-space:nowrap}
caption{white-space:nowrap}details{margin:.5rem 0}summary{color:var(--bar);cursor:pointer}
.wide{overflow-x:auto}figure{margin:.6rem 0}
svg{width:100%;height:auto}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:0 1.5rem}
.bar,.point{fill:var(--bar)}.best{fill:var(--second)}.axis{stroke:var(--soft)}
.grid{stroke:var(--rule);stroke-width:.7}.error{stroke:var(--ink);stroke-width:2}
.ideal{stroke:var(--soft);stroke-dasharray:5 4}polyline{fill:none;stroke-width:2}
.line0{stroke:var(--bar)}.line1{stroke:var(--second);stroke-dasharray:7 3}
.line2{stroke:var(--third);stroke-dasharray:2 3}
.line3{stroke:var(--fourth);stroke-dasharray:9 3 2 3}
@media (max-width:40rem){caption{white-space:normal}svg text{font-size:15px}
th,td{padding:.25rem .4rem;max-width:14rem}}
@media print{:root{color-scheme:light;--ground:#fff;--ink:#000;--soft:#444;--rule:#bbb;
--bar:#0b62c4;--second:#9a3412;--shade:11,98,196}nav{display:none}
h2,h3{break-after:avoid}figure,tr{break-inside:avoid}details{display:none}}
"""
# Trials that are listed under the picture of all of them.
_LISTED = 40


def page(report: Report) -> str:
    sections = [
        ("score", "How good it is", _score(report)),
        ("fitted", "What was fitted", _pairs_table("Model, features and solver", report.fitted)),
        ("law", "How the law was found", _law(report)),
        ("columns", "What the columns do", _columns(report)),
        ("rows", "Single rows", _rows(report)),
        ("certificate", "Certificate", _pairs_table("Evidence of the solver", report.certificate)),
    ]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>{text}</section>'
        for name, title, text in sections
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>{escape(report.title)}</h1>"
        f'<p class="soft">A report on {report.rows:,} rows: {escape(report.task)}.</p>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>{body}</main></body></html>\n'
    )


def framed(report: Report) -> str:
    """The page inside of another one, such as a notebook, whose styles it leaves alone."""
    return (
        f'<iframe srcdoc="{escape(page(report), quote=True)}" title="{escape(report.title)}" '
        'style="width:100%;height:48rem;border:1px solid #888" sandbox></iframe>'
    )


# -- tables -----------------------------------------------------------------------------------


def _cell(value: object) -> str:
    """A value of a table, escaped."""
    if value is None:
        return '<td class="number">–</td>'
    if _is_number(value):
        return f'<td class="number">{_number(value)}</td>'
    return f"<td>{escape(svg.shortened(str(value), 200))}</td>"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else svg.number(value)


def _is_number(value: object) -> TypeGuard[float | int]:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table whose first column names its rows; heads of numeric columns are aligned with them."""
    rows = list(rows)
    numbers = [all(row[k] is None or _is_number(row[k]) for row in rows) for k in range(len(heads))]
    numbers[:1] = [False]
    top = "".join(
        f'<th scope="col"{" class=number" if right else ""}>{escape(svg.shortened(head, 60))}</th>'
        for head, right in zip(heads, numbers, strict=True)
    )
    lines = "".join(
        f'<tr><th scope="row">{escape(svg.shortened(str(first), 200))}</th>'
        f"{''.join(map(_cell, rest))}</tr>"
        for first, *rest in rows
    )
    return _scrolled(caption, top, lines)


def _scrolled(caption: str, top: str, lines: str) -> str:
    """A table that scrolls by itself, also by keyboard, on screens that are narrower."""
    text = escape(caption)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{text}"><table>'
        f"<caption>{text}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def _pairs_table(caption: str, pairs: dict[str, str]) -> str:
    return _table(caption, ["fact", "value"], pairs.items())


def _shaded(
    caption: str, corner: str, heads: Sequence[Any], names: Sequence[Any], cells: list[list[Any]]
) -> str:
    """A table with darker cells for larger numbers."""
    flat = [float(value) for line in cells for value in line]
    low, high = min(flat, default=0.0), max(flat, default=1.0)
    room = (high - low) or 1.0
    top = "".join(
        f'<th scope="col" class=number>{escape(svg.shortened(_named(head), 24))}</th>'
        for head in heads
    )
    lines = []
    for name, line in zip(names, cells, strict=True):
        marked = "".join(
            f'<td class="number" style="background:rgba(var(--shade),'
            f'{0.45 * (float(value) - low) / room:.2f})">'
            f"{_number(value)}</td>"
            for value in line
        )
        lines.append(
            f'<tr><th scope="row">{escape(svg.shortened(_named(name), 24))}</th>{marked}</tr>'
        )
    first = f'<th scope="col">{escape(svg.shortened(corner, 60))}</th>'
    return _scrolled(caption, first + top, "".join(lines))


def _named(value: object) -> str:
    return svg.number(value) if isinstance(value, float) else str(value)


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


# -- sections ---------------------------------------------------------------------------------


def _score(report: Report) -> str:
    rows = [(one.name, one.value, one.standard_error) for one in report.score]
    parts = [_table(f"This model, on {report.rows:,} rows", ["", "value", "standard error"], rows)]
    if report.confusion:
        counts = [sum(line) for line in report.confusion]
        share, name = max(zip(counts, report.labels, strict=True), key=lambda pair: pair[0])
        text = f"The most frequent class, {name}, has {share / sum(counts):.4f} of these rows."
        parts.append(f"<p>{escape(text)} An accuracy near this share says little.</p>")
    if report.compared:
        what = report.error
        caption = (
            f"Three models fitted to three quarters of these rows: {what} on the others. The law "
            "is that of this model, which may have been learned from some of them."
        )
        lines = [(one.name, one.error, one.standard_error, one.seconds) for one in report.compared]
        models, errors, spread, _ = zip(*lines, strict=True)
        short = [name.partition(" (")[0] for name in models]
        parts.append(_figure(svg.bars(f"{what} of three models", short, errors, spread), caption))
        parts.append(
            _table("The same in numbers", ["model", what, "±", "seconds, one thread"], lines)
        )
    if report.confusion:
        names = report.labels
        caption = "Rows by their true class (lines) and the class predicted (columns)"
        parts.append(_shaded(caption, "true class", names, names, report.confusion))
    parts.append('<div class="pair">')
    parts += [_calibrated(name, report) for name in report.calibration]
    if report.pairs:
        truth, answers = zip(*report.pairs, strict=True)
        title = "predicted against true numbers"
        picture = svg.points(title, truth, answers, "true", "predicted", diagonal=True)
        parts.append(_figure(picture, f"{len(truth):,} rows; on the dashed line both are equal."))
        residuals, title = [y - f for y, f in report.pairs], "residuals against predicted numbers"
        picture = svg.points(title, answers, residuals, "predicted", "true − predicted")
        parts.append(_figure(picture, "Residuals of the same rows."))
    parts.append("</div>")
    if report.coverage is not None:
        parts.append(
            f"<p>{100 * report.coverage:.1f}% of the targets lie inside their 90% intervals.</p>"
        )
    return "".join(parts)


def _calibrated(name: str, report: Report) -> str:
    bins = report.calibration[name]
    chances, shares = [one.probability for one in bins], [one.share for one in bins]
    labels = f"predicted probability of {name}", "share of rows"
    title = f"calibration of {name}"
    picture = svg.points(title, chances, shares, *labels, diagonal=True, joined=True)
    caption = f"Calibration: of rows with similar predicted probabilities, the share of {name}."
    return _figure(picture, caption)


def _law(report: Report) -> str:
    parts = []
    if report.note:
        parts.append(f"<p>{escape(report.note)}</p>")
    if not report.trials:
        return "".join([*parts, "<p>The law was given: nothing was tried.</p>"])
    errors = [one.error for one in report.trials]
    order = sorted(range(len(errors)), key=errors.__getitem__)[:_LISTED]
    title, places = "errors of all trials, in their order", [1.0 + k for k in range(len(errors))]
    axes = "trial", "squared error"
    picture = svg.points(title, places, errors, *axes, log=True, best=order[0])
    caption = "Each trial of the law: squared error in units of the targets' variance."
    parts.append(_figure(picture, caption))
    tried = [(k + 1, report.trials[k]) for k in order]
    lines = [(k, one.stage, one.what, one.rows, one.error) for k, one in tried]
    heads = ["trial", "stage", "what", "rows", "error"]
    title = f"The best {len(order)} of {len(errors)} trials"
    table = _table(title, heads, lines)
    parts.append(f"<details><summary>{title}, as a table</summary>{table}</details>")
    return "".join(parts)


def _columns(report: Report) -> str:
    shown = report.importances[:15]
    loss = report.loss
    names, heights = [one.column for one in shown], [one.increase for one in shown]
    spread = [one.standard_error for one in shown]
    picture = svg.bars("permutation importances", names, heights, spread)
    caption = f"By how much the {loss} increases when a column's values are exchanged between rows."
    lines = [
        (one.column, one.increase, one.standard_error, one.share) for one in report.importances
    ]
    heads = ["column", f"increase of the {loss}", "±", "share of the function's change"]
    parts = [_figure(picture, caption), _table("All columns measured", heads, lines)]
    parts.append('<div class="pair">')
    for curve in report.curves:
        first, *others = curve.means
        named = {name.removeprefix("probability of "): one for name, one in curve.means.items()}
        title, up = f"partial dependence on {curve.column}", "probability" if others else first
        picture = svg.lines(title, curve.values, named, curve.column, up, curve.ordered)
        what = "prediction" if report.task == "regression" else "probability"
        caption = f"Mean {what} if all rows had the same value of {curve.column}."
        parts.append(_figure(picture, caption))
    parts.append("</div>")
    if report.interaction is not None:
        one = report.interaction
        caption = f"Mean {one.output} by {one.first} (lines) and {one.second} (columns)"
        parts.append(_shaded(caption, one.first, one.second_values, one.first_values, one.means))
    return "".join(parts)


def _rows(report: Report) -> str:
    numbers = report.task == "regression"
    sure, unsure = "Rows it is most sure of", "Rows it is least sure of"
    if numbers:
        sure, unsure = "Rows with the smallest errors", "Rows with the largest errors"
    parts = [_rows_table(sure, report.sure, numbers), _rows_table(unsure, report.unsure, numbers)]
    share = report.outside_rows / report.rows
    parts.append(
        f"<p>{report.outside_rows:,} of {report.rows:,} rows ({100 * share:.1f}%) are outside of "
        "the range of the fitted rows, and are predicted as at its edge.</p>"
    )
    if report.outside:
        caption = "Rows outside of the fitted range, by column"
        parts.append(_table(caption, ["column", "rows"], list(report.outside.items())[:15]))
    return "".join(parts)


def _rows_table(caption: str, rows: list[Row], numbers: bool) -> str:
    columns = list(rows[0].values) if rows else []
    last = "error" if numbers else "probability"
    sign = -1 if numbers else 1
    lines = [
        (str(row.place), row.truth, row.prediction, sign * row.certainty, *row.values.values())
        for row in rows
    ]
    return _table(caption, ["row", "true", "predicted", last, *columns], lines)
