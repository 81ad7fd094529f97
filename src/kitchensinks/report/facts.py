"""What there is to know about a fitted model, as one plain value."""

import json
import math
import os
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import kitchensinks
from kitchensinks.law.splits import some_of
from kitchensinks.law.values import Trial, short_name
from kitchensinks.numerics.arrays import Facts, Floats
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Kinked
from kitchensinks.report.effects import (
    Curve,
    Importance,
    Interaction,
    curves,
    importances,
    interaction,
)
from kitchensinks.report.peers import Compared, compared
from kitchensinks.report.rows import Fitted, Sample, constant_loss, in_words
from kitchensinks.state.outer import why_stopped
from kitchensinks.tables.disk import atomic
from kitchensinks.tables.view import Given

# Bins of a calibration curve.
_BINS = 10
# Classes of a confusion matrix that are shown; the rarer ones are put together.
_CLASSES = 12
# Points of a scatter plot.
_POINTS = 500
# Rows of each list of rows.
_LISTED = 5
# Coverage of the intervals that are counted.
_COVERAGE = 0.9
# What is counted to compare models, and what increases without a column.
_OF_CLASSES = "share of wrong rows", "log loss"
_OF_NUMBERS = "1 − R²", "squared error"
_OF_QUANTILES = "quantile loss relative to a constant", "quantile loss"


@dataclass(frozen=True)
class Measured:
    """A number with its standard error over the rows, where that is known."""

    name: str
    value: float | None
    standard_error: float | None = None


@dataclass(frozen=True)
class Bin:
    """Rows of similar probability of a class: its mean, and the share of rows in the class."""

    probability: float
    share: float
    rows: int


@dataclass(frozen=True)
class Row:
    """A row with its prediction; certainty: the probability of that, or minus its error."""

    place: int
    truth: Any
    prediction: Any
    certainty: float
    values: Facts


@dataclass(frozen=True)
class Report:
    """All facts of a report. `to_dict` and `to_json` give them, `to_html` and `save` a page.

    fitted : what was fitted, by name; certificate : the evidence of the solver, by name.
    trials, note : how the law was found, and why it was not learned where it was not.
    score : of this model, on the rows given; compared : of three models on one split of them.
    error, loss : what `compared` counts, and what increases without a column, in words.
    calibration : by class; confusion : counts by true class and predicted class.
    pairs : true and predicted numbers of some rows; coverage : the share of targets inside of
    intervals of 90%.
    sure, unsure : rows that are predicted with most and with least certainty; for numbers, with
    the least and with the largest error. outside : rows outside of the fitted range, by column.
    """

    title: str
    task: str
    rows: int
    fitted: dict[str, str]
    certificate: dict[str, str]
    trials: list[Trial]
    note: str
    score: list[Measured]
    compared: list[Compared]
    error: str
    loss: str
    calibration: dict[str, list[Bin]]
    labels: list[str]
    confusion: list[list[int]]
    pairs: list[tuple[float, float]]
    coverage: float | None
    importances: list[Importance]
    curves: list[Curve]
    interaction: Interaction | None
    sure: list[Row]
    unsure: list[Row]
    outside_rows: int
    outside: dict[str, int]

    def to_dict(self) -> Facts:
        """The facts as lists, dictionaries, text and numbers; None for numbers without a value."""
        return dict(_plain(asdict(self)))

    def to_json(self) -> str:
        """The facts as JSON."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_html(self) -> str:
        """One page that needs nothing else: no network, no scripts."""
        from kitchensinks.report.page import page

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, or with a name that ends in .json the facts, whole or not at all."""
        ways = {".json": self.to_json, ".html": self.to_html, ".htm": self.to_html}
        wanted = ways.get(Path(path).suffix.lower())
        if wanted is None:
            raise ValueError(f"path={str(path)!r}: need a name that ends in .html or .json.")
        with atomic(Path(path)) as temporary:
            temporary.write_text(wanted(), encoding="utf-8")

    def __repr__(self) -> str:
        parts = [f"{one.name} {_short(one.value)}" for one in self.score]
        return f"<Report: {self.title}, {', '.join(parts)} on {self.rows} rows>"

    def _repr_html_(self) -> str:
        from kitchensinks.report.page import framed

        return framed(self)


