"""A review that asks rows in a known order at once, for tests of the command around it.

python -m made_review review table.csv
"""

import sys
from types import SimpleNamespace

import numpy as np

from metaod.cli import main
from metaod.cli import review as command
from metaod.detection import RowReasons
from metaod.tables import prepare


class MadeModel:
    """Stands for a fitted estimator; tests set the reasons of rows."""

    reasons = {}  # noqa: RUF012 - by row
    patterns = ()
    asked_for = []  # noqa: RUF012 - the strategies of reviews

    def __init__(self, table, options):
        self.table = table
        roles = {name: options.get(name) for name in ("id", "ignore", "category")}
        self.record = prepare(table, **roles).record

    def explain_rows(self, rows):
        return [RowReasons(row, 1.0, tuple(self.reasons.get(row, ()))) for row in rows]

    def review(self, askable=None, strategy="found"):
        self.asked_for.append(strategy)
        rows = range(self.table.n_rows) if askable is None else np.flatnonzero(askable).tolist()
        return MadeReview(self.table.n_rows, rows)


class MadeReview:
    """Asks the rows in the table's order; the last rows rise with every outlier that is found."""

    def __init__(self, n_rows, rows):
        self.n_rows = n_rows
        self.rows = rows
        self.marks = {}

    def ask(self, n):
        return [row for row in self.rows if row not in self.marks][:n]

    def check(self, marks):
        assert not self.marks.keys() & marks.keys()

    def tell_many(self, marks):
        assert not self.marks.keys() & marks.keys()
        self.marks.update(marks)

    def forget(self, row):
        del self.marks[row]

    @property
    def found(self):
        return sum(answer is True for answer in self.marks.values())

    @property
    def expected_left(self):
        return SimpleNamespace(estimate=11.6, low=6.0, high=21.0)

    @property
    def scores(self):
        scores = np.linspace(1, 0, self.n_rows)
        scores[-10:] += self.found
        return scores


def made_result(table, options):
    model = MadeModel(table, options)
    return SimpleNamespace(
        model=model,
        table=table,
        record=model.record,
        explain=model.explain_rows,
        patterns=lambda: model.patterns,
    )


if __name__ == "__main__":
    command._fitted = made_result
    main.main(sys.argv[1:])
