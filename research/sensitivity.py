"""Test the paper's claims about stability: MetaOD with one setting changed at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from research.figures.curves import write_curve
from research.protocols import Split, by_folds, grouped_folds
from research.running import Candidate, Progress, run_protocol
from research.statistics import compare, resampled_means
from research.tables import write_table
from research.testbed_data import TestbedData

_FOLDS = 10


@dataclass(frozen=True)
class Setting:
    """One point of a study."""

    x: float | str  # position on the figure's axis
    learner: str = "metaod"
    params: dict[str, Any] = field(default_factory=dict)
    schema: str = "paper"  # of the meta-features: one, or two joined by a plus sign
    origins: float = 1.0  # share of the training side's origins that is used


@dataclass(frozen=True)
class Study:
    """One setting that is varied."""

    key: str  # in file names
    label: str  # of the axis
    settings: tuple[Setting, ...]
    default: float | str  # x of MetaOD's default, with which the others are compared
    log_x: bool = False


def _vary(name: str, values: Sequence[Any]) -> tuple[Setting, ...]:
    return tuple(Setting(value, params={name: value}) for value in values)


STUDIES: tuple[Study, ...] = (
    Study(
        "loss",
        "loss of the factorisation",
        (Setting("DCG"), Setting("squared error", learner="squared_error")),
        "DCG",
    ),
    Study("rank", "rank k", _vary("k", (1, 2, 3, 5, 10, 20, 30, 50)), 30, log_x=True),
    Study(
        "base",
        "base b of the DCG",
        tuple(Setting(b, params={"base": float(b)}) for b in (1.5, 2, 4, 10, 100, 1000)),
        2,
        log_x=True,
    ),
    Study(
        "origins",
        "share of the training origins",
        tuple(Setting(share, origins=share) for share in (0.2, 0.4, 0.6, 0.8, 1.0)),
        1.0,
    ),
    Study(
        "schema",
        "meta-features",
        tuple(Setting(name, schema=name) for name in ("paper", "scores", "paper+scores")),
        "paper",
    ),
    Study(
        "initialisation",
        "where U starts",
        (
            Setting("metafeatures"),
            Setting("random", "metaod_variant", {"initialisation": "random"}),
        ),
        "metafeatures",
    ),
    Study(
        "schedule",
        "learning rate",
        (
            Setting("decaying"),
            Setting(
                "cyclical", "metaod_variant", params={"schedule": "cyclical", "learning_rate": 1.0}
            ),
            Setting(
                "constant", "metaod_variant", params={"schedule": "constant", "learning_rate": 1.0}
            ),
        ),
        "decaying",
    ),
    Study(
        "stopping",
        "early stopping",
        (
            Setting("none"),
            Setting("on held-out", "metaod_variant", {"early_stopping": True}),
        ),
        "none",
    ),
)
"""What the paper claims or leaves open; everything else stays at its default."""


def _splits(data: TestbedData) -> list[Split]:
    """Return POC's folds, or ten groups of ST's origins: one training per origin takes too long."""
    if data.testbed == "poc":
        return by_folds(data.datasets["fold"])
    origins = data.datasets["origin"]
    return grouped_folds(origins, min(_FOLDS, origins.nunique()))


def run_sensitivity(
    data: TestbedData,
    groups: Sequence[str],
    *,
    studies: Sequence[Study] = STUDIES,
    seeds: int = 5,
    n_jobs: int = 1,
    journal: Path | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return the ``ap`` of the pick per (study, x as text, seed, dataset).

    `progress` counts settings.
    """
    origins = data.datasets["origin"].to_numpy(dtype=str)
    splits = _splits(data)
    parts: list[pd.DataFrame] = []
    total = sum(len(study.settings) for study in studies)
    for study in studies:
        for setting in study.settings:
            M = pd.concat([data.metafeatures[name] for name in setting.schema.split("+")], axis=1)
            candidate = Candidate("metaod", setting.learner, M, setting.params)
            thinned = [
                _thinned(split, origins, setting.origins, seed=number)
                for number, split in enumerate(splits)
            ]
            picks = run_protocol(
                data.P, groups, thinned, [candidate], seeds=seeds, n_jobs=n_jobs, journal=journal
            )
            found = picks.rename(columns={"performance": "ap"})
            found = found.assign(study=study.key, x=str(setting.x))
            parts.append(found[["study", "x", "seed", "dataset", "ap"]])
            if progress is not None:
                progress(len(parts), total)
    return pd.concat(parts, ignore_index=True)


