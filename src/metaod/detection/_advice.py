"""What to do next, and how to get the same result again: commands and lines of Python."""

import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from inspect import signature
from typing import Any

from metaod._version import __version__
from metaod.detection._detection import Detection
from metaod.options import command_words
from metaod.report import Recipe, Step, shown

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyod", "pandas")
_LONGEST = 600  # characters of a command


@dataclass(frozen=True)
class Request:
    """What the user asked for at the command line.

    Parameters
    ----------
    file : str
        The table, or ``--example``.
    reading : mapping
        Options of :func:`metaod.read_table`; None for those that were not given.
    apply : str or None
        A file of a saved pick.
    marks : str or None
        A file of answers.
    """

    file: str
    reading: Mapping[str, Any] = field(default_factory=dict)
    apply: str | None = None
    marks: str | None = None


def recipe_of(found: Detection, request: Request | None) -> Recipe:
    """Write down how a result was made."""
    libraries = [(name, version(name)) for name in _LIBRARIES]
    python = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    versions = (("metaod", __version__), ("Python", python), *libraries)
    command = "" if request is None else f"{_command(found, request)} --report report.html"
    lines = tuple(shown(line, _LONGEST) for line in _python_lines(found, request))
    seed = 0 if found.model is None else found.model.fitted_.seed
    return Recipe(shown(command, _LONGEST), lines, versions, seed)


def next_steps(found: Detection, request: Request | None) -> tuple[Step, ...]:
    """Advise what to do with the result."""
    steps = []
    if request is not None and request.file == "-":  # a table from a pipe is gone
        request = replace(request, file="FILE")
    if found.selection is not None and found.marks is None:
        text = (
            "Review ten rows: say of each whether it is an outlier. The ranking learns from every "
            "answer."
        )
        command = "detector.review()" if request is None else _command(found, request, "review")
        steps.append(Step(text, command))
    steps.append(_about_number(found, request))
    if request is not None:
        own = _command(found, request)
        if found.selection is not None:
            text = "Keep the pick, and score later rows with it."
            later = "metaod detect NEW_FILE --apply pick.mod"
            steps.append(Step(text, f"{own} --save pick.mod\n{later}"))
        text = "Write all rows with their scores, ranks and flags."
        steps.append(Step(text, f"{own} -o scored.csv"))
    return tuple(replace(step, command=_clean(step.command)) for step in steps)


def _clean(command: str) -> str:
    """Make the lines of a command fit for a page."""
    return "\n".join(shown(line, _LONGEST) for line in command.split("\n"))


def _about_number(found: Detection, request: Request | None) -> Step:
    if found.gap is None:
        text = (
            "Decide how many rows to flag. Move the threshold above until the rows just above it "
            "are worth a look, and set their number."
        )
        if found.marks is None:
            text += (
                " The scores fall off smoothly, without a clear gap, so that the number of flags "
                "is a convention."
            )
    else:
        n_above, above, below = found.gap
        text = (
            f"Decide how many rows to flag. There is a clear gap in the scores: rank {n_above:,} "
            f"scores {above:.4g}, rank {n_above + 1:,} scores {below:.4g}."
        )
    if request is None:
        return Step(text, "MetaOD(contamination=0.05)")
    return Step(text, _command(found, request, number=False), takes_number=True)


# commands


def _command(
    found: Detection, request: Request, verb: str = "detect", *, number: bool = True
) -> str:
    """Return the command that made the result; without the number of flags if so asked."""
    words = ["metaod", verb, request.file]
    for name, value in request.reading.items():
        words += [] if value is None else command_words(name, value)
    flags = [] if found.top_n is None else ["--top-n", str(found.top_n)]
    if request.apply is not None:
        words += ["--apply", request.apply]
    else:
        given = _given(found)
        share = given.pop("contamination", None)
        for name, value in given.items():
            words += command_words(name, value)
        if share is not None and not flags:
            flags = ["--contamination", f"{share:g}"]
    if verb == "detect":
        words += flags if number else []
        words += [] if request.marks is None else ["--marks", request.marks]
    return shlex.join(words)


def _given(found: Detection) -> dict[str, Any]:
    """Return the parameters of the estimator that differ from their defaults."""
    if found.model is None:
        return {}
    own = found.model.get_params(deep=False)
    parameters = signature(type(found.model)).parameters.values()
    return {
        given.name: own[given.name]
        for given in parameters
        if given.name != "n_jobs" and not _is_same(own[given.name], given.default)
    }


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


# Python


def _python_lines(found: Detection, request: Request | None) -> list[str]:
    lines = ["import metaod"]
    if request is not None and request.marks is not None:
        lines.append("from metaod.review import read_marks")
    if request is None or request.file == "-":
        lines.append("table = ...  # the frame, array or file that this report is about")
    elif request.file == "--example":
        lines.append("table = metaod.load_example()")
    else:
        reading = {name: value for name, value in request.reading.items() if value is not None}
        lines.append(f"table = metaod.read_table({_arguments([request.file], reading)})")
    if found.selection is None:
        path = "pick.mod" if request is None or request.apply is None else request.apply
        lines.append(f"detector = metaod.load({path!r})")
        lines.append("scores = -detector.score_samples(table)")
        return lines
    given = _given(found)
    own = f"metaod.MetaOD({_arguments([], given)})"
    if request is None and found.marks is not None:
        lines.append(f"detector = {own}.fit(table, marks=marks)  # marks: {{row: True or False}}")
    elif request is not None and request.marks is not None:
        key = f", {given['id']!r}" if "id" in given else ""
        lines.append(f"marks = read_marks({request.marks!r}, table{key})")
        lines.append(f"detector = {own}.fit(table, marks=marks.answers)")
    else:
        lines.append(f"detector = {own}.fit(table)")
    lines.append('detector.report("report.html")')
    return lines


def _arguments(positional: Iterable[Any], named: Mapping[str, Any]) -> str:
    return ", ".join([*map(repr, positional), *(f"{k}={v!r}" for k, v in named.items())])
