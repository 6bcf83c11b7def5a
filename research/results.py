"""The results of an evaluation: one long frame, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pandas as pd

from metaod.errors import BadColumn, BadFile, UserError
from research.methods import METHODS, method

Unit = Literal["dataset", "motherset", "origin"]

# columns that describe a dataset, equal in all of its rows, and their types
DESCRIBING: Mapping[str, str] = {
    **dict.fromkeys(("name", "origin", "motherset"), "str"),
    **dict.fromkeys(("fold", "n_rows", "n_columns"), "int64"),
    "outlier_share": "float64",
}
_OPTIONAL = ("select_seconds", "train_seconds")
# all columns of a frame of results, in order
COLUMNS: Mapping[str, str] = {
    "dataset": "str",
    **DESCRIBING,
    "method": "str",
    "seed": "int64",
    "pick": "str",
    **dict.fromkeys(("ap", *_OPTIONAL), "float64"),
}


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
            types = dict.fromkeys(texts, "str")
            return cls(pd.read_csv(path, dtype=types, keep_default_na=False, na_values=numbers))
        except UserError:
            raise
        except (ValueError, OSError) as error:
            what = f"cannot be read as results: {error}"
            raise BadFile(path, what, remedy="run the evaluation again") from error

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
        """List the datasets on which some method has no average precision, and these methods."""
        missing = self.by_dataset.isna()
        missing = missing[missing.any(axis=1)]
        reasons = [
            ", ".join(method(key).title for key in self.methods if row[key])
            for _, row in missing.iterrows()
        ]
        names = self.datasets.loc[missing.index, "name"].to_list()
        return pd.DataFrame({"dataset": names, "without AP": reasons})

    def matrix(self, by: Unit = "dataset") -> pd.DataFrame:
        """Return average precision, units × methods, over the datasets that no method lacks.

        A motherset's row is the mean over its childsets, as in the paper's POC; an origin's row is
        the mean over its datasets. Tests need origins: datasets of one origin are not independent.
        """
        complete = self.by_dataset.dropna()
        if complete.empty:
            raise UserError(
                "no dataset has an average precision for every method",
                where="results",
                remedy="leave out the method that has none",
            )
        return complete if by == "dataset" else complete.groupby(self._units(by)).mean()

    def runs(self, by: Unit = "dataset") -> dict[str, pd.DataFrame]:
        """Return average precision of each method, units × seeds, in the rows of :meth:`matrix`."""
        index = self.matrix(by).index
        kept = self.frame[self.frame["dataset"].isin(self.by_dataset.dropna().index)]
        if by != "dataset":
            kept = kept.assign(dataset=kept["dataset"].map(self._units(by)))
        means = kept.groupby(["method", "dataset", "seed"])["ap"].mean()
        return {
            key: means[key].unstack("seed").loc[index]  # noqa: PD010 - of a Series
            for key in self.methods
        }

    def origins(self, by: Unit = "dataset") -> pd.Series:
        """Return the origin of each row of :meth:`matrix`."""
        kept = self.datasets.loc[self.by_dataset.dropna().index]
        return kept["origin"] if by == "dataset" else kept.groupby(by)["origin"].first()

    def pooled(self, P: pd.DataFrame, by: Unit = "dataset") -> pd.DataFrame:
        """Return the rows of P for the units of :meth:`matrix`; a motherset's row is the mean."""
        rows = self.by_dataset.dropna().index
        remedy = "give the matrix that the results were computed from"
        P = rows_of(P, rows, where="performance matrix", remedy=remedy)
        return P if by == "dataset" else P.groupby(self._units(by)).mean()

    def with_method(self, key: str, found: pd.DataFrame) -> "Results":
        """Add or replace the ``ap`` and optionally ``pick`` of a method, by fingerprint."""
        rows = self.datasets.join(found[[c for c in ("pick", "ap") if c in found]])
        rows = rows.assign(method=key, seed=0)
        rows["pick"] = rows["pick"].fillna("") if "pick" in rows else ""
        others = self.frame[self.frame["method"] != key]
        rows = rows.rename_axis("dataset").reset_index().reindex(columns=list(COLUMNS))
        rows = rows.astype(dict(COLUMNS))
        return Results(pd.concat([others, rows], ignore_index=True))

    def _units(self, by: Unit) -> pd.Series:
        found = self.datasets[by].loc[self.by_dataset.dropna().index]
        if (found == "").any():
            name = self.datasets.loc[found.index[found == ""][0], "name"]
            raise UserError(
                f"dataset {name} has no motherset",
                where="results",
                remedy="summarise by motherset only in POC",
            )
        return found


def rows_of(frame: pd.DataFrame, rows: pd.Index, *, where: str, remedy: str) -> pd.DataFrame:
    """Return these rows of a frame; a missing one is an error."""
    missing = [str(name) for name in rows if name not in frame.index]
    if missing:
        what = f"no row for dataset {missing[0]} and {len(missing) - 1} others"
        raise UserError(what, where=where, remedy=remedy)
    return frame.loc[rows]


def _check_suffix(path: Path) -> None:
    if path.suffix not in (".parquet", ".csv"):
        raise BadFile(path, "is neither Parquet nor CSV", remedy="name it .parquet or .csv")


def _checked(given: pd.DataFrame) -> pd.DataFrame:
    frame = given.copy()
    for name in COLUMNS:
        if name not in frame and name in _OPTIONAL:
            frame[name] = np.nan
        elif name not in frame:
            remedy = f"columns are: {', '.join(COLUMNS)}"
            raise BadColumn(name, "is not in the results", remedy=remedy)
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
        what = "differs between rows of one dataset"
        raise BadColumn(differing[0], what, remedy="run the evaluation again")
    return frame


def _typed(column: pd.Series, name: str, kind: str) -> pd.Series:
    try:
        if kind == "str" and column.isna().any():
            raise ValueError("missing values; write '' instead")
        return column.astype("str" if kind == "str" else np.dtype(kind))
    except (TypeError, ValueError) as error:
        what = f"cannot be converted to {kind}: {error}"
        raise BadColumn(name, what, remedy="correct the values") from error
