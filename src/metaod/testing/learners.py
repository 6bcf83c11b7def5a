"""The contract of a learner, as checks that its author can run.

What the base class does for every learner is not checked again.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cached_property
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from metaod.artifacts import read_container, write_container
from metaod.errors import UserError
from metaod.learners import Learner
from metaod.testing.detectors import Check, ContractViolation

Make = Callable[[], Learner]

_MODELS = (
    "ABOD(n_neighbors=10)", "HBOS(n_bins=10)", "IForest(n_estimators=100, max_features=0.9)",
    "KNN(n_neighbors=5, method=largest)", "LODA(n_bins=10)", "LOF(n_neighbors=20)", "OCSVM(nu=0.5)",
)  # fmt: skip
_FEATURES = ("n_rows", "n_columns", "skewness", "kurtosis", "huge")


def history(n_datasets: int = 12) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the performance of seven models on generated datasets, and five meta-features.

    Some cells of both are missing; the third meta-feature decides which models do well.
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
    P[:, -1] = np.where(np.isnan(P[:, -1]), 0.4, P[:, -1])  # every dataset has a value
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
        Returns, at each call, a new learner with the same parameters; small ones are fast.

    Examples
    --------
    >>> from metaod.learners import learner_class
    >>> for check in learner_contract(learner_class("gain_forest")):
    ...     check()

    With pytest: ``@pytest.mark.parametrize("check", learner_contract(Mine), ids=str)``
    """
    contract = _LearnerContract(make)
    return [
        Check(str(point.__doc__).rstrip("."), getattr(contract, name))
        for name, point in vars(_LearnerContract).items()
        if name.startswith("check_")
    ]


def check_learner(make: Make) -> None:
    """Run the whole contract over a learner; raise at the first violation."""
    for check in learner_contract(make):
        check()