def report(model: Fitted, X: Given, y: ArrayLike, compare: bool) -> Report:
    """Facts about a fitted model and rows X with targets y (at most 20,000 of them).

    compare: whether two other models are fitted beside it, which may take as long as the fit.
    """
    sample = Sample.of(model, X, y)
    answers = sample.answers()
    classes = sample.classes
    found = importances(sample)
    order = [one.place for one in found]
    outside = model.outside(sample.X)
    sure, unsure = _extremes(sample, answers, order[:_LISTED])
    labels, confusion = _confusion(sample, answers) if classes is not None else ([], [])
    law, record = model.state_.law, model.state_.law.record
    of_numbers = _OF_NUMBERS if sample.quantile is None else _OF_QUANTILES
    error, loss = of_numbers if classes is None else _OF_CLASSES
    return Report(
        title=f"{type(model).__name__} with {short_name(law.features.basis).partition('(')[0]}",
        task="regression" if classes is None else "classification",
        rows=len(sample.y),
        fitted=_fitted(model),
        certificate=_certificate(model),
        trials=[] if record is None else list(record.trials),
        note=law.note or ("" if record is None else record.reason),
        score=_score(sample, answers),
        compared=compared(sample) if compare else [],
        error=error,
        loss=loss,
        calibration={} if classes is None else _calibration(sample, answers),
        labels=labels,
        confusion=confusion,
        pairs=_pairs(sample, answers) if classes is None else [],
        coverage=_coverage(sample) if classes is None else None,
        importances=found,
        curves=curves(sample, order),
        interaction=interaction(sample, order),
        sure=sure,
        unsure=unsure,
        outside_rows=int(outside.rows.sum()),
        outside={str(name): int(count) for name, count in outside.columns.items()},
    )


# -- what was fitted --------------------------------------------------------------------------


def _fitted(model: Fitted) -> dict[str, str]:
    state = model.state_
    law, plan, evidence = state.law, state.plan, state.fitted.evidence
    columns = model.n_features_in_ if state.columns is None else len(state.columns.inputs)
    found = {
        "estimator": type(model).__name__,
        "law": "given" if law.record is None else "learned on held-out rows",
        "basis": short_name(law.features.basis),
        "components": f"{law.features.n_components:,}",
        "columns": f"{columns:,}, as {law.features.n_inputs:,} numbers",
        "rows": f"{state.n_rows:,}",
        "loss": state.loss.name,
        "ridge": _short(evidence.alpha),
        "solver": f"{evidence.solver} ({plan.solver}, {plan.space})",
        "reason": plan.reason,
        "seed": str(law.features.seed),
        "version": kitchensinks.__version__,
    }
    if law.record is not None:
        found["map of columns"] = law.record.map_in_words
    return found


def _certificate(model: Fitted) -> dict[str, str]:
    evidence = model.state_.fitted.evidence
    why = why_stopped(evidence.converged, evidence.settled)
    gap = "not known" if math.isinf(evidence.gap) else _short(evidence.gap)
    return {
        "objective": _short(evidence.objective),
        "gap (the objective is at most this far above the optimum)": gap,
        "converged": "yes" if evidence.converged else ", ".join(["no", why] if why else ["no"]),
        "iterations": str(evidence.iterations),
        "condition number": _short(evidence.condition),
        "effective dimension": _short(evidence.freedom),
    }


# -- how good it is ---------------------------------------------------------------------------


def _score(sample: Sample, answers: Floats) -> list[Measured]:
    losses, root = sample.losses(answers), math.sqrt(len(sample.y))
    error, spread = float(losses.mean()), float(losses.std()) / root
    if sample.classes is not None:
        right = float(np.mean(sample.labels[answers.argmax(axis=1)] == sample.y))
        share = Measured("accuracy", right, math.sqrt(right * (1.0 - right)) / root)
        return [share, Measured("log loss", error, spread)]
    if sample.quantile is not None:
        return _of_quantile(sample.quantile, sample.y.astype(np.float64), answers[:, 0])
    rmse, variance = math.sqrt(error), float(sample.y.astype(np.float64).var())
    found = [
        Measured("RMSE", rmse, 0.5 * spread / rmse if rmse > 0 else 0.0),
        Measured("mean absolute error", float(np.sqrt(losses).mean()), None),
    ]
    if variance > 0:
        found.insert(0, Measured("R²", 1.0 - error / variance, spread / variance))
    return found


