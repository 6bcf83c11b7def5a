"""Which files a server may read and write."""

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaod.agents import Access
from metaod.agents import _access as module
from metaod.errors import UserError


@pytest.fixture
def access(places):
    return Access.of([places / "tables"], places / "written", 1_000_000)


def test_names_with_and_without_a_folder(access, places):
    table = places / "tables" / "orders.csv"
    assert access.table("orders.csv") == table
    assert access.table(str(table)) == table
    assert access.table("inner/more.csv") == places / "tables" / "inner" / "more.csv"
    assert access.table("inside.csv") == table


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("{base}/secret/salaries.csv", "outside"),
        ("{base}/secret/nothing.csv", "outside"),
        ("{base}/tables/../secret/salaries.csv", "'..'"),
        ("../secret/salaries.csv", "'..'"),
        ("..\\secret\\salaries.csv", "'..'"),
        ("inner/../orders.csv", "'..'"),
        ("outside.csv", "outside"),
        ("folder-outside/salaries.csv", "outside"),
        ("{base}/tables/folder-outside/salaries.csv", "outside"),
        ("/dev/zero", "outside"),
        ("/proc/self/environ", "outside"),
        ("/etc/passwd", "outside"),
        ("~/.ssh/id_rsa", "there is no such file"),
        ("nothing.csv", "there is no such file"),
        ("inner", "is a folder"),
        ("{base}/tables", "is a folder"),
        ("circle.csv", ""),
        ("", "not a path"),
        ("  ", "not a path"),
        ("a\0b", "not a path"),
        ("x" * 5000, "not a path"),
        ("-", "there is no such file"),
        ("http://localhost/orders.csv", "there is no such file"),
    ],
)
def test_other_names_are_refused(access, places, name, says):
    with pytest.raises(UserError) as error:
        access.table(name.format(base=places))
    assert says in str(error.value)
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
            with pytest.raises(UserError, match="a device, a pipe or a socket"):
                access.table(name)
    finally:
        opened.close()
        (places / "tables" / "pipe.csv").unlink()
        (places / "tables" / "socket.csv").unlink()
    monkeypatch.setattr(module.os, "access", lambda *_: False)
    with pytest.raises(UserError, match="cannot be read"):
        access.table("orders.csv")


def test_large_files_are_refused_before_they_are_read(access, places):
    large = places / "tables" / "large.csv"
    with large.open("wb") as file:
        file.truncate(10**12)  # takes no space
    try:
        with pytest.raises(UserError, match=r"1,000,000,000,000 bytes.*--max-bytes"):
            access.table("large.csv")
    finally:
        large.unlink()


def test_one_file_alone_may_be_allowed(places):
    access = Access.of([places / "tables" / "orders.csv"], None, 10**6)
    assert access.table("orders.csv").name == "orders.csv"
    for name in ("hostile.csv", "inner/more.csv", str(places / "tables" / "hostile.csv")):
        with pytest.raises(UserError, match="outside"):
            access.table(name)
    assert [path for path, _ in access.files()] == [str(places / "tables" / "orders.csv")]


def test_a_link_to_a_folder_that_is_allowed_is_resolved(places, tmp_path):
    (tmp_path / "link").symlink_to(places / "tables")
    access = Access.of([tmp_path / "link"], None, 10**6)
    assert access.table("orders.csv") == places / "tables" / "orders.csv"


@given(st.text(max_size=40) | st.text("./\\~ab%\0-:", max_size=20))
def test_no_name_leads_outside(places, name):
    access = Access((places / "tables",), places / "written")
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
    ("name", "says"),
    [
        ("../x.csv", "'..'"),
        ("/tmp/x.csv", "outside the folder"),
        ("{base}/tables/x.csv", "outside the folder"),
        ("there.csv", "exists already"),
        ("link.csv", "exists already"),
        ("new/x.csv", "its folder does not exist"),
        ("", "not a path"),
        (".", "outside the folder"),
    ],
)
def test_targets_that_are_refused(places, name, says):
    folder = places / "written"
    (folder / "there.csv").touch()
    if not (folder / "link.csv").is_symlink():
        (folder / "link.csv").symlink_to(places / "secret" / "new.csv")
    access = Access.of([places / "tables"], folder, 10**6)
    with pytest.raises(UserError, match=says):
        access.target(name.format(base=places))


def test_nothing_is_written_unless_it_is_allowed(places):
    with pytest.raises(UserError, match="writing is not allowed"):
        Access.of([places / "tables"], None, 10**6).target("x.csv")


@pytest.mark.parametrize(
    ("readable", "writable", "says"),
    [("nothing", None, "no such file"), ("tables", "nothing", "no such file"),
     ("tables", "tables/orders.csv", "is not a folder")],
)  # fmt: skip
def test_what_the_user_names_must_exist(places, readable, writable, says):
    with pytest.raises(UserError, match=says):
        Access.of([places / readable], writable and places / writable, 1)


def test_listed_files_are_tables_inside(access, places, monkeypatch):
    (places / "tables" / ".hidden.csv").touch()
    (places / "tables" / "notes.md").touch()
    listed = [path.removeprefix(f"{places}/tables/") for path, _ in access.files()]
    assert listed == ["hostile.csv", "inside.csv", "orders.csv", "inner/more.csv"]
    monkeypatch.setattr(module, "_MOST_SCANNED", 3)
    assert len(list(access.files())) < 4
