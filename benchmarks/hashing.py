"""Neighbours of MNIST rows by buckets of maxout codes, beside a scan and scikit-learn's searches.

    python benchmarks/hashing.py [ROWS ...]

Processor seconds of 200 queries (one thread), the share of the ten nearest rows by cosine that were
found, and the rows compared with a query.
"""

import sys
import time

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

import kitchensinks as ks

QUERIES, NEIGHBOURS = 200, 10


def seconds(search):
    search()
    before = time.process_time()
    found = search()
    return time.process_time() - before, found


def main(sizes):
    data = ks.datasets.load("mnist")
    rows = np.asarray(data.X_train, dtype=np.float32)
    queries = np.asarray(data.X_test[:QUERIES], dtype=np.float32)
    rows, queries = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (rows, queries))
    print("| rows | search | processor s | ten nearest found | rows compared |")
    print("|---|---|---|---|---|")
    for size in sizes:
        own = rows[:size]
        truth = np.argsort(-(queries @ own.T), axis=1)[:, :NEIGHBOURS]
        hash_ = ks.MaxoutHash(1024, 16, random_state=0)
        searches = {
            f"sklearn {kind}": NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm=kind, n_jobs=1)
            for kind in ("brute", "kd_tree")
        }
        searches["codes, all rows"] = hash_
        for near in (0.8, 0.9):
            for units in (1024, "auto"):
                searches[f"codes, {units} units, near {near}"] = ks.MaxoutHash(
                    units, 16, random_state=0, near=near
                )
        if size > 20_000:
            del searches["sklearn kd_tree"]  # minutes
        for name, search in searches.items():
            search.fit(own)
            taken, found = seconds(
                lambda search=search: search.kneighbors(
                    queries, n_neighbors=NEIGHBOURS, return_distance=False
                )
            )
            share = np.mean([np.isin(a, b).mean() for a, b in zip(truth, found, strict=True)])
            compared = search.compared(queries).mean() if "codes" in name else size
            print(f"| {size} | {name} | {taken:.3f} | {share:.3f} | {compared:.0f} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main([int(size) for size in sys.argv[1:]] or [2000, 8000, 32000])
