"""Variants of MetaOD: planted structure, missing values, replaced parts, parameters."""

import numpy as np
import pandas as pd
import pytest
from made_history import planted
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from metaod.errors import BadParameter, UserError
from metaod.learners.metaod import MetaODLearner
from research.learners.factorisation import factorise
from research.learners.metaod_c import MetaODC
from research.learners.variants import (
    MetaODF,
    MetaODVariant,
    ReleasedMetaOD,
    SquaredErrorFactorisation,
)

ALL = [MetaODVariant, ReleasedMetaOD, MetaODF, MetaODC, SquaredErrorFactorisation]
LATENT = [MetaODVariant, ReleasedMetaOD, MetaODF, SquaredErrorFactorisation]
QUICK = {"epochs": 12, "k": 3}


def made(kind, **params):
    return kind(**({} if kind is MetaODC else QUICK) | params)


def regret(learner, P, M):
    """Regret of the picks as a share of the regret of random picks."""
    picks = learner.predict(M).to_numpy().argmax(axis=1)
    values = P.to_numpy()
    best = values.max(axis=1)
    behind = best - values[np.arange(len(values)), picks]
    return behind.mean() / (best - values.mean(axis=1)).mean()


@pytest.mark.parametrize("kind", ALL)
def test_planted_structure_is_learned(kind):
    P, M = planted(120)
    learner = kind().fit(P[:90], M[:90])
    assert regret(learner, P[90:], M[90:]) < 0.4


@pytest.mark.parametrize("kind", ALL)
def test_missing_cells_and_features(kind):
    P, M = planted()
    rng = np.random.default_rng(1)
    P = P.mask(rng.random(P.shape) < 0.2)
    M = M.mask(rng.random(M.shape) < 0.1)
    P["model d"] = np.nan
    scores = made(kind).fit(P, M).predict(M)
    assert np.isfinite(scores.to_numpy()).all()
    assert (scores.idxmin(axis=1) == "model d").all()


def test_a_single_dataset_is_memorised():
    P, M = planted()
    for learner in (MetaODC(), MetaODVariant(epochs=200)):
        pick = learner.fit(P[:1], M[:1]).choose(M.iloc[7])
        assert P.loc[0, pick] > P.loc[0].max() - 0.05


@pytest.mark.parametrize("kind", LATENT)
def test_the_same_seed_gives_the_same_factors(kind):
    P, M = planted(30)
    one, same, other = (made(kind, random_state=seed).fit(P, M) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.U_, same.U_)
    np.testing.assert_array_equal(one.V_, same.V_)
    pd.testing.assert_frame_equal(one.predict(M), same.predict(M))
    assert (one.V_ != other.V_).any() == (one.start > 0)


@pytest.mark.parametrize("kind", ALL)
def test_a_restored_learner_predicts_the_same(kind):
    P, M = planted(30)
    P["model d"] = np.nan
    learner = made(kind).fit(P, M)
    restored = kind().restore(learner.state())
    pd.testing.assert_frame_equal(learner.predict(M), restored.predict(M))


def test_with_the_defaults_it_is_the_products_learner():
    P, M = planted()
    P = P.mask(np.random.default_rng(1).random(P.shape) < 0.1)
    ours, products = MetaODVariant(**QUICK).fit(P, M), MetaODLearner(**QUICK).fit(P, M)
    np.testing.assert_array_equal(ours.U_, products.U_)
    np.testing.assert_array_equal(ours.V_, products.V_)
    assert ours.loss_curve_["train"].tolist() == products.losses_
    pd.testing.assert_frame_equal(ours.predict(M), products.predict(M))


@pytest.mark.parametrize("kind", LATENT)
def test_loss_curve(kind):
    P, M = planted()
    learner = kind(epochs=15, early_stopping=True).fit(P, M)
    curve = learner.loss_curve_
    assert list(curve.columns) == ["train", "held_out", "refit"]
    assert curve.index.name == "epoch"
    assert len(curve) <= 15
    assert curve["train"].iloc[-1] < curve["train"].iloc[0]
    assert curve["held_out"].notna().all()
    assert curve["refit"].notna().sum() == learner.n_epochs_ == curve["held_out"].idxmin()


