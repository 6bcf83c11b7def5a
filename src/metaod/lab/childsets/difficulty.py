"""How much an anomalous row looks like a normal one: P(normal | x), by a kernel classifier."""

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from metaod.lab.childsets.recipe import Difficulty

__all__ = ["LEVELS", "normal_probability", "of_difficulty"]

#: P(normal | x) of each level, from and below.
LEVELS: dict[Difficulty, tuple[float, float]] = {
    "any": (0.0, np.inf),
    "easy": (0.0, 0.16),
    "medium": (0.16, 0.3),
    "hard": (0.3, 0.5),
    "very hard": (0.5, np.inf),
}

# bounds that keep the largest motherset, of a quarter of a million rows, to seconds
_FITTED_ROWS = 10_000
_LANDMARKS = 300
_CHUNK = 10_000

_PENALTIES = (1.0, 10.0, 100.0)


def normal_probability(
    X: npt.NDArray[np.float64], is_normal: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """P(normal | x) of every row.

    Logistic regression on an RBF kernel of standardised columns (γ = 1/d), by Nyström's
    approximation with 300 landmarks, fitted to at most 10,000 rows; the penalty is chosen by
    cross-validated log loss.

    Parameters
    ----------
    X : numpy.ndarray of shape (n_rows, n_columns)
        The motherset's rows, standardised.
    is_normal : numpy.ndarray of bool
        Which of them are normal.

    Returns
    -------
    numpy.ndarray of shape (n_rows,)
        From 0, unlike any normal row, to 1.
    """
    # one thread: sums are taken in one order, whatever the number of cores
    with threadpool_limits(limits=1):
        return _fit_and_predict(X, is_normal)


def of_difficulty(
    probability: npt.NDArray[np.float64], difficulty: Difficulty
) -> npt.NDArray[np.bool_]:
    """Tell which rows have a difficulty, by their P(normal | x).

    Examples
    --------
    >>> of_difficulty(np.array([0.1, 0.2, 0.4, 0.9]), "hard").tolist()
    [False, False, True, False]
    """
    low, high = LEVELS[difficulty]
    return (probability >= low) & (probability < high)


def _fit_and_predict(
    X: npt.NDArray[np.float64], is_normal: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    # slow to import
    from sklearn.kernel_approximation import Nystroem  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold, cross_val_score  # noqa: PLC0415

    rows = np.random.default_rng(0).permutation(len(X))[:_FITTED_ROWS]
    # a class of its own must be among the fitted rows, however rare it is
    rows = np.union1d(rows, [np.argmax(is_normal), np.argmin(is_normal)])
    kernel = Nystroem(
        gamma=1.0 / X.shape[1], n_components=min(_LANDMARKS, len(rows)), random_state=0
    )
    features, target = kernel.fit_transform(X[rows]), is_normal[rows]
    # Newton's steps end at the optimum: with others, P(normal | x) hangs on where they stopped
    models = [
        LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-8) for penalty in _PENALTIES
    ]
    n_folds = min(3, int(target.sum()), int((~target).sum()))
    if n_folds >= 2:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        losses = [
            -cross_val_score(model, features, target, scoring="neg_log_loss", cv=folds).mean()
            for model in models
        ]
        model = models[int(np.argmin(losses))]
    else:
        model = models[0]
    model.fit(features, target)
    chunks = (X[start : start + _CHUNK] for start in range(0, len(X), _CHUNK))
    return np.concatenate([model.predict_proba(kernel.transform(chunk))[:, 1] for chunk in chunks])