class _LearnerContract:
    """One method per check; the first line of its docstring is the name of the check."""

    def __init__(self, make: Make) -> None:
        self.make = make

    @property
    def learner_name(self) -> str:
        return type(self.make()).__name__

    @cached_property
    def fitted(self) -> Learner:
        return self.make().fit(*history())

    def require(self, kept: bool, violation: str) -> None:
        if not kept:
            raise ContractViolation(f"{self.learner_name}: {violation}")

    def scores(self, learner: Learner, M: pd.DataFrame) -> pd.DataFrame:
        try:
            scores = learner.predict(M)
        except UserError as error:
            raise ContractViolation(str(error)) from error
        if not isinstance(scores, pd.DataFrame):
            raise ContractViolation(f"{self.learner_name}: no frame of scores for many datasets")
        self.require(list(scores.index) == list(M.index), "scores have other rows than M")
        self.require(tuple(scores.columns) == learner.models_, "scores have other models than P")
        self.require(bool(np.isfinite(scores.to_numpy()).all()), "scores are not finite")
        return scores

    def require_same_scores(self, one: Learner, other: Learner, violation: str) -> None:
        _, M = history()
        self.require(self.scores(one, M).equals(self.scores(other, M)), violation)

    def require_same_choices(self, one: Learner, other: Learner, violation: str) -> None:
        _, M = history()
        same = (one.choose(M.loc[d]) == other.choose(M.loc[d]) for d in M.index)
        self.require(all(same), violation)

    def check_texts(self) -> None:
        """It is a dataclass with a name, a title and a summary of one line."""
        learner = self.make()
        self.require(is_dataclass(learner), "is not a dataclass: parameters are its fields")
        for attribute in ("name", "title", "summary"):
            text = getattr(learner, attribute, None)
            kept = isinstance(text, str) and text != "" and "\n" not in text
            self.require(kept, f"{attribute} is {text!r}, not one line of text")

    def check_finite(self) -> None:
        """Its scores are finite although cells of P and M are missing."""
        _, M = history()
        self.scores(self.fitted, M)
        one = self.fitted.predict(M.iloc[0])
        self.require(isinstance(one, pd.Series), "no series of scores for one dataset")

    def check_unusual_features(self) -> None:
        """Meta-features that are missing, infinite or of an unseen scale get finite scores."""
        _, M = history()
        for value in (1e300, -1e300, 0.0, np.nan, np.inf, -np.inf):
            unusual = M.copy()
            unusual.iloc[:3, :] = value
            unusual.iloc[3, 2] = value
            self.scores(self.fitted, unusual)
            chosen = self.fitted.choose(unusual.iloc[0])
            self.require(chosen in self.fitted.models_, f"chooses {chosen}, not a model of P")

    def check_one_dataset(self) -> None:
        """One historical dataset is enough."""
        P, M = history()
        self.scores(self.make().fit(P.iloc[:1], M.iloc[:1]), M)

    def check_few_datasets(self) -> None:
        """There may be more models than datasets, and origins may have several datasets."""
        P, M = history()
        for n in (2, 3):
            self.scores(self.make().fit(P.iloc[:n], M.iloc[:n], np.zeros(n)), M)
        self.scores(self.make().fit(P, M, ["a", "b", "c", "d"] * 3), M)

    def check_repeated_datasets(self) -> None:
        """Datasets may be repeated, and may all be the same."""
        P, M = history(4)
        self.scores(self.make().fit(pd.concat([P] * 3), pd.concat([M] * 3)), M)
        self.scores(self.make().fit(pd.concat([P.iloc[:1]] * 9), pd.concat([M.iloc[:1]] * 9)), M)

    def check_models_without_values(self) -> None:
        """A model without any value is not picked while others have values."""
        P, M = history()
        empty = [_MODELS[0], _MODELS[2]]
        P[empty] = np.nan
        learner = self.make().fit(P, M)
        for dataset in M.index:
            picked = learner.choose(M.loc[dataset])
            self.require(picked not in empty, f"picks {picked}, which has no values")

    def check_repeatable(self) -> None:
        """Two fits with the same parameters give the same scores."""
        self.require_same_scores(self.make().fit(*history()), self.fitted, "two fits differ")

    def check_refitted(self) -> None:
        """A second fit does not depend on the first."""
        P, M = history()
        learner = self.make().fit(1 - P.iloc[:5, :], M.iloc[:5, ::-1]).fit(P, M)
        self.require_same_scores(learner, self.fitted, "a second fit depends on the first")

    def check_order_of_models(self) -> None:
        """Permuting models permutes scores and changes no choice."""
        P, M = history()
        order = np.random.default_rng(1).permutation(len(_MODELS))
        learner = self.make().fit(P.iloc[:, order], M)
        same = self.scores(learner, M).equals(self.scores(self.fitted, M).iloc[:, order])
        self.require(same, "scores depend on the order of models")
        self.require_same_choices(learner, self.fitted, "choices depend on the order of models")

    def check_one_by_one(self) -> None:
        """A dataset gets the same scores alone as among others."""
        _, M = history()
        scores = self.scores(self.fitted, M)
        for dataset in M.index:
            # sums may be taken in another order
            alone, among_others = self.fitted.predict(M.loc[dataset]), scores.loc[dataset]
            close = np.allclose(alone, among_others, rtol=1e-9, atol=1e-12)
            self.require(close, "scores depend on the other datasets")

    def check_inputs(self) -> None:
        """It does not change P or M."""
        P, M = history()
        self.make().fit(P, M).predict(M)
        self.require(P.equals(history()[0]) and M.equals(history()[1]), "changes P or M")

    def check_label_free(self) -> None:
        """Prediction uses meta-features only; it does not read P after the fit."""
        P, M = history()
        learner = self.make()
        for method, expected in ((learner.predict, ["M"]), (learner.choose, ["m"])):
            names = list(inspect.signature(method).parameters)
            self.require(names == expected, f"{method.__name__} takes {names}, not {expected}")
        before = self.scores(learner.fit(P, M), M)
        P.iloc[:, :] = 1 - P.to_numpy()
        self.require(self.scores(learner, M).equals(before), "scores follow P after the fit")

    def check_parameters(self) -> None:
        """Its parameters survive JSON and make the same learner again."""
        try:
            params = json.loads(json.dumps(self.fitted.params()))
        except (TypeError, ValueError) as error:
            raise ContractViolation(f"{self.learner_name}: parameters: {error}") from error
        again = type(self.fitted)(**params)
        same = json.dumps(again.params()) == json.dumps(self.make().params())
        self.require(same, "parameters change in a fit or in JSON")
        again.fit(*history())
        self.require_same_scores(again, self.fitted, "parameters from JSON give other scores")

    def check_restored(self) -> None:
        """It is saved in a file, and the restored learner predicts the same."""
        with TemporaryDirectory() as folder:
            write_container(f"{folder}/learner", "learner", self.fitted.state())
            state = read_container(f"{folder}/learner", "learner")
        again = self.make().restore(state)
        self.require_same_scores(again, self.fitted, "a restored learner gives other scores")
        self.require_same_choices(again, self.fitted, "a restored learner chooses otherwise")
