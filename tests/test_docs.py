"""What is written for people, kept whole: no placeholder, no dead link, no path of a machine."""

import re
import shlex
from pathlib import Path

import pytest
from made_commands import problem_with, words_of

from metaod.testing.learners import check_learner

ROOT = Path(__file__).parent.parent
PLACES = ("*.md", "docs/**/*.md", "results/*.md", "research/*.md")
PAGES = sorted(path for place in PLACES for path in ROOT.glob(place))
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
    assert not re.findall(r"(?<![\w./)\]<])/(?!dev/|proc/|api/)[A-Za-z]+/", text)
    # a table has a header: a row behind a blank line is shown as text
    assert not re.findall(r"(?<=\n\n)\|.*\n(?!\|[-: |]+\n)", text)
    for target in LINK.findall(text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        place = (page.parent / file) if file else page
        assert place.exists(), target
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), target


def commands(text):
    """Lines of code blocks, and code within lines, that call metaod or research."""
    code, rest = [], re.sub(r"\\\n\s*", " ", text)
    for block in re.findall(r"^```(?:console|sh|bash)?\n(.*?)^```", rest, re.DOTALL | re.MULTILINE):
        code += block.splitlines()
    code += re.findall(r"^ {4,}(\S.*)$", rest, re.MULTILINE)
    code = [line for line in code if COMMAND.match(line.strip())]
    code += re.findall(r"`((?:metaod |python -m research )[^`]+)`", rest)
    return [line.strip().replace(".venv/bin/", "") for line in code]


COMMAND = re.compile(r"(\$ )?(cat \S+ \| )?(\.venv/bin/)?(metaod|python3? -m research)( |$)")


def problem_with_research(line):
    """What is wrong with a line that runs research: the command and its options exist."""
    name, *words = shlex.split(line, comments=True)[3:]
    file = ROOT / "research" / "commands" / f"{name.replace('-', '_')}.py"
    if name in ("--help", "learners"):
        return None
    if name == "train":  # the product's own
        return problem_with([name, *words])
    if not file.is_file():
        return f"there is no command {name!r}"
    source = file.read_text("utf-8")
    flags = [word for word in words if word.startswith("--")]
    lacking = [flag for flag in flags if not takes(source, flag)]
    return f"{name} has no option {lacking[0]}" if lacking else None


def takes(source, flag):
    """Whether a command names the option, or has a parameter for it."""
    name = flag.removeprefix("--").removeprefix("no-").replace("-", "_")
    return f'"{flag}"' in source or re.search(rf"^    {name}: ", source, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_pages_exist_and_have_their_options(page):
    if page.name == "CHANGELOG.md":
        return
    for line in commands(page.read_text("utf-8")):
        is_research = line.startswith("python")
        found = problem_with_research(line) if is_research else problem_with(words_of(line))
        assert found is None, f"{line}: {found}"


def test_wrong_commands_in_pages_are_found():
    page = "Text\n\n    metaod detect t.csv --contaminatoin 1   # share\n\nand `metaod detct` or\n"
    lines = commands(page + "`python -m research demo --nothing`, `python -m research none`.")
    assert len(lines) == 4
    assert problem_with(words_of(lines[0])) == "detect has no option --contaminatoin"
    assert problem_with(words_of(lines[1])) == "there is no command 'detct'"
    assert problem_with_research(lines[2]) == "demo has no option --nothing"
    assert problem_with_research(lines[3]) == "there is no command 'none'"


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_the_learner_of_the_docs_keeps_the_contract():
    text = (ROOT / "docs" / "learners.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    example = next(block for block in blocks if "class Median(Learner)" in block)
    names = {"__name__": "learners"}
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
    components = {"detector family", "meta-feature", "learner", "reader", "executor", "option"}
    components.add("preparation step")
    assert found == components
