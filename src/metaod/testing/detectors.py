"""The contract of a detector family, as checks that its author can run."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter, UserError
from metaod.models import ModelSpec, SpecDetector, UndefinedScores, family, specs_of

__all__ = ["Check", "ContractViolation", "check_detector", "detector_contract"]

Matrix = npt.NDArray[np.float64]


class ContractViolation(AssertionError):
    """A family does not keep the contract; the message says which point and how."""


@dataclass(frozen=True)
class Check:
    """One point of the contract for one family; call it to check.

    Parameters
    ----------
    name : str
        The point, and the model or table that it is checked on.
    run : callable
        Raises :class:`ContractViolation` where the point is not kept.
    """

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Check the point."""
        self.run()

    def __str__(self) -> str:
        return self.name


def tables() -> dict[str, Matrix]:
    """Small tables on which detectors trip: ties, duplicates, constants, p > n, few rows."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(160, 4))
    return {
        "plain": plain,
        "one column": plain[:, :1].copy(),
        "tied": np.round(plain),
        "duplicated rows": np.repeat(plain[:40], 4, axis=0),
        "a constant column": np.column_stack([plain, np.full(len(plain), 7.0)]),
        "huge and tiny values": plain * np.array([1e200, 1e-200, 1.0, 1e6]),
        "wide": rng.normal(size=(24, 60)),
        "six rows": rng.normal(size=(6, 3)),
    }


def detector_contract(name: str, *, max_models: int = 6) -> list[Check]:
    """List the checks of a registered family, to be run with pytest or by hand.

    Parameters
    ----------
    name : str
        The family, registered with :func:`metaod.register_family`.
    max_models : int, default=6
        How many models of its grid are fitted, spread evenly over it.

    Examples
    --------
    >>> for check in detector_contract("KNN", max_models=1):
    ...     check()

    In a test module of your own::

        @pytest.mark.parametrize("check", detector_contract("Mine"), ids=str)
        def test_contract(check):
            check()
    """
    if not isinstance(max_models, int) or isinstance(max_models, bool) or max_models < 1:
        raise BadParameter(
            "detector_contract", "max_models", "an int in the range [1, inf)", max_models
        )
    specs = specs_of(family(name))
    step = max(1, -(-len(specs) // max_models))
    sample = specs[::step]
    checks = [Check(f"{name}: ids round-trip", lambda: _ids_round_trip(specs))]
    for spec in sample:
        # that there are scores at all comes before what they are like
        checks += [
            Check(
                f"{spec}: scores {table!r}",
                lambda spec=spec, table=table, X=X: _scores(spec, table, X),  # type: ignore[misc]  # mypy cannot type a default in a lambda
            )
            for table, X in tables().items()
        ]
        checks += [
            Check(f"{spec}: repeats itself", lambda spec=spec: _repeats(spec)),  # type: ignore[misc]  # as above
            Check(f"{spec}: leaves its input alone", lambda spec=spec: _input_unchanged(spec)),  # type: ignore[misc]  # as above
            Check(f"{spec}: its equivalence agrees", lambda spec=spec: _equivalence(spec)),  # type: ignore[misc]  # as above
            Check(f"{spec}: scores new rows", lambda spec=spec: _new_rows(spec)),  # type: ignore[misc]  # as above
        ]
    checks.append(Check(f"{name}: outliers score high", lambda: _finds_outliers(sample)))
    return checks


def check_detector(name: str, *, max_models: int = 6) -> None:
    """Run the whole contract over a registered family; raise at the first point not kept."""
    for check in detector_contract(name, max_models=max_models):
        check()


def _demand(kept: bool, spec: ModelSpec, point: str) -> None:
    if not kept:
        raise ContractViolation(f"{spec}: {point}")


def _fitted(spec: ModelSpec, X: Matrix, seed: int) -> SpecDetector:
    try:
        return spec.to_pyod(random_state=seed).fit(X)
    except UndefinedScores:
        raise
    except UserError as error:
        raise ContractViolation(f"{spec}: {error}") from error


def _fit(spec: ModelSpec, X: Matrix, seed: int = 0) -> Matrix:
    try:
        scores: Matrix = _fitted(spec, X, seed).decision_scores_
    except UndefinedScores:
        return np.full(len(X), np.nan)
    return scores


def _ids_round_trip(specs: tuple[ModelSpec, ...]) -> None:
    for spec in specs:
        _demand(ModelSpec.parse(spec.id) == spec, spec, "its id does not read back")
        _demand(ModelSpec.from_json(spec.to_json()) == spec, spec, "its JSON does not read back")


def _scores(spec: ModelSpec, table: str, X: Matrix) -> None:
    if not spec.applies(*X.shape):
        return
    scores = _fit(spec, X)
    # a detector may give NaN where it is undefined (angles among duplicates); that is recorded as
    # a failed cell. Infinity has no such reading
    _demand(not np.isinf(scores).any(), spec, "infinite scores")
    _demand(table != "plain" or not np.isnan(scores).all(), spec, "only NaN on a plain table")


def _finds_outliers(specs: tuple[ModelSpec, ...]) -> None:
    # outliers on all sides and at several distances: one detector of the paper's own set, PyOD's
    # LODA, ranks a single row very far away last
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(15, 3))
    directions *= rng.uniform(5, 9, size=(15, 1)) / np.linalg.norm(directions, axis=1)[:, None]
    X = np.vstack([rng.normal(size=(150, 3)), directions])
    best = 0.0
    for spec in specs:
        if spec.applies(*X.shape):
            scores = _fit(spec, X)
            above = scores[150:, None] > scores[None, :150]
            tied = scores[150:, None] == scores[None, :150]
            best = max(best, float(np.mean(above + 0.5 * tied)))
    _demand(
        best > 0.7,
        specs[0],
        f"no model of the grid ranks rows 5 to 9 standard deviations away above the others (ROC "
        f"AUC {best:.2f}): is a higher score more outlying?",
    )


def _repeats(spec: ModelSpec) -> None:
    X = tables()["plain"]
    first, again = _fit(spec, X, seed=3), _fit(spec, X, seed=3)
    _demand(np.array_equal(first, again, equal_nan=True), spec, "two fits with one seed differ")
    if not spec.is_random:
        other = _fit(spec, X, seed=4)
        _demand(
            np.array_equal(first, other, equal_nan=True),
            spec,
            "scores depend on the seed: register it with random=True",
        )


def _input_unchanged(spec: ModelSpec) -> None:
    X = tables()["plain"]
    before = X.copy()
    _fit(spec, X)
    _demand(np.array_equal(X, before), spec, "fit changes the table it is given")


def _equivalence(spec: ModelSpec) -> None:
    X = tables()["plain"]
    same = spec.equivalence
    _demand(same.equivalence == same, spec, "its equivalence has another equivalence")
    if same != spec:
        close = np.allclose(_fit(spec, X), _fit(same, X), rtol=1e-9, atol=1e-12, equal_nan=True)
        _demand(close, spec, f"{same} is declared equivalent and scores otherwise")


def _new_rows(spec: ModelSpec) -> None:
    X = tables()["plain"]
    try:
        detector = _fitted(spec, X, seed=0)
    except UndefinedScores as error:
        raise ContractViolation(f"{spec}: {error}") from error
    if hasattr(detector.detector_, "decision_function") and spec.applies(10, X.shape[1]):
        scores = detector.decision_function(X[:10] + 0.1)
        _demand(scores.shape == (10,), spec, f"{scores.shape} scores for 10 new rows")
