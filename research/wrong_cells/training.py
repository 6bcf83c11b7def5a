"""Train the score of cells on tables into which errors are planted."""

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import UserError
from metaod.learners import FlatForest, origin_folds
from metaod.tables import Table
from metaod.wrong_cells._columns import canonical_order, columns_of, in_order
from metaod.wrong_cells._evidence import FEATURES, LOWEST, gather
from metaod.wrong_cells._scorer import CONTEXT, Looked, Scorer, context_of, log_odds
from research.review_training import flat_boosting
from research.reviews import write_arrays
from research.wrong_cells.planting import add_dependencies, plant_any
from research.wrong_cells.tables import Source, as_read

N_FOLDS = 4
_CLEAN = 0.12  # of the tables have no planted errors
_EXTENDED = 0.5  # get a column that follows from others
_CONSTANT = 0.2  # get a column with one value, but for errors
_FEWEST_ROWS = 40
_MOST_NEGATIVE = 800  # cells of a table that are right, for a fit
_DRAWN_EVENLY = 0.5  # of them; the others are the most suspicious ones

_CONSTANTS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    ("EUR", ("USD", "EURO", "GBP", "CHF")),
    ("Germany", ("France", "DE", "Austria")),
    ("A1", ("B1", "A2", "1A")),
    ("active", ("inactive", "closed", "new")),
    (2013, (1631, 2246, 2031, 2012, 213)),
    (1, (0, 2, 10, -1, 11)),
    (40, (0, 4, 400)),
    (2022, (2202, 202, 1922)),
    (1500, (150, 15000)),
    (12.5, (125, 1.25, 0, 25)),
)

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """The cells of a planted table that are looked at, and which of them are wrong."""

    name: str
    origin: str
    features: npt.NDArray[np.float32]
    wrong: npt.NDArray[np.bool_]
    column: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    counts: Values  # of each cell's value in its column
    n_rows: int
    n_columns: int
    n_unseen: int  # wrong cells that are not looked at

    @classmethod
    def make(cls, source: Source, draw: int, kinds: Collection[str] | None = None) -> Self | None:
        """Plant errors into a table, and gather the evidence; None if it is too small."""
        rng = np.random.default_rng([zlib.crc32(source.name.encode()), draw])
        try:
            frame = source.load()
        except UserError:
            return None
        n_rows = int(np.exp(rng.uniform(np.log(_FEWEST_ROWS), np.log(len(frame) + 1))))
        frame = frame.iloc[np.sort(rng.permutation(len(frame))[: max(n_rows, _FEWEST_ROWS)])]
        frame = frame.loc[:, [len(own.unique()) > 1 for _, own in frame.items()]].reset_index(
            drop=True
        )
        if len(frame) < _FEWEST_ROWS or frame.shape[1] < 2:
            return None
        if rng.random() < _EXTENDED:
            frame = add_dependencies(frame, rng)
        wrong = np.zeros(frame.shape, dtype=np.bool_)
        if rng.random() >= _CLEAN:
            planted = plant_any(frame, rng, kinds)
            frame, wrong = planted.frame, planted.mask.copy()
            repeats = np.flatnonzero(planted.repeated)
            if rng.random() < _CONSTANT:
                frame, wrong = add_constant(frame, wrong, rng)
        else:
            repeats = np.empty(0, dtype=np.int64)
        try:
            table = as_read(frame)
        except UserError:
            return None
        return cls._gathered(f"{source.name}-{draw}", source.origin, table, wrong, repeats)

    @classmethod
    def _gathered(
        cls, name: str, origin: str, table: Table, wrong: Any, repeats: Any
    ) -> Self | None:
        columns = columns_of(table)
        if len(columns) != wrong.shape[1] or table.n_rows != len(wrong):
            return None  # it was read in another shape
        order = canonical_order(columns)
        canonical = in_order(columns, order)
        everything = np.arange(len(order))
        evidence = gather(canonical, order, everything, 0, lambda own: np.zeros(len(own)))
        parts: list[tuple[Any, ...]] = []
        repeated = np.zeros(len(wrong), dtype=np.bool_)
        repeated[repeats] = True
        n_unseen = int(wrong.sum())
        marks = [FEATURES.index("repeated"), FEATURES.index("nearly repeated")]
        for place, own in enumerate(evidence.cells):
            looked = Looked.at(own)
            positions = order[own.rows]
            is_wrong = wrong[positions, place]
            n_unseen -= int(is_wrong.sum())
            # a later row that repeats another is wrong at the cells that tell so
            is_wrong |= repeated[positions] & (own.features[:, marks] > 0).any(axis=1)
            at = np.full(len(own.rows), place)
            counts = looked.counts[looked.values]
            parts.append((own.features, is_wrong, at, positions, looked.values, counts))
        joined = [np.concatenate(part) for part in zip(*parts, strict=True)]
        features, is_wrong, at, rows, values, counts = joined
        n_rows, n_columns = wrong.shape
        return cls(
            name, origin, features, is_wrong, at, rows, values, counts, n_rows, n_columns, n_unseen
        )

    def write(self, path: Path) -> None:
        """Write to a file, which is complete or absent."""
        write_arrays(path, vars(self))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file."""
        with np.load(path) as arrays:
            return cls(**{key: arrays[key][()] for key in arrays.files})

    def with_context(self, first: Values) -> npt.NDArray[np.float32]:
        """Return the features with those of the context, as the product computes them."""
        looked, scores = [], []
        kept = first > LOWEST
        for place in range(int(self.n_columns)):
            own = kept & (self.column == place)
            counts = np.zeros(self.values[own].max(initial=-1) + 1)
            counts[self.values[own]] = self.counts[own]
            looked.append(Looked(self.rows[own], self.values[own], counts))
            scores.append(first[own])
        context = np.zeros((len(first), len(CONTEXT)), dtype=np.float32)
        for place, part in enumerate(context_of(looked, scores, int(self.n_rows))):
            context[kept & (self.column == place)] = part
        return np.column_stack([self.features, context])


def add_constant(
    frame: pd.DataFrame, wrong: npt.NDArray[np.bool_], rng: np.random.Generator
) -> tuple[pd.DataFrame, npt.NDArray[np.bool_]]:
    """Add a column with one value, as of a currency or a year, and some cells with others.

    Wrong numbers are any of the same size, in up to a fifth of the cells.
    """
    usual, others = _CONSTANTS[int(rng.integers(len(_CONSTANTS)))]
    values = np.full(len(frame), usual, dtype=object)
    share = np.exp(rng.uniform(np.log(0.001), np.log(0.2)))
    n_wrong = round(share * len(frame)) if isinstance(usual, int) else int(rng.integers(4))
    rows = rng.permutation(len(frame))[:n_wrong]
    if isinstance(usual, int) and usual > 1 and rng.random() < 0.7:
        others = tuple(number for number in range(usual // 2, 2 * usual) if number != usual)
    values[rows] = [others[int(place)] for place in rng.integers(0, len(others), len(rows))]
    extended = frame.copy()
    place = int(rng.integers(frame.shape[1] + 1))
    extended.insert(place, "constant", values)
    marks = np.zeros(len(frame), dtype=np.bool_)
    marks[rows] = True
    return extended, np.insert(wrong, place, marks, axis=1)


def chosen_cells(sample: Sample, suspicion: Values) -> tuple[npt.NDArray[np.int64], Values]:
    """Choose cells for a fit, with weights that stand for all: wrong, suspicious and other ones."""
    rng = np.random.default_rng(zlib.crc32(str(sample.name).encode()))
    right = np.flatnonzero(~sample.wrong)
    n_top = min(len(right), int(_MOST_NEGATIVE * (1 - _DRAWN_EVENLY)))
    order = right[np.argsort(-suspicion[right], kind="stable")]
    top, rest = order[:n_top], order[n_top:]
    drawn = rng.permutation(rest)[: _MOST_NEGATIVE - n_top]
    wrong = np.flatnonzero(sample.wrong)
    places = np.concatenate([wrong, top, drawn])
    weights = np.ones(len(places))
    if len(drawn):
        weights[-len(drawn) :] = len(rest) / len(drawn)
    return places, weights


def boosted(X: npt.NDArray[np.float32], y: Any, weights: Values, **settings: Any) -> FlatForest:
    """Fit boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - slow to import

    parameters = {
        "max_iter": 600,
        "learning_rate": 0.05,
        "max_leaf_nodes": 31,
        "min_samples_leaf": 40,
        "l2_regularization": 20.0,
        "max_features": 0.3,
        "early_stopping": False,
        "random_state": 0,
        **settings,
    }
    model = HistGradientBoostingClassifier(**parameters)
    model.fit(X, y, sample_weight=weights / weights.mean())
    return flat_boosting(model)


