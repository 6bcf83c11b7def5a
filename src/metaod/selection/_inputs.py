"""Check and read what a user gives to the estimator."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from metaod.selection._select import check_seed
from metaod.tables import PreparedTable, Table, is_file, read_table, untyped_table


def as_table(X: Any, unused: Callable[[str], bool], *, typed: bool) -> Table:
    """Read a table; new rows keep their text, which the fitted preparation reads row by row."""
    if isinstance(X, Table):
        return X
    if isinstance(X, PreparedTable):
        return Table(pd.DataFrame(X.X, index=X.index, columns=list(X.names)), source=X.source)
    return read_table(X, unused=unused) if typed or is_file(X) else untyped_table(X)


def is_plain(X: Any) -> bool:
    """Whether X is an array or a list of rows: no frame, no file, no sparse matrix."""
    if isinstance(X, list | tuple):
        return not (X and all(isinstance(row, Mapping) for row in X))
    if isinstance(X, np.ndarray):
        return X.dtype.names is None
    # of the type: a column may have any name
    named = any(hasattr(type(X), name) for name in ("columns", "tocsr", "column_names"))
    return not (isinstance(X, Table | PreparedTable | Mapping) or named or is_file(X))


def seed_of(random_state: Any) -> int:
    """Return the seed that a ``random_state`` means; a RandomState draws one."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    legal = "an int in the range [0, 2**32), a RandomState or None"
    return check_seed(random_state, owner="MetaOD", legal=legal)
