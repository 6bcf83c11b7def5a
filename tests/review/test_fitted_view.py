"""A view of the fitted table, made from its matrix, says the same as one of the table itself."""

import numpy as np
import pandas as pd
import pytest

from metaod.review import RowView
from metaod.tables import Preparation, Table, read_table


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    n_rows = 200
    days = pd.to_timedelta(rng.integers(0, 90, (2, n_rows)).ravel(), "D").to_numpy()
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "level": rng.integers(0, 3, n_rows).astype(float),
            "category": rng.choice(list("xyz"), n_rows),
            "date": pd.Timestamp("2024-01-01") + days[:n_rows],
            "duration": pd.to_timedelta(rng.integers(0, 9000, n_rows), "s"),
            "truth": rng.random(n_rows) < 0.9,
            "unused": pd.Timestamp("2024-01-01") + days[n_rows:],
        }
    )
    for name in ("number", "category", "date", "unused"):
        frame.loc[rng.choice(n_rows, 6, replace=False), name] = None
    preparation = Preparation(time="date", category="category").fit(frame)
    fitted = RowView.of_fitted(preparation, preparation.transform(frame).X, Table(frame))
    return RowView(read_table(frame), preparation.record_), fitted


def test_all_cells_of_the_table_are_described_alike(views):
    of_table, of_fitted = views
    for row in range(200):
        for cell in of_table.cells(row):
            assert of_fitted.cell(cell.name, cell.value) == cell
