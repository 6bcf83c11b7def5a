"""What the package declares about itself, kept true."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import metaod

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [
    *PROJECT["dependencies"],
    *(item for extra in EXTRAS.values() for item in extra if not item.startswith("metaod-next[")),
]


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")


def pins(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {
        name_of(line): line.partition("==")[2]
        for line in lines
        if line and not line.startswith("#")
    }


def test_messages_name_extras_that_exist():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "research").rglob("*.py")]
    texts = [path.read_text("utf-8") for path in files]
    named = {extra for text in texts for extra in re.findall(r'extra="(\w+)"', text)}
    assert "research" in named
    assert named <= set(EXTRAS)


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_every_requirement_is_bounded_on_both_sides_and_pinned(requirement):
    assert ">=" in requirement
    assert "<" in requirement
    assert name_of(requirement) in pins("constraints.txt")


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_the_oldest_versions_are_the_lower_bounds(requirement):
    lower = re.search(r">=([0-9.]+)", requirement)[1]
    oldest = pins("constraints-oldest.txt")
    if name_of(requirement) in oldest:
        assert (oldest[name_of(requirement)] + ".").startswith(lower + ".")


def test_every_pin_is_exact_and_no_address_is_given():
    for file in ("constraints.txt", "constraints-oldest.txt"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert "://" not in text
        assert all(re.fullmatch(r"[0-9][0-9A-Za-z.+]*", version) for version in pins(file).values())


def test_the_version_is_one():
    assert metadata.version("metaod-next") == metaod.__version__


def test_the_original_distribution_in_the_same_folder_is_refused(tmp_path):
    package = tmp_path / "metaod"
    package.mkdir()
    for name in ("__init__.py", "_version.py", "errors.py"):
        shutil.copy(ROOT / "src" / "metaod" / name, package)
    (package / "version.py").write_text("__version__ = '0.0.6'")
    code = "try:\n    import metaod\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert "pip uninstall -y metaod metaod-next" in done.stdout


def test_it_is_imported_without_docstrings():
    code = "import metaod; [getattr(metaod, name) for name in metaod.__all__]"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True, timeout=120)


def test_everything_offered_at_the_top_is_there():
    for name in metaod.__all__:
        assert getattr(metaod, name) is not None
    assert set(metaod.__all__) <= set(dir(metaod))
    with pytest.raises(AttributeError, match="nothing"):
        _ = metaod.nothing


def test_git_ignores_no_file_of_the_package():
    # the wheel has every file below src/metaod that git does not ignore
    files = [str(path) for path in (ROOT / "src" / "metaod").rglob("*") if path.is_file()]
    own = [path for path in files if "__pycache__" not in path]
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    done = subprocess.run(
        ["git", "check-ignore", "--stdin"], cwd=ROOT, input="\n".join(own),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    assert any(path.endswith("report.js") for path in own)
