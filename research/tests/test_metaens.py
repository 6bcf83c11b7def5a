"""MetaEns on made scores: who joins, who does not, and when it stops."""

from functools import cache

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from metaod.errors import BadParameter
from research.metaens import MetaEns, ScoreHistory
from research.statistics import average_precision

N, OUTLIERS = 200, 10
Y = np.repeat([0, 1], [N - 2 * OUTLIERS, 2 * OUTLIERS])
ONE, OTHER = slice(-2 * OUTLIERS, -OUTLIERS), slice(-OUTLIERS, None)


def model(rng, *groups):
    """Scores that are high in the given rows."""
    scores = rng.uniform(0, 0.5, N)
    for group in groups:
        scores[group] += 0.5
    return scores


def scores_of(seed, *, helps=True):
    """A model of half the outliers, its near copy, its complement, and two of a random family."""
    rng = np.random.default_rng(seed)
    half = model(rng, ONE) if helps else model(rng, ONE, OTHER) + 0.5 * Y
    copy = half + 0.02 * rng.uniform(size=N)
    complement = model(rng, OTHER) if helps else rng.uniform(size=N)
    return np.array([half, copy, complement, rng.uniform(size=N), rng.uniform(size=N)])


FAMILIES = ["Half", "Half", "Other", "Noise", "Noise"]


@cache
def history_of(helps):
    return [ScoreHistory.of(scores_of(seed, helps=helps), Y, FAMILIES) for seed in range(15)]


def learner(*, helps=True, first="neighbours"):
    made = MetaEns(first=first, n_estimators=10, min_family=10)
    return made.fit(history_of(helps), FAMILIES)


@pytest.fixture(scope="module")
def fitted():
    return learner()


def test_the_complement_joins_and_the_copy_does_not(fitted):
    for seed in range(100, 105):
        scores = scores_of(seed)
        chosen = fitted.choose(scores, first=0)
        assert chosen[:2] == (0, 2)
        assert 1 not in chosen
        assert average_precision(Y, fitted.scores(scores, chosen)) > average_precision(Y, scores[0])


def test_the_overlap_discount_decides_against_a_copy_of_the_chosen(fitted):
    """With equal predictions the candidate with the smaller overlap joins."""
    scores = scores_of(100)
    fitted_equal = learner()
    fitted_equal._predict = lambda X: np.full(len(X), 0.01)
    fitted_equal.family_risk = 0.0
    overlap_of_copy = fitted_equal.choose(scores, first=0)
    assert overlap_of_copy.index(1) == len(overlap_of_copy) - 1


def test_a_family_with_losses_is_discounted():
    found = learner()
    assert found.risk_["Noise"] > 0
    found._predict = lambda X: np.full(len(X), 0.01)
    found.family_risk = 100.0
    risky = {index for index, name in enumerate(FAMILIES) if found.risk_.get(name, 0) > 0}
    assert not risky & set(found.choose(scores_of(100), first=0)[2:])
    found.family_risk = 0.0
    assert risky <= set(found.choose(scores_of(100), first=0))


def test_it_stops_at_one_model_where_nothing_helps():
    found = learner(helps=False)
    for seed in range(100, 105):
        assert found.choose(scores_of(seed, helps=False), first=0) == (0,)


@pytest.mark.parametrize("first", ["elect", "neighbours"])
def test_the_first_model_is_the_best_on_similar_datasets(first):
    def scores(seed, group):
        # the scores of good models agree; which ones they are differs between the groups
        rng = np.random.default_rng(seed)
        good = [model(rng, ONE, OTHER) + 0.3 * Y for _ in range(3)]
        poor = [rng.uniform(size=N) ** (1 + group) for _ in range(3)]
        return np.array(good + poor if group == 0 else poor + good)

    families = list("ABCDEF")
    history = [ScoreHistory.of(scores(s, s % 2), Y, families) for s in range(20)]
    with threadpool_limits(1):
        found = MetaEns(first=first, n_estimators=5).fit(history, families)
    for group in (0, 1):
        assert found.choose(scores(100 + group, group))[0] // 3 == group


def test_the_seed_decides_everything(fitted):
    scores = scores_of(100)
    assert learner().choose(scores) == fitted.choose(scores)


def test_a_missing_model_is_never_chosen(fitted):
    scores = scores_of(100)
    scores[2] = np.nan
    assert 2 not in fitted.choose(scores)


def test_examples_hold_the_true_gains():
    scores = scores_of(0)
    found = ScoreHistory.of(scores, Y, FAMILIES)
    unit = (scores - scores.min(1, keepdims=True)) / np.ptp(scores, axis=1)[:, None]
    rows = np.flatnonzero((found.size == 1) & (found.first == 0))
    for row in rows:
        gain = average_precision(Y, unit[0] + unit[found.candidate[row]])
        gain -= average_precision(Y, unit[0])
        assert found.gains[row] == pytest.approx(np.clip(gain, -0.1, 0.1))
    assert found.size.max() <= 3


def test_wrong_parameters_are_refused():
    with pytest.raises(BadParameter, match="elect"):
        learner(first="best")
    with pytest.raises(BadParameter, match="two models"):
        ScoreHistory.of(scores_of(0)[:1], Y, ["Half"])
