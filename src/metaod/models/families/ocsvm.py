"""OCSVM: one-class support vector machines; one kernel matrix serves every nu of a kernel."""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import Matrix, Scores
from metaod.models._family import Family, Settings, add_builtin
from metaod.models._scoring import Budget, CellState, Mode, Scored, why_over_budget, without_scores
from metaod.models._smo import minimise, offset, starts
from metaod.models._spec import ModelSpec

SpecsByNu = dict[float, list[ModelSpec]]

KERNELS = ("linear", "poly", "rbf", "sigmoid")

# most decisions of these kernels differ from zero by less than the solver's tolerance, which the
# single precision of the gradient would not tell apart
_WITHIN_ROUNDING = {"linear", "poly"}

_BLOCK = 2**18  # kernel values computed at a time: 2 MiB, which fit the cache of a core


class OCSVMScorer:
    """Scores one-class SVMs of any kernel and nu, with PyOD's other defaults.

    Memory beyond the table: 4 bytes a pair of rows, so 2 GiB allow 23,000 rows.

    Notes
    -----
    LIBSVM stops within a tolerance of the optimum, at a point that depends on the order of rows.
    On ten public tables, three values of nu and five orders of the rows, the average precision of
    PyOD's own detector varied by (median, largest): linear 0.15, 0.66; poly 0.0003, 0.12; rbf 0,
    0.06; sigmoid 0.0006, 0.17. With z-scores every linear problem has the optimum 0, so its scores
    depend on rounding and the order of rows. The fast mode follows LIBSVM's path for the given
    order. On the same tables its average precision differed from PyOD's by at most 0 (linear),
    0.012 (poly: badly conditioned problems are finished in another way), 0.00003 (rbf) and 0.0002
    (sigmoid); its rbf scores differ by about 1e-7 of their spread.
    """

    def serves(self, spec: ModelSpec) -> bool:
        """Return whether only the kernel and nu are set."""
        params = dict(spec.params)
        kernel, nu = params.pop("kernel", "rbf"), params.pop("nu", 0.5)
        return not params and kernel in KERNELS and isinstance(nu, float) and 0 < nu < 1

    def score(
        self, X: Matrix, specs: Sequence[ModelSpec], *, trials: int, mode: Mode, budget: Budget
    ) -> Iterator[Scored]:
        """Score the specs, one kernel after the other."""
        del trials  # not random
        over = _why_over_budget(X, mode, budget)
        if over is not None:
            yield from without_scores(specs, 1, CellState.OVER_BUDGET, over)
            return
        by_kernel: dict[str, SpecsByNu] = defaultdict(lambda: defaultdict(list))
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            by_kernel[params.get("kernel", "rbf")][params.get("nu", 0.5)].append(spec)
        if mode == Mode.EXACT:
            yield from _each_with_libsvm(X, by_kernel, budget)
            return
        K = np.empty((len(X), len(X)), dtype=np.float32)
        for kernel, by_nu in by_kernel.items():
            yield from _from_matrix(X, kernel, K, by_nu, budget)


def _from_matrix(
    X: Matrix, kernel: str, K: npt.NDArray[np.float32], by_nu: SpecsByNu, budget: Budget
) -> Iterator[Scored]:
    """Write the kernel matrix to K and solve for each nu."""
    start = perf_counter()
    diagonal = _diagonal(X, kernel)
    if not diagonal.max() < np.finfo(np.float32).max:
        reason = f"OverflowError: the {kernel} kernel exceeds the range of single precision"
        yield from without_scores(chain(*by_nu.values()), 1, CellState.FAILED, reason)
        return
    # in single precision, as in LIBSVM
    for rows, block in _blocks(X, kernel):
        K[rows] = block
    shared = perf_counter() - start
    solutions = []
    for nu, alpha, gradient in starts(K, list(by_nu)):
        start = perf_counter()
        solved = minimise(K, diagonal, alpha, gradient, until=start + budget.seconds - shared)
        solutions.append((nu, solved, alpha, gradient, perf_counter() - start))
    if kernel in _WITHIN_ROUNDING:
        start = perf_counter()
        alphas = np.column_stack([alpha for _, _, alpha, _, _ in solutions])
        decisions = _times_matrix(X, kernel, alphas)
        shared += perf_counter() - start
    for s, (nu, solved, alpha, gradient, own) in enumerate(solutions):
        seconds = shared + own
        for spec in by_nu[nu]:
            if solved:
                decision = decisions[:, s] if kernel in _WITHIN_ROUNDING else gradient
                scores = offset(alpha, gradient) - decision
                yield Scored(spec, 0, CellState.OK, scores, seconds)
            else:
                reason = "not solved within the budget: the problem is badly conditioned"
                yield Scored(spec, 0, CellState.OVER_BUDGET, None, seconds, reason)


