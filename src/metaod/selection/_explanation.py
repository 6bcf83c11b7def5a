"""Explain a pick by the nearest historical datasets and the meta-features that mattered."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaod.models import Matrix, find_family, member_ids

if TYPE_CHECKING:
    from metaod.artifacts import Artifact, History

MEASURE_TITLES = {
    "ap": "average precision",
    "roc_auc": "ROC AUC",
    "precision_at_n": "precision at n",
}


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model was picked for a table.

    Parameters
    ----------
    pick : str
        The picked model, which may be an average.
    usual : str or None
        The pick for a table with the median meta-features of the training data; None if the
        artifact has no history.
    nearest : DataFrame
        The nearest historical datasets: name, origin, n_rows, n_columns, distance, and the pick's
        performance there (in the learner's measure), normalised (0 for the dataset's worst model,
        1 for its best) and reference, that of PyOD's default iForest.
    features : DataFrame
        The meta-features that favour the pick most: feature, value, ordinary (the median of the
        training data) and effect, the share of the pick's lead that is lost with the median as
        value. The lead is over the usual model, or over the second if the pick is the usual one.
    measure : str
        The measure of performance: ap, roc_auc or precision_at_n.
    is_fixed : bool
        Whether the pick is the committee, which is the same for every table.
    """

    pick: str
    usual: str | None
    nearest: pd.DataFrame
    features: pd.DataFrame
    measure: str = "ap"
    is_fixed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data for JSON."""
        return {
            "pick": self.pick,
            "usual": self.usual,
            "measure": self.measure,
            "is_fixed": self.is_fixed,
            "nearest": records(self.nearest),
            "features": records(self.features),
        }

    def reason(self) -> str:
        """Say in a sentence why it was picked."""
        if self.is_fixed:
            return "It is fixed: the committee is the same for every table."
        if self.usual is None:
            return "No explanation: the learner has no history, or does not know the model."
        if self.pick == self.usual:
            return "It is also the pick for a typical table."
        usual = family_names(member_ids(self.usual))
        is_same = usual == family_names(member_ids(self.pick))
        other = ", with other settings" if is_same else ""
        return f"For a typical table, the pick would be {usual}{other}."

    def figures(self) -> list[str]:
        """Describe, line by line, the meta-features that favour it and the historical tables."""
        lines = []
        if len(self.features):
            lines.append("Meta-features that favour this pick (this table; median of all tables):")
            lines.extend(
                f"  {row.feature}: {_shown(row.value, '.4g')}; {row.ordinary:.4g}"
                for row in self.features.itertuples()
            )
        if len(self.nearest):
            title = MEASURE_TITLES.get(self.measure, self.measure)
            lines.append(f"Nearest historical tables, with {title} of the pick (of iForest):")
            lines.extend(
                f"  {row.name}: {_shown(row.performance, '.3f')} ({_shown(row.reference, '.3f')})"
                for row in self.nearest.itertuples(index=False)
            )
        return lines

    def __str__(self) -> str:
        return "\n".join([self.reason(), *self.figures()])


def family_names(models: Sequence[str]) -> str:
    """Name models, given by their ids, briefly by their families.

    Examples
    --------
    >>> family_names(["IForest(n_estimators=50)", "IForest(n_estimators=100)", "PCA()"])
    '2 × Isolation forest + PCA'
    """
    families = Counter(model.partition("(")[0] for model in models)
    known = {name: find_family(name) for name in families}
    titles = {name: (found and found.title) or name for name, found in known.items()}
    return " + ".join(
        titles[name] if count == 1 else f"{count} × {titles[name]}"
        for name, count in families.items()
    )


def explain_pick(
    artifact: "Artifact", m: Matrix, scores: "pd.Series[float]", pick: str, *, top: int = 5
) -> Explanation:
    """Explain a pick for a table with meta-features `m` and `scores` of the models to pick from."""
    history, measure = artifact.history, artifact.measure or "performance"
    if history is None or pick not in scores.index:
        return Explanation(pick, None, pd.DataFrame(), pd.DataFrame(), measure)
    ordinary = m.copy()
    ordinary[history.cleaning.kept] = history.cleaning.median
    usual = artifact.learner.best_model(artifact.learner.predict(ordinary)[scores.index])
    return Explanation(
        pick,
        usual,
        nearest_tables(history, m, pick, top),
        _features(artifact, history, m, scores, pick, usual, top),
        measure,
    )


def nearest_tables(history: "History", m: Matrix, pick: str, top: int) -> pd.DataFrame:
    """Find the historical datasets nearest to meta-features `m`, and the pick's performance there.

    The performance is NaN if the pick was not evaluated on them.
    """
    distances = history.distances(m)
    places = np.argsort(distances, kind="stable")[:top]
    P = history.P[places].astype(np.float64)
    own = share = np.full(len(places), np.nan)
    if pick in history.models:
        column = history.models.index(pick)
        own, share = P[:, column], history.normalised[places, column]
    return pd.DataFrame(
        {
            "name": [history.names[place] for place in places],
            "origin": [history.origins[place] for place in places],
            "n_rows": history.shapes[places, 0],
            "n_columns": history.shapes[places, 1],
            "distance": distances[places],
            "performance": own,
            "normalised": share,
            "reference": history.reference[places].astype(np.float64),
        }
    )


def _features(
    artifact: "Artifact",
    history: "History",
    m: Matrix,
    scores: "pd.Series[float]",
    pick: str,
    usual: str,
    top: int,
) -> pd.DataFrame:
    rest = scores.drop(pick)
    none = pd.DataFrame(columns=["feature", "value", "ordinary", "effect"])
    if rest.empty or not artifact.learner.uses_metafeatures:
        return none
    rival = usual if usual != pick else artifact.learner.best_model(rest)
    lead = float(scores[pick] - scores[rival])
    if lead <= 0:
        return none
    kept = history.cleaning.kept
    altered = np.tile(m, (len(kept), 1))  # a row per feature, with the median of that feature
    altered[np.arange(len(kept)), kept] = history.cleaning.median
    found = artifact.learner.predict(altered)
    left = (found[pick] - found[rival]).to_numpy()
    frame = pd.DataFrame(
        {
            "feature": [artifact.learner.features_[place] for place in kept],
            "value": m[kept],
            "ordinary": history.cleaning.median,
            "effect": (lead - left) / lead,
        }
    )
    ordered = frame[frame["effect"] > 0.01].sort_values("effect", ascending=False, kind="stable")
    return ordered.head(top).reset_index(drop=True)


def _shown(value: Any, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "unknown"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain data: JSON has neither NaN nor infinities."""
    known = frame.notna() & ~frame.isin([np.inf, -np.inf])
    plain = frame.astype(object).where(known, None)
    return [
        {
            str(name): getattr(value, "item", lambda value=value: value)()
            for name, value in row.items()
        }
        for row in plain.to_dict("records")
    ]
