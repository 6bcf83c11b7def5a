import itertools

import pytest

from metaod.testing.stores import check_store, store_contract

POINTS = [check.name for check in store_contract(lambda: "sqlite://")]


@pytest.fixture(params=["path", "url", "odd path", "memory", "postgresql"])
def place(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").new_url, True
    counter = itertools.count()
    forms = {
        "path": lambda: str(tmp_path / f"{next(counter)}.db"),
        "url": lambda: f"sqlite:///{tmp_path}/{next(counter)}.db",
        "odd path": lambda: str(tmp_path / f"50% of #{next(counter)}? ü & more.db"),
        "memory": lambda: "sqlite://",
    }
    return forms[request.param], request.param != "memory"


@pytest.mark.parametrize("point", POINTS)
def test_contract(point, place):
    new_url, persistent = place
    checks = {check.name: check for check in store_contract(new_url, persistent=persistent)}
    if point in checks:
        checks[point]()


def test_every_point_in_one_call(tmp_path):
    counter = itertools.count()
    check_store(lambda: str(tmp_path / f"{next(counter)}.db"))
