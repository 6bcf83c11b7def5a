"""New rows: later months of the same distribution are flagged as often, and drift is reported."""

import json

import pandas as pd
import pytest
from made_months import orders

MONTHS = {"jan": "2024-01", "feb": "2024-02", "aug": "2024-08"}


@pytest.fixture
def detect(run):
    return lambda *arguments, **rest: run("detect", *arguments, **rest)


def test_later_months_are_flagged_at_the_same_rate(detect, tmp_path):
    for seed, (name, month) in enumerate(MONTHS.items()):
        orders(month, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    pick, shares = tmp_path / "pick.mod", {}
    detect(tmp_path / "jan.csv", "--save", pick, "-o", tmp_path / "jan-scored.csv")
    for name in ("feb", "aug"):
        scored = tmp_path / f"{name}-scored.csv"
        out = detect(tmp_path / f"{name}.csv", "--apply", pick, "-o", scored)
        assert "drift" not in out
    for name in MONTHS:
        shares[name] = pd.read_csv(tmp_path / f"{name}-scored.csv")["flag"].mean()
    assert shares["feb"] == pytest.approx(shares["jan"], abs=0.03)
    assert shares["aug"] == pytest.approx(shares["jan"], abs=0.03)


def test_drift_is_a_warning_with_columns_and_shares(detect, tmp_path):
    orders("2024-01", 0).to_csv(tmp_path / "jan.csv", index=False)
    moved = orders("2024-02", 1).assign(humidity=lambda frame: frame["humidity"] + 0.5)
    moved.loc[:299, "plant"] = "Quito"
    moved.loc[500:, "weight"] = None
    moved.to_csv(tmp_path / "feb.csv", index=False)
    pick = tmp_path / "pick.mod"
    detect(tmp_path / "jan.csv", "--save", pick, "--pick", "committee")
    out = detect(tmp_path / "feb.csv", "--apply", pick)
    assert "warning: drift in 'weight': 50.0% of the rows have no value (expected: 0.0%)" in out
    document = json.loads(detect(tmp_path / "feb.csv", "--apply", pick, "--json"))
    found = {(drift["column"], drift["kind"]): drift for drift in document["drift"]}
    assert found["weight", "gaps"]["share"] == 0.5
    assert found["plant", "categories"]["n_rows"] == 300
    assert found["humidity", "range"]["low"] < found["humidity", "range"]["high"] < 1
    assert {column for column, _ in found} == {"weight", "plant", "humidity"}


def test_values_of_unused_columns_are_no_mistakes(detect, tmp_path):
    frame = orders("2024-01", 0, n_rows=60).assign(note=[*range(59), "twelve"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    refused = detect(tmp_path / "t.csv", "--bad-values", "error", code=2)
    assert "column 'note': 'twelve'" in refused
    used = ("--only", "weight", "--only", "price")
    for roles in (("--ignore", "note"), ("--id", "note"), used):
        pick = tmp_path / "pick.mod"
        common = ("--pick", "committee", "--save", pick, "--bad-values", "error")
        assert "flagged:" in detect(tmp_path / "t.csv", *roles, *common)
        assert "flagged:" in detect(tmp_path / "t.csv", "--apply", pick)


def test_a_signed_pick_within_a_limit(detect, tmp_path, monkeypatch):
    monkeypatch.setenv("METAOD_VERIFY_KEY", "")  # restored afterwards
    table, pick, key = (tmp_path / name for name in ("t.csv", "pick.mod", "key"))
    orders("2024-01", 0, n_rows=60).to_csv(table, index=False)
    key.write_text("0123456789abcdef")
    detect(table, "--save", pick, "--pick", "committee")
    assert "is not signed" in detect(table, "--apply", pick, "--verify", key, code=2)
    monkeypatch.setenv("METAOD_VERIFY_KEY", "")
    detect(table, "--save", pick, "--pick", "committee", "--sign", key)
    detect(table, "--apply", pick, "--verify", key, "--max-seconds", "60")
    refused = detect(table, "--apply", pick, "--max-seconds", "1e-6", code=2)
    assert "the limit is 1e-06 s; if you trust it, allow more time with --max-seconds" in refused
    assert "--sign needs --save" in detect(table, "--sign", key, code=2)