def train(samples: Sequence[Sample], **settings: Any) -> Scorer:
    """Fit the score of cells alone, and of cells together on scores from other origins."""
    own_fold = origin_folds([str(sample.origin) for sample in samples], N_FOLDS).tolist()
    first = [np.zeros(len(sample.features)) for sample in samples]
    suspicion = [sample.features.max(axis=1).astype(float) for sample in samples]
    fewer = {"max_iter": 250, "learning_rate": 0.12, **settings}  # a fold need not be as fine
    for fold in range(N_FOLDS):
        inner = [place for place, number in enumerate(own_fold) if number != fold]
        forest = _fit_alone([samples[p] for p in inner], [suspicion[p] for p in inner], fewer)
        for place in set(range(len(samples))).difference(inner):
            first[place] = log_odds(forest, samples[place].features)
    alone = _fit_alone(samples, suspicion, settings)
    X, y, w = [], [], []
    for sample, scores in zip(samples, first, strict=True):
        places, weights = chosen_cells(sample, scores)
        kept = scores[places] > LOWEST
        X.append(sample.with_context(scores)[places[kept]])
        y.append(sample.wrong[places[kept]])
        w.append(_weighted(sample, weights[kept]))
    together = boosted(np.concatenate(X), np.concatenate(y), np.concatenate(w), **settings)
    return Scorer(alone, together)


def _weighted(sample: Sample, weights: Values) -> Values:
    """Give small tables more weight than their cells, and large ones less."""
    return np.asarray(weights / np.sqrt(sample.n_rows * sample.n_columns))


def _fit_alone(
    samples: Sequence[Sample], suspicion: Sequence[Values], settings: dict[str, Any]
) -> FlatForest:
    X, y, w = [], [], []
    for sample, own in zip(samples, suspicion, strict=True):
        places, weights = chosen_cells(sample, own)
        X.append(sample.features[places])
        y.append(sample.wrong[places])
        w.append(_weighted(sample, weights))
    return boosted(np.concatenate(X), np.concatenate(y), np.concatenate(w), **settings)


def read_samples(folder: Path) -> Iterator[Sample]:
    """Yield the samples of a folder, in the order of their names."""
    for path in sorted(folder.glob("*.npz")):
        if not path.name.endswith(".part.npz"):
            yield Sample.read(path)
