"""OCSVM: one-class support vector machines.

Each model is solved by itself with scikit-learn's LIBSVM. An own solver that shared a kernel matrix
among the paper's 36 models was four to five times faster and took 389 lines; only builds of
performance matrices and picks from the paper's space solve these models.
"""

import warnings

from metaod._legal import Number, OneOf, parameters
from metaod.errors import UserError
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator
from metaod.models._family import Family, Settings

_KERNELS = ("linear", "poly", "rbf", "sigmoid")

# steps times rows: a minute or two. A problem that is not solved by then is badly conditioned:
# LIBSVM takes very long for it or never ends
_MOST_WORK = 10**11


class OCSVM(Estimator):
    """Distance to the separating plane of scikit-learn's ``OneClassSVM``, as PyOD's ``OCSVM``.

    Notes
    -----
    LIBSVM stops within a tolerance of the optimum, at a point that depends on the order of rows.
    On ten public tables, three values of nu and five orders of the rows, the average precision
    varied by (median, largest): linear 0.15, 0.66; poly 0.0003, 0.12; rbf 0, 0.06; sigmoid 0.0006,
    0.17. With z-scores every linear problem has the optimum 0, so its scores depend on rounding and
    the order of rows.
    """

    legal = parameters(kernel=OneOf(_KERNELS), nu=Number(0, 1))

    def __init__(self, kernel: str = "rbf", nu: float = 0.5) -> None:
        self.kernel = kernel
        self.nu = nu

    def _fit(self, X: Matrix) -> Scores:
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow to import
        from sklearn.svm import OneClassSVM  # noqa: PLC0415 - slow to import

        most = min(_MOST_WORK // len(X), 2**31 - 1)  # LIBSVM counts in 32 bits
        self.machine_ = OneClassSVM(kernel=self.kernel, nu=self.nu, gamma="auto", max_iter=most)
        with warnings.catch_warnings():
            # the error replaces the warning
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.machine_.fit(X)
        if self.machine_.n_iter_ >= most:
            problem = (
                f"the {self.kernel} kernel gives a badly conditioned problem: it is not solved"
            )
            raise UserError(f"{problem} in {most:,} steps", remedy="choose another kernel")
        return self._score(X)

    def _score(self, X: Matrix) -> Scores:
        scores: Scores = -self.machine_.decision_function(X)
        return scores


FAMILY = Family(
    "OCSVM",
    OCSVM,
    {"nu": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), "kernel": _KERNELS},
    title="One-class SVM",
    extended=(Settings({"nu": (0.9,), "kernel": ("rbf",)}, ("zscore", "robust")),),
)
