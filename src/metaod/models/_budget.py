"""What a model is foreseen to cost, against what it may."""

from metaod.models._base import Budget

__all__ = ["why_over_budget"]


def why_over_budget(budget: Budget, *, seconds: float, n_bytes: float) -> str | None:
    """Why a model of that foreseen cost is not started; None where the budget allows it.

    Examples
    --------
    >>> why_over_budget(Budget(seconds=60), seconds=90, n_bytes=0)
    'would take about 90 s, the budget allows 60 s'
    """
    if seconds > budget.seconds:
        return f"would take about {seconds:.3g} s, the budget allows {budget.seconds:.3g} s"
    if n_bytes > budget.bytes:
        needed, allowed = n_bytes / 2**20, budget.bytes / 2**20
        return f"would take about {needed:.3g} MiB, the budget allows {allowed:.3g} MiB"
    return None
