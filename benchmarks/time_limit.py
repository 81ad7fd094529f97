"""How closely `Learned(time_limit=...)` is kept: seconds of fits over their limits.

Run ``python -m benchmarks.time_limit cpu_act adult``. The clock of a fit is the time that its one
thread has of the processor, so that a busy machine changes nothing.
"""

import argparse
import time
from collections.abc import Sequence
from unittest.mock import patch

import kitchensinks as ks

# Rows of each table, at most.
MOST_ROWS = 100_000


def seconds_of(name: str, effort: str, limit: float) -> tuple[float, str]:
    """Seconds of a fit to the training rows of a data set, and why it has no more components."""
    data = ks.datasets.load(name)
    regression = data.task == "regression"
    kind = ks.KitchenSinkRegressor if regression else ks.KitchenSinkClassifier
    model = kind(ks.Learned(effort=effort, time_limit=limit), n_jobs=1, random_state=0)
    with patch.object(time, "monotonic", time.process_time):
        begun = time.process_time()
        model.fit(data.X_train[:MOST_ROWS], data.y_train[:MOST_ROWS])
        seconds = time.process_time() - begun
    return seconds, model.law_.note if model.law_.record is None else model.law_.record.reason


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--limits", default="2,4,8", help="seconds, with commas")
    options = parser.parse_args(arguments)
    for name in options.names:
        seconds_of(name, options.effort, 2.0)  # compiles
        for limit in map(float, options.limits.split(",")):
            seconds, reason = seconds_of(name, options.effort, limit)
            print(f"{name}: {seconds:.2f} s of {limit:g}, {seconds / limit:.2f}; {reason}")


if __name__ == "__main__":
    main()
