"""The contract of a learner, as checks that its author can run."""

import inspect
import json
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache

import numpy as np
import pandas as pd

from metaod.errors import UserError
from metaod.learners import Learner, StateReader
from metaod.testing.detectors import Check, ContractViolation
from metaod.testing.states import damaged_states, leaves

__all__ = ["check_learner", "history", "learner_contract"]

Make = Callable[[], Learner]
History = tuple[pd.DataFrame, pd.DataFrame]

_MODELS = (
    "ABOD(n_neighbors=10)", "HBOS(n_bins=10)", "IForest(n_estimators=100, max_features=0.9)",
    "KNN(n_neighbors=5, method=largest)", "LODA(n_bins=10)", "LOF(n_neighbors=20)", "OCSVM(nu=0.5)",
)  # fmt: skip
_FEATURES = ("n_rows", "n_columns", "skewness", "kurtosis", "huge")


def history(n_datasets: int = 12) -> History:
    """Performance of seven models on made datasets, and five meta-features of these.

    Larger is better; some cells of both are missing, some meta-features infinite or huge. Which
    models do well depends on the third meta-feature.
    """
    rng = np.random.default_rng(0)
    latent = rng.normal(size=n_datasets)
    M = np.column_stack([
        np.round(10 ** rng.uniform(2, 5, n_datasets)), rng.integers(2, 60, n_datasets),
        latent, rng.normal(size=n_datasets), 10 ** rng.uniform(-300, 300, n_datasets),
    ])  # fmt: skip
    tilt = np.linspace(-0.15, 0.15, len(_MODELS))
    noise = rng.uniform(-0.1, 0.1, (n_datasets, len(_MODELS)))
    P = np.clip(0.4 + np.tanh(latent)[:, None] * tilt + noise, 0, 1)
    P[rng.random(P.shape) < 0.1] = np.nan
    P[:, -1] = np.where(np.isnan(P[:, -1]), 0.4, P[:, -1])  # no dataset is left without a value
    M[1:3, 3] = np.nan
    M[3:4, 4] = np.inf
    datasets = [f"fp1:{number:032x}" for number in range(n_datasets)]
    return (
        pd.DataFrame(P, index=datasets, columns=list(_MODELS)),
        pd.DataFrame(M, index=datasets, columns=list(_FEATURES)),
    )


def learner_contract(make: Make) -> list[Check]:
    """List the checks of a learner, to be run with pytest or by hand.

    Parameters
    ----------
    make : callable
        Returns, at each call, a new learner with the same parameters: its class, if it has
        defaults for all. Small ones make the checks quick.

    Examples
    --------
    >>> from metaod.learners import learner_class
    >>> for check in learner_contract(learner_class("global_best")):
    ...     check()

    In a test module of your own::

        @pytest.mark.parametrize("check", learner_contract(Mine), ids=str)
        def test_contract(check):
            check()
    """
    points = [_named, _unfitted, _finite, _strange, _single, _few, _repeated, _no_value, _choice]
    points += [_repeats, _refitted, _models_permuted, _features_permuted, _one_by_one, _inputs]
    points += [_label_free, _refuses, _parameters, _restored, _damaged]

    # most points look at one and the same fit
    @cache
    def fitted() -> Learner:
        return make().fit(*history())

    return [
        Check(str(point.__doc__).rstrip("."), lambda point=point: point(make, fitted))  # type: ignore[misc]  # mypy cannot type a default in a lambda
        for point in points
    ]


def check_learner(make: Make) -> None:
    """Run the whole contract over a learner; raise at the first point not kept."""
    for check in learner_contract(make):
        check()


def _demand(kept: bool, learner: Learner, point: str) -> None:
    if not kept:
        raise ContractViolation(f"{type(learner).__name__}: {point}")


def _demand_refused(learner: Learner, call: Callable[[], object], point: str) -> None:
    try:
        call()
    except UserError:
        return
    raise ContractViolation(f"{type(learner).__name__}: {point}")


def _scores(learner: Learner, M: pd.DataFrame) -> pd.DataFrame:
    try:
        scores = learner.predict(M)
    except UserError as error:
        raise ContractViolation(str(error)) from error
    if not isinstance(scores, pd.DataFrame):
        raise ContractViolation(f"{type(learner).__name__}: no frame of scores for many datasets")
    _demand(list(scores.index) == list(M.index), learner, "scores have other rows than M")
    _demand(tuple(scores.columns) == learner.models_, learner, "scores have other models than P")
    _demand(bool(np.isfinite(scores.to_numpy()).all()), learner, "scores are not finite")
    return scores


