"""Score a Dask DataFrame by a pick on the cluster that holds it (extra ``cluster``)."""

import hashlib
import tempfile
import threading
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaod._files import expanded
from metaod.errors import BadColumn, BadParameter, required
from metaod.tables import check_whole

if TYPE_CHECKING:
    from metaod.detection import MetaOD

__all__ = ["score"]

_MOST_PICKS = 4  # that a worker keeps loaded
_picks: "dict[str, MetaOD]" = {}
_lock = threading.Lock()


def score(table: Any, pick: "MetaOD | str | PathLike[str]") -> Any:
    """Score every row of a Dask DataFrame by a fitted pick, partition by partition.

    Nothing is computed before the result is. The pick travels to each worker once, as the file
    that :meth:`metaod.MetaOD.save` writes, and is loaded there once. Cells are read by the types
    that the pick has learned, so scores do not depend on the partitions.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        The rows, with the columns of the table that the pick was fitted to, in any order.
    pick : path-like or MetaOD
        A file of :meth:`metaod.MetaOD.save` or ``metaod detect --save``, or a fitted estimator.

    Returns
    -------
    dask.dataframe.DataFrame
        With the index and the partitions of the table, and two columns: ``score``, higher is
        more outlying (minus :meth:`metaod.MetaOD.score_samples`), and ``flag``, 1 for rows that
        :meth:`metaod.MetaOD.predict` flags, else 0; as ``metaod detect --apply`` writes.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import metaod
    >>> frame = metaod.load_example().frame
    >>> pick = metaod.MetaOD().fit(frame)
    >>> scored = score(dd.from_pandas(frame, npartitions=3), pick)
    >>> list(scored.columns), scored.npartitions
    (['score', 'flag'], 3)
    >>> scored.compute(scheduler="sync")["flag"].sum() == pick.labels_.sum()
    np.True_
    """
    dd = required("dask.dataframe", extra="cluster", needed_for="metaod.cluster")
    from dask.delayed import delayed  # noqa: PLC0415 - an extra

    if not isinstance(table, dd.DataFrame):
        raise BadParameter("metaod.cluster.score", "table", "a dask.dataframe.DataFrame", table)
    content = _content_of(pick)
    digest = hashlib.sha256(content).hexdigest()
    model = _loaded(content, digest)
    names = set(map(str, table.columns))
    check_whole("metaod.cluster.score", over=model.over)
    for name in model.preparation_.needed:
        if name not in names:
            remedy = "name the table's columns as those that the pick was fitted to"
            raise BadColumn(name, "is not in the table", remedy=remedy)
    # one node of the graph, which Dask sends to each worker once
    sent = delayed(content, name=f"metaod-pick-{digest}", pure=True)
    return table.map_partitions(
        _score_partition,
        sent,
        digest,
        meta=_empty(table._meta.index),  # noqa: SLF001 - as above
    )


def _content_of(pick: "MetaOD | str | PathLike[str]") -> bytes:
    if isinstance(pick, str | PathLike):
        from metaod.detection import load  # noqa: PLC0415 - needs scikit-learn

        path = expanded(pick)
        load(path)  # refuses what is no pick, in one line
        return path.read_bytes()
    if not hasattr(pick, "save"):
        raise BadParameter("metaod.cluster.score", "pick", "a path or a fitted MetaOD", pick)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pick.metaod"
        pick.save(path)
        return path.read_bytes()


def _loaded(content: bytes, digest: str) -> "MetaOD":
    """Load a pick, or return the one that this process has loaded before."""
    from metaod.detection import load  # noqa: PLC0415 - needs scikit-learn

    with _lock:
        if digest not in _picks:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "pick.metaod"
                path.write_bytes(content)
                _picks[digest] = load(path)
            while len(_picks) > _MOST_PICKS:
                del _picks[next(iter(_picks))]
        return _picks[digest]


def _score_partition(rows: pd.DataFrame, content: bytes, digest: str) -> pd.DataFrame:
    if rows.empty:
        return _empty(rows.index)
    model = _loaded(content, digest)
    table = model._checked(rows)  # noqa: SLF001 - as above
    wrong = model._wrong(table)  # noqa: SLF001 - as above
    # drift is of a table, not of a partition
    scores = -model._scored(table, wrong, warns=False)  # noqa: SLF001 - as above
    flags = model._flags(scores, wrong).astype(np.int64)  # noqa: SLF001 - as above
    return pd.DataFrame({"score": scores, "flag": flags}, index=rows.index)


def _empty(index: pd.Index) -> pd.DataFrame:
    columns = {"score": np.array([], dtype=np.float64), "flag": np.array([], dtype=np.int64)}
    return pd.DataFrame(columns, index=index[:0])
