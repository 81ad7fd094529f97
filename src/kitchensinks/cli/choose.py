"""Which basis suits the rows: every one is tried on a sample, and the held-out error decides."""

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.features.bases import Basis, Binning, Fourier, Maxout, ReLU, Sigmoid, Stumps
from kitchensinks.features.scaling import Scaler, Spread
from kitchensinks.law.find import FEWEST_ROWS
from kitchensinks.tables.keys import hold_out, row_keys

# The bases that can be asked for by name, in the order in which they are tried.
BASES: Mapping[str, Callable[[], Basis]] = {
    "fourier": Fourier,
    "laplacian": lambda: Fourier("laplacian"),
    "stumps": lambda: Stumps("quantile"),
    "relu": ReLU,
    "sigmoid": Sigmoid,
    "maxout": Maxout,
    "binning": Binning,
}
# The candidate beside them: basis, law and K as the estimators learn them where nothing is chosen.
LEARNED = "learned"
NAMES = (LEARNED, *BASES)
# Rows and K of each round; K is also that of a fit whose K was not given.
ROUNDS = ((2_000, 250), (8_000, 500), (24_000, 1000))
COMPONENTS = 2000
# A grid of Binning costs about as much as so many dense features.
DENSE_FOR_A_GRID = 8
# The share of the sample that is held out.
HELD_OUT = 0.25
# A basis stays in while its error is within so many standard errors of the best one's: features
# that look at few things need many rows and a large K to come into their own.
_STAYS = 3.0


@dataclass(frozen=True)
class Trial:
    """One basis on one sample: its held-out error, with the standard error of it.

    The share of wrong classes, or the squared error in units of the variance of the targets.
    """

    name: str
    n_rows: int
    n_components: int
    error: float
    standard_error: float
    seconds: float


@dataclass(frozen=True)
class Choice:
    """The basis chosen (None: to be learned with its law), why, and everything that was tried."""

    name: str
    basis: Basis | None
    reason: str
    trials: tuple[Trial, ...]


def basis_named(name: str) -> Basis | None:
    """A new basis of this name; None for the one that is learned."""
    return None if name == LEARNED else BASES[name]()


