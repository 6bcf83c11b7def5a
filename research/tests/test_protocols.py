"""Splits: partitions, and never an origin on both sides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadParameter
from research.protocols import by_folds, grouped_folds, leave_one_origin_out, leave_one_out

labels = st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=30).filter(
    lambda found: len(set(found)) > 1
)
quick = settings(derandomize=True, deadline=None, max_examples=60)


def assert_partition(splits, count):
    """Every dataset is tested once, and trained on wherever it is not tested."""
    assert sorted(place for split in splits for place in split.test) == list(range(count))
    for split in splits:
        assert sorted([*split.train, *split.test]) == list(range(count))
        assert len(split.train)
        assert len(split.test)


def assert_origins_apart(splits, origins):
    origins = np.array(origins)
    for split in splits:
        assert not set(origins[split.train]) & set(origins[split.test])


@quick
@given(labels)
def test_folds(folds):
    splits = by_folds(folds)
    assert_partition(splits, len(folds))
    assert len(splits) == len(set(folds))
    assert_origins_apart(splits, folds)
    assert len({split.name for split in splits}) == len(splits)


@quick
@given(labels)
def test_leave_one_out(names):
    splits = leave_one_out(names)
    assert_partition(splits, len(names))
    assert [split.test.tolist() for split in splits] == [[k] for k in range(len(names))]
    assert [split.name for split in splits] == names


@quick
@given(labels)
def test_leave_one_origin_out(origins):
    splits = leave_one_origin_out(origins)
    assert_partition(splits, len(origins))
    assert_origins_apart(splits, origins)
    assert [split.name for split in splits] == sorted(set(origins))


@quick
@given(labels, st.integers(0, 5), st.data())
def test_grouped_folds(origins, seed, data):
    n_folds = data.draw(st.integers(2, len(set(origins))))
    splits = grouped_folds(origins, n_folds, seed=seed)
    assert_partition(splits, len(origins))
    assert_origins_apart(splits, origins)
    sizes = [len({origins[place] for place in split.test}) for split in splits]
    assert len(splits) == n_folds
    assert max(sizes) - min(sizes) <= 1
    again = grouped_folds(origins, n_folds, seed=seed)
    assert [split.test.tolist() for split in again] == [split.test.tolist() for split in splits]


def test_seeds_draw_other_folds():
    origins = list("abcdefghij")
    first, second = (grouped_folds(origins, 3, seed=seed) for seed in (0, 1))
    assert [s.test.tolist() for s in first] != [s.test.tolist() for s in second]


@pytest.mark.parametrize("n_folds", [0, 1, 4])
def test_folds_that_origins_cannot_fill(n_folds):
    with pytest.raises(BadParameter, match=r"\[2, 3\], the number of origins"):
        grouped_folds(["a", "b", "c", "a"], n_folds)


@pytest.mark.parametrize("split", [by_folds, leave_one_origin_out, leave_one_out])
@pytest.mark.parametrize("labels", [[], ["a"]], ids=["none", "one"])
def test_nothing_to_train_on(split, labels):
    with pytest.raises(BadParameter, match="two"):
        split(labels)
