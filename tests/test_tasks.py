"""The commands of the pages of tasks run as written, each page with its files."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import metaod

TASKS = Path(__file__).parent.parent / "docs/tasks"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
FINDINGS = 3
"""The exit code of a check that finds something."""


def shown(folder, page):
    """Run the commands of a page, and return what they print."""
    for file in TASKS.glob("*.csv"):
        shutil.copy(file, folder)
    lines = "".join(BLOCK.findall((TASKS / page).read_text("utf-8"))).split("\n")
    script = "\n".join(
        f"{line} || [ $? = {FINDINGS} ]" if line.startswith("metaod check") else line
        for line in lines
    )
    return printed(folder, script)


def printed(folder, script):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: PLW1510 - the assertion below shows what went wrong
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_export_is_cleaned(tmp_path):
    screen = shown(tmp_path, "clean.md")
    assert "probably wrong: 10 cells in 10 rows" in screen
    before, after = (pd.read_csv(tmp_path / f"{name}.csv", dtype=str, keep_default_na=False)
                     for name in ("orders-may", "corrected"))  # fmt: skip
    changed = (before != after).to_numpy().sum()
    log = pd.read_csv(tmp_path / "corrected.csv.log.csv")
    assert changed == len(log) >= 6
    assert after.loc[58, "country"] == "Germany"
    assert float(after.loc[17, "total"]) == 89


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("monthly.md", ["Hambrug", "2052", "2 with a cell that is almost certainly wrong"]),
        ("label.md", ["flagged"]),
        ("compare.md", ["isolation forest"]),
    ],
)
def test_commands_of_a_page_run(tmp_path, page, words):
    screen = shown(tmp_path, page)
    assert [word for word in words if word not in screen] == []


SCREENS = {
    "why.md": "metaod detect --example --rows-only",
    "threshold.md": """
metaod detect --example --rows-only
metaod detect changed.csv --rows-only
""",
    "review.md": r"""
printf 'y\nq\n' | metaod review --example --marks one.marks.csv
printf '209 544\n' | metaod review --example --batch 5 --marks five.marks.csv
""",
}
"""Commands whose screens guides show, in fenced or indented blocks."""


@pytest.mark.parametrize("page", SCREENS)
def test_a_guide_shows_what_is_printed(tmp_path, page):
    frame = metaod.load_example().frame.copy()
    frame.loc[100, "pressure_bar"] *= 1000
    frame.loc[200, "oil_ppm"] = 99999
    frame.to_csv(tmp_path / "changed.csv", index=False)
    text = (TASKS.parent / "guides" / page).read_text("utf-8")
    fence = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
    lines = [line for kind, own in fence.findall(text) if not kind for line in own.splitlines()]
    lines += re.findall(r"^ {4}(.*)", fence.sub("", text), re.MULTILINE)
    told = [" ".join(own.split()) for own in lines if not own.startswith(("metaod", "$", "next"))]
    screen = " ".join(printed(tmp_path, SCREENS[page]).split())
    assert len(told) >= 2
    assert [line for line in told if line not in screen] == []


def test_every_page_is_run():
    run = {"clean.md", "monthly.md", "label.md", "compare.md"}
    assert {page.name for page in TASKS.glob("*.md")} == run