def components_of(basis: Basis, n_components: int = COMPONENTS) -> int:
    """K for this basis at the cost of so many dense features.

    >>> components_of(Fourier(), 2000), components_of(Binning(), 2000)
    (2000, 250)
    """
    return max(1, n_components // DENSE_FOR_A_GRID) if basis.sparse else n_components


def choose_basis(
    rows: np.ndarray,
    targets: np.ndarray,
    task: str,
    budget: float = 60.0,
    seed: int = 0,
    names: tuple[str, ...] = NAMES,
    unscaled: np.ndarray | None = None,
    progress: Callable[[Trial], None] = lambda trial: None,
) -> Choice:
    """The basis with the least held-out error on rows (n, d) held in memory.

    The learned law is tried once, on the sample of the last round, where that has the 400 rows that
    it takes. The others go through rounds of
    growing samples and K: the first tries every basis, and each later one those within three
    standard errors of the best (of the difference, row by row, on the same held-out rows), while
    the time that a fit is expected to take is left of `budget` seconds. A quarter of the different
    rows is held out, the same in every round. `unscaled` (d,): columns that are centred and not
    scaled, as `Rows` has them.

    >>> import kitchensinks as ks
    >>> X, y = ks.datasets.make_annulus(400, random_state=0)
    >>> choice = choose_basis(X, y, "classification", budget=20.0, names=("fourier", "stumps"))
    >>> choice.name
    'fourier'
    """
    start = time.monotonic()
    held = hold_out(row_keys(rows, seed), None, HELD_OUT)
    if not held.any():
        raise ValueError("All rows are the same: a basis cannot be chosen. Name one.")
    fitted = np.flatnonzero(~held)
    # By their keys, so that a round holds the rows of the one before it.
    fitted = fitted[np.argsort(row_keys(rows[fitted], seed + 1), kind="stable")]
    rows = standardised(rows, ~held, unscaled)
    trials: list[Trial] = []

    def tried(name: str, n_rows: int, width: int) -> np.ndarray:
        began, chosen = time.monotonic(), fitted[:n_rows]
        found, count = _held_out_losses(
            basis_named(name), width, rows, targets, task, chosen, held, seed
        )
        seconds, spread = time.monotonic() - began, float(found.std() / math.sqrt(len(found)))
        trials.append(Trial(name, len(chosen), count, float(found.mean()), spread, seconds))
        progress(trials[-1])
        return found

    running, cut_short = [name for name in names if name != LEARNED], False
    # A law is learned from batches, however many rows there are; of too few it is the plain one.
    learnable = LEARNED in names and (len(fitted) >= FEWEST_ROWS or not running)
    learned = {LEARNED: tried(LEARNED, *ROUNDS[-1])} if learnable else {}
    losses: dict[str, np.ndarray] = {}
    for n_rows, width in ROUNDS:
        now: dict[str, np.ndarray] = {}
        for name in running:
            left = budget - (time.monotonic() - start)
            if trials and _expected(trials, name, min(n_rows, len(fitted)), width) > left:
                cut_short = True
                continue
            now[name] = tried(name, n_rows, width)
        losses = now or losses
        running = _still_in(losses) if losses else []
        if len(running) + len(learned) < 2 or not now:
            break
    losses |= learned
    best = _still_in(losses)[0]
    return Choice(best, basis_named(best), _reason(best, losses, trials, cut_short), tuple(trials))


def standardised(
    rows: np.ndarray, fitted: np.ndarray, unscaled: np.ndarray | None = None
) -> np.ndarray:
    """All rows (n, d), measured by those that are fitted (n,): as the estimators would do it.

    >>> standardised(np.array([[0.0], [2.0], [5.0]]), np.array([True, True, False])).tolist()
    [[-1.0], [1.0], [4.0]]
    """
    return Scaler.over(Spread.of(rows[fitted]), unscaled).apply(rows, np.float64)


def _held_out_losses(
    basis: Basis | None,
    width: int,
    rows: np.ndarray,
    targets: np.ndarray,
    task: str,
    fitted: np.ndarray,
    held: np.ndarray,
    seed: int,
) -> tuple[np.ndarray, int]:
    """The loss of every held-out row (0 or 1, or the squared error over the variance), and K."""
    kind = KitchenSinkRegressor if task == "regression" else KitchenSinkClassifier
    if basis is None:
        model = kind(random_state=seed)
    else:
        count = components_of(basis, width)
        model = kind(basis, count, standardize=False, random_state=seed)
    known = targets[held]
    if task == "classification" and len(np.unique(targets[fitted])) < 2:
        return (known != targets[fitted][0]).astype(np.float64), width
    with warnings.catch_warnings():
        # A fit that only ranks bases need not be at its optimum to three digits.
        warnings.simplefilter("ignore", ConvergenceWarning)
        answers = model.fit(rows[fitted], targets[fitted]).predict(rows[held])
    if task == "classification":
        return np.asarray(answers != known, dtype=np.float64), model.n_components_
    variance = float(np.var(known)) or 1.0
    return np.asarray((answers - known) ** 2 / variance), model.n_components_


def _expected(trials: list[Trial], name: str, n_rows: int, n_components: int) -> float:
    """Seconds of a fit, from those of the last one of the same basis (of any, the first time)."""
    own = [trial for trial in trials if trial.name == name]
    if not own:
        plain = [trial.seconds for trial in trials if trial.name != LEARNED]
        return max(plain, default=0.0)
    last = own[-1]
    wider = components_of(BASES[name](), n_components) / last.n_components
    # Sums cost rows times features squared; half of that was measured, most being overhead.
    return last.seconds * max(1.0, 0.5 * wider**2 * n_rows / last.n_rows)


def _still_in(losses: dict[str, np.ndarray]) -> list[str]:
    """Names from the best on: those whose error may still turn out to be the least."""
    order = sorted(losses, key=lambda name: float(losses[name].mean()))
    best = losses[order[0]]
    kept = []
    for name in order:
        gap = losses[name] - best
        if gap.mean() <= _STAYS * gap.std() / math.sqrt(len(gap)):
            kept.append(name)
    return kept


def _reason(best: str, losses: dict[str, np.ndarray], trials: list[Trial], cut_short: bool) -> str:
    last = next(trial for trial in reversed(trials) if trial.name == best)
    alone = len(losses) == 1 and cut_short
    text = (
        f"{best} {'alone was tried, with a' if alone else 'has the least'} held-out error"
        f"{' of' if alone else ','} {100 * last.error:.2f} ± "
        f"{100 * last.standard_error:.2f} % with K = {last.n_components} on {last.n_rows} rows"
    )
    others = sorted((float(loss.mean()), name) for name, loss in losses.items() if name != best)
    if others:
        text += f"; next is {others[0][1]} with {100 * others[0][0]:.2f} %"
    if cut_short:
        text += "; the time budget ended the search"
    return text + "."
