"""What lowers the error of a fit with nothing chosen: the mean of three fits, or another effort.

    python -m benchmarks.averaged            # what is not in the results yet
    python -m benchmarks.averaged --report   # print the table alone

The development half of the pool, one split, one thread. Three fits differ by their seed alone:
`VotingRegressor` and `VotingClassifier(voting="soft")` of scikit-learn are their mean. Needs the
pool (KITCHENSINKS_DATA).
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.pool import geometric, half, listed, load, ours
from benchmarks.store import FOLDER, read, write

RESULTS = FOLDER / "averaged.json"
SEEDS = 3
WAYS = ("one fit, mean of three", "three averaged", "three quick ones averaged", "thorough")
# Nobody has an error on mushroom.
LEFT_OUT = ("mushroom",)


def run(name: str) -> dict[str, Any]:
    """Errors in percent of one fit (mean of the seeds), of the seeds averaged, of three quick fits
    averaged and of a thorough one, each with processor seconds."""
    from sklearn.model_selection import train_test_split

    task, _ = listed()[name]
    rows, target = load(name)
    train, test, fitted, truth = train_test_split(rows, target, test_size=0.25, random_state=0)

    def fit(effort: str, seed: int) -> tuple[Any, Any, float]:
        start = time.process_time()
        model = ours(effort)(task, seed).fit(train, fitted)
        used = time.process_time() - start
        return model, (model.predict if task == "regression" else model.predict_proba)(test), used

    def error(model: Any, answers: Any) -> float:
        if task == "regression":
            return 100 * float(np.sqrt(np.mean((answers - truth) ** 2)) / np.std(truth))
        return 100 * float(np.mean(model.classes_[answers.argmax(axis=1)] != truth))

    fits = [fit("default", seed) for seed in range(SEEDS)]
    quick = [fit("quick", seed) for seed in range(SEEDS)]
    model, answers, seconds = fit("thorough", 0)

    def together(own: list[tuple[Any, Any, float]]) -> tuple[float, float]:
        answers = np.mean([answers for _, answers, _ in own], axis=0)
        return error(own[0][0], answers), sum(used for *_, used in own)

    one = (
        float(np.mean([error(model, answers) for model, answers, _ in fits])),
        float(np.mean([used for *_, used in fits])),
    )
    found = (one, together(fits), together(quick), (error(model, answers), seconds))
    return dict(zip(WAYS, ({"error": e, "processor": p} for e, p in found), strict=True))


def table(results: dict[str, Any]) -> str:
    """Markdown: errors, and geometric means of errors and times over those of one fit."""
    lines = [f"| table | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
    for name, own in results.items():
        cells = [f"{own[way]['error']:.2f}" for way in WAYS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for what, least in (("error", 0.01), ("processor", 0.0)):
        ratios = [
            geometric(
                max(own[way][what], least) / max(own[WAYS[0]][what], least)
                for own in results.values()
            )
            for way in WAYS
        ]
        title = "error" if what == "error" else "processor time"
        lines.append(f"| {title}, geometric mean | {' | '.join(f'{r:.3f}' for r in ratios)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help="print the table alone")
    given = parser.parse_args()
    results = read(RESULTS)
    warnings.simplefilter("ignore")
    for name in [] if given.report else listed():
        if name not in results and half(name) == "develop" and name not in LEFT_OUT:
            results[name] = run(name)
            write(RESULTS, results)
            print(name, results[name], flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
