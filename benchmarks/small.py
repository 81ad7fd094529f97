"""Few rows, and more columns than rows: nothing chosen beside the plain law and a linear model.

    python -m benchmarks.small                     # the table of docs/law.md: results/small.json
    python -m benchmarks.small --rows 200 400 --sets diabetes --seeds 2 --quiet

Of every set so many rows are drawn by seed and fitted; R² or accuracy is that of the other rows (at
most 3000). "plain" is basis=ks.Fourier(), equal scales and the median bandwidth; "linear" is a
ridge regression of scikit-learn on standardised columns, its strength by leave-one-out.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import datasets as toys
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from benchmarks.store import FOLDER, read, write

RESULTS = FOLDER / "small.json"
ROWS = (30, 50, 100, 200, 300, 350, 400, 450, 800)
TESTED = 3000


def _real(name: str) -> tuple[Any, Any]:
    data = ks.datasets.load(name, download=False)
    return np.vstack([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])


def _spectra(n_inputs: int, seed: int = 0) -> tuple[Any, Any]:
    """Numbers that depend on 30 smooth bands of many neighbouring columns."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(1200, 30))
    bands = np.repeat(np.eye(30), -(-n_inputs // 30), axis=1)[:, :n_inputs]
    rows = hidden @ bands + rng.normal(size=(1200, n_inputs))
    return rows, hidden[:, :10] @ rng.normal(size=10) + rng.normal(size=1200)


def _few_matter(n_inputs: int, seed: int = 1) -> tuple[Any, Any]:
    """Two classes that twenty of many independent columns tell apart."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(1200, n_inputs))
    score = rows[:, :20] @ rng.normal(size=20)
    return rows, (score + 0.5 * rng.normal(size=1200) > 0).astype(int)


def _words(n_inputs: int, seed: int = 2) -> tuple[Any, Any]:
    """Sparse counts of words, of four topics that share most of them."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.full(n_inputs, 0.05))
    topics = 0.9 * common + 0.1 * rng.dirichlet(np.full(n_inputs, 0.01), size=4)
    label = rng.integers(4, size=1500)
    counts = np.stack([rng.multinomial(120, topics[k] / topics[k].sum()) for k in label])
    return sparse.csr_array(counts.astype(float)), label


SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "cpu_act": lambda: _real("cpu_act"),
    "Friedman 1": lambda: toys.make_friedman1(3000, noise=1.0, random_state=0),
    "house_16H": lambda: _real("house_16H"),
    "diabetes": lambda: toys.load_diabetes(return_X_y=True),
    "breast cancer": lambda: toys.load_breast_cancer(return_X_y=True),
    "digits": lambda: toys.load_digits(return_X_y=True),
}
WIDE: dict[str, Callable[[], tuple[Any, Any]]] = {
    "bands, 5000 columns": lambda: _spectra(5000),
    "bands, 8000 columns": lambda: _spectra(8000),
    "twenty of 5000 columns": lambda: _few_matter(5000),
    "words, 20,000 columns, sparse": lambda: _words(20_000),
}


def contestants(classes: bool, seed: int) -> dict[str, Any]:
    kind = ks.KitchenSinkClassifier if classes else ks.KitchenSinkRegressor
    strengths = np.logspace(-3, 6, 19)
    linear = RidgeClassifierCV(strengths) if classes else RidgeCV(strengths)
    return {
        "plain": kind(ks.Fourier(), random_state=seed),
        "linear": make_pipeline(StandardScaler(), linear),
        "nothing chosen": kind(random_state=seed),
    }


def cell(rows: Any, targets: Any, count: int, seed: int) -> dict[str, dict[str, float]]:
    """R² or accuracy, and processor seconds of the fit, of every contestant."""
    order = np.random.default_rng(100 + seed).permutation(len(targets))
    fitted, tested = order[:count], order[count : count + TESTED]
    found = {}
    for name, model in contestants(targets.dtype.kind in "iu", seed).items():
        start = time.process_time()
        densely = name == "linear" and sparse.issparse(rows)
        given = rows.toarray() if densely else rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(given[fitted], targets[fitted])
            seconds = time.process_time() - start
            score = float(model.score(given[tested], targets[tested]))
        found[name] = {"score": score, "seconds": seconds}
        if name == "nothing chosen":
            law = model.law_
            found[name]["kept"] = law.note or " ".join(
                [law.record.kernel, law.record.map, law.record.scaling]
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=None)
    parser.add_argument("--sets", nargs="*", default=[*SETS, *WIDE])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quiet", action="store_true", help="do not write the results")
    args = parser.parse_args()
    results = read(RESULTS)
    print("set, rows: plain | linear | nothing chosen (gap to the better one; seconds) kept")
    for name in args.sets:
        rows, targets = {**SETS, **WIDE}[name]()
        rows = rows if sparse.issparse(rows) else np.asarray(rows, dtype=float)
        counts = args.rows or (ROWS if name in SETS else (200,))
        for count in counts:
            if count > len(targets) - 50:
                continue
            runs = [cell(rows, targets, count, seed) for seed in range(args.seeds)]
            means = {
                key: {
                    what: float(np.mean([run[key][what] for run in runs]))
                    for what in ("score", "seconds")
                }
                for key in runs[0]
            }
            best = [max(run["plain"]["score"], run["linear"]["score"]) for run in runs]
            gaps = [run["nothing chosen"]["score"] - b for run, b in zip(runs, best, strict=True)]
            kept = [run["nothing chosen"]["kept"] for run in runs]
            own = means["nothing chosen"]
            print(
                f"{name}, {count}: {means['plain']['score']:.3f} | {means['linear']['score']:.3f} "
                f"| {own['score']:.3f} (to the better of each draw {np.mean(gaps):+.3f}; "
                f"{own['seconds']:.1f} s) " + "; ".join(sorted(set(kept))),
                flush=True,
            )
            results[f"{name}|{count}"] = {"means": means, "gaps": gaps, "kept": kept}
            if not args.quiet:
                write(RESULTS, results)


if __name__ == "__main__":
    main()
