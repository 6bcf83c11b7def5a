"""The reference of the command line, written from the commands themselves into docs/cli.md."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from metaod.cli.main import make_app

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGE = "docs/cli"


def commands(command: Any = None, name: str = "metaod") -> Iterator[tuple[str, Any]]:
    """Every command with its full name; groups are not commands."""
    command = typer.main.get_command(make_app()) if command is None else command
    for word, inner in getattr(command, "commands", {}).items():
        if inner.hidden:
            continue
        if hasattr(inner, "commands"):
            yield from commands(inner, f"{name} {word}")
        else:
            yield f"{name} {word}", inner


def _flags(option: Any) -> str:
    kind = "N" if isinstance(option.default, (int, float)) else "TEXT"
    metavar = "" if getattr(option, "is_flag", False) else f" {option.metavar or kind}"
    names = ", ".join(sorted(option.opts, key=len))
    if option.param_type_name == "argument":
        return option.metavar or option.name.upper()
    return names + metavar + "".join(f" / {name}" for name in option.secondary_opts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("*", r"\*").replace("_", r"\_")


def _table(options: list[Any]) -> list[str]:
    lines = ["| option | what it does |", "|---|---|"]
    for option in options:
        text = _cell(option.help or "")
        shown = getattr(option, "show_default", None)
        default = shown if isinstance(shown, str) else option.default
        if option.required:
            text += " Required."
        elif isinstance(default, (str, int, float)) and not isinstance(default, bool):
            text += f" Default: `{default}`."
        lines.append(f"| `{_flags(option)}` | {text} |")
    return [*lines, ""]


def _visible(command: Any) -> list[Any]:
    return [option for option in command.params if not getattr(option, "hidden", False)]


def _shared(found: list[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    """Options in panels, by panel and flags: several commands have them, with the same meaning."""
    panels: dict[str, dict[str, Any]] = {}
    for _, command in found:
        for option in _visible(command):
            if panel := getattr(option, "rich_help_panel", None):
                panels.setdefault(panel, {}).setdefault(_flags(option), option)
    return panels


def _command(name: str, command: Any) -> list[str]:
    paragraphs = (command.help or "").replace("\b", "").strip().split("\n\n")
    lines = [f"### {name}", "", *(part for text in paragraphs for part in (_cell(text), ""))]
    own: list[Any] = []
    shared: dict[str, list[str]] = {}
    for option in _visible(command):
        panel = getattr(option, "rich_help_panel", None)
        if panel:
            shared.setdefault(panel, []).append(f"`{max(option.opts, key=len)}`")
        else:
            own.append(option)
    lines += _table(own) if own else []
    for panel, flags in shared.items():
        lines += [f"[{panel}](#{_slug(panel)}): {', '.join(flags)}.", ""]
    examples = [line.removeprefix("  ") for line in (command.epilog or "").splitlines()[1:]]
    return [*lines, *(["```text", *examples, "```", ""] if examples else [])]


def _slug(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def reference() -> str:
    """The commands by the panels of `metaod --help`, then the options that several share."""
    root = typer.main.get_command(make_app())
    found = list(commands())
    panel_of = {name: root.commands[name.split()[1]].rich_help_panel for name, _ in found}
    lines: list[str] = []
    for panel in dict.fromkeys(panel_of.values()):
        lines += [f"## {panel}", ""]
        for name, command in found:
            if panel_of[name] == panel:
                lines += _command(name, command)
    lines += ["## Options of several commands", ""]
    for panel, options in _shared(found).items():
        lines += [f"### {panel}", "", *_table(list(options.values()))]
    return "\n".join(lines)


def _read(_: "Sphinx", page: str, source: list[str]) -> None:
    if page == PAGE:
        source[0] += "\n" + reference()


def setup(app: "Sphinx") -> dict[str, bool]:
    """Connect to what is read."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
