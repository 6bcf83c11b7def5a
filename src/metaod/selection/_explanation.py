"""Why a pick was made: the nearest historical datasets, and the features that mattered."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.artifacts import Artifact, History, normalised
from metaod.models import member_ids, title_of

__all__ = ["Explanation", "explain_pick"]

Matrix = npt.NDArray[np.float64]

_TITLES = {"ap": "AP", "roc_auc": "ROC AUC", "precision_at_n": "precision at n"}


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model was picked for a table.

    Parameters
    ----------
    pick : str
        The model, or the average that was picked as one.
    usual : str or None
        What the learner picks for a table whose meta-features are all ordinary; None where the
        artifact carries no history, and what is ordinary is not known.
    nearest : DataFrame
        The nearest historical datasets, one a row: name, origin, n_rows, n_columns, distance, and
        how the pick did there: performance (in the learner's measure), normalised (0 for the
        dataset's worst model, 1 for its best) and reference, PyOD's default iForest's performance.
    features : DataFrame
        The meta-features that speak most for the pick: feature, value, ordinary (the database's
        median) and effect: how much of the pick's lead over the usual model, or where it is the
        usual one over the runner-up, goes away when the value is made ordinary, as a share of it.
    measure : str
        The measure of performance: ap, roc_auc or precision_at_n.
    n_averaged : int
        Models that the learner answered with; of several, all this is about the one with the
        largest weight.
    """

    pick: str
    usual: str | None
    nearest: pd.DataFrame
    features: pd.DataFrame
    measure: str = "ap"
    n_averaged: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "pick": self.pick,
            "usual": self.usual,
            "measure": self.measure,
            "n_averaged": self.n_averaged,
            "nearest": _records(self.nearest),
            "features": _records(self.features),
        }

    def __str__(self) -> str:
        if self.usual is None:
            lines = ["The learner carries no historical tables: why it is, is not known."]
        elif self.pick == self.usual:
            lines = ["It is also the pick for a table with ordinary meta-features."]
        else:
            usual = title_of(self.usual)
            lines = [f"For a table with ordinary meta-features it would be {usual}."]
        if self.n_averaged > 1:
            lines.insert(
                0,
                f"The pick is the average of {self.n_averaged} models; what follows is about "
                f"{title_of(self.pick)}, the one with the largest weight, alone.",
            )
        elif len(member_ids(self.pick)) > 1:
            lines.insert(
                0,
                f"The pick is the average of {len(member_ids(self.pick))} models, and what follows "
                "is about the average itself.",
            )
        if len(self.features):
            lines.append("What speaks for it (value; ordinary value):")
            lines.extend(
                f"  {row.feature}: {_shown(row.value, '.4g')}; {row.ordinary:.4g}"
                for row in self.features.itertuples()
            )
        if len(self.nearest):
            title = _TITLES.get(self.measure, self.measure)
            lines.append(
                f"The nearest historical tables, and the {title} of the pick (iForest) there:"
            )
            lines.extend(
                f"  {row.name}: {_shown(row.performance, '.3f')} ({_shown(row.reference, '.3f')})"
                for row in self.nearest.itertuples(index=False)
            )
        return "\n".join(lines)


def explain_pick(
    artifact: Artifact,
    m: Matrix,
    scores: "pd.Series[float]",
    pick: str,
    *,
    top: int = 5,
    n_averaged: int = 1,
) -> Explanation:
    """Say why a learner picked a model.

    Parameters
    ----------
    artifact : Artifact
        The learner.
    m : array of shape (d,)
        The table's meta-features, as the learner takes them.
    scores : Series
        The learner's scores of the models that may be picked.
    pick : str
        The model.
    top : int, default=5
        Datasets and features to show.
    n_averaged : int, default=1
        Models that the learner answered with.
    """
    history, measure = artifact.history, artifact.manifest.measure or "performance"
    if history is None:
        none = pd.DataFrame()
        return Explanation(pick, None, none, none, measure, n_averaged)
    ordinary = m.copy()
    ordinary[history.cleaning.kept] = history.cleaning.median
    usual_scores = artifact.learner.predict(ordinary)[scores.index]
    usual = str(usual_scores.sort_index().idxmax())
    return Explanation(
        pick,
        usual,
        _nearest(history, history.distances(m), pick, top),
        _features(artifact, history, m, scores, pick, usual, top),
        measure,
        n_averaged,
    )


def _nearest(history: History, distances: Matrix, pick: str, top: int) -> pd.DataFrame:
    places = np.argsort(distances, kind="stable")[:top]
    column = history.models.index(pick)
    P = history.P[places].astype(np.float64)
    return pd.DataFrame(
        {
            "name": [history.names[place] for place in places],
            "origin": [history.origins[place] for place in places],
            "n_rows": history.shapes[places, 0],
            "n_columns": history.shapes[places, 1],
            "distance": distances[places],
            "performance": P[:, column],
            "normalised": normalised(P)[:, column],
            "reference": history.reference[places].astype(np.float64),
        }
    )


def _features(
    artifact: Artifact,
    history: History,
    m: Matrix,
    scores: "pd.Series[float]",
    pick: str,
    usual: str,
    top: int,
) -> pd.DataFrame:
    rest = scores.drop(pick)
    columns = ["feature", "value", "ordinary", "effect"]
    if rest.empty or not artifact.learner.uses_metafeatures:
        return pd.DataFrame(columns=columns)
    rival = usual if usual != pick else str(rest.sort_index().idxmax())
    lead = float(scores[pick] - scores[rival])
    if lead <= 0:
        return pd.DataFrame(columns=columns)
    # one table per feature, equal to this one but for that feature
    kept = history.cleaning.kept
    altered = np.tile(m, (len(kept), 1))
    altered[np.arange(len(kept)), kept] = history.cleaning.median
    found = artifact.learner.predict(altered)
    left = (found[pick] - found[rival]).to_numpy()
    effect = (lead - left) / lead
    frame = pd.DataFrame(
        {
            "feature": [artifact.learner.features_[place] for place in kept],
            "value": m[kept],
            "ordinary": history.cleaning.median,
            "effect": effect,
        }
    )
    frame = frame[frame["effect"] > 0.01]
    return (
        frame.sort_values("effect", ascending=False, kind="stable").head(top).reset_index(drop=True)
    )


def _shown(value: Any, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "unknown"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    # JSON knows neither NaN nor infinities
    known = frame.notna() & ~frame.isin([np.inf, -np.inf])
    plain = frame.astype(object).where(known, None)
    return [
        {
            str(name): getattr(value, "item", lambda value=value: value)()
            for name, value in row.items()
        }
        for row in plain.to_dict("records")
    ]