def test_n_epochs_counts_epochs_with_all_datasets(monkeypatch):
    def converging(targets, U, V, *, epochs, monitor, **rest):
        # the second run converges before the first one's best epoch
        sooner = epochs if monitor is not None else epochs - 2
        return factorise(targets, U, V, epochs=sooner, monitor=monitor, **rest)

    monkeypatch.setattr("research.learners.variants.factorise", converging)
    P, M = planted()
    learner = MetaODVariant(epochs=15, early_stopping=True).fit(P, M)
    curve = learner.loss_curve_
    assert learner.n_epochs_ == curve["refit"].notna().sum() == curve["held_out"].idxmin() - 2


def test_metaod_c_refuses_a_boolean_rank():
    with pytest.raises(BadParameter, match="'k'"):
        MetaODC(k=True).fit(*planted(15))


@pytest.mark.parametrize("part", ["V", "offset"])
def test_overflowing_scores_raise_an_error(part):
    P, M = planted(30)
    state = MetaODF(**QUICK).fit(P, M).state()
    learned = state["learned"]
    place = learned if part == "V" else learned["phi"]
    place[part] = np.full_like(place[part], 1.7e308)
    learner = MetaODF().restore(state)
    with pytest.raises(UserError, match="scores that are not finite; train"):
        learner.predict(M * 9)


def test_without_early_stopping_all_epochs_are_run():
    P, M = planted()
    learner = MetaODVariant(epochs=4, early_stopping=False).fit(P, M)
    assert learner.n_epochs_ == 4
    assert learner.loss_curve_["held_out"].isna().all()
    # nothing can be held out where everything is of one origin
    stopping = MetaODVariant(epochs=4, early_stopping=True)
    assert stopping.fit(P, M, groups=[0] * len(P)).n_epochs_ == 4


def test_metaod_f_keeps_the_embedding():
    P, M = planted()
    learner = MetaODF(**QUICK).fit(P, M)
    clean = learner.cleaning_.transform(M.to_numpy())
    np.testing.assert_array_equal(learner.U_, learner.phi_.transform(clean))


def test_initialisation_and_schedule_change_the_factors():
    P, M = planted()
    default = MetaODVariant(**QUICK).fit(P, M)
    for choice in ({"initialisation": "random"}, {"schedule": "constant"}):
        assert (MetaODVariant(**QUICK, **choice).fit(P, M).U_ != default.U_).any()


def test_phi_and_f_can_be_scikit_learns():
    P, M = planted(120)
    phi, f = KernelPCA(n_components=4, kernel="rbf"), KNeighborsRegressor(3)
    learner = MetaODVariant(phi=phi, f=f).fit(P[:90], M[:90])
    assert learner.U_.shape[1] == 4
    assert regret(learner, P[90:], M[90:]) < 0.6
    # the caller's own objects are not fitted
    assert not hasattr(phi, "eigenvalues_")
    assert not hasattr(f, "n_features_in_")
    # a lone latent dimension, of which scikit-learn drops the axis
    lone = MetaODVariant(phi=KernelPCA(n_components=1), f=Ridge(), epochs=2).fit(P, M)
    assert lone.predict(M).shape == P.shape


class Plain:
    """An embedding and a regressor without scikit-learn."""

    def fit(self, X, y=None):
        self.fitted = True
        return self

    def transform(self, X):
        return X[:, :2]

    def predict(self, X):
        return X


def test_phi_and_f_can_be_plain_objects():
    P, M = planted()
    learner = MetaODVariant(phi=Plain(), f=Plain(), epochs=3).fit(P, M)
    assert learner.V_.shape == (P.shape[1], 2)
    assert not hasattr(learner.phi, "fitted")


def test_a_factorisation_that_overflows_raises_an_error():
    P, M = planted(15)
    with pytest.raises(UserError, match="lower learning_rate"):
        SquaredErrorFactorisation(learning_rate=1e10).fit(P, M)


class Endless(Plain):
    def transform(self, X):
        return np.full((len(X), 2), np.nan)


def test_the_output_of_phi_is_checked():
    P, M = planted(15)
    with pytest.raises(BadParameter, match="phi"):
        MetaODVariant(phi=Endless()).fit(P, M)


class Flat(Plain):
    def transform(self, X):
        return X[:, 0]

    def predict(self, X):
        return X[:, :1]


