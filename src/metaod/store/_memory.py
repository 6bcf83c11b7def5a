"""The memory that a task of a build is expected to need."""

from collections.abc import Iterable

from metaod.history import Reference
from metaod.models import Budget, ModelSpec, expected_costs, is_average, members_of

_KERNEL_BYTES = 4.0  # a pair of rows in the kernel matrix that serves all OCSVMs of a kernel
_TABLE_COPIES = 6  # as read, as prepared, as scaled, and temporary ones


def expected_bytes(
    specs: Iterable[ModelSpec],
    references: Iterable[Reference],
    summed: Iterable[Reference],
    trials: int,
    budget: Budget,
    shape: tuple[int, int],
) -> int:
    """Return the memory beyond that of the process to evaluate models and references on a table.

    It is that of the table, of the scores that averages need, and of the largest model.
    """
    n_rows, n_columns = shape
    summed = tuple(summed)
    used = {*specs, *(member for item in (*references, *summed) for member in item.members)}
    averaged = {member for spec in filter(is_average, used) for member in members_of(spec)}
    singles = [spec for spec in used | averaged if not is_average(spec)]
    # a cell beyond the budget is not started; nothing is known of a family without a law
    expected = (cost.n_bytes for cost in expected_costs(singles, n_rows, n_columns))
    largest = max((n_bytes for n_bytes in expected if n_bytes <= budget.bytes), default=0.0)
    kernel = _KERNEL_BYTES * n_rows**2
    if kernel <= budget.bytes and any(spec.detector == "OCSVM" for spec in singles):
        largest = max(largest, kernel)
    kept = sum(trials if spec.is_random else 1 for spec in averaged)
    kept += (trials + 1) * (2 if summed else 1)
    return int(8.0 * n_rows * (_TABLE_COPIES * n_columns + kept) + largest)
