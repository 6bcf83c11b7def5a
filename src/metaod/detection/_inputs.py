"""Check and read what a user gives to the estimator."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from metaod.errors import BadParameter
from metaod.options import Picking
from metaod.tables import PreparedTable, Roles, Table, is_file, read_table, unmasked


def checked_table(model: Any, X: Any, *, reset: bool) -> Table:
    """Read a table for an estimator, after a check that its columns are those of training."""
    if is_plain(X):
        if X is None:
            raise BadParameter("MetaOD", "X", "a table: a frame, an array or a file", X)
        X = unmasked(X)
        # scikit-learn refuses what is no table; values are not restricted
        checks = {"dtype": None, "ensure_all_finite": False}
        least = 2 if reset else 1
        array = validate_data(model, X, reset=reset, ensure_min_samples=least, **checks)
        table = read_rows(model, array, typed=reset, is_later=not reset)
        return table if reset else _by_position(model, table)
    table = read_rows(model, X, typed=reset, is_later=not reset)
    # the names of a sparse matrix's columns are the reader's
    named = table.frame.to_numpy() if hasattr(type(X), "tocsr") else table.frame
    if not reset and _have_names(model, named):
        # columns in any order, and without those that are not used
        absent = set(model.preparation_.needed).difference(table.frame.columns)
        names = [name for name in model.feature_names_in_ if name not in absent]
        validate_data(model, pd.DataFrame(columns=names), reset=False, skip_check_array=True)
        return table
    validate_data(model, named, reset=reset, skip_check_array=True)
    return table if reset else _by_position(model, table)


def _have_names(model: Any, rows: Any) -> bool:
    """Whether the training table and these rows are frames with text for names."""
    names = getattr(rows, "columns", ())
    is_fitted = hasattr(model, "feature_names_in_")
    return is_fitted and len(names) > 0 and all(isinstance(name, str) for name in names)


def _by_position(model: Any, table: Table) -> Table:
    """Give a table the fitted names if one of both has none: scikit-learn has warned of it."""
    fitted = [column.name for column in model.preparation_.record_.columns]
    if set(map(str, table.frame.columns)) == set(fitted):
        return table
    return replace(table, frame=table.frame.set_axis(fitted, axis=1))


def roles_of(model: Any) -> dict[str, Any]:
    """Return the roles of columns that an estimator was given."""
    return {name: getattr(model, name) for name in Roles.declared()}


def read_rows(
    model: Any,
    X: Any,
    *,
    typed: bool,
    is_later: bool = True,
    reading: Mapping[str, Any] | None = None,
) -> Table:
    """Read a table for an estimator.

    A file of later rows is read with the options of the first table, as far as a saved pick keeps
    them. Objects may keep their text, which the fitted preparation reads row by row: not `typed`.
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, PreparedTable):
        return Table(pd.DataFrame(X.X, index=X.index, columns=list(X.names)), source=X.source)
    if not (typed or is_file(X)):
        return Table.untyped(X)
    kept = getattr(model, "reading_", {}) if is_later and is_file(X) else {}
    unused = Roles.of(roles_of(model), owner="MetaOD").is_unused
    return read_table(X, unused=unused, **{**kept, **(reading or {})})


def training_rows(rows: Any, n_rows: int) -> Any:
    """Return positions of training rows, also of a mask of them; what may be a table as it is."""
    if rows is None or not (is_plain(rows) or isinstance(rows, pd.Series)):
        return rows
    vector = np.asarray(rows)
    if vector.ndim == 1 and vector.dtype.kind == "b" and len(vector) == n_rows:
        return np.flatnonzero(vector)
    if vector.ndim > 1:
        return rows
    if not vector.size or vector.dtype.kind in "iu":
        return vector
    legal = f"positions of training rows, a mask of all {n_rows:,}, or a table of new rows"
    raise BadParameter("MetaOD.explain_rows", "rows", legal, rows)


def is_plain(X: Any) -> bool:
    """Whether X is an array or a list of rows: no frame, no file, no sparse matrix."""
    if isinstance(X, list | tuple):
        return not (X and all(isinstance(row, Mapping) for row in X))
    if isinstance(X, np.ndarray):
        return X.dtype.names is None
    # of the type: a column may have any name
    named = any(hasattr(type(X), name) for name in ("columns", "tocsr", "__arrow_c_stream__"))
    return not (isinstance(X, Table | PreparedTable | Mapping) or named or is_file(X))


def seed_of(random_state: Any) -> int:
    """Return the seed that a ``random_state`` means; a RandomState draws one."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    return int(Picking.declared()["random_state"].checked(random_state, "MetaOD"))
