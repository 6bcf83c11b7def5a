"""The original benchmark of Emmott et al., for those who have it."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadFile
from metaod.tables import read_table

__all__ = ["Archive"]

_TRUTH = "ground.truth"

#: Columns of the archive's files that are no features.
_REMARKS = ("point.id", "motherset", "origin", "original.label", "diff.score", _TRUTH)


class Archive:
    """A folder with the archive's CSV files, at any depth.

    Parameters
    ----------
    folder : Path
        Holds ``wave_benchmark_0661.csv``, or ``wave_0661.csv``, and so on.
    """

    def __init__(self, folder: Path) -> None:
        folder = folder.expanduser()
        if not folder.is_dir():
            raise BadFile(folder, "is no folder", remedy="unpack the archive and name its folder")
        self._files = {
            path.stem.replace("_benchmark_", "_"): path for path in sorted(folder.rglob("*.csv"))
        }
        if not self._files:
            raise BadFile(folder, "holds no CSV file", remedy="unpack the archive's files there")

    def read(
        self, motherset: str, number: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]] | None:
        """X and y of a childset; None where the folder has no such file.

        Raises
        ------
        BadColumn
            If the file has no ``ground.truth`` of nominal and anomaly, or a feature is no number.
        """
        path = self._files.get(f"{motherset}_{number:04d}")
        if path is None:
            return None
        frame = read_table(path).frame
        if _TRUTH not in frame.columns:
            raise BadColumn(
                _TRUTH, "is not in the table", path=path, remedy="check that it is the archive's"
            )
        truth = _words(frame[_TRUTH])
        if not set(truth) <= {"nominal", "anomaly"}:
            found = ", ".join(sorted(set(truth))[:5])
            raise BadColumn(
                _TRUTH, f"holds {found}", path=path, remedy="it should hold nominal and anomaly"
            )
        features = frame.drop(columns=[name for name in _REMARKS if name in frame.columns])
        for name, column in features.items():
            if not pd.api.types.is_numeric_dtype(column.dtype):
                raise BadColumn(name, "is no number", path=path, remedy="features are numbers")
        X = features.to_numpy(dtype=np.float64)
        return X, np.array([word == "anomaly" for word in truth], dtype=np.int8)


def _words(column: "pd.Series[Any]") -> list[str]:
    return [str(value).strip().lower() for value in column]
