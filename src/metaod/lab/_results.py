"""The results of an evaluation: one long frame, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pandas as pd

from metaod.errors import BadColumn, BadFile, UserError
from metaod.lab._methods import METHODS, method

Unit = Literal["dataset", "motherset"]

DESCRIBING: Mapping[str, str] = {
    "name": "str",
    "origin": "str",
    "motherset": "str",
    "fold": "int64",
    "n_rows": "int64",
    "n_columns": "int64",
    "outlier_share": "float64",
}
"""Columns that describe a dataset; equal in all of its rows."""

COLUMNS: Mapping[str, str] = {
    "dataset": "str",
    **DESCRIBING,
    "method": "str",
    "seed": "int64",
    "pick": "str",
    "ap": "float64",
    "select_seconds": "float64",
    "train_seconds": "float64",
}
"""All columns of a frame of results, and their types."""

_OPTIONAL = ("select_seconds", "train_seconds")
_SUFFIXES = (".parquet", ".csv")


@dataclass(frozen=True)
class Results:
    """What every method reached on every dataset.

    Parameters
    ----------
    frame : DataFrame
        One row per (dataset, method, seed):

        - ``dataset``: fingerprint; ``name``, ``origin``; ``motherset`` ('' if none); ``fold``;
          ``n_rows``, ``n_columns``, ``outlier_share`` (a fraction);
        - ``method``: key of a method; ``seed``; ``pick``: the model's id, '' if no single model
          was picked;
        - ``ap``: average precision, NaN if there is none;
        - ``select_seconds``: time of the selection, with meta-features, and ``train_seconds``:
          time of training the picked model; optional, NaN if not measured.

    Notes
    -----
    Everything is computed over the same datasets: those on which all methods have an average
    precision. The others are given by :meth:`left_out`.
    """

    frame: pd.DataFrame

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", _checked(self.frame))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file that :meth:`write` wrote."""
        path = Path(path)
        _check_suffix(path)
        if not path.is_file():
            raise BadFile(path, "does not exist", remedy="run the evaluation first")
        try:
            if path.suffix == ".parquet":
                return cls(pd.read_parquet(path))
            texts = [name for name, kind in COLUMNS.items() if kind == "str"]
            numbers = {name: [""] for name in COLUMNS if name not in texts}
            # '' is a value of text columns, and a dataset may be called NA
            frame = pd.read_csv(
                path, dtype=dict.fromkeys(texts, "str"), keep_default_na=False, na_values=numbers
            )
            return cls(frame)
        except UserError:
            raise
        except (ValueError, OSError) as error:
            raise BadFile(
                path, f"cannot be read as results: {error}", remedy="run the evaluation again"
            ) from error

    def write(self, path: str | Path) -> Path:
        """Write as Parquet or CSV, by the file's suffix."""
        path = Path(path)
        _check_suffix(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            self.frame.to_parquet(path, index=False)
        else:
            self.frame.to_csv(path, index=False, lineterminator="\n")
        return path

    @cached_property
    def datasets(self) -> pd.DataFrame:
        """The describing columns, one row per dataset, by fingerprint, sorted by name."""
        once = self.frame.drop_duplicates("dataset").set_index("dataset")[list(DESCRIBING)]
        return once.sort_values("name", key=lambda names: names.str.casefold(), kind="stable")

    @cached_property
    def methods(self) -> list[str]:
        """Keys of the methods, in the paper's order, ours after them."""
        present = set(self.frame["method"])
        return [item.key for item in METHODS if item.key in present]

    @cached_property
    def by_dataset(self) -> pd.DataFrame:
        """Average precision, datasets × methods, mean over seeds; NaN if a seed has none."""
        grouped = self.frame.groupby(["dataset", "method"])["ap"]
        means = grouped.mean().where(grouped.count() == grouped.size())
        wide = means.unstack("method")  # noqa: PD010 - of a Series
        return wide.reindex(index=self.datasets.index, columns=self.methods)

    def left_out(self) -> pd.DataFrame:
        """Datasets without an average precision of some method, and which methods lack it."""
        missing = self.by_dataset.isna()
        missing = missing[missing.any(axis=1)]
        reasons = [
            ", ".join(method(key).title for key in self.methods if row[key])
            for _, row in missing.iterrows()
        ]
        names = self.datasets.loc[missing.index, "name"].to_list()
        return pd.DataFrame({"dataset": names, "without AP": reasons})

    def matrix(self, by: Unit = "dataset") -> pd.DataFrame:
        """Average precision, units × methods, over the datasets that no method lacks.

        A motherset's row is the mean over its childsets, as in the paper's POC.
        """
        complete = self.by_dataset.dropna()
        if complete.empty:
            raise UserError(
                "no dataset has an average precision for every method",
                where="results",
                remedy="leave out the method that has none",
            )
        if by == "dataset":
            return complete
        return complete.groupby(self._mothersets(complete.index)).mean()

    def origins(self, by: Unit = "dataset") -> pd.Series:
        """The origin of each row of :meth:`matrix`."""
        kept = self.datasets.loc[self.by_dataset.dropna().index]
        if by == "dataset":
            return kept["origin"]
        return kept.groupby("motherset")["origin"].first()

    def pooled(self, P: pd.DataFrame, by: Unit = "dataset") -> pd.DataFrame:
        """Rows of P for the units of :meth:`matrix`; a motherset has the mean of its childsets."""
        rows = self.by_dataset.dropna().index
        missing = [str(name) for name in rows if name not in P.index]
        if missing:
            raise UserError(
                f"no row for dataset {missing[0]} and {len(missing) - 1} others",
                where="performance matrix",
                remedy="give the matrix that the results were computed from",
            )
        P = P.loc[rows]
        if by == "dataset":
            return P
        return P.groupby(self._mothersets(rows)).mean()

    def with_method(self, key: str, found: pd.DataFrame) -> "Results":
        """These results with the ``ap`` and optionally ``pick`` of a method, by fingerprint."""
        rows = self.datasets.join(found[[c for c in ("pick", "ap") if c in found]])
        rows = rows.assign(method=key, seed=0)
        rows["pick"] = rows["pick"].fillna("") if "pick" in rows else ""
        others = self.frame[self.frame["method"] != key]
        rows = rows.rename_axis("dataset").reset_index().reindex(columns=list(COLUMNS))
        rows = rows.astype(dict(COLUMNS))
        return Results(pd.concat([others, rows], ignore_index=True))

    def _mothersets(self, datasets: pd.Index) -> pd.Series:
        found = self.datasets["motherset"].loc[datasets]
        if (found == "").any():
            name = self.datasets.loc[found.index[found == ""][0], "name"]
            raise UserError(
                f"dataset {name} has no motherset",
                where="results",
                remedy="summarise by motherset only in POC",
            )
        return found


def _check_suffix(path: Path) -> None:
    if path.suffix not in _SUFFIXES:
        raise BadFile(path, "is neither Parquet nor CSV", remedy="name it .parquet or .csv")


def _checked(given: pd.DataFrame) -> pd.DataFrame:
    frame = given.copy()
    for name in _OPTIONAL:
        if name not in frame:
            frame[name] = np.nan
    missing = [name for name in COLUMNS if name not in frame]
    if missing:
        raise BadColumn(
            missing[0], "is not in the results", remedy=f"columns are: {', '.join(COLUMNS)}"
        )
    frame = frame[list(COLUMNS)].reset_index(drop=True)
    if frame.empty:
        raise UserError("no rows", where="results", remedy="run the evaluation first")
    for name, kind in COLUMNS.items():
        frame[name] = _typed(frame[name], name, kind)
    for key in frame["method"].unique():
        method(key)
    if ((frame["ap"] < 0) | (frame["ap"] > 1)).any():
        raise BadColumn("ap", "holds values outside [0, 1]", remedy="give average precision")
    repeated = frame.duplicated(["dataset", "method", "seed"])
    if repeated.any():
        row = frame[repeated].iloc[0]
        raise UserError(
            f"dataset {row['name']}, method {row['method']}, seed {row['seed']} occurs twice",
            where="results",
            remedy="remove the repeated rows",
        )
    described = frame.groupby("dataset")[list(DESCRIBING)].nunique(dropna=False)
    differing = described.columns[(described > 1).any()]
    if len(differing):
        raise BadColumn(
            differing[0], "differs between rows of one dataset", remedy="run the evaluation again"
        )
    return frame


def _typed(column: pd.Series, name: str, kind: str) -> pd.Series:
    try:
        if kind == "str" and column.isna().any():
            raise ValueError("missing values; write '' instead")
        return column.astype("str" if kind == "str" else np.dtype(kind))
    except (TypeError, ValueError) as error:
        raise BadColumn(
            name, f"cannot be converted to {kind}: {error}", remedy="correct the values"
        ) from error
