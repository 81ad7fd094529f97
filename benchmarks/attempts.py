"""What else was tried for goals of the learned law that are not met: settings of `Learned`.

    python -m benchmarks.attempts           # what is not in the results yet, and the table
    python -m benchmarks.report             # the table into docs/tried.md

Sets, splits and errors are those of `benchmarks.learned_law`; one thread, in one process.
"""

import argparse
import time
from functools import partial
from typing import Any

import numpy as np

import kitchensinks as ks
from benchmarks.learned_law import split
from benchmarks.store import FOLDER, complete

RESULTS = FOLDER / "attempts.json"
SEEDS = 3

# The basis of every attempt; None is the default.
EACH: dict[str, Any] = {
    "nothing chosen": None,
    "four times the last fit: seconds=6": ks.Learned(seconds=6.0),
    "three times the steps: steps=60": ks.Learned(steps=60),
    "twice the batch: batch=2000": ks.Learned(batch=2000),
    "half the batch: batch=500": ks.Learned(batch=500),
    "half the steps: steps=10": ks.Learned(steps=10),
    "a third of the last fit: seconds=0.5": ks.Learned(seconds=0.5),
    "all three, for time": ks.Learned(steps=10, batch=500, seconds=0.5),
    "scales by gradients: law='agop'": ks.Learned(law="agop"),
    "directions by gradients: law='agop', rank=10": ks.Learned(law="agop", rank=10),
    "Fourier features alone": ks.Learned(ks.Fourier()),
    "the papers' method: basis=ks.Fourier()": ks.Fourier(),
}
ATTEMPTS = {
    "adult": EACH,
    "house_16H": EACH,
    "KDD Cup 99": EACH,
    "phoneme frames": {name: EACH[name] for name in EACH if "rank" not in name},
}


def run(name: str, basis: Any, seed: int) -> dict[str, float]:
    """Error in percent and processor seconds to fit."""
    data = split(name, seed)
    classes = data.task == "classification"
    kind = ks.KitchenSinkClassifier if classes else ks.KitchenSinkRegressor
    model = kind(basis, random_state=seed)
    start = time.process_time()
    model.fit(data.train, data.target)
    seconds = time.process_time() - start
    return {"error": data.error(model.predict(data.test)), "fit": seconds}


def table(results: dict[str, dict[str, float]]) -> str:
    """Markdown: mean error ± deviation and the median of the seconds."""
    lines = ["| | " + " | ".join(ATTEMPTS) + " |", "|---" * (len(ATTEMPTS) + 1) + "|"]
    for attempt in EACH:
        row = []
        for name in ATTEMPTS:
            runs = [results.get(f"{name}|{attempt}|{seed}") for seed in range(SEEDS)]
            done = [one for one in runs if one is not None]
            if not done:
                row.append("–")
                continue
            errors = [one["error"] for one in done]
            seconds = float(np.median([one["fit"] for one in done]))
            spread = f" ± {np.std(errors):.2f}" if len(errors) > 1 else ""
            row.append(f"{np.mean(errors):.2f}{spread} ({seconds:.1f} s)")
        lines.append(f"| {attempt} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(ATTEMPTS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    cells = [
        (f"{name}|{attempt}|{seed}", partial(run, name, chosen, seed))
        for seed in range(options.seeds)
        for name in options.sets
        for attempt, chosen in ATTEMPTS[name].items()
    ]
    print(table(complete(RESULTS, cells)))


if __name__ == "__main__":
    main()
