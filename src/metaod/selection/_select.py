"""Select the model to run on a table without labels."""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaod import history, metafeatures
from metaod.errors import BadParameter, Message, Setting, counted
from metaod.models import SPACES, Matrix, ModelSpec, member_ids, model_space
from metaod.options import Picking, takes
from metaod.selection._candidates import Candidates, CommitteePick, new_models
from metaod.selection._explanation import (
    MEASURE_TITLES,
    Explanation,
    explain_pick,
    nearest_tables,
    records,
)
from metaod.selection._progress import Tracker
from metaod.selection._trust import Trust, assess_trust, committee_trust, table_notes
from metaod.tables import PreparedTable, Table, prepare, read_table

if TYPE_CHECKING:
    from pyod.models.base import BaseDetector

    from metaod.artifacts import Artifact
    from metaod.metafeatures import MetaFeatures

_LONG_SECONDS = 60.0  # expected fitting time above which there is a warning


@dataclass(frozen=True, eq=False)
class Selection:
    """The pick for a table.

    Parameters
    ----------
    ranking : DataFrame
        The models and averages that may be picked, best first: ``model`` (its id), ``predicted``
        (performance from 0, the worst model for the table, to 1, the best), ``low`` and ``high``
        (its interval; NaN if the learner is not calibrated), ``seconds`` (expected fitting time;
        NaN if unknown) and ``score`` (that of the learner; NaN for the committee).
    passed_over : mapping of ModelSpec to str
        Models that may not be picked, and the reason.
    prepared : PreparedTable
        The table.
    features : MetaFeatures or None
        Its meta-features; None for the committee, which does not depend on them.
    trust : Trust
        Confidence figures and warnings.
    random_state : int
        Seed of the detector.
    learner : Artifact or None
        The learner; None for the committee, which uses none.
    """

    ranking: pd.DataFrame
    passed_over: Mapping[ModelSpec, str]
    prepared: PreparedTable
    features: "MetaFeatures | None"
    trust: Trust
    random_state: int = 0
    learner: "Artifact | None" = None

    @property
    def artifact(self) -> "Artifact":
        """The learner; for the committee the default one, whose history shows similar tables."""
        return self.learner or history.find_artifact()

    @property
    def best(self) -> ModelSpec:
        """The picked model, which may be an average."""
        return ModelSpec.parse(self._pick)

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of the models that are fitted: the members of an average, or the picked model."""
        return member_ids(self._pick)

    @property
    def _pick(self) -> str:
        return str(self.ranking["model"].iloc[0])

    def specs(self) -> Iterator[ModelSpec]:
        """Return the models and averages, best first."""
        return map(ModelSpec.parse, self.ranking["model"])

    def detector(self, *, contamination: float = 0.1) -> "BaseDetector":
        """Make a detector of the pick, with PyOD's interface; it scales its input itself.

        Fit it on ``selection.prepared.X``, or on any finite matrix with the same columns.

        Parameters
        ----------
        contamination : float, default=0.1
            Share of outliers, in (0, 0.5]; sets ``threshold_`` and ``labels_``.
        """
        return self.best.to_pyod(
            random_state=self.random_state, contamination=contamination, fixed=self.prepared.fixed
        )

    def explain(self, *, top: int = 5) -> Explanation:
        """Explain the pick by the `top` nearest historical datasets and main meta-features."""
        if self.features is None:
            none = pd.DataFrame()
            return Explanation(self._pick, self._pick, none, none, is_fixed=True)
        scores = self.ranking.set_index("model")["score"].dropna()
        vector = self.artifact.vector(self.features)
        return explain_pick(self.artifact, vector, scores, self._pick, top=top)

    def nearest(self, *, top: int = 5) -> pd.DataFrame:
        """Return the `top` nearest historical datasets, with the pick's performance there.

        The columns are those of ``explain().nearest``. Unlike :meth:`explain`, it computes the
        meta-features of the table for the committee too. Empty if the learner has no history.
        """
        if self.artifact.history is None:
            return pd.DataFrame()
        features = self.features
        if features is None:
            schemas = tuple(self.artifact.schemas)
            features = metafeatures.extract(self.prepared, schemas, random_state=self.random_state)
        vector = self.artifact.vector(features)
        return nearest_tables(self.artifact.history, vector, self._pick, top)

    @property
    def measure(self) -> str:
        """The measure of the historical performance, as people write it: AP, ROC AUC, ..."""
        measure = self.artifact.measure or "performance"
        return MEASURE_TITLES.get(measure, measure)

    def to_dict(self, *, top: int | None = None) -> dict[str, Any]:
        """Convert to plain data, with the first `top` models of the ranking or all of them."""
        rows = self.ranking.head(len(self.ranking) if top is None else top)
        return {
            "pick": dict.fromkeys(self.members, 1 / len(self.members)),
            "best": {"id": self.best.id, **self.best.to_dict()},
            "learner": None if self.features is None else self.artifact.learner.name,
            "table": {
                "source": self.prepared.source,
                "n_rows": int(self.prepared.X.shape[0]),
                "n_columns": int(self.prepared.X.shape[1]),
            },
            "notes": list(map(str, table_notes(self.prepared.record))),
            "trust": self.trust.to_dict(),
            "why": self.explain().to_dict(),
            "ranking": records(rows),
            "passed_over": len(self.passed_over),
            "random_state": self.random_state,
        }

    def to_json(self, *, top: int | None = None) -> str:
        """Convert :meth:`to_dict` to JSON."""
        return json.dumps(self.to_dict(top=top), allow_nan=False)

    def __repr__(self) -> str:
        rows, columns = self.prepared.X.shape
        shape = f"{counted(rows, 'row')} × {counted(columns, 'column')}"
        return f"Selection({_title(self._pick)} for {shape})"

    def _repr_html_(self) -> str:
        first = self.ranking.head(10).drop(columns="score")
        shown = first.assign(model=[_title(name) for name in first["model"]])
        # pandas would cut long ids
        with pd.option_context("display.max_colwidth", None):
            table = shown.to_html(index=False, float_format=lambda value: f"{value:.3g}", border=0)
        paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in str(self.trust).splitlines())
        pick = html.escape(_title(self._pick))
        return f"<div><p><b>{pick}</b></p>{paragraphs}{table}</div>"


@takes(Picking)
def select(X: Any, options: Picking) -> Selection:
    """Pick the model to run on a table, without labels and without running any candidate.

    Parameters
    ----------
    X : path, DataFrame, array, Table or PreparedTable
        The table. Text, dates and missing values are prepared.
    options : Picking

    Examples
    --------
    >>> import metaod
    >>> selection = metaod.select(metaod.load_example())
    >>> selection.best.id == selection.ranking["model"][0]
    True
    """
    tracker = Tracker(options.progress)
    selection = make_selection(X, options, tracker=tracker)
    tracker.finish("pick")
    return selection


def make_selection(
    X: Any, picking: Picking, *, owner: str = "select", tracker: Tracker
) -> Selection:
    """Do the work of :func:`select`; errors in parameters name `owner`."""
    picking = picking.checked(owner)
    if picking.pick == "committee":
        if not (isinstance(picking.learner, str) and picking.learner == "default"):
            legal = "left out with the committee, which uses no learner"
            raise BadParameter(owner, "learner", legal, picking.learner)
        prepared = _prepared(X, tracker)
        tracker.stage("pick")
        return _committee_selection(prepared, picking, owner)
    artifact = history.find_artifact(picking.learner, owner=owner)
    prepared = _prepared(X, tracker)
    tracker.stage("measure")
    features = metafeatures.extract(
        prepared, tuple(artifact.schemas), random_state=picking.random_state
    )
    tracker.stage("pick")
    vector = artifact.vector(features)
    scores = artifact.learner.predict(vector)
    shape = (int(prepared.X.shape[0]), int(prepared.X.shape[1]))
    specs = [ModelSpec.parse(name) for name in scores.index]
    new = new_models(picking.space, specs)
    candidates = Candidates.among([*specs, *new], shape, picking, owner=owner)
    ids = [spec.id for spec in candidates.costs]
    distances = None if artifact.history is None else artifact.history.distances(vector)
    estimates = _estimates(artifact, distances, scores, scores.reindex(ids).dropna())
    ranking = pd.DataFrame(
        {
            "model": ids,
            **{name: values.reindex(ids).to_numpy() for name, values in estimates.items()},
            "seconds": [cost.seconds for cost in candidates.costs.values()],
            "score": scores.reindex(ids).to_numpy(),
        }
    ).sort_values(["score", "model"], ascending=[False, True], ignore_index=True)
    first = ranking.iloc[0]
    trust = assess_trust(
        prepared,
        artifact,
        distances,
        (float(first["predicted"]), float(first["low"]), float(first["high"])),
        further_warnings=_warnings(picking.space, set(scores.index), float(first["seconds"]), new),
    )
    passed_over = candidates.passed_over
    return Selection(
        ranking, passed_over, prepared, features, trust, picking.random_state, artifact
    )


def _committee_selection(prepared: PreparedTable, picking: Picking, owner: str) -> Selection:
    shape = (int(prepared.X.shape[0]), int(prepared.X.shape[1]))
    found = CommitteePick.for_table(shape, picking, owner=owner)
    seconds = found.cost.seconds
    trust = committee_trust(prepared, [*found.warnings, *_warnings(None, set(), seconds)])
    row = {"model": found.best.id, "predicted": trust.predicted, "low": trust.low}
    ranking = pd.DataFrame([row | {"high": trust.high, "seconds": seconds, "score": float("nan")}])
    return Selection(ranking, found.left_out, prepared, None, trust, picking.random_state)


def _prepared(X: Any, tracker: Tracker) -> PreparedTable:
    if isinstance(X, PreparedTable):
        return X
    if not isinstance(X, Table | pd.DataFrame):
        tracker.stage("read")
        X = read_table(X)
    tracker.stage("prepare")
    return prepare(X)


def _warnings(
    space: Any, known: set[str], seconds: float, new: Sequence[ModelSpec] = ()
) -> list[str | Message]:
    found: list[str | Message] = []
    if new:
        families = " and ".join(dict.fromkeys(spec.detector for spec in new))
        found.append(f"the learner does not know {families}: its models come after all others")
    if isinstance(space, str) and space in SPACES:
        wanted = {spec.id for spec in model_space(space)}
        if not wanted <= known:
            found.append(
                f"the learner knows {len(wanted & known)} of the {len(wanted)} models of the space "
                f"'{space}', and picked among those; train a learner on that space to use all of it"
            )
    if seconds > _LONG_SECONDS:
        expected = f"fitting the pick is expected to take about {seconds:.3g} s"
        quicker = Message(
            "long-fit", "{expected}; set {set} to pick a quicker model",
            expected=expected, set=Setting("max_seconds"),
        )  # fmt: skip
        found.append(quicker)
    return found


def _estimates(
    artifact: "Artifact",
    distances: Matrix | None,
    scores: "pd.Series[float]",
    allowed: "pd.Series[float]",
) -> dict[str, "pd.Series[float]"]:
    """Return the predicted performance of every model, and the ends of its interval."""
    names = ("predicted", "low", "high")
    past, calibration = artifact.history, artifact.calibration
    if past is None or calibration is None or distances is None or allowed.empty:
        return dict.fromkeys(names, pd.Series(np.nan, index=scores.index))
    models = list(past.models)
    known = np.asarray(scores[models], dtype=np.float64)
    pick = models.index(artifact.learner.best_model(allowed))
    found = calibration.predict(known, past.estimate(distances), pick=pick)
    return {
        name: pd.Series(values, index=models) for name, values in zip(names, found, strict=True)
    }


def _title(model: str) -> str:
    return " + ".join(member_ids(model))
