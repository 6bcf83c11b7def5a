"""Which files a server may read and write."""

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaod.agents import Access
from metaod.errors import UserError


@pytest.fixture
def access(places):
    return Access.of([places / "tables"], places / "written", 1_000_000)


def code_of(function, *given):
    with pytest.raises(UserError) as caught:
        function(*given)
    return caught.value.code


def test_names_with_and_without_a_folder(access, places):
    table = places / "tables" / "orders.csv"
    assert access.table("orders.csv") == table
    assert access.table(str(table)) == table
    assert access.table("inner/more.csv") == places / "tables" / "inner" / "more.csv"
    assert access.table("inside.csv") == table


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("{base}/secret/salaries.csv", "outside"),
        ("{base}/tables/../secret/salaries.csv", "parent-folder"),
        ("../secret/salaries.csv", "parent-folder"),
        ("..\\secret\\salaries.csv", "parent-folder"),
        ("inner/../orders.csv", "parent-folder"),
        ("outside.csv", "outside"),
        ("folder-outside/salaries.csv", "outside"),
        ("{base}/tables/folder-outside/salaries.csv", "outside"),
        ("/dev/zero", "outside"),
        ("~/.ssh/id_rsa", "no-file"),
        ("nothing.csv", "no-file"),
        ("postgresql://user@host/orders", "no-file"),
        ("*.csv", "no-file"),
        ("inner", "folder"),
        ("{base}/tables", "folder"),
        ("circle.csv", None),
        ("", "not-a-path"),
        ("a\0b", "not-a-path"),
        ("x" * 5000, "not-a-path"),
        ("-", "no-file"),
    ],
)
def test_other_names_are_refused(access, places, name, code):
    with pytest.raises(UserError) as error:
        access.table(name.format(base=places))
    assert error.value.code == code or code is None
    assert "\n" not in str(error.value)


def test_the_error_does_not_tell_whether_a_file_outside_exists(access, places):
    texts = []
    for name in ("salaries.csv", "nothing.csv"):
        with pytest.raises(UserError) as error:
            access.table(str(places / "secret" / name))
        texts.append(str(error.value).replace(name, ""))
    assert texts[0] == texts[1]


def test_pipes_sockets_and_unreadable_files(access, places, monkeypatch):
    os.mkfifo(places / "tables" / "pipe.csv")
    opened = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(places / "tables")  # a socket's path may not be long
    opened.bind("socket.csv")
    try:
        for name in ("pipe.csv", "socket.csv"):
            assert code_of(access.table, name) == "special-file"
    finally:
        opened.close()
        (places / "tables" / "pipe.csv").unlink()
        (places / "tables" / "socket.csv").unlink()
    monkeypatch.setattr("metaod.agents._access.os.access", lambda *_: False)
    assert code_of(access.table, "orders.csv") == "not-readable"


def test_large_files_are_refused_before_they_are_read(access, places):
    large = places / "tables" / "large.csv"
    with large.open("wb") as file:
        file.truncate(10**12)  # takes no space
    try:
        assert code_of(access.table, "large.csv") == "large-file"
    finally:
        large.unlink()


def test_one_file_alone_may_be_allowed(places):
    access = Access.of([places / "tables" / "orders.csv"], None, 10**6)
    assert access.table("orders.csv").name == "orders.csv"
    for name in ("hostile.csv", "inner/more.csv", str(places / "tables" / "hostile.csv")):
        assert code_of(access.table, name) == "outside"
    assert [path for path, _ in access.files()] == [str(places / "tables" / "orders.csv")]


def test_a_link_to_a_folder_that_is_allowed_is_resolved(places, tmp_path):
    (tmp_path / "link").symlink_to(places / "tables")
    access = Access.of([tmp_path / "link"], None, 10**6)
    assert access.table("orders.csv") == places / "tables" / "orders.csv"


@given(st.text(max_size=40) | st.text("./\\~ab%\0-:", max_size=20))
def test_no_name_leads_outside(places, name):
    access = Access((places / "tables",), places / "written", 10**6)
    try:
        found = access.table(name)
    except UserError:
        pass
    else:
        assert found.is_relative_to(places / "tables")
    try:
        made = access.target(name)
    except UserError:
        pass
    else:
        assert made.is_relative_to(places / "written")
        assert not made.exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../x.csv", "parent-folder"),
        ("/tmp/x.csv", "outside-target"),
        ("{base}/tables/x.csv", "outside-target"),
        ("there.csv", "exists"),
        ("link.csv", "exists"),
        ("new/x.csv", "no-folder"),
        ("", "not-a-path"),
        (".", "outside-target"),
    ],
)
def test_targets_that_are_refused(places, name, code):
    folder = places / "written"
    (folder / "there.csv").touch()
    if not (folder / "link.csv").is_symlink():
        (folder / "link.csv").symlink_to(places / "secret" / "new.csv")
    access = Access.of([places / "tables"], folder, 10**6)
    assert code_of(access.target, name.format(base=places)) == code


def test_nothing_is_written_unless_it_is_allowed(places):
    access = Access.of([places / "tables"], None, 10**6)
    assert code_of(access.target, "x.csv") == "no-writing"


@pytest.mark.parametrize(
    ("readable", "writable", "code"),
    [("nothing", None, "no-path"), ("tables", "nothing", "no-path"),
     ("tables", "tables/orders.csv", "not-a-folder")],
)  # fmt: skip
def test_what_the_user_names_must_exist(places, readable, writable, code):
    assert code_of(Access.of, [places / readable], writable and places / writable, 1) == code


def test_listed_files_are_tables_inside(access, places, monkeypatch):
    (places / "tables" / ".hidden.csv").touch()
    (places / "tables" / "notes.md").touch()
    listed = [path.removeprefix(f"{places}/tables/") for path, _ in access.files()]
    assert listed == ["hostile.csv", "inside.csv", "orders.csv", "inner/more.csv"]
    monkeypatch.setattr("metaod.agents._access._MOST_SCANNED", 3)
    assert len(list(access.files())) < 4
