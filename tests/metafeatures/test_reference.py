"""The reference page lists what the code declares."""

import importlib.util
import sys
from pathlib import Path

import pytest

from metaod.metafeatures import SCHEMAS, schema

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool():
    place = ROOT / "tools/make_metafeature_docs.py"
    spec = importlib.util.spec_from_file_location("make_metafeature_docs", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date(tool, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tool", "--check"])
    tool.main()


def test_an_outdated_reference_is_reported_and_rewritten(tool, monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Meta-features\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["tool", "--check", "--output", str(page)])
    with pytest.raises(SystemExit, match="not up to date"):
        tool.main()
    monkeypatch.setattr(sys, "argv", ["tool", "--output", str(page)])
    tool.main()
    assert page.read_text(encoding="utf-8") == tool.reference()


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
