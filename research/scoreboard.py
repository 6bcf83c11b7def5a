"""The scoreboard: what selectors reach on public tables, learned without a table's relatives.

A selector is a Python file with ``select(table)``, which returns a score for each row or the id of
a model. With ``fit(history)`` in the file, ``select(table, fitted)`` also gets what fit returned.
"""

import csv
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import metaod
from metaod.detection._fitted import fit_selection
from metaod.errors import BadFile, UserError
from metaod.history import (
    RECIPES,
    FolderEntry,
    LabelledDataset,
    TrainingData,
    measure,
)
from metaod.learners import origin_folds
from metaod.models import ModelSpec, Scores
from metaod.tables import prepare
from research.kept_scores import KeptScores
from research.relatives import SHIPPED, find_relatives
from research.shipped import shipped_cells, shipped_training_data
from research.sketches import Sketch, sketch
from research.statistics import average_ranks, bootstrap_intervals

HERE = Path(__file__).parent
OWN = tuple(HERE / "selectors" / f"{name}.py" for name in ("learned", "committee", "iforest"))
"""The selectors of MetaOD, in the form that every selector has."""

ADBENCH = HERE / "adbench.csv"
"""ADBench's tables by their published names, with their origins in the shipped history."""

SETS = ("adbench", "metaens", "oddbench", "ovrbench")
FOREST = "IForest(n_estimators=100, max_features=1.0)"
"""What is fitted in place of a model that fails."""

TRIALS = 5
FOLDS = 5
MOST_ROWS = 50_000
COLUMNS = ("set", "table", "fingerprint", "selector", "pick", "ap", "roc_auc")

Answer = ModelSpec | Scores


@dataclass(frozen=True)
class Selector:
    """A selector that was read from a file."""

    title: str
    path: Path
    digest: str
    select: Callable[..., Any]
    fit: Callable[[TrainingData], Any] | None

    @classmethod
    def read(cls, path: Path) -> "Selector":
        """Run the file; its title is the first line of its docstring, or its name."""
        remedy = "define select(table) in it, which returns scores or the id of a model"
        spec = spec_from_file_location(path.stem, path)
        if not path.is_file() or spec is None or spec.loader is None:
            raise BadFile(path, "is not a Python file", remedy=remedy)
        module = module_from_spec(spec)
        _call(path.name, spec.loader.exec_module, module)
        select = getattr(module, "select", None)
        if not callable(select):
            raise BadFile(path, "has no function select", remedy=remedy)
        title = (module.__doc__ or path.stem).strip().partition("\n")[0].rstrip(".")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        return cls(title, path, digest, select, getattr(module, "fit", None))

    def fitted(self, history: TrainingData) -> tuple[Any, ...]:
        """Return the further arguments of ``select``."""
        if self.fit is None:
            return ()
        return (_call(f"{self.path.name}: fit", self.fit, history),)

    def answer(self, dataset: LabelledDataset, fitted: tuple[Any, ...]) -> Answer:
        """Return the checked answer for a table: a model, or a score for each row."""
        where = f"{self.path.name} on {dataset.name}"
        given = _call(where, self.select, dataset.X.copy(), *fitted)
        remedy = "return a finite score for each row, or the id of a model"
        try:
            if isinstance(given, str | ModelSpec):
                model = ModelSpec.parse(str(given))
                model.to_pyod()  # raises if family or parameters are unknown
                return model
            scores = np.asarray(given, dtype=np.float64)
        except UserError as error:
            what = f"select returned {str(given)!r}, which is no model ({error})"
            raise UserError(what, where=where, remedy=remedy) from error
        except (TypeError, ValueError) as error:
            what = f"select returned {type(given).__name__}, not numbers"
            raise UserError(what, where=where, remedy=remedy) from error
        if scores.shape != (len(dataset.y),):
            what = f"select returned scores of shape {scores.shape} for {len(dataset.y)} rows"
            raise UserError(what, where=where, remedy=remedy)
        if not np.isfinite(scores).all():
            what = f"select returned {int((~np.isfinite(scores)).sum())} scores that are not finite"
            raise UserError(what, where=where, remedy=remedy)
        return scores


