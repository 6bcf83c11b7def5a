"""COPOD: outliers by empirical copulas."""

from metaod.models._family import Family, Settings, add_builtin
from metaod.models.families.ecod import TailEstimator

__all__ = ["COPOD"]


class COPOD(TailEstimator):
    """The longer tail of a value counts, or the mean of both tails if it is larger.

    Training scores are those of PyOD's ``COPOD``.

    Examples
    --------
    >>> COPOD().fit([[0.0], [0.1], [0.2], [5.0]]).decision_scores_.argmax()
    np.int64(3)
    """

    mean_of_tails = True


add_builtin(Family("COPOD", COPOD, {}, extended=(Settings({}),)))
