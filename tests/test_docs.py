"""What is written for people, kept whole: no placeholder, no dead link, no path of a machine."""

import re
from pathlib import Path

import pytest

from metaod.testing.learners import check_learner

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("results/*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page):
    """GitHub's anchors of a page's headings, outside code blocks."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    found = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in found]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_whole(page):
    text = page.read_text("utf-8")
    assert not re.findall(r"@[A-Z][A-Z0-9]+@", text)
    # an absolute path is one of somebody's machine
    assert not re.findall(r"(?<![\w./)\]<])/(?!dev/|proc/)[A-Za-z]+/", text)
    for target in LINK.findall(text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        place = (page.parent / file) if file else page
        assert place.exists(), target
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), target


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_the_guides_learner_keeps_the_contract():
    text = (ROOT / "docs" / "guide.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    example = next(block for block in blocks if "class Median(Learner)" in block)
    names = {"__name__": "guide"}
    exec(example, names)
    check_learner(names["Median"])


RECIPES = re.findall(
    r"^### (Add an? [a-z -]+)\n(.*?)(?=^##)",
    (ROOT / "CONTRIBUTING.md").read_text("utf-8"),
    flags=re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(("title", "text"), RECIPES, ids=[title for title, _ in RECIPES])
def test_a_recipe_has_ten_lines_at_most_and_a_test_that_follows_it(title, text):
    assert len(text.strip().splitlines()) <= 10
    [test] = re.findall(r"\(`(tests/[a-z_/]+\.py)`\)", text)
    assert f'"{title}"' in (ROOT / test).read_text("utf-8")


def test_there_is_a_recipe_for_every_component():
    found = {title.removeprefix("Add a").lstrip("n").strip() for title, _ in RECIPES}
    assert found == {"detector family", "meta-feature", "learner", "reader", "executor"}
