"""How well a pick ranks labelled outliers, beside isolation forest and PyOD's ADEngine."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod._legal import Whole
from metaod.detection._estimator import MetaOD
from metaod.detection._inputs import seed_of
from metaod.errors import BadParameter
from metaod.history import MEASURES, Measures, measure
from metaod.models import Matrix, Scores
from metaod.selection import OnProgress, Tracker, family_names, part_of
from metaod.tables import Table, read_table

PICK, FOREST, ENGINE = "MetaOD's pick", "isolation forest", "PyOD's ADEngine"
"""The names of the compared methods."""

_PICK_SHARE = 0.7  # of the time of a trial, for the reports of progress


@dataclass(frozen=True)
class Compared:
    """How well one method ranks the labelled outliers of a table.

    Parameters
    ----------
    method : str
        ``MetaOD's pick``, ``isolation forest`` (PyOD's, with its default settings) or
        ``PyOD's ADEngine``.
    measures : Measures or None
        The means over the trials; None if the method gave no scores.
    model : str
        The families of the pick, or the detector that ADEngine chose; trials may differ.
    seconds : float or None
        Mean time of a trial, to pick and to score; None if it was not measured.
    note : str
        Why there are no measures.
    """

    method: str
    measures: Measures | None
    model: str = ""
    seconds: float | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data; measures that are missing are None."""
        found = dict.fromkeys(MEASURES) if self.measures is None else self.measures._asdict()
        rest = {"seconds": self.seconds, "model": self.model, "note": self.note}
        return {"method": self.method, **found, **rest}


def compare(
    X: Any,
    *,
    label: str | None = None,
    trials: int = 1,
    random_state: int = 0,
    progress: OnProgress | None = None,
    **options: Any,
) -> tuple[Compared, ...]:
    """Measure the pick, isolation forest and PyOD's ADEngine on a labelled table.

    The label is used to measure and for nothing else. All three score the same prepared matrix.

    Parameters
    ----------
    X : Table or what else :func:`metaod.read_table` takes
        The table.
    label : str, optional
        Its label column; not needed for a Table that has a label.
    trials : int, default=1
        Trials with different seeds, whose measures are averaged.
    random_state : int, default=0
        Seed of the first trial; the next trials count on from it.
    progress : callable, optional
        Receives a :class:`metaod.selection.ProgressReport` at every stage.
    **options
        Options of :class:`metaod.MetaOD`, such as ``learner`` and ``pick``.

    Examples
    --------
    >>> import metaod
    >>> [row.method for row in compare(metaod.load_example())]
    ["MetaOD's pick", 'isolation forest', "PyOD's ADEngine"]
    """
    if not Whole(1).allows(trials):
        raise BadParameter("compare", "trials", str(Whole(1)), trials)
    first_seed = seed_of(random_state)
    table = X if isinstance(X, Table) else read_table(X, label=label)
    y = table.checked_label()
    picks, forests, engines = [], [], []
    tracker = Tracker(progress)
    for trial in range(trials):
        seed = first_seed + trial
        own = part_of(progress, trial / trials, (trial + _PICK_SHARE) / trials)
        start = time.perf_counter()
        model = MetaOD(**{"rows_only": True, **options, "random_state": seed})
        fitted = model.fit(table, progress=own).fitted_
        seconds = time.perf_counter() - start
        names = family_names(tuple(fitted.weights))
        picks.append(Compared(PICK, measure(y, fitted.scores), names, seconds))
        forests.append(compare_forest(fitted.X, y, random_state=seed))
        tracker.stage("fit", ENGINE, fraction=(trial + _PICK_SHARE) / trials)
        engines.append(_compare_engine(fitted.X, y, seed))
    tracker.finish("score")
    return tuple(map(_mean, (picks, forests, engines)))


def compare_with_forest(
    model: MetaOD, table: Table, scores: Scores, *, new: Matrix | None = None
) -> tuple[Compared, Compared]:
    """Measure the scores of a fitted pick beside isolation forest, on the table's label.

    Parameters
    ----------
    model : MetaOD
        The fitted pick.
    table : Table
        The table that was scored, with a label.
    scores : ndarray of float
        The scores of its rows.
    new : ndarray of float, optional
        The prepared rows, if they are not those that the pick was fitted to; the forest is fitted
        to the same rows as the pick.
    """
    y = table.checked_label()
    fitted = model.fitted_
    pick = Compared(PICK, measure(y, scores), family_names(tuple(fitted.weights)))
    forest = compare_forest(fitted.X, y, new=new, random_state=fitted.seed)
    return pick, replace(forest, seconds=None)


def compare_forest(
    X: Matrix, y: npt.NDArray[np.int8], *, new: Matrix | None = None, random_state: int = 0
) -> Compared:
    """Measure PyOD's default isolation forest, fitted to X, on X or on new rows.

    Parameters
    ----------
    X : ndarray of float
        The prepared table.
    y : ndarray of {0, 1}
        The label of the rows that are scored; both values must occur.
    new : ndarray of float, optional
        New rows to score instead of X.
    random_state : int, default=0
        Seed of the forest.
    """
    from pyod.models.iforest import IForest  # noqa: PLC0415 - slow to import

    start = time.perf_counter()
    forest = IForest(random_state=random_state).fit(X)
    scores: Scores = forest.decision_scores_ if new is None else forest.decision_function(new)
    return Compared(FOREST, measure(y, scores), "IForest", time.perf_counter() - start)


def run_adengine(X: Matrix, *, random_state: int = 0) -> tuple[str, Scores]:
    """Return the detector that PyOD's ADEngine chooses for a prepared table, and its scores.

    It is called as a user calls it: ``ADEngine().detect(X)`` profiles, plans and runs.

    Parameters
    ----------
    X : ndarray of float
        The prepared table.
    random_state : int, default=0
        Seed of the detector.
    """
    from pyod.utils.ad_engine import ADEngine  # noqa: PLC0415 - slow, and not in every PyOD

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ADEngine(random_state=random_state).detect(X)
    scores = np.nan_to_num(np.asarray(found["scores_train"], dtype=np.float64))
    return str(found["plan"]["detector_name"]), scores


def _compare_engine(X: Matrix, y: npt.NDArray[np.int8], seed: int) -> Compared:
    start = time.perf_counter()
    try:
        detector, scores = run_adengine(X, random_state=seed)
    except ImportError:
        return Compared(ENGINE, None, note=f"PyOD {version('pyod')} has no ADEngine")
    except Exception as error:  # of another package: no reason to stop
        return Compared(ENGINE, None, note=f"failed: {type(error).__name__}: {error}")
    return Compared(ENGINE, measure(y, scores), detector, time.perf_counter() - start)


def _mean(trials: Sequence[Compared]) -> Compared:
    """Average the trials of one method; without measures if one trial has none."""
    failed = next((trial for trial in trials if trial.measures is None), None)
    if failed is not None:
        return failed
    measures = [trial.measures for trial in trials if trial.measures is not None]
    found = Measures(*np.mean(measures, axis=0).tolist())
    models = " or ".join(dict.fromkeys(trial.model for trial in trials))
    seconds = float(np.mean([trial.seconds or 0.0 for trial in trials]))
    return Compared(trials[0].method, found, models, seconds)
