"""``metaod update`` and the history that ``metaod info`` shows."""

import json

import pytest
from made_months import orders


@pytest.fixture
def pick(run, tmp_path):
    for seed, name in enumerate(("jan", "feb")):
        orders(f"2024-0{seed + 1}", seed, n_rows=200).to_csv(tmp_path / f"{name}.csv", index=False)
    run("detect", tmp_path / "jan.csv", "--save", tmp_path / "pick.mod", "--pick", "committee")
    return tmp_path / "pick.mod"


def test_an_update_replaces_the_pick_and_is_in_its_history(run, pick, tmp_path):
    out = run("update", pick, tmp_path / "feb.csv", "--when", "2024-03-01")
    assert "feb.csv: 200 new rows; the pick has learned from 400 of 400 rows\n" in out
    assert "of flags kept; 0 columns drifted\n" in out
    shown = run("info", pick)
    assert [line.split()[:3] for line in shown.splitlines() if ".csv" in line] == [
        ["1", "200", "jan.csv"],
        ["2", "200", "feb.csv"],
    ]
    document = json.loads(run("info", pick, "--json"))
    assert [own["when"] for own in document["history"]] == ["", "2024-03-01"]
    assert document["threshold"] == document["history"][1]["threshold"]
    assert "already, as version 2" in run("update", pick, tmp_path / "feb.csv", code=2)
    run("detect", tmp_path / "feb.csv", "--apply", pick)


def test_the_old_pick_stays_if_another_is_named_or_something_fails(run, pick, tmp_path):
    before = pick.read_bytes()
    plain = json.loads(
        run("update", pick, tmp_path / "feb.csv", "-o", tmp_path / "b.mod", "--json")
    )
    assert [own["n_rows"] for own in plain] == [200, 200]
    run("update", pick, tmp_path / "feb.csv", "-o", tmp_path / "feb.csv", code=2)
    orders("2024-02", 1).drop(columns="price").to_csv(tmp_path / "bad.csv", index=False)
    run("update", pick, tmp_path / "bad.csv", code=2)
    run("update", pick, tmp_path / "none.csv", code=2)
    assert pick.read_bytes() == before
    assert "is not a saved pick" in run("info", tmp_path / "feb.csv", code=2)


def test_a_signed_pick_is_not_replaced_by_one_without_a_signature(run, pick, tmp_path, monkeypatch):
    key = tmp_path / "key"
    key.write_text("0123456789abcdef" * 4)
    run("update", pick, tmp_path / "feb.csv", "--sign", key)
    monkeypatch.setenv("METAOD_VERIFY_KEY", str(key))
    before = pick.read_bytes()
    orders("2024-03", 2, n_rows=200).to_csv(tmp_path / "mar.csv", index=False)
    assert "--sign" in run("update", pick, tmp_path / "mar.csv", code=2)
    assert pick.read_bytes() == before
    run("update", pick, tmp_path / "mar.csv", "--sign", key)