def write_sensitivity(
    found: pd.DataFrame,
    iforest: pd.Series,
    origins: pd.Series,
    folder: Path,
    caption: str = "",
    *,
    studies: Sequence[Study] = STUDIES,
) -> list[Path]:
    """Write a table of all settings and a figure of each study.

    `iforest` and `origins` are by dataset; datasets without a value of iForest are left out.
    ``Δ`` is the mean difference to the default over datasets, with a bootstrap interval over
    origins and seeds; the figures show it. The p-value is of the signed-rank test over ``n``
    origins (POC: mothersets), each the mean over its datasets and over seeds; wins and losses are
    counted in the same way. ``seed SD`` is the standard deviation of MAP over seeds, and
    ``changed`` the share of datasets whose pick's AP differs between the first and the last seed.
    """
    iforest = iforest.dropna()
    found = found[found["dataset"].isin(iforest.index)]
    written: list[Path] = []
    rows = []
    for study in studies:
        reached = {setting.x: _by_seed(found, study, setting) for setting in study.settings}
        reached = {x: by_seed for x, by_seed in reached.items() if len(by_seed)}
        if study.default not in reached:
            continue  # runs of an earlier version, read from a file
        compared = [
            {"x": x, **_compared(by_seed, reached[study.default], origins, x == study.default)}
            for x, by_seed in reached.items()
        ]
        for row, (x, by_seed) in zip(compared, reached.items(), strict=True):
            mean = by_seed.mean(axis=1)
            several = by_seed.shape[1] > 1
            changed = (by_seed.iloc[:, 0] != by_seed.iloc[:, -1]).mean() if several else np.nan
            rows.append(
                {
                    "study": study.label,
                    "setting": f"{x} (default)" if x == study.default else str(x),
                    "MAP": mean.mean(),
                    **{name: value for name, value in row.items() if name != "x"},
                    "seeds": by_seed.shape[1],
                    "seed SD": by_seed.mean().std() if several else np.nan,
                    "changed": changed,
                    "MAP - iForest": mean.mean() - iforest[mean.index].mean(),
                }
            )
        points = pd.DataFrame(compared)[["x", "Δ", "low", "high"]].rename(columns={"Δ": "mean"})
        written += write_curve(
            points,
            folder,
            f"sensitivity-{study.key}",
            x_label=study.label,
            y_label="MAP less that of the default",
            default=study.default,
            caption=caption,
            log_x=study.log_x,
        )
    return [*write_table(pd.DataFrame(rows), folder, "sensitivity"), *written]


def _compared(
    by_seed: pd.DataFrame, default: pd.DataFrame, origins: pd.Series, is_default: bool
) -> dict[str, Any]:
    """Compare a setting with the default, both datasets × seeds."""
    groups = origins.loc[default.index]
    runs = [by_seed.loc[default.index].to_numpy(), default.to_numpy()]
    p, difference = compare(runs[0].mean(axis=1), runs[1].mean(axis=1), groups)
    low = high = 0.0
    if not is_default:
        drawn = resampled_means(runs, groups)
        low, high = np.quantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975])
    return {
        "Δ": float((runs[0].mean(axis=1) - runs[1].mean(axis=1)).mean()),
        "low": float(low),
        "high": float(high),
        "p": p,
        "wins": int((difference > 0).sum()),
        "losses": int((difference < 0).sum()),
        "n": len(difference),
    }


def _by_seed(found: pd.DataFrame, study: Study, setting: Setting) -> pd.DataFrame:
    """Return average precision, datasets × seeds."""
    here = found[(found["study"] == study.key) & (found["x"] == str(setting.x))]
    return here.pivot(index="dataset", columns="seed", values="ap")  # noqa: PD010 - raises if one occurs twice


def _thinned(split: Split, origins: npt.NDArray[np.str_], share: float, *, seed: int) -> Split:
    """Keep a random share of the training origins of a split."""
    if share >= 1:
        return split
    present = np.unique(origins[split.train])
    drawn = np.random.default_rng(seed).permutation(present)[: max(2, round(share * len(present)))]
    return Split(split.name, split.train[np.isin(origins[split.train], drawn)], split.test)
