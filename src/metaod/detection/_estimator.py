"""``MetaOD``: pick, fit and score, as a scikit-learn outlier detector."""

import warnings
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from metaod.detection._cells import CellCheck, flagged
from metaod.detection._conformal import Calibration
from metaod.detection._explaining import explain, row_places
from metaod.detection._fitted import Fitted, fit_selection
from metaod.detection._held_out import calibrate
from metaod.detection._history import PickVersion
from metaod.detection._inputs import checked_table, roles_of, seed_of, training_rows
from metaod.detection._reasons import RowReasons
from metaod.detection._result import Detection
from metaod.detection._saved import SavedPick
from metaod.detection._summary import write_report
from metaod.detection._threshold import Contamination
from metaod.detection._writing import output_path
from metaod.errors import BadParameter, Message, UserError
from metaod.models import ModelSpec, Scores
from metaod.options import Fitting, Names, Pick, Picking
from metaod.review import ReviewLoop, UsedMarks, read_marks
from metaod.selection import OnProgress, Selection, Tracker, make_selection, table_notes
from metaod.tables import Drift, Preparation, Table, is_file
from metaod.wrong_cells import Pattern, WrongCells

if TYPE_CHECKING:
    from metaod.artifacts import Artifact

Marks = Mapping[int, bool | None]
Models = str | ModelSpec | Iterable[str | ModelSpec]
_NEW_ROWS = "score new rows with 'metaod.detection.detect(rows, model=...)'"
_PICKING = ("learner", "pick", "exclude", "space", "max_seconds")


