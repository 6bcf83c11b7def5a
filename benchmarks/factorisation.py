"""The factorisation: one epoch against a literal loop over datasets, models and pairs of models.

    python benchmarks/factorisation.py                       150 datasets, the paper's 302 models
    python benchmarks/factorisation.py --datasets 60         another number of datasets
    python benchmarks/factorisation.py --growth              whole fits of the learner, by datasets

Both sides run in the same process, on one thread; seconds are those of the processor. The loop is
the paper's text in plain Python, with the true gradient: for each dataset i, for each model j, for
each model k the sigmoid of <U_i, V_k - V_j>; U and V move after the last dataset. It is timed on a
few of the datasets (--loop-datasets), and its time for an epoch is that time by the number of
datasets: every dataset costs it the same. Ours is the best of three epochs of all datasets, after
one that compiles. The last column is the largest difference between the two sides' U and V after an
epoch of the datasets that the loop went through.
"""

import argparse
import os
import sys
from math import exp, log
from time import process_time

import numpy as np

from metaod.learners._dcg import gains
from research.learners.factorisation import Schedule, factorise

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MODELS, LATENT, FEATURES = 302, 6, 200
GROWTH = (60, 150, 400, 838)
RATE, ALPHA = 0.02, 1.0
RATE_REFERS_TO = 80  # datasets: the steps of V are divided by the number of datasets over this


def generated(n: int, missing: float = 0.005) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(n, LATENT)), rng.normal(size=(MODELS, LATENT))
    P = 1 / (1 + np.exp(-U @ V.T - rng.normal(size=(n, MODELS))))
    P[rng.random(P.shape) < missing] = np.nan
    return gains(P), U / np.sqrt(LATENT), rng.normal(size=(MODELS, LATENT))


def sigmoid(u: list[float], left: list[float], right: list[float]) -> float:
    """Of w_jk, the product of a dataset's row with the difference of two models' rows."""
    w = sum(a * (b - c) for a, b, c in zip(u, right, left, strict=True))
    return 1.0 / (1.0 + exp(-ALPHA * w))


def literal_costs(gain: list[float], u: list[float], V: list[list[float]]) -> dict[int, float]:
    """c_j of each model that has a value."""
    known = [j for j in range(len(V)) if gain[j] == gain[j]]
    costs = {}
    for j in known:
        beta = 1.0
        for k in known:
            beta += sigmoid(u, V[j], V[k])
        costs[j] = log(2.0) * gain[j] / (beta * log(beta) ** 2)
    return costs


def literal_derivative(gain: list[float], u: list[float], V: list[list[float]]) -> dict[int, float]:
    """Derivative of a dataset's loss with respect to each prediction, one pair at a time."""
    costs = literal_costs(gain, u, V)
    d = dict.fromkeys(costs, 0.0)
    for t in costs:
        for k in costs:
            share = sigmoid(u, V[t], V[k])
            d[t] += ALPHA * share * (1.0 - share) * (costs[k] - costs[t])
    size = sum(abs(value) for value in d.values())
    return {t: value / size for t, value in d.items()}


def literal_epoch(G: np.ndarray, U: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, models = U.tolist(), V.tolist()
    moved_U, moved_V = np.zeros(U.shape).tolist(), np.zeros(V.shape).tolist()
    rate_V = RATE * RATE_REFERS_TO / len(G)
    for i, gain in enumerate(G.tolist()):
        d = literal_derivative(gain, rows[i], models)
        for j in d:
            for a in range(LATENT):
                moved_U[i][a] -= RATE * d[j] * models[j][a]
                moved_V[j][a] -= rate_V * d[j] * rows[i][a]
    return U + np.array(moved_U), V + np.array(moved_V)


def our_epoch(G: np.ndarray, U: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    schedule = Schedule("decaying", RATE)
    found = factorise(G, U, V, alpha=ALPHA, epochs=1, schedule=schedule)
    return found.U, found.V


def compare(n: int, n_loop: int) -> None:
    G, U, V = generated(n)
    few = (G[:n_loop], U[:n_loop], V)
    start = process_time()
    theirs = literal_epoch(*few)
    loop = (process_time() - start) / n_loop * n
    ours = our_epoch(*few)
    difference = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
    times = []
    for _ in range(3):
        start = process_time()
        our_epoch(G, U, V)
        times.append(process_time() - start)
    print(f"{n} datasets, {MODELS} models, k = {LATENT}; the loop was timed on {n_loop} datasets\n")
    print("| one epoch | literal loop, s | ours, ms | times faster | difference |")
    print("|---|---|---|---|---|")
    print(
        f"| {n} × {MODELS} | {loop:.1f} | {min(times) * 1e3:.1f} "
        f"| **{loop / min(times):,.0f}** | {difference:.0e} |"
    )


def grow() -> None:
    from metaod.learners.metaod import MetaODLearner

    rng = np.random.default_rng(1)
    print(f"{MODELS} models, {FEATURES} meta-features, MetaODLearner with its defaults\n")
    print("| datasets | fit, s | epochs | predict one, ms |\n|---|---|---|---|")
    for n in (20, *GROWTH):
        G, U, _ = generated(n)
        M = U @ rng.normal(size=(LATENT, FEATURES)) + rng.normal(size=(n, FEATURES))
        start = process_time()
        learner = MetaODLearner().fit(np.log2(G + 1), M)
        fitted = process_time() - start
        start = process_time()
        learner.predict(M[0])
        predicted = process_time() - start
        if n > 20:  # the first one loads and compiles
            seconds, epochs = f"{fitted:.2f}", learner.n_epochs_
            print(f"| {n} | {seconds} | {epochs} | {predicted * 1e3:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=150, help="datasets of the epoch")
    parser.add_argument("--loop-datasets", type=int, default=5, help="datasets for the loop")
    parser.add_argument("--growth", action="store_true", help="time of a fit, by datasets")
    args = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        # libraries read these when they are loaded, so that the process must start anew
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREADS, "1")
        )
    if args.growth:
        grow()
    else:
        compare(args.datasets, min(args.loop_datasets, args.datasets))


if __name__ == "__main__":
    main()