def _of_quantile(loss: Kinked, truths: Floats, answers: Floats) -> list[Measured]:
    """R² says nothing about a quantile: one minus its loss over that of the constant quantile."""
    losses, root = loss.value(truths, answers), math.sqrt(len(truths))
    error, spread = float(losses.mean()), float(losses.std()) / root
    constant, below = constant_loss(loss, truths), float(np.mean(truths <= answers))
    found = [
        Measured("quantile loss", error, spread),
        Measured("share of targets below", below, math.sqrt(below * (1.0 - below)) / root),
    ]
    if constant > 0:
        share = Measured("explained quantile loss (D²)", 1.0 - error / constant, spread / constant)
        found.insert(0, share)
    return found


def _calibration(sample: Sample, answers: Floats) -> dict[str, list[Bin]]:
    """Calibration of the second of two classes, or of each of the most frequent of several."""
    classes = sample.labels.tolist()
    found = {}
    for place in [1] if len(classes) == 2 else sample.frequent[:4]:
        chance, is_it = answers[:, place], sample.y == classes[place]
        edges = np.unique(np.quantile(chance, np.linspace(0.0, 1.0, _BINS + 1)))
        which = np.clip(np.searchsorted(edges, chance, side="right") - 1, 0, max(len(edges) - 2, 0))
        bins = [which == number for number in np.unique(which)]
        found[str(classes[place])] = [
            Bin(float(chance[own].mean()), float(is_it[own].mean()), int(own.sum())) for own in bins
        ]
    return found


def _confusion(sample: Sample, answers: Floats) -> tuple[list[str], list[list[int]]]:
    """Names of the classes, and counts: a line for each true class, a column for each predicted."""
    classes = sample.labels.tolist()
    shown = sorted(sample.frequent[:_CLASSES])
    names = [str(classes[place]) for place in shown]
    code = {classes[place]: number for number, place in enumerate(shown)}
    if len(shown) < len(classes) or not set(sample.y.tolist()) <= set(classes):
        names.append("all others")
    counts = np.zeros((len(names), len(names)), dtype=int)
    predicted = [classes[place] for place in answers.argmax(axis=1)]
    for truth, answer in zip(sample.y.tolist(), predicted, strict=True):
        counts[code.get(truth, len(names) - 1), code.get(answer, len(names) - 1)] += 1
    return names, counts.tolist()


def _pairs(sample: Sample, answers: Floats) -> list[tuple[float, float]]:
    chosen = some_of(np.arange(len(sample.y)), _POINTS, Words(0, 3, Stream.REPORT))
    return [(float(sample.y[place]), float(answers[place, 0])) for place in chosen]


def _coverage(sample: Sample) -> float | None:
    """The share of targets inside of their intervals, or None where the fit has no residuals."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            regressor: Any = sample.model
            lower, upper = regressor.predict_interval(sample.X, _COVERAGE)
    except ValueError:
        return None
    return float(np.mean((lower <= sample.y) & (sample.y <= upper)))


def _extremes(sample: Sample, answers: Floats, shown: list[int]) -> tuple[list[Row], list[Row]]:
    """Rows of most and of least certainty; for numbers, of least and of largest error."""
    classes = sample.classes
    if classes is None:
        certainty = -np.abs(answers[:, 0] - sample.y.astype(np.float64))
        predictions: list[Any] = answers[:, 0].tolist()
    else:
        certainty = answers.max(axis=1)
        predictions = [classes[place] for place in answers.argmax(axis=1)]
    order = np.argsort(certainty, kind="stable")
    columns = {str(sample.names[place]): sample.column(place) for place in shown}

    def row(place: int) -> Row:
        cells = {name: column[place] for name, column in columns.items()}
        missing = ("nan", "NaT", "<NA>")
        values = {k: None if str(v) in missing else in_words(v) for k, v in cells.items()}
        both = in_words(sample.y[place]), in_words(predictions[place])
        return Row(place, *both, float(certainty[place]), values)

    surest, least = order[::-1][:_LISTED].tolist(), order[:_LISTED].tolist()
    return [*map(row, surest)], [*map(row, least)]


# -- plain values -----------------------------------------------------------------------------


def _plain(value: object) -> Any:
    """With None in place of numbers that JSON does not know."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _short(value: float | None) -> str:
    """A number to four digits."""
    if value is None or math.isnan(value):
        return "not known"
    return f"{value:.4g}"
