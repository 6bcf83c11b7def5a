"""COPOD: outliers by empirical copulas."""

from metaod.models._family import MANY_ROWS, Family, Settings, add_builtin
from metaod.models.families.ecod import TailEstimator


class COPOD(TailEstimator):
    """The longer tail of a value counts, or the mean of both if larger: PyOD's training scores."""

    mean_of_tails = True


add_builtin(Family("COPOD", COPOD, {}, extended=(Settings({}),), learned_rows=MANY_ROWS))
