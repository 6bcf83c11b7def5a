"""Reasons of 100 rows beside the fit of the pick whose scores they explain.

    python benchmarks/reasons.py

Each table is drawn at random with a share of outliers. `fit` is `MetaOD.fit` with the default pick
and `reasons` is `explain_rows` of 100 rows, each the best of three in the same process, after a
run that compiles; seconds are those of the processor. The ratio should be at most 1.
"""

from time import process_time

import numpy as np

from metaod.detection import MetaOD

SHAPES = ((500, 8), (2_000, 20), (10_000, 20), (2_000, 200))
N_ROWS = 100


def made_table(n_rows: int, n_columns: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    outliers = rng.random(n_rows) < 0.05
    X[outliers] += rng.normal(scale=6, size=(int(outliers.sum()), n_columns))
    return X


def main() -> None:
    model = MetaOD().fit(made_table(200, 8))
    model.explain_rows(range(N_ROWS))
    print("| rows × columns | fit (s) | reasons of 100 rows (s) | ratio |\n|---|---|---|---|")
    for shape in SHAPES:
        X, seconds = made_table(*shape), []
        for _ in range(3):
            started = process_time()
            model = MetaOD().fit(X)
            fitted = process_time()
            model.explain_rows(np.argsort(-model.decision_scores_)[:N_ROWS])
            seconds.append((fitted - started, process_time() - fitted))
        fit, reasons = (min(times) for times in zip(*seconds, strict=True))
        line = f"| {shape[0]:,} × {shape[1]} | {fit:.2f} | {reasons:.2f} | {reasons / fit:.2f} |"
        print(line, flush=True)


if __name__ == "__main__":
    main()