def _same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    return one.equals(other)


def _named(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """It has a name, a title, a summary of one line, and is a dataclass."""
    learner = make()
    _demand(is_dataclass(learner), learner, "is no dataclass: parameters are its fields")
    for what in ("name", "title", "summary"):
        text = getattr(learner, what, None)
        kept = isinstance(text, str) and text != "" and "\n" not in text
        _demand(kept, learner, f"{what} is {text!r}, not one line of text")


def _unfitted(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """It says that it has not been fitted."""
    learner = make()
    _demand_refused(learner, lambda: learner.predict(history()[1]), "predicts without a fit")
    _demand_refused(learner, lambda: learner.choose(history()[1].iloc[0]), "chooses without a fit")


def _finite(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """Its scores are finite, although cells of P and of M were missing."""
    learner, (_, M) = fitted(), history()
    _scores(learner, M)
    one = learner.predict(M.iloc[0])
    _demand(isinstance(one, pd.Series), learner, "no series of scores for one dataset")


def _strange(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """Meta-features of an unseen scale, infinite or missing still get finite scores."""
    learner, (_, M) = fitted(), history()
    for value in (1e300, -1e300, 0.0, np.nan, np.inf, -np.inf):
        strange = M.copy()
        strange.iloc[:3, :] = value
        strange.iloc[3, 2] = value
        _scores(learner, strange)
        _demand(learner.choose(strange.iloc[0]) in learner.models_, learner, "no choice")


def _single(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """One historical dataset is enough."""
    P, M = history()
    learner = make().fit(P.iloc[:1], M.iloc[:1])
    _scores(learner, M)


def _few(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """There may be more models than datasets, and origins may hold several datasets."""
    P, M = history()
    for n in (2, 3):
        _scores(make().fit(P.iloc[:n], M.iloc[:n], np.zeros(n)), M)
    _scores(make().fit(P, M, ["a", "b", "c", "d"] * 3), M)


def _repeated(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """Datasets may be repeated, and may all be one."""
    P, M = history(4)
    _scores(make().fit(pd.concat([P] * 3), pd.concat([M] * 3)), M)
    _scores(make().fit(pd.concat([P.iloc[:1]] * 9), pd.concat([M.iloc[:1]] * 9)), M)


def _no_value(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """A model without any value is not picked while others have some."""
    P, M = history()
    empty = [_MODELS[0], _MODELS[2]]
    P[empty] = np.nan
    learner = make().fit(P, M)
    for dataset in M.index:
        picked = learner.choose(M.loc[dataset])
        _demand(picked not in empty, learner, f"picks {picked}, of which nothing is known")


def _choice(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """It chooses the model with the largest score."""
    learner, (_, M) = fitted(), history()
    for dataset in M.index:
        chosen, scores = learner.choose(M.loc[dataset]), learner.predict(M.loc[dataset])
        _demand(chosen in learner.models_, learner, f"chooses {chosen}, which is no model of P")
        _demand(scores[chosen] == scores.max(), learner, "does not choose the largest score")
    _demand_refused(learner, lambda: learner.choose(M), "chooses once for several datasets")


def _repeats(make: Make, fitted: Make) -> None:
    """Fitting twice with the same parameters gives the same."""
    P, M = history()
    learner = make().fit(P, M)
    _demand(_same(_scores(learner, M), _scores(fitted(), M)), learner, "two fits differ")


def _refitted(make: Make, fitted: Make) -> None:
    """A second fit leaves nothing of the first."""
    P, M = history()
    learner = make().fit(1 - P.iloc[:5, :], M.iloc[:5, ::-1]).fit(P, M)
    _demand(_same(_scores(learner, M), _scores(fitted(), M)), learner, "remembers an earlier fit")


def _models_permuted(make: Make, fitted: Make) -> None:
    """Permuting models permutes scores and changes no choice."""
    P, M = history()
    order = np.random.default_rng(1).permutation(len(_MODELS))
    learner = make().fit(P.iloc[:, order], M)
    expected = _scores(fitted(), M).iloc[:, order]
    _demand(_same(_scores(learner, M), expected), learner, "scores depend on the order of models")
    same = all(learner.choose(M.loc[d]) == fitted().choose(M.loc[d]) for d in M.index)
    _demand(same, learner, "choices depend on the order of models")


def _features_permuted(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """Meta-features are found by name; others beside them are ignored."""
    learner, (_, M) = fitted(), history()
    turned = M[M.columns[::-1]].assign(other=1.0)
    _demand(_same(_scores(learner, turned), _scores(learner, M)), learner,
            "scores depend on the order of meta-features")  # fmt: skip


def _one_by_one(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """A dataset gets the same scores alone as among others."""
    learner, (_, M) = fitted(), history()
    together = _scores(learner, M)
    for dataset in M.index:
        # sums may be taken in another order
        alone, row = learner.predict(M.loc[dataset]), together.loc[dataset]
        close = np.allclose(alone, row, rtol=1e-9, atol=1e-12)
        _demand(close, learner, "scores depend on the other datasets")


def _inputs(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """It leaves what it is given alone."""
    P, M = history()
    learner = make().fit(P, M)
    learner.predict(M)
    kept = _same(P, history()[0]) and _same(M, history()[1])
    _demand(kept, learner, "changes P or M")


def _label_free(make: Make, fitted: Make) -> None:  # noqa: ARG001 - a point's form
    """Prediction sees meta-features alone: P is out of reach once it is fitted."""
    P, M = history()
    learner = make()
    names = list(inspect.signature(learner.predict).parameters)
    _demand(names == ["M"], learner, f"predict takes {names}, not meta-features alone")
    names = list(inspect.signature(learner.choose).parameters)
    _demand(names == ["m"], learner, f"choose takes {names}, not meta-features alone")
    before = _scores(learner.fit(P, M), M)
    P.iloc[:, :] = 1 - P.to_numpy()
    _demand(_same(_scores(learner, M), before), learner, "scores follow P after the fit")


def _refuses(make: Make, fitted: Make) -> None:
    """What does not fit together is refused in words."""
    learner, (P, M) = fitted(), history()
    wrong: dict[str, Callable[[], object]] = {
        "fits without any value": lambda: make().fit(P * np.nan, M),
        "fits infinite performance": lambda: make().fit(P.fillna(np.inf), M),
        "fits other datasets in M": lambda: make().fit(P, M.iloc[::-1]),
        "fits fewer datasets in M": lambda: make().fit(P, M.iloc[:3]),
        "predicts without a meta-feature": lambda: learner.predict(M[["n_rows"]]),
    }
    for point, call in wrong.items():
        _demand_refused(learner, call, point)


def _parameters(make: Make, fitted: Make) -> None:
    """Its parameters go through JSON and make the same learner again."""
    learner, (P, M) = fitted(), history()
    try:
        params = json.loads(json.dumps(learner.params()))
    except (TypeError, ValueError) as error:
        raise ContractViolation(f"{type(learner).__name__}: parameters: {error}") from error
    again = type(learner)(**params)
    _demand(json.dumps(again.params()) == json.dumps(make().params()), learner,
            "fitting changes the parameters, or they do not come back")  # fmt: skip
    _demand(_same(_scores(again.fit(P, M), M), _scores(learner, M)), learner,
            "parameters that came back give other scores")  # fmt: skip


def _restored(make: Make, fitted: Make) -> None:
    """What it learned goes through plain data and arrays and predicts the same."""
    learner, (_, M) = fitted(), history()
    state = learner.state()
    for path, value in leaves(state):
        kind = value.dtype.kind if isinstance(value, np.ndarray) else None
        kept = kind in tuple("fiub") or isinstance(value, str | int | float | list | None)
        _demand(kept, learner, f"state {'.'.join(path)} is {type(value).__name__}, not plain data")
    again = make().restore(StateReader(state, "contract"))
    _demand(_same(_scores(again, M), _scores(learner, M)), learner, "predicts otherwise restored")
    same = all(again.choose(M.loc[d]) == learner.choose(M.loc[d]) for d in M.index)
    _demand(same, learner, "chooses otherwise restored")


def _damaged(make: Make, fitted: Make) -> None:
    """A damaged state is refused in words, or the damage has no effect."""
    learner, (_, M) = fitted(), history()
    state = learner.state()
    expected = _scores(learner, M)
    for what, broken in damaged_states(state):
        try:
            again = make().restore(StateReader(broken, "contract"))
            same = _same(_scores(again, M), expected)
        except UserError:
            continue
        _demand(same, learner, f"takes a state in which {what}")