def _call(where: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a user's function; what it raises becomes one line."""
    try:
        return function(*arguments)
    except Exception as error:  # the user's code may raise anything
        what = f"raised {type(error).__name__}: {error}"
        raise UserError(what, where=where, remedy="correct the selector") from error


def _measured(y: npt.NDArray[np.int8], scores: Scores) -> Scores:
    found = measure(y, scores)
    return np.array([found.ap, found.roc_auc])


@dataclass(frozen=True)
class Entrant:
    """A table of a set, and the files that may hold it, the likeliest first."""

    board: str
    table: str
    entries: tuple[FolderEntry, ...]
    origin: str = ""
    shape: tuple[int, int] | None = None  # rows and outliers, if they are known

    def load(self) -> LabelledDataset | None:
        """Read the table; of ADBench, a drawn sample of at most 50,000 rows."""
        for entry in self.entries:
            dataset = entry.load()
            if self.shape not in (None, (len(dataset.y), int(dataset.y.sum()))):
                continue
            if self.board == "adbench" and len(dataset.y) > MOST_ROWS:
                drawn = np.random.default_rng(0).permutation(len(dataset.y))[:MOST_ROWS]
                X = dataset.X.iloc[drawn].reset_index(drop=True)
                dataset = replace(dataset, X=X, y=dataset.y[drawn])
            return dataset
        return None


def entrants(entries: Sequence[FolderEntry], board: str) -> Iterator[Entrant]:
    """Yield the tables of a set that a folder may have.

    A table of ADBench is known by its name, with or without ADBench's number, and by its numbers
    of rows and outliers; of two files the one whose number of columns is nearer is taken. Names
    such as CIFAR10 stand for several tables, CIFAR10_0 and others, whose mean was published; they
    are left out unless all are there.
    """
    if board != "adbench":
        folders = ("odds", "dami") if board == "metaens" else (board,)
        for entry in entries:
            if entry.collection in folders:
                yield Entrant(board, entry.full_name, (entry,))
        return
    listed = pd.read_csv(ADBENCH, keep_default_na=False)
    for row in listed.to_dict("records"):
        if row["parts"] > 1:
            parts = [entry for entry in entries if entry.name.startswith(f"{row['name']}_")]
            if len(parts) == row["parts"]:
                for part in parts:
                    yield Entrant(board, f"{row['name']}/{part.name}", (part,), row["origin"])
            continue
        names = {row["name"], row["also"]} - {""}
        found = [e for e in entries if re.sub(r"^\d+_", "", e.name.casefold()) in names]
        found.sort(key=lambda entry: abs((entry.columns or 0) - int(row["columns"])))
        if found:
            shape = int(row["rows"]), int(row["outliers"])
            yield Entrant(board, row["name"], tuple(found), row["origin"], shape)


class Scoreboard:
    """Evaluates selectors, each fitted to a history without the table's relatives.

    The origins of the history are divided into five folds. For a table, the folds of its origin
    and of the origins of its relatives are left out of the history.

    Parameters
    ----------
    kept : Path
        A folder where figures and scores are kept; a stopped run continues.
    history : TrainingData, optional
        By default everything shipped.
    """

    def __init__(self, kept: Path, history: TrainingData | None = None) -> None:
        recipe = RECIPES["default"]
        self.history = history or shipped_training_data(
            recipe.schemas, space=recipe.space, averages=recipe.averages
        )
        origins = self.history.origins
        self.folds = pd.Series(origin_folds(origins, FOLDS), index=origins.to_numpy())
        self.kept = kept
        self.scores = KeptScores(kept / "scores")
        cells = shipped_cells().set_index(["dataset", "model"])[["ap", "roc_auc"]]
        self.cells = cells.dropna().sort_index()
        self.sketches = {
            str(key): Sketch.from_bytes(own)
            for key, own in pd.read_parquet(SHIPPED).set_index("dataset")["sketch"].items()
        }
        self._fitted: dict[tuple[str, frozenset[int]], tuple[Any, ...]] = {}

    def left_out(self, dataset: LabelledDataset, origin: str = "") -> frozenset[int]:
        """Return the folds of the table's origin and of those of its relatives."""
        origins = self.history.origins
        if dataset.fingerprint in origins.index:  # its relatives have the same origin
            related = {origins[dataset.fingerprint]}
        else:
            mine = {"": sketch(dataset.X)}
            pairs = find_relatives(self.sketches | mine, only=mine)
            names = {name for pair in pairs for name in (pair.one, pair.other)}
            related = {origin, dataset.origin, *origins[origins.index.isin(names)]}
        return frozenset(self.folds[self.folds.index.isin(related)].tolist())

    def reach(self, selector: Selector, entrant: Entrant) -> dict[str, Any] | None:
        """Evaluate a selector on a table; None if the folder does not have the table."""
        dataset = entrant.load()
        if dataset is None:
            return None
        folds = self.left_out(dataset, entrant.origin)
        key = (selector.digest, folds)
        if key not in self._fitted:
            left = set(self.folds.index[self.folds.isin(folds)])
            self._fitted[key] = selector.fitted(self.history.without(left))
        answer = selector.answer(dataset, self._fitted[key])
        pick = str(answer) if isinstance(answer, ModelSpec) else ""
        known = (dataset.fingerprint, pick)
        if isinstance(answer, np.ndarray):
            found = [_measured(dataset.y, answer)]
        elif entrant.board != "adbench" and known in self.cells.index:
            found = list(self.cells.loc[[known]].to_numpy())
        else:
            found = [_measured(dataset.y, own) for own in self._trials(dataset, answer)]
        ap, roc_auc = np.mean(found, axis=0)
        values = (entrant.board, entrant.table, dataset.fingerprint, selector.title, pick)
        return dict(zip(COLUMNS, (*values, float(ap), float(roc_auc)), strict=True))

    def _trials(self, dataset: LabelledDataset, model: ModelSpec) -> Iterator[Scores]:
        """Yield the scores that a user gets with this model, one array for each seed."""
        kept = self.scores.read(dataset.fingerprint)
        base = None
        for seed in range(TRIALS):
            if (model.id, seed) not in kept:
                if base is None:
                    base = metaod.select(prepare(dataset.table), pick="committee")
                ranking = pd.DataFrame({"model": [model.id, FOREST]})
                own = fit_selection(replace(base, ranking=ranking), random_state=seed).scores
                kept[model.id, seed] = own.astype(np.float32)
                self.scores.write(dataset.fingerprint, {(model.id, seed): kept[model.id, seed]})
            yield kept[model.id, seed].astype(np.float64)

    def run(
        self, selector: Selector, tables: Sequence[Entrant], on_table: Callable[[str], None]
    ) -> pd.DataFrame:
        """Evaluate a selector on tables; figures that are kept are not computed again."""
        path = self.kept / f"{selector.path.stem}-{selector.digest}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", encoding="utf-8", newline="") as file:
            file.seek(0)
            known = {(row["set"], row["table"]): row for row in csv.DictReader(file, COLUMNS)}
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            for entrant in tables:
                key = (entrant.board, entrant.table)
                if key in known:
                    continue
                row = self.reach(selector, entrant)
                if row is None:
                    continue
                known[key] = row
                writer.writerow(row)
                file.flush()
                on_table(f"{selector.title} on {entrant.table}: AP {row['ap']:.4f}")
        wanted = [(entrant.board, entrant.table) for entrant in tables]
        frame = pd.DataFrame([known[key] for key in wanted if key in known], columns=list(COLUMNS))
        return frame.astype({"ap": float, "roc_auc": float})


def compared(
    ap: pd.DataFrame, roc_auc: pd.DataFrame, baseline: str, groups: npt.ArrayLike
) -> pd.DataFrame:
    """Compare methods, columns of both frames, with one of them: means, intervals, ranks.

    The intervals are bootstraps over the groups of tables.
    """
    parts = []
    for title, values in (("AP", ap), ("ROC AUC", roc_auc)):
        gains = values.sub(values[baseline], axis=0)
        part = pd.DataFrame({title: values.mean(), "gain": gains.mean()})
        part[["low", "high"]] = bootstrap_intervals(gains, groups)
        part["wins"], part["losses"] = (gains > 1e-9).sum(), (gains < -1e-9).sum()
        part["rank"] = average_ranks(values)
        parts.append(part.rename(columns={name: f"{title} {name}" for name in part.columns[1:]}))
    table = parts[0].join(parts[1]).sort_values("AP", ascending=False)
    return table.rename_axis("method").reset_index()
