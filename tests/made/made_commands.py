"""All commands of the command line, and whether a line that names one is right."""

import shlex

import typer

from metaod.cli.main import make_app

ROOT = typer.main.get_command(make_app())


def _commands(command, name=""):
    if not hasattr(command, "commands"):
        return {name: command}
    found = {}
    for word, inner in command.commands.items():
        found |= _commands(inner, f"{name} {word}".strip())
    return found


COMMANDS = _commands(ROOT)
"""Commands by their names, such as `db init`; groups are not commands."""


def words_of(line):
    """The words after `metaod`, up to a pipe or a comment."""
    words = shlex.split(line.replace("\\\n", " "), comments=True)
    start = words.index("metaod") + 1
    stops = [place for place in range(start, len(words)) if words[place] in ("|", ">", "&&")]
    return words[start : min(stops, default=len(words))]


def parse(words):
    """Parse a command line as the command does, without running it."""
    command, name = ROOT, "metaod"
    while hasattr(command, "commands"):
        command, name, words = command.commands[words[0]], words[0], words[1:]
    command.make_context(name, list(words))


def problem_with(words):
    """What is wrong with a command line that may leave out arguments; None if nothing is."""
    command, place = ROOT, 0
    while place < len(words) and hasattr(command, "commands"):
        if words[place].startswith("-") or words[place].isupper():  # an option, a placeholder
            break
        if words[place] not in command.commands:
            return f"there is no command {words[place]!r}"
        command, place = command.commands[words[place]], place + 1
    flags = {"--help", "-h", "--debug"}
    flags |= {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    for word in words[place:]:
        flag = word.partition("=")[0]
        is_flag = flag.startswith("--") or (len(flag) == 2 and flag[0] == "-" and flag[1].isalpha())
        if is_flag and flag not in flags:
            return f"{' '.join(words[:place])} has no option {flag}"
    return None