def _each_with_libsvm(
    X: Matrix, by_kernel: dict[str, SpecsByNu], budget: Budget
) -> Iterator[Scored]:
    # late: slow to import, for the exact mode only
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - see above
    from sklearn.svm import OneClassSVM  # noqa: PLC0415 - see above

    # an iteration reads every row a few times; LIBSVM counts in 32 bits
    most = min(int(budget.seconds / (2e-9 * len(X))) + 1, 2**31 - 1)
    for kernel, by_nu in by_kernel.items():
        for nu, alike in by_nu.items():
            start = perf_counter()
            model = OneClassSVM(kernel=kernel, nu=nu, gamma="auto", max_iter=most)
            with warnings.catch_warnings():
                # the reason replaces the warning
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X)
            state, scores, reason = CellState.OK, None, ""
            if model.n_iter_ >= most:
                state = CellState.OVER_BUDGET
                reason = f"not solved within {most} iterations, which the budget allows"
            else:
                scores = -model.decision_function(X)
            seconds = perf_counter() - start
            for spec in alike:
                yield Scored(spec, 0, state, scores, seconds, reason)


def _times_matrix(X: Matrix, kernel: str, alphas: Matrix) -> Matrix:
    """Return the kernel matrix in double precision, times one column for each nu."""
    result = np.empty_like(alphas)
    for rows, block in _blocks(X, kernel):
        np.matmul(block, alphas, out=result[rows])
    return result


def _blocks(X: Matrix, kernel: str) -> Iterator[tuple[slice, Matrix]]:
    """Yield the kernel matrix in double precision, some rows at a time."""
    n_rows, n_columns = X.shape
    squares = np.einsum("ij,ij->i", X, X)
    step = max(1, _BLOCK // n_rows)
    space = np.empty((min(step, n_rows), n_rows))
    for first in range(0, n_rows, step):
        rows = slice(first, min(first + step, n_rows))
        block = space[: rows.stop - rows.start]
        np.matmul(X[rows], X.T, out=block)
        if kernel == "rbf":
            block *= -2.0
            block += squares
            block += squares[rows, np.newaxis]
            block /= -n_columns
            np.exp(block, out=block)
        elif kernel != "linear":
            block /= n_columns
            if kernel == "poly":
                block *= block * block
            else:
                np.tanh(block, out=block)
        yield rows, block


def _diagonal(X: Matrix, kernel: str) -> Scores:
    if kernel == "rbf":
        return np.ones(len(X))
    with np.errstate(over="ignore"):
        squares: Scores = np.einsum("ij,ij->i", X, X)
        if kernel == "poly":
            return np.asarray((squares / X.shape[1]) ** 3)
    return squares if kernel == "linear" else np.tanh(squares / X.shape[1])


def _why_over_budget(X: Matrix, mode: Mode, budget: Budget) -> str | None:
    n_rows, n_columns = X.shape
    if mode == Mode.EXACT:
        # LIBSVM computes the kernel of most pairs twice, and keeps 200 MB of values
        seconds = n_rows**2 * (2e-8 + 2e-9 * n_columns)
        return why_over_budget(budget, seconds=seconds, n_bytes=2e8)
    # the matrix, and hundreds or thousands of steps over all rows
    seconds = n_rows**2 * (1.2e-8 + 2e-10 * n_columns)
    return why_over_budget(budget, seconds=seconds, n_bytes=4 * n_rows**2 + 2**23)


add_builtin(
    Family(
        "OCSVM",
        "pyod.models.ocsvm:OCSVM",
        {"nu": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), "kernel": KERNELS},
        extended=(Settings({"nu": (0.9,), "kernel": ("rbf",)}, ("zscore", "robust")),),
        shared_scorer=OCSVMScorer(),
        separable=("kernel",),
    )
)
