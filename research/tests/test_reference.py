"""The reference page lists what the code declares."""

import sys
from pathlib import Path

import pytest

from metaod.metafeatures import SCHEMAS, schema
from research.commands.make_metafeature_docs import main, reference

ROOT = Path(__file__).parents[2]


def test_the_reference_is_up_to_date(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tool", "--check"])
    main()


def test_an_outdated_reference_is_reported_and_rewritten(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Meta-features\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["tool", "--check", "--output", str(page)])
    with pytest.raises(SystemExit, match="not up to date"):
        main()
    monkeypatch.setattr(sys, "argv", ["tool", "--output", str(page)])
    main()
    assert page.read_text(encoding="utf-8") == reference()


def test_the_reference_lists_every_feature():
    page = (ROOT / "docs/metafeatures.md").read_text(encoding="utf-8")
    for name in SCHEMAS:
        for feature in schema(name).features:
            stem, _, summary = feature.name.rpartition("_")
            folded = any(
                line.startswith(f"| `{stem}_{{") and summary in line.split("`")[1]
                for line in page.splitlines()
            )
            assert f"`{feature.name}`" in page or folded, feature.name
