"""What a selection is: the pick, the ranking behind it, why, and how sure."""

import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.artifacts import Artifact
from metaod.learners import Choice
from metaod.metafeatures import MetaFeatures
from metaod.models import ModelSpec, title_of
from metaod.selection._explanation import Explanation, explain_pick
from metaod.selection._picks import resolved
from metaod.selection._table_notes import table_notes
from metaod.selection._trust import Trust
from metaod.tables import PreparedTable

if TYPE_CHECKING:
    from pyod.models.base import BaseDetector

__all__ = ["Selection"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The pick for a table.

    Parameters
    ----------
    answer : Choice
        What the learner answers with, of what is in the ranking: one model or average, or several
        with weights.
    ranking : DataFrame
        The models and averages that may be picked, best first: ``model`` (its id), ``predicted``
        (performance from 0, the worst model for the table, to 1, the best), ``low`` and ``high``
        (its interval; NaN where the learner is not calibrated), ``seconds`` (expected for fitting
        it; NaN where not known) and ``score`` (the learner's own).
    passed_over : mapping of ModelSpec to str
        Models that may not be picked, and the reason.
    prepared : PreparedTable
        The table.
    features : MetaFeatures
        What it looks like.
    artifact : Artifact
        The learner.
    trust : Trust
        How sure the pick is.
    random_state : int
        Seed of the detector.
    """

    answer: Choice
    ranking: pd.DataFrame
    passed_over: Mapping[ModelSpec, str]
    prepared: PreparedTable
    features: MetaFeatures
    artifact: Artifact
    trust: Trust
    random_state: int = 0

    @property
    def choice(self) -> Choice:
        """What is fitted: one model, or several with weights; of an average, its members."""
        return resolved(self.answer)

    @property
    def best(self) -> ModelSpec:
        """The picked model or average; of several, the one with the largest weight."""
        return ModelSpec.parse(self.answer.best)

    def specs(self) -> Iterator[ModelSpec]:
        """The models and averages, best first."""
        return map(ModelSpec.parse, self.ranking["model"])

    def detector(self, *, contamination: float = 0.1) -> "BaseDetector":
        """A detector of the pick, with PyOD's interface, that scales its input itself.

        Fit it on ``selection.prepared.X``, or on any finite matrix with the same columns.

        Parameters
        ----------
        contamination : float, default=0.1
            Share of outliers, in (0, 0.5]; sets ``threshold_`` and ``labels_``.
        """
        from metaod.selection._fitting import detector_of  # noqa: PLC0415 - imports PyOD

        return detector_of(self.choice, contamination, self.random_state)

    @cached_property
    def _vector(self) -> npt.NDArray[np.float64]:
        return self.artifact.vector(self.features)

    def explain(self, *, top: int = 5) -> Explanation:
        """Why: the nearest historical datasets, and the meta-features that mattered.

        Parameters
        ----------
        top : int, default=5
            How many of each.
        """
        scores = self.ranking.set_index("model")["score"]
        return explain_pick(
            self.artifact,
            self._vector,
            scores,
            self.answer.best,
            top=top,
            n_averaged=len(self.answer.weights),
        )

    def to_dict(self, *, top: int | None = None) -> dict[str, Any]:
        """Plain data: the pick, the ranking, why, how sure.

        Parameters
        ----------
        top : int, optional
            Models of the ranking; all unless told.
        """
        rows = self.ranking.head(len(self.ranking) if top is None else top)
        plain = rows.astype(object).where(rows.notna(), None)
        return {
            "pick": dict(self.choice.weights),
            "best": {"id": self.best.id, **self.best.to_dict()},
            "learner": self.artifact.manifest.learner,
            "table": {
                "source": self.prepared.source,
                "n_rows": int(self.prepared.X.shape[0]),
                "n_columns": int(self.prepared.X.shape[1]),
            },
            "notes": list(table_notes(self.prepared.record)),
            "trust": self.trust.to_dict(),
            "why": self.explain().to_dict(),
            "ranking": plain.to_dict("records"),
            "passed_over": len(self.passed_over),
            "random_state": self.random_state,
        }

    def to_json(self, *, top: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(top=top), allow_nan=False)

    def __repr__(self) -> str:
        picked = " + ".join(self.choice.weights)
        rows, columns = self.prepared.X.shape
        return f"Selection({picked} for {rows} rows × {columns} column{'s' * (columns != 1)})"

    def _repr_html_(self) -> str:
        first = self.ranking.head(10).drop(columns="score")
        shown = first.assign(model=[title_of(name) for name in first["model"]])
        # an id is of no use when it is cut short
        with pd.option_context("display.max_colwidth", None):
            table = shown.to_html(index=False, float_format=lambda value: f"{value:.3g}", border=0)
        paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in str(self.trust).splitlines())
        picked = html.escape(" + ".join(self.choice.weights))
        return f"<div><p><b>{picked}</b></p>{paragraphs}{table}</div>"
