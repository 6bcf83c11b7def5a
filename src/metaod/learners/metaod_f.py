"""MetaOD_F: MetaOD with the dataset matrix fixed at the embedding."""

from dataclasses import dataclass
from typing import ClassVar

from metaod.learners._rank_based import RankBased

__all__ = ["MetaODF"]


@dataclass
class MetaODF(RankBased):
    """Only V is optimised; U stays at phi(M), so that no regression is needed.

    The parameters are those of :class:`~metaod.learners.metaod.MetaODLearner` but the forest's.

    Examples
    --------
    >>> import numpy as np
    >>> P, M = np.array([[0.9, 0.1], [0.1, 0.9]] * 9), np.array([[0.0], [1.0]] * 9)
    >>> MetaODF().fit(P, M).choose([1.0])
    'model 1'
    """

    name: ClassVar[str] = "metaod_f"
    title: ClassVar[str] = "MetaOD_F"
    summary: ClassVar[str] = "MetaOD with the dataset matrix fixed at the embedded meta-features"
    moves_datasets: ClassVar[bool] = False
