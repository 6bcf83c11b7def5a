"""Read a fitted estimator from its file."""

from dataclasses import replace
from os import PathLike

import numpy as np

from metaod.detection._estimator import MetaOD
from metaod.detection._saved import SavedPick
from metaod.options import Fitting, Picking
from metaod.review import UsedMarks
from metaod.selection import OnProgress, Tracker


def load(
    path: "str | PathLike[str]",
    *,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    progress: OnProgress | None = None,
) -> MetaOD:
    """Read a fitted estimator that :meth:`MetaOD.save` wrote; nothing in the file is executed.

    The detector is fitted again from the rows in the file. If the installed libraries give other
    training scores than those in the file, there is a warning, and a new threshold flags as many
    training rows as before.

    Parameters
    ----------
    path : path-like
        The file.
    n_jobs : int or None, default=None
        Threads that score rows, as in :class:`metaod.MetaOD`.
    max_seconds : float or None, default=None
        Refuse a file whose models are expected to take longer to fit; by default a minute, or ten
        times as long as the committee on its rows.
    progress : callable, optional
        Receives a :class:`metaod.selection.ProgressReport` at every stage.
    """
    Fitting(n_jobs=n_jobs).checked("load")
    max_seconds = Picking.declared()["max_seconds"].checked(max_seconds, "load")
    tracker = Tracker(progress)
    saved, fitted, preparation, cells = SavedPick.read(path, tracker, max_seconds)
    fitted = replace(fitted, n_jobs=n_jobs)
    tracker.finish("score")
    given = {**saved.parameters, **vars(preparation.roles)}
    model = MetaOD(**given, random_state=fitted.seed, n_jobs=n_jobs)
    model.n_features_in_ = len(preparation.record_.columns)
    if saved.feature_names:
        model.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    model.reading_ = saved.reading
    model.marks_ = UsedMarks(dict(fitted.marks)) if fitted.marks else None
    model._history = saved.history  # noqa: SLF001 - one room
    model._set_fitted(None, preparation, fitted, cells)  # noqa: SLF001
    model._calibration = saved.calibration  # noqa: SLF001
    return model
