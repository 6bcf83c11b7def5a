"""What to do next, and how to get the same result again: commands and lines of Python."""

import shlex
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

from metaod.artifacts import library_versions
from metaod.detection._result import Detection
from metaod.errors import Word
from metaod.options import as_flags, command_words
from metaod.report import shown

Given = Mapping[str, Any] | None  # the options of the command; None for a result of Python
_OWN = ("file", "apply", "marks")  # among them; the others are of reading
_LONGEST = 600  # characters of a command


def recipe_of(found: Detection, given: Given) -> dict[str, Any]:
    """Write down how a result was made: the command, lines of Python, versions and seed."""
    command = "" if given is None else f"{_command(found, given)} --report report.html"
    return {
        "command": _clean(command),
        "python": [_clean(line) for line in _python_lines(found, given)],
        "versions": list(library_versions().items()),
        "seed": found.model.fitted_.seed,
    }


def next_steps(found: Detection, given: Given) -> list[dict[str, Any]]:
    """Advise what to do with the result: texts and commands."""
    steps = []
    if given is not None and given["file"] == "-":  # a table from a pipe is gone
        given = {**given, "file": "FILE"}
    if found.is_new and found.marks is None:
        text = (
            "Review ten rows: mark each as an outlier or not. The ranking learns from every answer."
        )
        command = "detector.review()" if given is None else _command(found, given, "review")
        steps.append(_step(text, command))
    steps.append(_about_number(found, given))
    if given is not None:
        own = _command(found, given)
        if found.is_new:
            text = "Keep the pick, and score later rows with it."
            later = "metaod detect NEW_FILE --apply pick.mod"
            steps.append(_step(text, f"{own} --save pick.mod\n{later}"))
        text = "Write all rows with their scores, ranks and flags."
        steps.append(_step(text, f"{own} -o scored.csv"))
    return steps


def word_of(given: Given) -> Word:
    """Return what writes an option in a message: as the command has it, or Python."""
    return str if given is None else as_flags


def _step(text: str, command: str, *, takes_number: bool = False) -> dict[str, Any]:
    """Return a step; with `takes_number` the number of flagged rows follows the command."""
    return {"text": text, "command": _clean(command), "takes_number": takes_number}


def _clean(command: str) -> str:
    """Make the lines of a command fit for a page."""
    return "\n".join(shown(line, _LONGEST) for line in command.split("\n"))


def _about_number(found: Detection, given: Given) -> dict[str, Any]:
    if found.gap is None:
        text = (
            "Decide how many rows to flag. Move the threshold above until the rows just above it "
            "are worth a look, and set their number."
        )
        if found.marks is None:
            text += " The scores have no clear gap, so few rows are flagged at first."
    else:
        n_above, above, below = found.gap
        text = (
            f"Decide how many rows to flag. There is a clear gap in the scores: rank {n_above:,} "
            f"scores {above:.4g}, rank {n_above + 1:,} scores {below:.4g}."
        )
    if given is None:
        return _step(text, "MetaOD(contamination=0.05)")
    return _step(text, _command(found, given, number=False), takes_number=True)


# commands


def _command(
    found: Detection, given: Mapping[str, Any], verb: str = "detect", *, number: bool = True
) -> str:
    """Return the command that made the result; with or without the number of flags."""
    options = _of_reading(given)
    flags = [] if found.top_n is None else ["--top-n", str(found.top_n)]
    if given.get("apply") is not None:
        options["apply"] = given["apply"]
    else:
        options |= _parameters(found)
        share = options.pop("contamination", None)
        if share is not None and not flags:
            flags = ["--contamination", f"{share:g}"]
    words = ["metaod", verb, given["file"]]
    for name, value in options.items():
        words += command_words(name, value)
    if verb == "detect":
        words += flags if number else []
        words += ["--marks", given["marks"]] if given.get("marks") is not None else []
    return shlex.join(words)


def _of_reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of reading that were given."""
    return {n: value for n, value in given.items() if n not in _OWN and value is not None}


def _parameters(found: Detection) -> dict[str, Any]:
    """Return the parameters of the estimator that differ from their defaults."""
    own = found.model.get_params(deep=False)
    parameters = signature(type(found.model)).parameters.values()
    return {
        each.name: own[each.name]
        for each in parameters
        if each.name != "n_jobs" and not _is_same(own[each.name], each.default)
    }


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


# Python


def _python_lines(found: Detection, given: Given) -> list[str]:
    table = "..."
    if given is not None and given["file"] == "--example":
        table = "metaod.load_example()"
    elif given is not None and given["file"] != "-":
        table = f"metaod.read_table({_arguments([given['file']], _of_reading(given))})"
    comment = "  # the frame, array or file that this report is about" if table == "..." else ""
    lines = ["import metaod", f"table = {table}{comment}"]
    if not found.is_new:
        path = None if given is None else given.get("apply")
        lines.append(f"detector = metaod.load({path or 'pick.mod'!r})")
        return [*lines, "scores = -detector.score_samples(table)"]
    marks = None if given is None else given.get("marks")
    argument, comment = "", ""
    if marks is not None:
        argument = f", marks={marks!r}"
    elif found.marks is not None:
        argument, comment = ", marks=marks", "  # marks: {row: True or False}"
    own = f"metaod.MetaOD({_arguments([], _parameters(found))})"
    lines.append(f"detector = {own}.fit(table{argument}){comment}")
    return [*lines, 'detector.report("report.html")']


def _arguments(positional: Iterable[Any], named: Mapping[str, Any]) -> str:
    return ", ".join([*map(repr, positional), *(f"{k}={v!r}" for k, v in named.items())])