@pytest.mark.parametrize("part", ["phi", "f"])
def test_the_shape_of_what_parts_give_is_checked(part):
    P, M = planted(15)
    with pytest.raises(BadParameter, match=f"'{part}'.*shape"):
        MetaODVariant(**{part: Flat()}, epochs=2).fit(P, M).predict(M)


@pytest.mark.parametrize("part", ["phi", "f"])
def test_replaced_parts_cannot_be_saved(part):
    P, M = planted()
    learner = MetaODVariant(**{part: Plain()}, epochs=3, k=2).fit(P, M)
    with pytest.raises(UserError, match=f"{part} is a Plain, which cannot be saved"):
        learner.state()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("patience", True),
        ("held_out", 1.0),
        ("schedule", "cosine"),
        ("start", -1.0),
        ("initialisation", "zeros"),
        ("relevance", "rank"),
    ],
    ids=str,
)
def test_bad_parameters(name, value):
    P, M = planted(15)
    with pytest.raises(BadParameter, match=name):
        MetaODVariant(**{"relevance": "performance"} | {name: value}).fit(P + 2.0, M)


def test_metaod_c_predicts_by_the_papers_projection():
    P, M = planted()
    learner = MetaODC(k=4).fit(P.mask(np.random.default_rng(0).random(P.shape) < 0.2), M)
    np.testing.assert_allclose(learner.V_.T @ learner.V_, np.eye(4), atol=1e-10)
    # the paper's formula, literally
    clean = learner.cleaning_.transform(M.to_numpy())
    padded = np.hstack([np.zeros(P.shape), clean])
    reconstructed = (padded @ learner.V_ @ learner.V_.T)[:, : P.shape[1]]
    expected = reconstructed / learner.weight_ + learner.mean_
    np.testing.assert_allclose(learner.predict(M).to_numpy(), expected, atol=1e-12)


def test_metaod_c_fills_missing_cells_from_low_rank_structure():
    """If the joint matrix has a low rank, missing cells hardly change the scores."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(80, 2))
    P = pd.DataFrame(0.5 + 0.1 * Z @ rng.normal(size=(2, 10)))
    M = pd.DataFrame(Z @ rng.normal(size=(2, 8)))
    P.columns, M.columns = P.columns.map(str), M.columns.map(str)
    whole = MetaODC(k=2).fit(P, M).predict(M)
    holes = MetaODC(k=2).fit(P.mask(rng.random(P.shape) < 0.3), M).predict(M)
    assert (whole.idxmax(axis=1) == holes.idxmax(axis=1)).mean() > 0.8


@pytest.mark.parametrize("kind", [ReleasedMetaOD, MetaODF])
def test_picks_do_not_hang_on_rounding(kind):
    P, M = planted(90, m=24)
    P["a copy"] = P["model c"]
    # features that are constant, or almost always the same, must not start to vary
    M["constant"], M["mostly 0"] = 3.0, (np.arange(len(M)) % 9 == 0) * 5.0
    noise = np.random.default_rng(0).normal(size=M.shape)
    runs = [kind().fit(P[:60], X[:60]).predict(X[60:]) for X in (M, M * (1 + 1e-9 * noise))]
    picks = [scores.T.sort_index().idxmax() for scores in runs]
    assert (picks[0] == picks[1]).all()
    assert not (picks[0] == "model c").any()  # its copy comes first by id


def test_the_factors_come_to_rest():
    P, M = planted(90, m=24)
    losses = MetaODVariant().fit(P, M).loss_curve_["train"]
    assert losses.iloc[0] - losses.iloc[-1] > 0.1
    assert abs(losses.iloc[-1] - losses.iloc[-10]) < 1e-3 * abs(losses.iloc[-1])
    # a start nearby leads to the same picks
    picks = [
        MetaODVariant(start=start).fit(P, M).predict(M).idxmax(axis=1) for start in (1e-9, 0.0)
    ]
    assert (picks[0] == picks[1]).mean() > 0.98


def test_the_squared_error_takes_one_dataset_at_a_time():
    with pytest.raises(BadParameter, match="schedule"):
        SquaredErrorFactorisation(schedule="decaying").fit(*planted(15))
