"""The paper's claims about stability, tested: MetaOD with one thing changed at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.evaluation.figures.curves import write_curve
from metaod.evaluation.protocols import Split, by_folds, grouped_folds
from metaod.evaluation.running import Candidate, run_protocol
from metaod.evaluation.statistics import bootstrap_intervals
from metaod.evaluation.testbed_data import TestbedData
from metaod.evaluation.writing import write_table

__all__ = [
    "STUDIES",
    "Setting",
    "Study",
    "run_sensitivity",
    "sensitivity_splits",
    "write_sensitivity",
]

_FOLDS = 10


@dataclass(frozen=True)
class Setting:
    """One point of a study.

    Parameters
    ----------
    x : float or str
        Its place on the figure's axis.
    learner : str, default="metaod"
        The learner.
    params : dict
        Parameters other than its defaults.
    schema : str, default="paper"
        The meta-features: a schema, or two joined by a plus sign.
    origins : float, default=1
        Share of the training side's origins that is used.
    """

    x: float | str
    learner: str = "metaod"
    params: dict[str, Any] = field(default_factory=dict)
    schema: str = "paper"
    origins: float = 1.0


@dataclass(frozen=True)
class Study:
    """One thing that is varied.

    Parameters
    ----------
    key : str
        Name of its files.
    label : str
        What is varied, for the axis.
    settings : tuple of Setting
        The points.
    log_x : bool, default=False
        Whether the axis is one of ratios.
    """

    key: str
    label: str
    settings: tuple[Setting, ...]
    log_x: bool = False


STUDIES: tuple[Study, ...] = (
    Study(
        "loss",
        "loss of the factorisation",
        (Setting("DCG"), Setting("squared error", learner="squared_error")),
    ),
    Study(
        "rank",
        "rank k",
        tuple(Setting(k, params={"k": k}) for k in (1, 2, 3, 5, 10, 20, 30)),
        log_x=True,
    ),
    Study(
        "base",
        "base b of the DCG",
        tuple(Setting(b, params={"base": float(b)}) for b in (1.5, 2, 4, 10, 100, 1000)),
        log_x=True,
    ),
    Study(
        "origins",
        "share of the training origins",
        tuple(Setting(share, origins=share) for share in (0.2, 0.4, 0.6, 0.8, 1.0)),
    ),
    Study(
        "schema",
        "meta-features",
        tuple(Setting(name, schema=name) for name in ("paper", "scores", "paper+scores")),
    ),
    Study(
        "initialisation",
        "where U starts",
        tuple(
            Setting(name, params={"initialisation": name}) for name in ("metafeatures", "random")
        ),
    ),
    Study(
        "schedule",
        "learning rate",
        tuple(Setting(name, params={"schedule": name}) for name in ("cyclical", "constant")),
    ),
)
"""What the paper claims or leaves open, one thing at a time, all else at its default."""


def sensitivity_splits(data: TestbedData) -> list[Split]:
    """POC's folds; of ST ten groups of origins, left out in turn: a training an origin is too many.

    With fewer than ten origins each is left out by itself.
    """
    if data.testbed == "poc":
        return by_folds(data.datasets["fold"])
    origins = data.datasets["origin"]
    return grouped_folds(origins, min(_FOLDS, origins.nunique()))


def run_sensitivity(
    data: TestbedData,
    splits: Sequence[Split],
    groups: Sequence[str],
    *,
    studies: Sequence[Study] = STUDIES,
    seeds: int = 5,
    n_jobs: int = 1,
    journal: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Run every setting of every study.

    Parameters
    ----------
    data : TestbedData
        The testbed.
    splits : sequence of Split
        The protocol.
    groups : sequence of str
        What the protocol leaves out together.
    studies : sequence of Study
        What is varied.
    seeds, n_jobs, journal, progress
        As for :func:`~metaod.evaluation.evaluating.evaluate_testbed`; progress counts settings.

    Returns
    -------
    DataFrame
        One row per (study, x, seed, dataset): what the pick reached, as ``ap``.
    """
    origins = list(data.datasets["origin"])
    parts, done = [], 0
    total = sum(len(study.settings) for study in studies)
    for study in studies:
        for setting in study.settings:
            names = setting.schema.split("+")
            M = pd.concat([data.metafeatures[name] for name in names], axis=1)
            candidate = Candidate("metaod", setting.learner, M, setting.params)
            picks = run_protocol(
                data.P,
                groups,
                [_thinned(split, np.array(origins), setting.origins) for split in splits],
                [candidate],
                seeds=seeds,
                n_jobs=n_jobs,
                journal=journal,
            )
            found = picks[["seed", "dataset", "performance"]]
            found = found.rename(columns={"performance": "ap"})
            found.insert(0, "x", setting.x)
            found.insert(0, "study", study.key)
            parts.append(found)
            done += 1
            if progress is not None:
                progress(done, total)
    return pd.concat(parts, ignore_index=True)


def write_sensitivity(
    found: pd.DataFrame,
    data: TestbedData,
    folder: Path,
    *,
    studies: Sequence[Study] = STUDIES,
) -> list[Path]:
    """Write a table of all settings and a figure of each study.

    The band is a bootstrap interval over origins of the mean over datasets, each the mean of its
    seeds, where iForest has a value too; ``seed SD`` is the standard deviation of that mean from
    seed to seed, and ``changed`` the share of datasets whose pick's AP differs between the first
    two seeds.
    """
    # where iForest has no value there is nothing to compare with
    level = data.references["IForest()"].dropna()
    found = found[found["dataset"].isin(level.index)]
    iforest = float(level.mean())
    written: list[Path] = []
    rows = []
    for study in studies:
        points = []
        for setting in study.settings:
            here = found[(found["study"] == study.key) & (found["x"] == setting.x)]
            by_seed = here.pivot(index="dataset", columns="seed", values="ap")  # noqa: PD010 - checks that each is there once
            mean = by_seed.mean(axis=1)
            low, high = _interval(mean, data.datasets["origin"].loc[mean.index])
            points.append({"x": setting.x, "mean": mean.mean(), "low": low, "high": high})
            spread = by_seed.mean(axis=0).std(ddof=1) if by_seed.shape[1] > 1 else np.nan
            changed = np.nan
            if by_seed.shape[1] > 1:
                changed = float((by_seed.iloc[:, 0] != by_seed.iloc[:, 1]).mean())
            rows.append(
                {
                    "study": study.label,
                    "setting": str(setting.x),
                    "MAP": mean.mean(),
                    "low": low,
                    "high": high,
                    "seed SD": spread,
                    "changed": changed,
                    "MAP - iForest": mean.mean() - iforest,
                }
            )
        written += write_curve(
            pd.DataFrame(points),
            folder,
            f"sensitivity-{study.key}",
            x_label=study.label,
            reference=("iForest", iforest),
            log_x=study.log_x,
        )
    return [*write_table(pd.DataFrame(rows), folder, "sensitivity"), *written]


def _thinned(split: Split, origins: Any, share: float) -> Split:
    """The split with a share of its training origins, drawn the same way every time."""
    if share >= 1:
        return split
    there = np.unique(origins[split.train])
    drawn = np.random.default_rng(0).permutation(there)[: max(2, round(share * len(there)))]
    return Split(split.name, split.train[np.isin(origins[split.train], drawn)], split.test)


def _interval(values: "pd.Series[float]", origins: "pd.Series[str]") -> tuple[float, float]:
    low, high = bootstrap_intervals(values.to_frame(), origins)[0]
    return float(low), float(high)
