"""``MetaOD``: pick, fit and score, as a scikit-learn outlier detector."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from metaod.artifacts import Artifact
from metaod.errors import BadParameter
from metaod.models import check_n_jobs
from metaod.selection._candidates import Models
from metaod.selection._fitting import Fitted, fit_choice
from metaod.selection._picks import Pick
from metaod.selection._selecting import check_seed, select
from metaod.selection._selection import Selection
from metaod.selection._table_notes import table_notes
from metaod.selection._threshold import Contamination, check_contamination
from metaod.tables import Preparation, PreparedTable, Table, read_table

__all__ = ["MetaOD"]

Scores = npt.NDArray[np.float64]


class MetaOD(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not annotated
    """An outlier detector that picks itself for the table it is fitted to.

    Tables may hold text, dates and missing values. ``predict``, ``score_samples`` and
    ``decision_function`` have scikit-learn's signs: -1 is an outlier, lower is more outlying.
    ``decision_scores_``, ``labels_`` and ``threshold_`` have PyOD's: higher is more outlying, 1 is
    an outlier.

    There is no ``set_output``, which scikit-learn gives to transformers alone: an outlier detector
    has no ``transform`` whose output it could shape, and its predictions are arrays. In a pipeline
    ``set_output`` shapes what the steps before it hand over.

    Parameters
    ----------
    learner : str, path or Artifact, default="default"
        Who picks: the shipped default, the name of a learner, or an artifact that
        ``metaod train`` made.
    pick : {"ensemble", "single"}, optional
        Whether an average of a few models may be picked, where the learner knows such, or one
        model alone; an average may unless told.
    contamination : "auto" or float in (0, 0.5], default="auto"
        Share of outliers; with "auto" it is estimated from the scores, see
        :func:`metaod.selection._threshold.estimated_share`.
    exclude : str or iterable of str or ModelSpec, optional
        Models that may not be picked, nor be in an average: ids, or names of families.
    space : str or iterable of str or ModelSpec, optional
        The models that may be picked: the name of a space, ids, or names of families.
    max_seconds : float, optional
        Only models that are expected to take no longer to fit; several that are averaged, together.
    random_state : int, RandomState or None, default=0
        Seed of the meta-features and of the detector.
    n_jobs : int or None, default=None
        Jobs of a detector that can use several; scores do not depend on it.

    Attributes
    ----------
    selection_ : Selection or None
        The pick: its ranking, why, how sure. None where the estimator was loaded from a file.
    detector_ : SpecDetector or AverageDetector
        The fitted detector, which takes prepared matrices.
    notes_ : tuple of str
        What you should know: columns that were dropped, infinite and many missing values, models
        that were passed over and why, ties that keep rows from being flagged.
    preparation_ : Preparation
        How a table becomes a matrix.
    fitted_ : Fitted
        The detector with its training table, scores and threshold.
    decision_scores_ : ndarray of float, shape (n_rows,)
        Scores of the training rows; higher is more outlying.
    threshold_ : float
        Rows that score above it are outliers.
    labels_ : ndarray of int, shape (n_rows,)
        1 for the outliers among the training rows, 0 for the others.
    offset_ : float
        Minus the threshold: ``decision_function = score_samples - offset_``.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Columns of the training table; names where it is a frame with texts for names.

    Examples
    --------
    >>> import metaod
    >>> table = metaod.load_example()
    >>> model = MetaOD(contamination=0.05).fit(table)
    >>> model.predict(table.frame.head(3)).shape, int(model.labels_.sum())
    ((3,), 30)
    """

    selection_: Selection | None

    def __init__(
        self,
        learner: "str | PathLike[str] | Artifact" = "default",
        *,
        pick: Pick | None = None,
        contamination: Contamination = "auto",
        exclude: Models | None = None,
        space: Models | None = None,
        max_seconds: float | None = None,
        random_state: "int | np.random.RandomState | None" = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.learner = learner
        self.pick = pick
        self.contamination = contamination
        self.exclude = exclude
        self.space = space
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    # scikit-learn's side

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Pick a model for the table and fit it.

        Parameters
        ----------
        X : DataFrame, array, Table or what else :func:`metaod.read_table` takes
            The table, without labels.
        y : ignored
        """
        check_contamination(self.contamination)  # before anything that takes long
        check_n_jobs(self.n_jobs, owner="MetaOD")
        seed = _seed(self.random_state)
        table = self._checked(X, reset=True)
        preparation = Preparation()
        prepared = preparation.fit_transform(table)
        try:
            selection = select(
                prepared,
                learner=self.learner,
                pick=self.pick,
                space=self.space,
                exclude=self.exclude,
                max_seconds=self.max_seconds,
                random_state=seed,
            )
        except BadParameter as error:
            if error.owner != "select":
                raise
            legal, got, remedy = error.legal, error.got, error.remedy
            raise BadParameter("MetaOD", error.name, legal, got, remedy=remedy) from error
        fitted = fit_choice(
            selection,
            contamination=self.contamination,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        self.selection_ = selection
        return self._settle(preparation, fitted)

    def score_samples(self, X: Any) -> Scores:
        """Minus the detector's scores of rows, each against the training table.

        Lower is more outlying. A row's score does not depend on the rows that come with it; a row
        of the training table has the score that it has there.
        """
        check_is_fitted(self)
        prepared = self.preparation_.transform(self._checked(X, reset=False))
        return -self.fitted_.score(prepared.X)

    def decision_function(self, X: Any) -> Scores:
        """``score_samples`` less ``offset_``: negative for outliers."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """-1 for outliers, 1 for the other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: object = None, **_: object) -> npt.NDArray[np.int64]:
        """Fit to the table and tell its outliers: -1, and 1 for the other rows."""
        self.fit(X, y)
        return np.where(self.labels_ == 1, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True  # made dense as it is read
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    # files

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the fitted estimator to one file, without pickle; :func:`metaod.load` reads it.

        The file holds the models, how tables are prepared, the training matrix and its scores:
        whoever has it can read the values of the training table.
        """
        from metaod.selection._saved import save  # noqa: PLC0415 - it imports this class

        check_is_fitted(self)
        save(self, path)

    # inside

    def _checked(self, X: Any, *, reset: bool) -> Table:
        """The table that was given, once its columns are those of the training table."""
        if _is_plain(X):
            # scikit-learn's own words for what is no table at all; its contents may be anything
            X = validate_data(
                self,
                X,
                reset=reset,
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
            return read_table(X)
        table = _as_table(X)
        named = table.frame if _has_names(X) else table.frame.to_numpy()
        validate_data(self, named, reset=reset, skip_check_array=True)
        return table

    def _settle(self, preparation: Preparation, fitted: Fitted) -> Self:
        self.preparation_ = preparation
        self.fitted_ = fitted
        self.detector_ = fitted.detector
        self.notes_ = (*table_notes(preparation.record_), *fitted.notes)
        self.decision_scores_ = fitted.scores
        self.labels_ = fitted.labels
        self.threshold_ = fitted.threshold
        self.offset_ = -fitted.threshold
        return self


def _as_table(X: Any) -> Table:
    if isinstance(X, Table):
        return X
    if isinstance(X, PreparedTable):
        return Table(pd.DataFrame(X.X, index=X.index, columns=list(X.names)), source=X.source)
    return read_table(X)


def _is_plain(X: Any) -> bool:
    """Whether it is an array or rows of values: no frame, no file, no sparse matrix."""
    return not isinstance(X, Table | PreparedTable | str | PathLike | Mapping) and not any(
        hasattr(X, name) for name in ("columns", "read", "tocsr", "column_names")
    )


def _has_names(X: Any) -> bool:
    """Whether the columns have names of their own, not those that the reader gives."""
    return not hasattr(X, "tocsr")


def _seed(random_state: Any) -> int:
    """One seed for everything random, as scikit-learn draws it."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    legal = "an int in the range [0, 2**32), a RandomState or None"
    return check_seed(random_state, owner="MetaOD", legal=legal)
