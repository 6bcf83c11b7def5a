"""``python -m research datasets``."""

import json

import numpy as np
import pytest

from research.__main__ import main
from research.loading import UnavailableDataset


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["datasets", *arguments])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_list_the_st_table(capsys):
    code, out, _ = call(capsys, "list", "--st")
    assert code == 0
    assert "42 sets" in out
    assert "odds/annthyroid" in out
    data = json.loads(call(capsys, "list", "--st", "--json")[1])
    assert len(data) == 42


def test_list_one_collection(capsys):
    data = json.loads(call(capsys, "list", "--collection", "dami", "--json")[1])
    assert {entry["collection"] for entry in data} == {"dami"}
    code, _, err = call(capsys, "list", "--collection", "uci")
    assert code == 2
    assert "'odds'" in err


def test_show_says_shape_licence_and_fingerprint(capsys):
    code, out, _ = call(capsys, "show", "odds/wine")
    assert code == 0
    for fact in ("129 rows × 13 columns", "licence", "fingerprint", "address"):
        assert fact in out


def test_fetch_verifies_and_says_the_manual_way_where_it_cannot(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "research.loading._from_addresses",
        lambda entry, *_: (_ for _ in ()).throw(UnavailableDataset(f"{entry.name}: no network")),
    )
    code, out, err = call(capsys, "fetch", "odds/wine", "odds/wbc", "--cache-dir", str(tmp_path))
    assert (code, out) == (2, "")
    assert [line.startswith("metaod: error: odds/") for line in err.splitlines()] == [True, True]


def test_fetch_reads_a_folder_of_the_users(capsys, tmp_path):
    # a set with another content under the right name is refused, not taken
    np.savez(tmp_path / "wine.npz", X=np.eye(129, 13), y=np.arange(129) < 10)
    code, _, err = call(capsys, "fetch", "odds/wine", "--data-dir", str(tmp_path))
    assert code == 2
    assert "wine.npz" in err
    assert "is not odds/wine" in err
