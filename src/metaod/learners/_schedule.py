"""Learning rates over a factorisation: cyclical, after Smith (2017), or constant."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["SCHEDULES", "Schedule"]

SCHEDULES = ("cyclical", "constant")


@dataclass(frozen=True)
class Schedule:
    """The learning rate of every step.

    Parameters
    ----------
    kind : {"cyclical", "constant"}, default="cyclical"
        Triangular: from ``low`` up to ``high`` and back in a straight line, again and again (L. N.
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017); or always ``high``.
    high, low : float
        The largest and the smallest rate.
    cycle : float, default=10.0
        Epochs that a way up and down takes: twice Smith's step size.

    Examples
    --------
    >>> Schedule(high=1.0, low=0.0, cycle=2.0).rates(0, 4)
    array([0.  , 0.25, 0.5 , 0.75])
    """

    kind: str = "cyclical"
    high: float = 1.0
    low: float = 0.1
    cycle: float = 10.0

    def rates(self, epoch: int, n_steps: int) -> npt.NDArray[np.float64]:
        """The rates of an epoch's steps, counted from epoch 0; a step is a dataset."""
        if self.kind == "constant":
            return np.full(n_steps, self.high)
        turn = (epoch + np.arange(n_steps) / n_steps) / self.cycle
        height = 1.0 - np.abs(2.0 * (turn % 1.0) - 1.0)
        rates: npt.NDArray[np.float64] = self.low + (self.high - self.low) * height
        return rates
