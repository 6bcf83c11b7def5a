"""An answer in a review, against fitting the pick again with every answer.

    python benchmarks/review.py                      3,000 and 100,000 rows of 20 columns
    python benchmarks/review.py --rows 3000          other numbers of rows

Both sides run in the same process, on one thread; seconds are those of the processor. An answer is
`tell` and the new scores of all rows; the time is the median of answers 2 to 80. The obvious way to
use an answer is to fit a detector again, here the committee that the review starts from (once).
"""

import argparse
import os
from statistics import median
from time import process_time

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
os.environ |= dict.fromkeys(THREADS, "1")

import numpy as np  # noqa: E402 - after the number of threads is set

import metaod  # noqa: E402

N_ANSWERS = 80
GOALS = {3_000: 0.1, 100_000: 0.5}


def main() -> None:
    """Print a line for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append")
    given = parser.parse_args()
    compiled = metaod.Review(table(500))
    compiled.tell(compiled.ask(), True)
    _ = compiled.scores
    print(f"{'rows':>9} {'fit, s':>8} {'answer, s':>10} {'goal, s':>8} {'fit / answer':>13}")
    for n_rows in given.rows or GOALS:
        X = table(n_rows)
        start = process_time()
        review = metaod.Review(X)
        fit = process_time() - start
        seconds = []
        for number in range(N_ANSWERS):
            row = review.ask()
            start = process_time()
            review.tell(row, number % 3 == 0)
            _ = review.scores
            seconds.append(process_time() - start)
        answer = median(seconds[1:])
        goal = GOALS.get(n_rows, float("nan"))
        print(f"{n_rows:>9,} {fit:>8.2f} {answer:>10.3f} {goal:>8.1f} {fit / answer:>13.0f}")


def table(n_rows: int) -> np.ndarray:
    """Return a table of 20 columns with a hundredth of its rows elsewhere."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 20))
    X[: n_rows // 100, :3] += 4.0
    return X


if __name__ == "__main__":
    main()
