"""Messages of Python functions, in the words of the command line."""

import re
from collections.abc import Sequence
from typing import Any

from metaod.errors import BadParameter

# options that have another name than the parameter of the function that they reach
_OPTIONS = {
    ("MetaOD", "random_state"): "seed",
    ("TrainingData", "origins"): "exclude_origin",
    ("TrainingData", "schemas"): "schema",
    ("extract", "random_state"): "seed",
    ("learner", "name"): "learner",
    ("make_executor", "n_jobs"): "jobs",
    ("MetaOD", "n_jobs"): "jobs",
    ("load", "n_jobs"): "jobs",
    ("make_executor", "name"): "executor",
    ("model_space", "detectors"): "family",
    ("model_space", "name"): "space",
    ("schema", "name"): "schema",
    ("select", "random_state"): "seed",
    ("Store", "url_or_path"): "store",
}


# messages name a parameter and its option: decimal=',' (--decimal ,) or decimal=',', --decimal ,
_VALUE = r"(?:'[^']*'|\[[^]]*\]|[^\s,()]*)"
_PAIRS = (
    (re.compile(rf"\b(?:[a-z_]+={_VALUE}|[a-z]+_[a-z_]+) \((--[^()]*)\)"), r"\1"),
    (re.compile(rf"\b[a-z_]+={_VALUE}, (?=--[a-z])"), ""),
    (re.compile(r" \(in Python: [^()]*\)"), ""),
)


def without_parameters(text: str) -> str:
    """Return a message with options alone where it names a parameter of Python as well.

    Examples
    --------
    >>> without_parameters("if the comma is a decimal mark, set decimal=',' (--decimal ,)")
    'if the comma is a decimal mark, set --decimal ,'
    """
    for pattern, kept in _PAIRS:
        text = pattern.sub(kept, text)
    return text


def named_by_option(error: BadParameter, root: Any, arguments: Sequence[str]) -> BadParameter:
    """Return the error with the option and the command that the user gave, if there is one.

    Parameters
    ----------
    error : BadParameter
        The error of a function.
    root : click.Command
        The command with all its sub-commands.
    arguments : sequence of str
        The words of the command line.
    """
    command, path = _find_command(root, arguments)
    wanted = _OPTIONS.get((error.owner, error.name), error.name)
    for option in command.params:
        if option.name == wanted and option.param_type_name == "option":
            flag = max(option.opts, key=len)
            return BadParameter(path, flag, error.legal, error.got, remedy=error.remedy)
    return error


def _find_command(root: Any, arguments: Sequence[str]) -> tuple[Any, str]:
    command, path = root, "metaod"
    for word in arguments:
        inner = getattr(command, "commands", {}).get(word)
        if inner is not None:
            command, path = inner, f"{path} {word}"
    return command, path
