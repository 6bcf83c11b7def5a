"""Every executor runs each task once, yields its result, and passes exceptions on."""

import time

import pytest

from metaod.errors import BadParameter
from metaod.store import make_executor


def divide(number):
    return 12 // number


def divide_slowly(number):
    time.sleep(0.02)
    return divide(number)


# each run of dask starts a cluster
NAMES = ["serial", "joblib", pytest.param("dask", marks=pytest.mark.cluster)]


@pytest.mark.parametrize("name", NAMES)
def test_the_contract(name):
    executor = make_executor(2, name)
    assert sorted(executor.run(divide, [1, 2, 3, 4])) == [3, 4, 6, 12]
    assert list(executor.run(divide, [])) == []
    with pytest.raises(ZeroDivisionError):
        list(executor.run(divide, [1, 0]))


@pytest.mark.parametrize("name", NAMES)
def test_tasks_are_taken_when_there_is_room(name):
    taken = 0

    def tasks():
        nonlocal taken
        for number in range(1, 40):
            taken += 1
            yield number

    results = make_executor(2, name).run(divide_slowly, tasks())
    for _ in range(3):
        next(results)
        assert taken < 30
    assert len(list(results)) == 36


def test_the_number_of_jobs_decides_where_no_name_is_given():
    assert type(make_executor()) is type(make_executor(1, "serial"))
    assert type(make_executor(-1)) is type(make_executor(2, "joblib"))
    for arguments in ((0,), (-2,), (1, "cluster")):
        with pytest.raises(BadParameter):
            make_executor(*arguments)
