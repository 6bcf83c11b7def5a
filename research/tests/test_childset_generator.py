"""A motherset and a recipe in, a childset out."""

import io
from dataclasses import replace

import numpy as np
import pytest

from metaod.errors import BadParameter, UserError
from metaod.history import fingerprint
from research.childsets.generator import ChildsetGenerator, make_childset
from research.childsets.mothersets import make_synthetic
from research.childsets.recipe import Recipe


@pytest.mark.parametrize(
    ("stand_in", "number", "shape", "percent"),
    [
        ("wave", 661, (3024, 21), 0.5291),
        ("imgseg", 1526, (1320, 25), 10.0),
        ("magic", 1411, (6000, 22), 5.0),
    ],
    ids=["wave_0661", "imgseg_1526", "magic.gamma_1411"],
)
def test_named_settings_have_the_papers_shapes(
    quick_difficulty, request, stand_in, number, shape, percent
):
    motherset = request.getfixturevalue(stand_in)
    childset = make_childset(motherset, Recipe.from_number(number))
    assert childset.X.shape == shape
    assert round(100 * childset.y.mean(), 4) == percent
    assert childset.origin == motherset.origin
    assert childset.recipe.number(childset.replicate) == number


def as_bytes(childset):
    file = io.BytesIO()
    np.savez_compressed(file, X=childset.X, y=childset.y)
    return file.getvalue()


@pytest.mark.parametrize("clusteredness", ["any", "scattered", "clustered"])
def test_the_same_seed_gives_the_same_bytes(overlapping, clusteredness):
    recipe = Recipe("any", 0.05, clusteredness, 1.5)
    once = ChildsetGenerator(overlapping.motherset, seed=3)
    again = ChildsetGenerator(overlapping.motherset, seed=3)
    again.make(recipe, 1)  # what was drawn before plays no part
    assert as_bytes(once.make(recipe, 2)) == as_bytes(again.make(recipe, 2))
    other = ChildsetGenerator(overlapping.motherset, seed=4).make(recipe, 2)
    assert as_bytes(other) != as_bytes(once.make(recipe, 2))


def test_difficulty_is_the_same_every_time(quick_difficulty, overlapping):
    again = ChildsetGenerator(overlapping.motherset, seed=9)
    first = ChildsetGenerator(overlapping.motherset)
    assert (again.probability == first.probability).all()


@pytest.mark.parametrize("clusteredness", ["any", "scattered", "clustered"])
def test_siblings_differ_and_share_their_shape(overlapping, clusteredness):
    siblings = list(overlapping.siblings(Recipe("any", 0.01, clusteredness), 5))
    assert len({sibling.fingerprint for sibling in siblings}) == 5
    assert len({sibling.X.shape for sibling in siblings}) == 1
    assert [sibling.replicate for sibling in siblings] == [1, 2, 3, 4, 5]


def test_rows_come_from_the_motherset_without_repetition(overlapping):
    motherset, is_normal = overlapping.motherset, overlapping.is_normal
    place = {row.tobytes(): i for i, row in enumerate(motherset.X)}
    childset = overlapping.make(Recipe("any", 0.1, "scattered", 1.2))
    rows = [place[row.tobytes()] for row in np.ascontiguousarray(childset.X[:, :4])]
    assert len(set(rows)) == len(rows)
    assert (childset.y == ~is_normal[rows]).all()
    # in no order: outliers are not at one end
    assert 0.3 < np.flatnonzero(childset.y).mean() / len(rows) < 0.7


def test_a_clustered_set_is_more_clustered_than_a_scattered_one(overlapping):
    spread = {
        clusteredness: np.mean(
            [
                childset.X[childset.y == 1].var(axis=0).sum()
                / childset.X[childset.y == 0].var(axis=0).sum()
                for childset in overlapping.siblings(Recipe("any", 0.02, clusteredness), 5)
            ]
        )
        for clusteredness in ("clustered", "any", "scattered")
    }
    assert spread["clustered"] < 0.5 * spread["any"]
    assert spread["clustered"] < 0.5 * spread["scattered"]


def test_childset_name_fingerprint_and_repr(overlapping):
    childset = overlapping.make(Recipe("any", 0.05), 3)
    assert childset.name == "overlapping_any-0.05-any-1_3"
    assert childset.fingerprint == fingerprint(childset.X, childset.y)
    assert "1895 rows × 4 columns, 95 outliers" in repr(childset)


def test_a_difficulty_without_rows_is_an_error(quick_difficulty, overlapping):
    y = overlapping.motherset.y
    X = np.column_stack([20.0 * y, overlapping.motherset.X[:, 1]])
    apart = replace(overlapping.motherset, name="apart", X=X)
    with pytest.raises(UserError, match="motherset apart: no anomalous row is very hard; choose"):
        make_childset(apart, Recipe("very hard"))


@pytest.mark.parametrize("seed", [-1, 1.5, True], ids=str)
def test_bad_seeds(seed):
    with pytest.raises(BadParameter, match="'seed'"):
        make_childset(make_synthetic(), Recipe(), seed=seed)


@pytest.mark.parametrize("replicate", [0, "1"], ids=str)
def test_bad_replicates(overlapping, replicate):
    with pytest.raises(BadParameter, match="'replicate'"):
        overlapping.make(Recipe(), replicate)


def test_rows_are_bounded(overlapping):
    assert overlapping.make(Recipe("any", 0.1), max_rows=100).X.shape == (100, 4)
    with pytest.raises(BadParameter, match="'max_rows'"):
        overlapping.make(Recipe(), max_rows=1)


def test_the_generated_motherset_has_every_difficulty(quick_difficulty):
    generator = ChildsetGenerator(make_synthetic())
    for level in ("easy", "medium", "hard", "very hard"):
        assert len(generator.candidates(Recipe(level))) > 100
    assert make_synthetic().X.tobytes() == generator.motherset.X.tobytes()
