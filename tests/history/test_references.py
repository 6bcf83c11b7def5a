"""Reference models: what they are, and means of standardised scores gathered as they pass by."""

import numpy as np
import pytest
from scipy.stats import zscore

from metaod.history import FIXED_REFERENCES, Reference, evaluate_models, measure, mega_ensemble
from metaod.history._evaluation import ReferenceMean, standardise
from metaod.models import CellState, ModelSpec, Scored, model_space

A, B, R = ModelSpec("HBOS"), ModelSpec("COF"), ModelSpec("LODA")
RNG = np.random.default_rng(0)


def ok(spec, scores, trial=0, seconds=1.0):
    return Scored(spec, trial, CellState.OK, scores, seconds)


def gather(reference, items, trials=2):
    gathering = ReferenceMean(reference, trials)
    for item in items:
        gathering.add(item)
    return list(gathering.scored())


def test_no_reference_can_be_picked_from_the_space():
    space = set(model_space("paper"))
    mega = mega_ensemble(model_space("paper"), "paper")
    triple = (
        "IForest(n_estimators=200) + KNN(n_neighbors=100, method=largest)"
        " + OCSVM(kernel=rbf, nu=0.9)"
    )
    ids = [item.spec.id for item in (*FIXED_REFERENCES, mega)]
    assert ids == [
        "IForest()",
        "LOF()",
        "IForest(n_estimators=200)",
        'ZAverage(members="IForest(n_estimators=200) + KNN(n_neighbors=50, method=largest)")',
        f'ZAverage(members="{triple}")',
        "MegaEnsemble(space=paper)",
    ]
    assert not space & {item.spec for item in (*FIXED_REFERENCES, mega)}
    assert len(mega.members) == 302


def test_a_mean_in_each_trial():
    a, r0, r1 = RNG.normal(size=50), RNG.normal(size=50), RNG.normal(size=50)
    found = gather(mega_ensemble([A, R], "two"), [ok(A, a), ok(R, r0), ok(R, r1, trial=1)])
    for scored, r in zip(found, (r0, r1), strict=True):
        np.testing.assert_allclose(scored.scores, (zscore(a) + zscore(r)) / 2, atol=1e-12)
        assert scored.seconds == 2.0


def test_a_single_model_without_scores():
    lost = Scored(B, 0, CellState.OVER_BUDGET, None, 0.0, "would take an hour")
    (found,) = gather(Reference(B, (B,)), [ok(A, RNG.normal(size=9)), lost])
    assert found.state == CellState.OVER_BUDGET
    assert found.scores is None
    assert found.reason == "would take an hour"


def test_the_mega_ensemble_goes_on_without_a_member_and_says_so():
    a = RNG.normal(size=9)
    lost = Scored(B, 0, CellState.FAILED, None, 0.0, "broke")
    (found,) = gather(mega_ensemble([A, B], "two"), [ok(A, a), lost])
    assert found.state == CellState.OK
    assert found.reason == "without 1 of 2 models"
    np.testing.assert_allclose(found.scores, zscore(a))
    (none,) = gather(mega_ensemble([B], "one"), [lost])
    assert (none.state, none.scores) == (CellState.FAILED, None)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_standardising_survives_any_size(scale):
    scores = RNG.normal(size=30)
    np.testing.assert_allclose(standardise(scores * scale), zscore(scores), rtol=1e-6)
    nearly_constant = np.full(5, 0.3) + np.array([0, 0, 1e-16, 0, 0])
    assert not standardise(nearly_constant).any()


def test_references_come_with_the_evaluations():
    X = np.vstack([RNG.normal(size=(110, 3)), RNG.normal(0, 4, size=(10, 3))])
    y = np.repeat([0, 1], [110, 10]).astype(np.int8)
    spec = ModelSpec.parse("KNN(n_neighbors=50, method=largest)")
    kept = []
    found = list(
        evaluate_models(X, y, [spec], trials=2, references=FIXED_REFERENCES, keep=kept.append)
    )
    assert {item.model for item in found} == {spec.id} | {r.spec.id for r in FIXED_REFERENCES}
    by_model = {(item.model, item.trial): item for item in found}
    assert len(by_model) == len(found) == 1 + 2 + 1 + 2 + 2 + 2
    scores = {(item.spec.id, item.trial): item.scores for item in kept}
    for key, item in by_model.items():
        assert item.state == CellState.OK, item.reason
        assert item.ap == measure(y, scores[key]).ap
        assert item.seed == (None if item.model in ("LOF()", spec.id) else item.trial)
    plain = ModelSpec("IForest").to_pyod(random_state=0).fit(X).decision_scores_
    assert abs(by_model["IForest()", 0].ap - measure(y, plain).ap) < 0.2
    exact = next(iter(evaluate_models(X, y, [ModelSpec("LOF")])))
    assert exact.ap == pytest.approx(
        measure(y, ModelSpec("LOF").to_pyod().fit(X).decision_scores_).ap, abs=1e-9
    )
