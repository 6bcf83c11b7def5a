"""The contract of a detector family, as checks that its author can run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from metaod._legal import Whole
from metaod.errors import BadParameter, UserError
from metaod.models import (
    Matrix,
    ModelSpec,
    ScoreScale,
    SpecDetector,
    family,
    model_space,
    score_models,
)

_UNDEFINED = "undefined-scores"


class ContractViolation(AssertionError):
    """A family or learner breaks its contract; the message names the point."""


@dataclass(frozen=True)
class Check:
    """One named point of a contract; a call raises :class:`ContractViolation` if it is broken."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Check the point."""
        self.run()

    def __str__(self) -> str:
        return self.name


def tables() -> dict[str, Matrix]:
    """Small tables that break detectors: ties, duplicates, constants, p > n, few rows."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(160, 4))
    return {
        "plain": plain,
        "one column": plain[:, :1].copy(),
        "tied": np.round(plain),
        "few levels": rng.integers(1, [3, 4, 5, 9, 3, 4], size=(160, 6)).astype(np.float64),
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

    With pytest: ``@pytest.mark.parametrize("check", detector_contract("Mine"), ids=str)``
    """
    if not Whole(1).allows(max_models):
        raise BadParameter("detector_contract", "max_models", str(Whole(1)), max_models)
    specs = model_space("all", detectors=family(name).name)
    sample = specs[:: max(1, -(-len(specs) // max_models))]
    checks = [Check(f"{name}: ids round-trip", partial(_ids_round_trip, specs))]
    for spec in sample:
        # first whether there are scores at all
        checks += [
            Check(f"{spec}: scores {table!r}", partial(_scores, spec, table, X))
            for table, X in tables().items()
        ]
        checks += [Check(f"{spec}: {what}", partial(run, spec)) for what, run in _POINTS.items()]
    checks.append(Check(f"{name}: score_models agrees", partial(_scored_alike, name)))
    checks.append(Check(f"{name}: outliers score high", partial(_finds_outliers, sample)))
    return checks


def check_detector(name: str, *, max_models: int = 6) -> None:
    """Run the whole contract over a registered family; raise at the first violation."""
    for check in detector_contract(name, max_models=max_models):
        check()


def _require(holds: bool, spec: ModelSpec, point: str) -> None:
    if not holds:
        raise ContractViolation(f"{spec}: {point}")


def _fitted(spec: ModelSpec, X: Matrix, seed: int) -> SpecDetector:
    try:
        return spec.to_pyod(random_state=seed).fit(X)
    except UserError as error:
        if error.code == _UNDEFINED:
            raise
        raise ContractViolation(f"{spec}: {error}") from error


def _fit(spec: ModelSpec, X: Matrix, seed: int = 0) -> Matrix:
    try:
        scores: Matrix = _fitted(spec, X, seed).decision_scores_
    except UserError:
        return np.full(len(X), np.nan)
    return scores


def _ids_round_trip(specs: tuple[ModelSpec, ...]) -> None:
    for spec in specs:
        _require(ModelSpec.parse(spec.id) == spec, spec, "its id does not read back")


def _scores(spec: ModelSpec, table: str, X: Matrix) -> None:
    if not spec.applies(*X.shape):
        return
    scores = _fit(spec, X)
    # NaN means that a detector is undefined on the table (angles among duplicates)
    _require(not np.isinf(scores).any(), spec, "infinite scores")
    _require(table != "plain" or not np.isnan(scores).all(), spec, "only NaN on a plain table")


def _scored_alike(name: str) -> None:
    """Check that a shared scorer gives what the detector gives, in every space and layout."""
    models = model_space("all", detectors=name)
    for table in ("plain", "tied", "few levels", "duplicated rows"):
        X = tables()[table]
        specs = [spec for spec in models[:: max(1, len(models) // 6)] if spec.applies(*X.shape)]
        for scored in score_models(X, specs, trials=1):
            fitted = _fit(scored.spec, np.asfortranarray(X))
            if scored.scores is None:
                # the same detector fails: too many NaN, as angles among duplicates
                undefined = bool(np.isnan(fitted).mean() > ScoreScale.REPAIRABLE)
                _require(undefined, scored.spec, f"score_models on {table!r}: {scored.reason}")
                continue
            fitted = ScoreScale.of(fitted, where=scored.spec.id).repaired(fitted)
            same = np.allclose(scored.scores, fitted, rtol=1e-6, atol=1e-8)
            point = f"score_models gives other scores than to_pyod().fit() on {table!r}"
            _require(same, scored.spec, point)


def _finds_outliers(specs: tuple[ModelSpec, ...]) -> None:
    # outliers on all sides and at several distances: PyOD's LODA ranks a single far row last
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
    point = "no model of the grid ranks rows 5 to 9 standard deviations away above the others"
    point += f" (ROC AUC {best:.2f}): is a higher score more outlying?"
    _require(best > 0.7, specs[0], point)


def _repeats(spec: ModelSpec) -> None:
    X = tables()["plain"]
    first, again = _fit(spec, X, seed=3), _fit(spec, X, seed=3)
    _require(np.array_equal(first, again, equal_nan=True), spec, "two fits with one seed differ")
    if not spec.is_random:
        same = np.array_equal(first, _fit(spec, X, seed=4), equal_nan=True)
        _require(same, spec, "scores depend on the seed: register it with random=True")


def _input_unchanged(spec: ModelSpec) -> None:
    X = tables()["plain"]
    before = X.copy()
    _fit(spec, X)
    _require(np.array_equal(X, before), spec, "fit changes the table it is given")


def _equivalence(spec: ModelSpec) -> None:
    X = tables()["plain"]
    same = spec.equivalence
    _require(same.equivalence == same, spec, "its equivalence has another equivalence")
    if same != spec:
        close = np.allclose(_fit(spec, X), _fit(same, X), rtol=1e-9, atol=1e-12, equal_nan=True)
        _require(close, spec, f"{same} is declared equivalent and scores otherwise")


def _new_rows(spec: ModelSpec) -> None:
    X = tables()["plain"]
    try:
        detector = _fitted(spec, X, seed=0)
    except UserError as error:
        raise ContractViolation(f"{spec}: {error}") from error
    if hasattr(detector.detector_, "decision_function") and spec.applies(10, X.shape[1]):
        scores = detector.decision_function(X[:10] + 0.1)
        _require(scores.shape == (10,), spec, f"{scores.shape} scores for 10 new rows")


_POINTS = {
    "repeats itself": _repeats,
    "does not change its input": _input_unchanged,
    "agrees with its equivalence": _equivalence,
    "scores new rows": _new_rows,
}
