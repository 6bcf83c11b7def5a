"""Compare ways to set a threshold on scores, on labelled datasets; print a Markdown table.

python -m research measure-threshold FOLDER SCORES

FOLDER holds labelled datasets (see metaod.history.iter_folder). Datasets of the final origins
are left out, as are those of more than 10,000 rows or 100 columns. SCORES is a folder where the
models' scores are kept, as `metaod build` does beside a store; what it lacks is computed.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from metaod.detection._threshold import USUAL_SHARE, clear_gap, estimated_share
from metaod.history import iter_folder
from metaod.history._evaluation import AverageScores
from metaod.models import COMMITTEE, CellState, ModelSpec, Scored, average_of, score_models
from research.kept_scores import KeptScores
from research.shipped import final_origins, shipped_datasets
from research.statistics import average_precision

Scores = npt.NDArray[np.float64]
Share = Callable[[Scores], float]

_FOREST, _OBLIQUE, _CORE = (
    ModelSpec.parse(model)
    for model in (
        "IForest(n_estimators=200, max_features=1.0, scaling=signedlog)",
        "SCiForest(n_dims=5, n_estimators=100, n_trials=3, max_depth=32, scaling=signedlog)",
        "MCD(core=0.75, scaling=robust)",
    )
)
MODELS = (average_of(_OBLIQUE, _CORE), average_of(_FOREST, _OBLIQUE, _CORE), average_of(*COMMITTEE))
"""Averages as the default picks them: the best fixed pair, a usual three, the committee."""


@dataclass(frozen=True)
class Case:
    """Scores of one model on one labelled dataset."""

    origin: str
    scores: Scores
    y: npt.NDArray[np.int8]


def cases(folder: str, kept: KeptScores) -> Iterator[Case]:
    """Score the models on the datasets of a folder."""
    origins = shipped_datasets().set_index("name")["origin"]
    for entry in iter_folder(folder):
        origin = origins.get(entry.full_name, entry.origin)
        if origin in final_origins():
            continue
        if (entry.rows or 0) > 10_000 or (entry.columns or 0) > 100:
            continue
        dataset = entry.load()
        averaging = AverageScores(MODELS, 1)
        members = {member.id: member for member in averaging.members}
        scores = kept.read(dataset.fingerprint)
        missing = [member for name, member in members.items() if (name, 0) not in scores]
        if missing:
            scored = score_models(dataset.X, sorted(missing), trials=1)
            new = {(s.spec.id, 0): s.scores for s in scored if s.scores is not None}
            kept.write(dataset.fingerprint, {key: v.astype(np.float32) for key, v in new.items()})
            scores |= new
        for name, member in members.items():
            own = scores.get((name, 0))
            state = CellState.FAILED if own is None else CellState.OK
            values = None if own is None else own.astype(np.float64)
            averaging.add(Scored(member, 0, state, values, 0.0))
        for scored in averaging.scored():
            if scored.scores is not None:
                yield Case(origin, scored.scores, dataset.y)


# the ways: each says which share of the rows to flag


def above(threshold: Callable[[Scores], float]) -> Share:
    """The share of scores above a threshold."""
    return lambda scores: float(np.mean(scores > threshold(scores)))


def _log(scores: Scores) -> Scores:
    from_zero = scores - scores.min()
    return np.asarray(np.log(from_zero + 0.01 * from_zero.max() + 1e-300))


def _tukey(scores: Scores, fence: float) -> float:
    low, high = np.percentile(scores, [25, 75])
    return float(high + fence * (high - low))


def _mad(scores: Scores, times: float) -> float:
    middle = np.median(scores)
    return float(middle + times * 1.4826 * np.median(np.abs(scores - middle)))


def _gamma(scores: Scores, beyond: float) -> float:
    from_zero = scores - scores.min()
    mean, variance = from_zero.mean(), from_zero.var()
    if variance == 0:
        return float(scores.max())
    return float(
        scores.min() + stats.gamma.ppf(1 - beyond, mean**2 / variance, scale=variance / mean)
    )


def _gap(scores: Scores) -> float:
    upper = np.sort(scores)[len(scores) // 2 :]
    return float(upper[np.diff(upper).argmax()])


def _knee(scores: Scores) -> float:
    falling = np.sort(scores)[::-1][: max(2, len(scores) // 2)]
    height = (falling - falling[-1]) / (falling[0] - falling[-1] + 1e-300)
    return float(falling[(1 - np.linspace(0, 1, len(falling)) - height).argmax()])


def _two_groups(scores: Scores) -> float:
    """The split with the largest variance between its two sides (Otsu)."""
    ordered = np.sort(scores)
    below = np.arange(1, len(ordered))
    sums = np.cumsum(ordered)
    means = sums[:-1] / below, (sums[-1] - sums[:-1]) / (len(ordered) - below)
    between = below * (len(ordered) - below) * (means[1] - means[0]) ** 2
    return float(ordered[between.argmax()])


def _mixture(scores: Scores) -> float:
    """Share of the upper one of two normal distributions of the log scores."""
    values = _log(scores)
    spread = values.std()
    upper = (values > np.quantile(values, 0.9)).astype(float)
    for _ in range(100):
        weight = upper.mean()
        if spread == 0 or not 1e-4 < weight < 1 - 1e-4:
            return 0.0
        centers = [np.average(values, weights=w) for w in (1 - upper, upper)]
        spreads = [
            max(np.sqrt(np.average((values - c) ** 2, weights=w)), 0.05 * spread)
            for c, w in zip(centers, (1 - upper, upper), strict=True)
        ]
        lower_density, upper_density = (
            w * stats.norm.pdf(values, c, s) + 1e-300
            for w, c, s in zip((1 - weight, weight), centers, spreads, strict=True)
        )
        former, upper = upper, upper_density / (lower_density + upper_density)
        upper[values < centers[0]] = 0.0
        if np.abs(upper - former).max() < 1e-4:
            break
    return float(np.mean(upper > 0.5))


def _held(share: Share, weight: float) -> Share:
    """A share held towards the usual one, on a log scale."""
    return lambda scores: float(
        np.clip(share(scores), 0.005, 0.5) ** weight * USUAL_SHARE ** (1 - weight)
    )


_BEYOND_ONE = above(lambda scores: float(scores.mean() + scores.std()))


def _gap_share(scores: Scores) -> float | None:
    n_above = clear_gap(scores)
    return None if n_above is None else n_above / len(scores)


WAYS: dict[str, Share] = {
    "fixed 10 %": lambda _: 0.1,
    "fixed 5 %": lambda _: 0.05,
    "fixed 20 %": lambda _: 0.2,
    "Tukey's fence 1.5": above(lambda scores: _tukey(scores, 1.5)),
    "Tukey's fence 1.0": above(lambda scores: _tukey(scores, 1.0)),
    "Tukey's fence 1.5, log scores": lambda scores: above(lambda s: _tukey(s, 1.5))(_log(scores)),
    "median + 2.5 MAD": above(lambda scores: _mad(scores, 2.5)),
    "median + 3.5 MAD": above(lambda scores: _mad(scores, 3.5)),
    "mean + 1 sd": _BEYOND_ONE,
    "mean + 2 sd": above(lambda scores: float(scores.mean() + 2 * scores.std())),
    "mean + 2 sd, log scores": lambda scores: above(lambda s: float(s.mean() + 2 * s.std()))(
        _log(scores)
    ),
    "gamma fit, 5 %": above(lambda scores: _gamma(scores, 0.05)),
    "two normals of log scores": _mixture,
    "two groups (Otsu)": above(_two_groups),
    "largest gap": above(_gap),
    "knee": above(_knee),
    "Tukey's fence 1.0, half way to 10 %": _held(above(lambda scores: _tukey(scores, 1.0)), 0.5),
    "two groups, half way to 10 %": _held(above(_two_groups), 0.5),
    "mean + 1 sd, a quarter from 10 %": _held(_BEYOND_ONE, 0.25),
    "**auto**: mean + 1 sd, half way to 10 %": estimated_share,
    "clear gap, else auto": lambda scores: _gap_share(scores) or estimated_share(scores),
}


def f1(flagged: npt.NDArray[np.bool_], y: npt.NDArray[np.int8]) -> float:
    """Harmonic mean of precision and recall."""
    hits = np.count_nonzero(flagged & (y == 1))
    return float(2 * hits / (np.count_nonzero(flagged) + np.count_nonzero(y == 1)))


def measured(found: list[Case]) -> pd.DataFrame:
    """One line a case and way."""
    rows = []
    for case in found:
        works = average_precision(case.y, case.scores) > 0.5
        for name, way in WAYS.items():
            flagged = case.scores > np.quantile(case.scores, 1 - way(case.scores))
            share = max(float(flagged.mean()), 0.5 / len(flagged))
            error = abs(np.log(share / case.y.mean()))
            rows.append((name, case.origin, works, f1(flagged, case.y), error, flagged.mean()))
    return pd.DataFrame(rows, columns=["way", "origin", "works", "f1", "error", "share"])


def main() -> None:
    """Score, measure, print."""
    found = list(cases(sys.argv[1], KeptScores(Path(sys.argv[2]))))
    table = measured(found)
    by_origin = table.groupby(["way", "origin"])[["f1", "error", "share"]].mean()
    where_works = table[table["works"]].groupby("way")["f1"].mean()
    usual = by_origin.loc["fixed 10 %"]
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(usual), (2000, len(usual)))
    print(f"{len(found)} cases: {len(MODELS)} models, {len(usual)} origins (the mean over each).\n")
    print(
        "| way | mean F1 | against fixed 10 % | mean abs log error of share | against fixed 10 % "
        "| flagged | F1 where AP > .5 |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    for name in WAYS:
        own = by_origin.loc[name].loc[usual.index]
        cells = [name]
        for column in ("f1", "error"):
            difference = (own[column] - usual[column]).to_numpy()
            low, high = np.percentile(difference[draws].mean(axis=1), [2.5, 97.5])
            cells += [f"{own[column].mean():.4f}", f"{low:+.4f} to {high:+.4f}"]
        cells += [f"{own['share'].mean():.1%}", f"{where_works[name]:.3f}"]
        print("| " + " | ".join(cells) + " |")
    print(f"\n{_gaps(found)}")


def _gaps(found: list[Case]) -> str:
    """Compare the rows above clear gaps with those that auto flags, as means over origins."""
    rows = []
    for case in found:
        n_above = clear_gap(case.scores)
        if n_above is None:
            continue
        falling = np.sort(case.scores)[::-1]
        above = case.scores >= falling[n_above - 1]
        flagged = case.scores > np.quantile(case.scores, 1 - estimated_share(case.scores))
        y = case.y == 1
        rows.append((case.origin, y[above].mean(), y[flagged].mean(), f1(above, y), f1(flagged, y)))
    columns = ["origin", "above", "flagged", "f1 above", "f1 flagged"]
    by_origin = pd.DataFrame(rows, columns=columns).groupby("origin").mean()
    means = ", ".join(f"{name} {value:.3f}" for name, value in by_origin.mean().items())
    return f"Clear gaps: {len(rows)} cases of {len(by_origin)} origins; share of outliers: {means}."
