"""Make childsets from a motherset and a recipe."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter, UserError
from metaod.history import fingerprint
from metaod.models import Matrix, Scores
from research.childsets.labelling import normal_probability, normal_rows, of_difficulty
from research.childsets.mothersets import Motherset
from research.childsets.recipe import Recipe
from research.childsets.sampling import MAX_ROWS, append_irrelevant, choose_outliers, count_rows


@dataclass(frozen=True)
class Childset:
    """A labelled dataset drawn from a motherset, and how it was drawn."""

    X: Matrix
    y: npt.NDArray[np.int8]
    motherset: str
    origin: str
    recipe: Recipe
    replicate: int  # number of the sibling, from 1
    seed: int

    @property
    def name(self) -> str:
        return f"{self.motherset}_{self.recipe.name}_{self.replicate}"

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.X, self.y)

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        shape = f"{rows} rows × {columns} columns, {int(self.y.sum())} outliers"
        return f"Childset({self.name!r}: {shape})"


class ChildsetGenerator:
    """Make childsets of one motherset; what depends only on the motherset is computed once.

    Parameters
    ----------
    motherset : Motherset
        Source of the rows.
    seed : int, default=0
        Seed of the draws. The same seed gives the same bytes; the split into normal and anomalous
        rows and their difficulty do not depend on it.

    Examples
    --------
    >>> from research.childsets.mothersets import make_synthetic
    >>> from research.childsets.recipe import Recipe
    >>> generator = ChildsetGenerator(make_synthetic())
    >>> generator.make(Recipe("easy", 0.05, "scattered", 1.2), 1)
    Childset('synthetic_easy-0.05-scattered-1.2_1': 3790 rows × 14 columns, 190 outliers)
    """

    def __init__(self, motherset: Motherset, *, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise BadParameter("ChildsetGenerator", "seed", "an int in [0, inf)", seed)
        self.motherset = motherset
        self.seed = seed

    @cached_property
    def is_normal(self) -> npt.NDArray[np.bool_]:
        """Whether each row of the motherset is normal."""
        return normal_rows(self.motherset)

    @cached_property
    def probability(self) -> Scores:
        """P(normal | x) of each row of the motherset."""
        return normal_probability(self._standardised, self.is_normal)

    @cached_property
    def _standardised(self) -> Matrix:
        X = self.motherset.X
        spread = X.std(axis=0)
        return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))

    def candidates(self, recipe: Recipe) -> npt.NDArray[np.intp]:
        """Return the anomalous rows of the recipe's difficulty."""
        anomalous = ~self.is_normal
        if recipe.difficulty != "any":
            anomalous &= of_difficulty(self.probability, recipe.difficulty)
        return np.flatnonzero(anomalous)

    def make(self, recipe: Recipe, replicate: int = 1, *, max_rows: int = MAX_ROWS) -> Childset:
        """Draw the sibling of number `replicate`, from 1, with at most `max_rows` rows.

        It is an error if no anomalous row has the recipe's difficulty.
        """
        if isinstance(replicate, bool) or not isinstance(replicate, int) or replicate < 1:
            raise BadParameter("make_childset", "replicate", "an int in [1, inf)", replicate)
        if max_rows < 2:
            raise BadParameter("make_childset", "max_rows", "an int in [2, inf)", max_rows)
        normal, candidates = np.flatnonzero(self.is_normal), self.candidates(recipe)
        if not candidates.size:
            raise UserError(
                f"no anomalous row is {recipe.difficulty}",
                where=f"motherset {self.motherset.name}",
                remedy="choose another difficulty",
            )
        n_normal, n_outliers = count_rows(len(normal), len(candidates), recipe.share, max_rows)
        rng = _random_generator(self.seed, self.motherset.name, recipe.name, replicate)
        X = self._standardised[candidates]
        chosen = choose_outliers(X, n_outliers, recipe.clusteredness, rng)
        rows = np.concatenate([rng.permutation(normal)[:n_normal], candidates[chosen]])
        rng.shuffle(rows)
        X = self.motherset.X[rows]
        return Childset(
            append_irrelevant(X, recipe.columns(X.shape[1]), rng),
            np.where(self.is_normal[rows], 0, 1).astype(np.int8),
            self.motherset.name,
            self.motherset.origin,
            recipe,
            replicate,
            self.seed,
        )

    def siblings(self, recipe: Recipe, n_siblings: int) -> Iterator[Childset]:
        """Draw several replicates of one setting."""
        return (self.make(recipe, replicate) for replicate in range(1, n_siblings + 1))


def make_childset(
    motherset: Motherset, recipe: Recipe, replicate: int = 1, *, seed: int = 0
) -> Childset:
    """Draw one childset; for several of one motherset use :class:`ChildsetGenerator`.

    Examples
    --------
    >>> from research.childsets.mothersets import make_synthetic
    >>> from research.childsets.recipe import Recipe
    >>> childset = make_childset(make_synthetic(), Recipe(frequency=0.01))
    >>> int(childset.y.sum()), len(childset.y)
    (37, 3637)
    """
    return ChildsetGenerator(motherset, seed=seed).make(recipe, replicate)


def _random_generator(*parts: Any) -> np.random.Generator:
    # each childset has its own generator, independent of what was drawn before
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))