class MetaOD(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not annotated
    """An outlier detector that picks itself for the table it is fitted to.

    Tables may hold text, dates and missing values. ``predict``, ``score_samples`` and
    ``decision_function`` have scikit-learn's signs: -1 is an outlier, lower is more outlying.
    ``decision_scores_``, ``labels_`` and ``threshold_`` have PyOD's: higher is more outlying, 1 is
    an outlier. There is no ``set_output``, which scikit-learn gives to transformers alone.

    Parameters
    ----------
    learner : str, path or Artifact, default="default"
        The learner that picks: the shipped default, a name, or an artifact of ``metaod train``.
    pick : {"learned", "learned-single", "committee"}, default="learned"
        With ``learned`` the learner picks a model or an average of a few, with ``learned-single``
        only one model. ``committee`` is a fixed average of seven models, the same for every table.
    contamination : "auto" or float in (0, 0.5], default="auto"
        Share of rows to flag, by their scores. With "auto" rows above a clear gap in the scores are
        flagged, or few if there is none, and rows with a cell that is probably wrong.
    rows_only : bool, default=False
        Whether only unusual rows are looked for, and no wrong cells.
    exclude : str or iterable of str or ModelSpec, optional
        Models that may not be picked, nor be in an average: ids, or names of families.
    space : str or iterable of str or ModelSpec, optional
        The models that may be picked: the name of a space, ids, or names of families.
    max_seconds : float, optional
        The longest expected time to fit the pick, with all members of an average.
    random_state : int, RandomState or None, default=0
        Seed of the meta-features and of the detector.
    n_jobs : int or None, default=None
        Threads that score rows, and jobs of a detector that can use several; -1 for one per core.
        None means one. Scores do not depend on it.
    ignore, only, id, category, date, time : str or iterable of str, optional
        Roles of columns, as in :class:`metaod.Preparation`: not used, alone used, naming the rows,
        names written as numbers, dates, and dates whose time is used. An array's columns are called
        x1, x2, ...
    by, over : str or iterable of str, optional
        Columns of groups, in which rows are judged, and the column that orders the rows, which are
        then judged by their past.
    target, high, low : str or iterable of str, optional
        The column of numbers to judge, which the others explain; and columns of which only high or
        only low values count. See docs/guides/context.md.

    Attributes
    ----------
    selection_ : Selection or None
        The pick with its ranking and explanation. None if the estimator was loaded from a file.
    detector_ : SpecDetector or AverageDetector
        The fitted detector, which takes prepared matrices.
    notes_ : tuple of str or Message
        How text was read, dropped columns, infinite and many missing values, models that failed,
        ties of scores.
    preparation_ : Preparation
        The fitted preparation of tables.
    cells_ : CellCheck or None
        Finds wrong cells; None with `rows_only`.
    marks_ : UsedMarks or None
        The answers that were learned from.
    fitted_ : Fitted
        The detector with its training table, scores and threshold.
    decision_scores_ : ndarray of float, shape (n_rows,)
        Scores of the training rows, which rank unusual rows; of a large table that was loaded from
        a file, those of the rows in the file.
    error_scores_ : ndarray of float, shape (n_rows,)
        For each training row, the probability that one of its cells is wrong; not with `rows_only`.
    threshold_ : float
        Rows that score above it are outliers.
    labels_ : ndarray of int, shape (n_rows,)
        1 for the training rows that are flagged, 0 for the others.
    offset_ : float
        Minus the threshold: ``decision_function = score_samples - offset_``.
    reading_ : dict
        Options with which the training table was read; only if the estimator was loaded from a
        file.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Columns of the training table; names only if it is a frame with text names. New rows with
        names need the columns that are used, in any order.

    Examples
    --------
    >>> import metaod
    >>> table = metaod.load_example()
    >>> model = MetaOD(contamination=0.05).fit(table)
    >>> model.predict(table.frame.head(3)).shape, int(model.labels_.sum())
    ((3,), 30)
    """

    selection_: Selection | None
    cells_: CellCheck | None
    marks_: UsedMarks | None
    notes_: tuple[str | Message, ...]
    reading_: dict[str, Any]
    _calibration: Calibration | None
    _history: tuple[PickVersion, ...] = ()
    _n_rows: int | None = None  # of the table, if more than it is fitted to

    def __init__(
        self,
        learner: "str | PathLike[str] | Artifact" = "default",
        *,
        pick: Pick = "learned",
        contamination: Contamination = "auto",
        rows_only: bool = False,
        exclude: Models | None = None,
        space: Models | None = None,
        max_seconds: float | None = None,
        random_state: "int | np.random.RandomState | None" = 0,
        n_jobs: int | None = None,
        ignore: Names = None,
        only: Names = None,
        id: Names = None,  # noqa: A002 - a role, as on the command line
        category: Names = None,
        date: Names = None,
        time: Names = None,
        by: Names = None,
        over: Names = None,
        target: Names = None,
        high: Names = None,
        low: Names = None,
    ) -> None:
        self.learner = learner
        self.pick = pick
        self.contamination = contamination
        self.rows_only = rows_only
        self.exclude = exclude
        self.space = space
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ignore = ignore
        self.only = only
        self.id = id
        self.category = category
        self.date = date
        self.time = time
        self.by = by
        self.over = over
        self.target = target
        self.high = high
        self.low = low

    def fit(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002 - scikit-learn's signature
        *,
        marks: "Marks | str | PathLike[str] | None" = None,
        progress: OnProgress | None = None,
    ) -> Self:
        """Pick a model for the table and fit it; learn from marks if there are any.

        Parameters
        ----------
        X : DataFrame, array, Table or what else :func:`metaod.read_table` takes
            The table, without labels.
        y : ignored
        marks : mapping of int to bool or None, or path-like; optional
            What is known of rows, by their positions: True for an outlier, False for none, None for
            unsure, from which nothing is learned. Or a file that ``metaod review`` wrote. See
            :class:`metaod.Review`.
        progress : callable, optional
            Receives a :class:`metaod.selection.ProgressReport` at every stage; what it raises
            stops the work.
        """
        tracker = Tracker(progress)
        # before anything that takes long
        flag: Any = self.rows_only
        flag = bool(flag) if isinstance(flag, np.bool_) else flag  # as from a grid of parameters
        given = {"contamination": self.contamination, "rows_only": flag, "n_jobs": self.n_jobs}
        Fitting(**given).checked("MetaOD")
        seed = seed_of(self.random_state)
        if is_file(X):
            tracker.stage("read")
        table = checked_table(self, X, reset=True)
        tracker.stage("prepare")
        preparation = Preparation(**roles_of(self))
        prepared = preparation.fit_transform(table)
        cells = None
        if not self.rows_only:
            tracker.stage("check")
            cells = CellCheck(table, preparation, seed, n_jobs=self.n_jobs)
        used = None
        if marks is not None and marks != {}:
            naming = [own.name for own in preparation.record_.columns if own.role == "id"]
            used = read_marks(marks, table, naming or None)
        picking = Picking(random_state=seed, **{name: getattr(self, name) for name in _PICKING})
        selection = make_selection(prepared, picking, owner="MetaOD", tracker=tracker)
        fitted = fit_selection(
            selection,
            contamination=self.contamination,
            random_state=seed,
            n_jobs=self.n_jobs,
            tracker=tracker,
        )
        errors = None if cells is None else cells.found.of_rows()
        answers = {} if used is None else used.answers
        fitted = fitted.answered(answers, self.contamination, errors)
        self._set_fitted(selection, preparation, fitted, cells)
        self._history, self._n_rows = (), None
        self.__dict__.pop("reading_", None)  # that of another table
        self.marks_ = used
        self._table = replace(table, frame=table.frame.copy(deep=False), original=None)
        self.notes_ = (*table.warnings, *self.notes_)
        tracker.finish("score")
        return self

    def review(self, askable: Any = None, strategy: str = "found") -> "Review":
        """Start a review of the training table, with the marks that were given to ``fit``.

        The parameters are those of :class:`metaod.Review`.
        """
        return Review(self, askable=askable, strategy=strategy)

    def score_samples(self, X: Any) -> Scores:
        """Return minus the detector's scores of rows, each scored against the training table.

        Lower is more outlying. A row of the training table has its training score. There is a
        warning if the rows differ from the training table as :meth:`drift` reports.
        """
        return self._scored(self._checked(X))

    def suspect_cells(self, X: Any = None) -> pd.DataFrame:
        """Return the cells that may be wrong, the most suspicious first.

        Parameters
        ----------
        X : DataFrame, array, Table or what else :func:`metaod.read_table` takes; optional
            New rows; by default those of the training table.

        Returns
        -------
        DataFrame
            For every cell with any suspicion its row (its position, from 0), column and value, the
            expected value or range, the kind of error, and the score: the probability that the cell
            is wrong. Also why the value is expected, and a suggested value, if there are any.

        Examples
        --------
        >>> import metaod
        >>> frame = metaod.load_example().frame
        >>> frame.loc[7, "pressure_bar"] *= 1000
        >>> MetaOD().fit(frame).suspect_cells()[["row", "column"]].head(1).values.tolist()
        [[7, 'pressure_bar']]
        """
        check_is_fitted(self)
        if self.cells_ is None:
            what = "the estimator was fitted to look for unusual rows only"
            remedy = "fit it with rows_only=False"
            raise UserError(what, where="MetaOD.suspect_cells", remedy=remedy)
        cells = (self.cells_.found if X is None else self.cells_.find(self._checked(X))).cells
        first = ["row", "column", "value", "expected", "kind", "score"]
        return cells[[*first, *cells.columns.difference(first)]].reset_index(drop=True)

    def drift(self, X: Any) -> tuple[Drift, ...]:
        """Compare rows with the training table: usual ranges, unseen categories, missing values.

        Returns
        -------
        tuple of Drift
            Columns in which more rows are unusual than chance explains, the largest excess first.
            Empty for rows of the same distribution, in all but 1 of 1,000 tables.
        """
        table = self._checked(X)
        return self.preparation_.transform(table).record.drift

    def explain_rows(
        self, rows: Any = None, *, top: int = 5, progress: OnProgress | None = None
    ) -> list[RowReasons]:
        """Name the columns that make rows unusual, the most important first.

        A cell is replaced by a value that is usual for the row, and the row is scored again: what
        the score loses is what the column explains. See docs/reasons.md.

        Parameters
        ----------
        rows : int, sequence of int, mask of bool, or a table; optional
            Positions of training rows or a mask of them, or new rows; an estimator from a file
            knows no training rows. By default the flagged training rows, the most outlying first,
            at most 100.
        top : int, default=5
            The most columns to name for each row.
        progress : callable, optional
            Receives a :class:`metaod.selection.ProgressReport` after every 100 rows.

        Returns
        -------
        list of RowReasons
            One for each row, in the order given.

        Examples
        --------
        >>> import metaod
        >>> model = MetaOD().fit(metaod.load_example())
        >>> print(model.explain_rows(top=1)[0])
        pressure_bar missing (in 1.5% of the rows)
        """
        check_is_fitted(self)
        rows = training_rows(rows, len(self.decision_scores_))
        places, wrong = row_places(rows, self.fitted_), None
        if places is None:
            table = self._checked(rows)
            wrong = None if self.fitted_.marked is None else self._wrong(table)
        else:
            own = self._training_table("explain_rows", "give the rows themselves, as a table")
            table = own.take(places)
        errors = None if wrong is None else wrong.of_rows()
        fitted = self.preparation_, self.fitted_
        return explain(*fitted, table, places, errors, top, Tracker(progress))

    @property
    def history_(self) -> tuple[PickVersion, ...]:
        """What it has learned from, the last rows last; see :func:`metaod.update`."""
        check_is_fitted(self)
        if not self._history:
            n_rows = self._n_rows or self.preparation_.record_.n_rows
            known = None if self.cells_ is None else self.cells_.table
            learned = known if hasattr(self, "_table") else None  # a file has a part of it
            self._history = (PickVersion.of(self, learned, n_rows),)
        return self._history

    def patterns(self) -> list[Pattern]:
        """Return what rows of the training table have in common that are wrong or unusual.

        Patterns of wrong cells come first, those that hold most errors before others; then those of
        flagged rows without wrong cells, of which the 100 most outlying are explained. Each has its
        ``rows``, from 0, a ``sentence()``, and ``to_dict()``.

        Examples
        --------
        >>> import metaod
        >>> frame = metaod.load_example().frame
        >>> frame.loc[[7, 70, 300], "pressure_bar"] *= 1000
        >>> print(MetaOD().fit(frame).patterns()[0].sentence())
        3 rows: pressure_bar × 1000
        """
        check_is_fitted(self)
        return list(Detection.of(self, self._training_table("patterns", _NEW_ROWS)).patterns())

    def report(self, path: "str | PathLike[str] | None" = None) -> str:
        """Describe the result in one HTML file, which needs nothing else.

        It shows wrong cells, the scores with a threshold that can be moved, a map of the table, and
        the most outlying rows with their reasons: see docs/report.md.

        Parameters
        ----------
        path : path-like, optional
            The file to write, which ends in .html.

        Returns
        -------
        str
            The text of the file.
        """
        check_is_fitted(self)
        if path is not None:  # before anything that takes long
            path = output_path(path, owner="MetaOD.report", name="path", kind="report")
        return write_report(Detection.of(self, self._training_table("report", _NEW_ROWS)), path)

    def _training_table(self, method: str, remedy: str) -> Table:
        if not hasattr(self, "_table"):
            what = "a saved pick does not hold the rows that it was fitted to"
            raise UserError(what, where=f"MetaOD.{method}", remedy=remedy)
        return self._table

    def _checked(self, X: Any) -> Table:
        check_is_fitted(self)
        return checked_table(self, X, reset=False)

    def _scored(
        self, table: Table, wrong: WrongCells | None = None, *, warns: bool = True
    ) -> Scores:
        prepared = self.preparation_.transform(table)
        for warning in prepared.record.drift_warnings() if warns else ():
            warnings.warn(warning, stacklevel=3)  # the caller of a public method
        if wrong is None and self.fitted_.marked is not None:
            wrong = self._wrong(table)
        return -self.fitted_.score(prepared.X, errors=None if wrong is None else wrong.of_rows())

    def _wrong(self, table: Table) -> WrongCells | None:
        return None if self.cells_ is None else self.cells_.find(table)

    def decision_function(self, X: Any) -> Scores:
        """Return ``score_samples`` less ``offset_``: negative for outliers."""
        return np.asarray(self._scored(self._checked(X)) - self.offset_)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Return -1 for rows that are flagged, 1 for the other rows.

        Rows are flagged whose decision function is negative; with ``contamination="auto"`` those
        with a cell that is probably wrong, too.
        """
        table = self._checked(X)
        wrong = self._wrong(table) if self.contamination == "auto" else None  # it takes long
        return np.where(self._flags(-self._scored(table, wrong), wrong), -1, 1)

    def _flags(self, scores: Scores, wrong: WrongCells | None) -> npt.NDArray[np.bool_]:
        flags = None if wrong is None else wrong.flags()
        return flagged(scores > self.threshold_, flags, self.contamination)

    def fit_predict(self, X: Any, y: object = None, **options: Any) -> npt.NDArray[np.int64]:
        """Fit to the table, with options of ``fit``; return -1 for outliers, 1 for other rows."""
        self.fit(X, y, **options)
        return np.where(self.labels_ == 1, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True  # made dense as it is read
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def save(
        self,
        path: "str | PathLike[str]",
        *,
        reading: "Mapping[str, Any] | None" = None,
        sign: "str | PathLike[str] | None" = None,
    ) -> None:
        """Write the fitted estimator to one file, without pickle; :func:`metaod.load` reads it.

        The file holds the rows that were learned from, all or a sample of a large table, and the
        marked ones: anyone who has it can read these values of the table. It also holds the
        :meth:`calibration`.

        Parameters
        ----------
        path : path-like
            The file.
        reading : mapping, optional
            Options with which the table was read. Those that say what values mean (na, text,
            decimal, ...) are kept: ``metaod detect --apply`` reads new rows with them.
        sign : path-like, optional
            The file of a key, with which the file is signed.
        """
        check_is_fitted(self)
        kept = reading or getattr(self, "reading_", {})
        SavedPick.of(self, self.calibration(), kept).write(path, sign)

    def calibration(self) -> Calibration | None:
        """Return what :func:`metaod.check` compares later rows with: held-out rows, scored as new.

        The models are fitted again, up to five times, when it is first needed. None if the table
        has too few rows, or the estimator is from a file without them.
        """
        if self._calibration is None and hasattr(self, "_table"):
            own = self._table, self.preparation_, self.fitted_, self.cells_
            self._calibration = calibrate(*own)
        return self._calibration

    def _set_fitted(
        self,
        selection: Selection | None,
        preparation: Preparation,
        fitted: Fitted,
        cells: CellCheck | None,
    ) -> Self:
        self.cells_ = cells
        self.selection_ = selection
        self.preparation_ = preparation
        self.detector_ = fitted.detector
        self.notes_ = (*table_notes(preparation.record_), *fitted.all_notes)
        return self._set_scores(fitted)

    def _set_scores(self, fitted: Fitted) -> Self:
        self.fitted_ = fitted
        self._calibration = None  # that of other scores
        self.decision_scores_ = fitted.scores
        self.__dict__.pop("error_scores_", None)
        if self.cells_ is not None:
            self.error_scores_ = self.cells_.scores
        wrong = None if self.cells_ is None else self.cells_.flags
        flags = flagged(fitted.labels == 1, wrong, self.contamination, fitted.marks)
        self.labels_ = flags.astype(np.int64)
        self.threshold_ = fitted.threshold
        self.offset_ = -fitted.threshold
        return self


class Review(ReviewLoop):
    """A review of a table: ask which row to look at, tell what it is, and see the ranking change.

    Without marks the ranking is the pick's. Every mark changes it as far as the marks of similar
    tables have justified in history: see docs/review.md.

    Parameters
    ----------
    X : DataFrame, array, path, Table or a fitted MetaOD
        The table, which MetaOD is fitted to; or a fitted estimator.
    askable : array of bool, optional
        The rows that may be asked about and marked; all by default.
    strategy : {"found", "learn"}, default="found"
        What questions are for. "found" asks about rows that are probably outliers. "learn" asks
        about rows that may be outliers or not: it finds half as many, and ranks the other rows of
        numeric tables better.
    random_state : int, RandomState or None, default=0
        Seed of MetaOD.
    **options
        Other parameters of MetaOD.

    Examples
    --------
    >>> import metaod
    >>> table = metaod.load_example()
    >>> review = Review(table)
    >>> row = review.ask()
    >>> review.tell(row, True)
    >>> int(review.ranking[0]) == row, review.found
    (True, 1)
    """

    def __init__(
        self,
        X: Any,
        *,
        askable: Any = None,
        strategy: str = "found",
        random_state: "int | np.random.RandomState | None" = 0,
        **options: Any,
    ) -> None:
        if not isinstance(X, MetaOD):
            X = MetaOD(random_state=random_state, **options).fit(X)
        elif options:
            legal = "absent, because the estimator is fitted already"
            name, value = next(iter(options.items()))
            raise BadParameter("Review", name, legal, value)
        check_is_fitted(X)
        self._model: MetaOD = X
        super().__init__(X.fitted_.markable(), askable, strategy)

    @property
    def flags(self) -> npt.NDArray[np.bool_]:
        """Whether each row is flagged: rows marked as outliers, and as many as are expected left.

        With a number as ``contamination`` that share of the rows is flagged.
        """
        return np.asarray(self.detector().labels_ == 1)

    def detector(self) -> MetaOD:
        """Return a fitted MetaOD that has learned the marks, scores new rows and can be saved."""
        model = copy(self._model)._set_scores(self._fitted())  # noqa: SLF001 - one module
        model.marks_ = UsedMarks(self.marks) if self.marks else None
        return model

    def _fitted(self) -> Fitted:
        return self._model.fitted_.learn(self._table.copy(), self._model.contamination)
