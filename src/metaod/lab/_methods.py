"""The methods under comparison, in the paper's order, ours after them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from metaod.errors import BadParameter

__all__ = ["METHODS", "Category", "Method", "Testbed", "method", "paper_methods"]

Category = Literal["no selection", "simple", "optimisation", "reference"]
Testbed = Literal["poc", "st"]


@dataclass(frozen=True)
class Method:
    """One way to answer for a dataset.

    Parameters
    ----------
    key : str
        Its name in result files.
    title : str
        Its name in tables and figures.
    category : {"no selection", "simple", "optimisation", "reference"}
        The paper's categories; a reference uses what no selection can know.
    learner : str or None
        Its name among the learners, if it is one.
    reference : str or None
        Its id among the reference models, if it is one.
    stand_in : str or None
        Id of the reference model that is taken where it has no performance itself, for a member
        of the average does not apply to the dataset or is over budget there.
    in_paper : bool
        Whether it is one of the paper's twelve.
    testbed : {"poc", "st"} or None
        The one testbed that it makes sense in; None for both.
    """

    key: str
    title: str
    category: Category
    learner: str | None = None
    reference: str | None = None
    stand_in: str | None = None
    in_paper: bool = True
    testbed: Testbed | None = None


_KNN_50 = "KNN(n_neighbors=50, method=largest)"
_KNN_100 = "KNN(n_neighbors=100, method=largest)"
_FOREST = "IForest(n_estimators=200)"
_FOREST_KNN = f'ZAverage(members="{_FOREST} + {_KNN_50}")'

METHODS: tuple[Method, ...] = (
    Method("lof", "LOF", "no selection", reference="LOF()"),
    Method("iforest", "iForest", "no selection", reference="IForest()"),
    Method("mega_ensemble", "ME", "no selection", reference="MegaEnsemble(space=paper)"),
    Method("global_best", "GB", "simple", learner="global_best"),
    Method("isac", "ISAC", "simple", learner="isac"),
    Method("argosmart", "AS", "simple", learner="argosmart"),
    Method("supervised_surrogates", "SS", "optimisation", learner="supervised_surrogates"),
    Method("alors", "ALORS", "optimisation", learner="alors"),
    Method("metaod_c", "MetaOD_C", "optimisation", learner="metaod_c"),
    Method("metaod_f", "MetaOD_F", "optimisation", learner="metaod_f"),
    Method("metaod", "MetaOD", "optimisation", learner="metaod"),
    Method("eub", "EUB", "reference", testbed="poc"),
    Method("random_selection", "RS", "no selection", learner="random_selection", testbed="st"),
    # ours
    Method("global_best_rank", "GB-rank", "simple", learner="global_best_rank", in_paper=False),
    Method("squared_error", "SE-MF", "optimisation", learner="squared_error", in_paper=False),
    Method("pyod_rule", "PyOD rule", "no selection", learner="pyod_rule", in_paper=False),
    Method(
        "forest_knn",
        "iF+kNN",
        "no selection",
        reference=_FOREST_KNN,
        stand_in=_FOREST,
        in_paper=False,
    ),
    Method(
        "forest_knn_ocsvm",
        "iF+kNN+SVM",
        "no selection",
        reference=f'ZAverage(members="{_FOREST} + {_KNN_100} + OCSVM(kernel=rbf, nu=0.9)")',
        stand_in=_FOREST_KNN,
        in_paper=False,
    ),
    Method("oracle", "Oracle", "reference", in_paper=False),
)
"""All methods: the paper's eleven, EUB (POC alone), RS (ST alone), then ours.

RS is the expectation over a uniformly drawn model, EUB and Oracle are read from the performance
matrix (:mod:`metaod.lab._bounds`).
"""

_BY_KEY = {item.key: item for item in METHODS}


def method(key: str) -> Method:
    """The method of that key.

    Examples
    --------
    >>> method("argosmart").title
    'AS'
    """
    if key not in _BY_KEY:
        raise BadParameter("method", "key", sorted(_BY_KEY), key)
    return _BY_KEY[key]


def paper_methods(keys: Iterable[str]) -> list[str]:
    """Those of the keys that the paper compares, in the order given.

    Examples
    --------
    >>> paper_methods(["metaod", "oracle"])
    ['metaod']
    """
    return [key for key in keys if method(key).in_paper]
