"""Training data of learners (P, M and origins), training, and calibration."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from metaod.artifacts import Artifact, Calibration, History
from metaod.errors import BadParameter, UserError
from metaod.history._metrics import MEASURES
from metaod.learners import Learner, OnStep, origin_folds
from metaod.metafeatures import schema


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Historical datasets that have both performance and meta-features.

    Parameters
    ----------
    P : DataFrame of shape (n_datasets, n_models)
        Performance, NaN where missing; rows are fingerprints, columns model ids.
    M : DataFrame of shape (n_datasets, n_features)
        Meta-features of the same datasets, those that learners use.
    datasets : DataFrame
        Name, origin, n_rows and n_columns of the same datasets.
    reference : Series of shape (n_datasets,)
        Performance of PyOD's default iForest on them, NaN where unknown.
    schemas : dict of str to int
        The schemas of the columns of M, and their versions.
    measure : str
        The measure in P.
    """

    P: pd.DataFrame
    M: pd.DataFrame
    datasets: pd.DataFrame
    reference: "pd.Series[float]"
    schemas: dict[str, int]
    measure: str

    @classmethod
    def from_frames(
        cls,
        P: pd.DataFrame,
        metafeatures: Mapping[str, pd.DataFrame],
        datasets: pd.DataFrame,
        *,
        reference: "pd.Series[float] | None" = None,
        measure: str = "ap",
    ) -> "TrainingData":
        """Join frames by fingerprint; a dataset that is not in all of them is left out.

        Parameters
        ----------
        P : DataFrame
            Performance, in the order of the result.
        metafeatures : mapping of str to DataFrame
            The meta-features by schema, one column a feature. The version is the newest that has
            one of the columns; all its features must be there.
        datasets : DataFrame
            Name, origin, n_rows and n_columns.
        reference : Series, optional
            Performance of PyOD's default iForest.
        measure : {"ap", "roc_auc", "precision_at_n"}, default="ap"
            The measure in P.
        """
        if measure not in MEASURES:
            raise BadParameter("TrainingData", "measure", MEASURES, measure)
        parts, schemas = [], {}
        for name, frame in metafeatures.items():
            used = schema(name).of_columns(frame.columns)
            lacking = [feature for feature in used.learned if feature not in frame.columns]
            if lacking:
                legal = f"all features of {name!r}, version {used.version}"
                raise BadParameter("TrainingData", "metafeatures", legal, f"no {lacking[0]}")
            parts.append(frame[list(used.learned)])
            schemas[name] = used.version
        if not parts:
            raise BadParameter("TrainingData", "metafeatures", "of one schema at least", "none")
        rows = P.index[P.notna().any(axis=1)]
        for index in (datasets.index, *(part.index for part in parts)):
            rows = rows[rows.isin(index)]
        if rows.empty:
            remedy = "evaluate models on labelled datasets with: metaod build"
            raise UserError("no dataset has both performance and meta-features", remedy=remedy)
        return cls(
            P.loc[rows],
            pd.concat([part.loc[rows] for part in parts], axis=1),
            datasets.loc[rows, ["name", "origin", "n_rows", "n_columns"]],
            pd.Series(np.nan, index=rows) if reference is None else reference.reindex(rows),
            schemas,
            measure,
        )

    @property
    def origins(self) -> "pd.Series[str]":
        return self.datasets["origin"]

    @property
    def n_origins(self) -> int:
        return int(self.origins.nunique())

    def without(self, origins: Collection[str]) -> "TrainingData":
        """Return the data without the datasets of these origins."""
        # a misspelt origin would silently stay in the training data
        for name in sorted(set(origins) - set(self.origins)):
            raise BadParameter("TrainingData", "origins", "origins of the datasets", name)
        rows = ~self.origins.isin(list(origins)).to_numpy()
        if not np.any(rows):
            legal = "such that a dataset is left"
            raise BadParameter("TrainingData", "origins", legal, sorted(origins))
        frames = {name: getattr(self, name)[rows] for name in ("P", "M", "datasets", "reference")}
        return replace(self, **frames)

    def history(self) -> History:
        """Return the datasets as an artifact stores them."""
        return History.from_frames(self.P, self.M, self.datasets, self.reference)


def train(
    data: TrainingData, learner: Learner, *, calibrate: int = 0, progress: OnStep | None = None
) -> Artifact:
    """Fit a learner on historical datasets, which are recorded in the artifact.

    Parameters
    ----------
    data : TrainingData
        The datasets.
    learner : Learner
        The learner, with its parameters; it is fitted in place.
    calibrate : int, default=0
        Number of groups of origins, each left out of one fit, for the calibration: 2 or more, or
        0 for none. With fewer origins than that the artifact has no calibration.
    progress : callable, optional
        Called with the progress of training.
    """
    if calibrate < 0 or calibrate == 1:
        raise BadParameter("train", "calibrate", "0 for none, or 2 or more", calibrate)
    learner.fit(data.P, data.M, data.origins, progress=progress)
    datasets = tuple(map(str, data.P.index))
    artifact = Artifact(
        learner, data.schemas, data.measure, datasets, data.n_origins, data.history()
    )
    if calibrate == 0 or calibrate > data.n_origins:
        return artifact
    calibration = calibration_of(data, learner, n_folds=calibrate, progress=progress)
    return replace(artifact, calibration=calibration)


def calibration_of(
    data: TrainingData, learner: Learner, *, n_folds: int, progress: OnStep | None = None
) -> Calibration:
    """Measure how good a learner's picks are on origins that it was not trained on."""
    P, M, origins = data.P, data.M, data.origins
    scores = out_of_fold_scores(learner, P, M, origins, n_folds=n_folds, progress=progress)
    return Calibration.fit(scores, data.history())


def out_of_fold_scores(
    learner: Learner,
    P: pd.DataFrame,
    M: pd.DataFrame,
    groups: Sequence[str] | pd.Series,
    *,
    n_folds: int = 10,
    progress: OnStep | None = None,
) -> pd.DataFrame:
    """Score the models for every dataset by a fit without its origin.

    Parameters
    ----------
    learner : Learner
        Copies of it are fitted.
    P, M, groups
        As for :meth:`Learner.fit`.
    n_folds : int, default=10
        Number of fits.
    progress : callable, optional
        Called after each fit.
    """
    scores = pd.DataFrame(np.nan, index=P.index, columns=P.columns)
    folds, origins = origin_folds(groups, n_folds), np.asarray(groups)
    for fold in range(n_folds):
        out = folds == fold
        fitted = replace(learner).fit(P[~out], M[~out], origins[~out])
        scores[out] = fitted.predict(M[out])[P.columns].to_numpy()
        if progress is not None:
            progress("calibrating", fold + 1, n_folds)
    return scores
