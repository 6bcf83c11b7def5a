"""The command ``metaod``. Its modules import nothing heavy before a command runs."""

import errno
import inspect
import os
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from importlib.resources import files
from pkgutil import resolve_name
from typing import Annotated, NoReturn

import typer

from metaod._version import __version__
from metaod.cli.screen import message, prepare_streams
from metaod.errors import BadParameter, UserError
from metaod.options import as_flags

USER_ERROR, DEFECT, INTERRUPTED, STOPPED = 2, 1, 130, 143


class _Stopped(BaseException):
    """SIGTERM was received."""


def _stop(*_: object) -> NoReturn:
    raise _Stopped


# the base of all errors about options and arguments, wherever typer keeps it
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

_FIND_OUTLIERS = {
    "detect": "metaod.cli.detect:detect",
    "check": "metaod.cli.check:check",
    "update": "metaod.cli.update:update",
    "review": "metaod.cli.review:review",
    "serve": "metaod.cli.servers:serve",
    "select": "metaod.cli.select:select",
    "compare": "metaod.cli.compare:compare",
    "inspect": "metaod.cli.inspect:inspect",
    "describe": "metaod.cli.inspect:describe",
    "models": "metaod.cli.models:models",
    "info": "metaod.cli.models:info",
    "mcp": "metaod.cli.servers:mcp",
}
_TRAIN = {
    "build": "metaod.cli.build:build",
    "learners": "metaod.cli.train:learners",
    "train": "metaod.cli.train:train",
    "db": "metaod.cli.db:app",
}
_COMMANDS = {**_FIND_OUTLIERS, **_TRAIN}


def make_app(words: Sequence[str] = ()) -> typer.Typer:
    """Make the command ``metaod``: with the command that the words name, or with all of them."""
    examples = {name: _listed(lines) for name, lines in read_examples().items()}
    app = typer.Typer(
        name="metaod",
        epilog=examples[""],
        help="Find wrong cells and unusual rows in a table, without labels.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    named = [word for word in words[:1] if word in _COMMANDS]
    for name in named or _COMMANDS:
        panel = "Find outliers" if name in _FIND_OUTLIERS else "Train on your own tables"
        command = resolve_name(_COMMANDS[name])
        if isinstance(command, typer.Typer):
            for own in command.registered_commands:
                own.epilog = examples[f"{name} {own.name or getattr(own.callback, '__name__', '')}"]
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            text = (inspect.getdoc(command) or "").replace("[", r"\[")  # [mcp] is no markup
            app.command(help=text, epilog=examples[name], rich_help_panel=panel)(command)
    return app


def read_examples() -> dict[str, list[str]]:
    """Return command lines by the name of the command; the empty name is `metaod` itself."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in files("metaod.cli").joinpath("examples.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            name = line[1:-1]
            found[name] = []
        elif line.startswith("+"):
            group, _, words = line.partition(" | ")
            found[name] += [own.replace("{}", words or "{}") for own in found[group]]
        elif line and not line.startswith("#"):
            found[name].append(line)
    return {
        name: [part for line in lines for part in _wrapped(line.format(name))]
        for name, lines in found.items()
        if not name.startswith("+")
    }


def _wrapped(line: str) -> list[str]:
    """Break a command that is too long for a help text."""
    width = 78 if len(line) <= 78 else 76  # of a screen of 80 columns
    *begun, last = textwrap.wrap(line, width, subsequent_indent="    ", break_on_hyphens=False)
    return [*(f"{part} \\" for part in begun), last]


def _listed(examples: Sequence[str]) -> str:
    """Return the end of a help text."""
    return "\n".join(["Examples:", *(line if line[0] == " " else f"  {line}" for line in examples)])


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"metaod {__version__}")
        raise typer.Exit


def options(
    *,
    version: Annotated[  # handled by its callback
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[  # handled in main(), listed here for --help
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Find wrong cells and unusual rows in a table, without labels."""


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command ``metaod``."""
    run(make_app, "metaod", argv)


def run(
    make: Callable[[Sequence[str]], typer.Typer], name: str, argv: list[str] | None = None
) -> NoReturn:
    """Run a command; exit with 0, 1 (a defect), 2 (an error of the user), 130 or 143."""
    prepare_streams()
    signal.signal(signal.SIGTERM, _stop)  # as for Ctrl-C, unfinished files are removed
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments  # accepted anywhere, also after the sub-command
    arguments = [argument for argument in arguments if argument != "--debug"]
    app = make(arguments)
    try:
        code = app(args=arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        if not str(error):  # a group without a command has printed its help
            sys.exit(USER_ERROR)
        _fail(_usage_line(error), USER_ERROR, debug=debug)
    except UserError as error:
        if isinstance(error, BadParameter):
            error = _named_by_option(error, app, arguments)
        _fail(error.worded(as_flags), USER_ERROR, debug=debug)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED, debug=debug)
    except _Stopped:
        _fail("stopped by a signal", STOPPED, debug=debug)
    except BrokenPipeError:
        # the output was closed (`| head`): no error, and no message at shutdown
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:  # last resort: the user sees no bare traceback
        _fail(*_explained(error), debug=debug)
    sys.exit(code if isinstance(code, int) else 0)


# parameters of functions behind 'build', 'train' and 'db' that have an option of another name
_OPTIONS = {
    ("TrainingData", "origins"): "exclude_origin",
    ("TrainingData", "schemas"): "schema",
    ("learner", "name"): "learner",
    ("make_executor", "n_jobs"): "jobs",
    ("make_executor", "name"): "executor",
    ("model_space", "name"): "space",
    ("Store", "url_or_path"): "store",
}


def _named_by_option(
    error: BadParameter, app: typer.Typer, arguments: Sequence[str]
) -> BadParameter:
    """Return the error with the option and the command that the user gave, if there is one."""
    command, path = typer.main.get_command(app), "metaod"
    for word in arguments:
        inner = getattr(command, "commands", {}).get(word)
        if inner is not None:
            command, path = inner, f"{path} {word}"
    wanted = _OPTIONS.get((error.owner, error.name), error.name)
    for option in command.params:
        if option.name == wanted and option.param_type_name == "option":
            flag = max(option.opts, key=len)
            return BadParameter(path, flag, error.legal, error.got, remedy=error.remedy)
    return error


def _explained(error: Exception) -> tuple[str, int]:
    """Return what is printed for an error of another kind, and the exit code."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF):
        return f"cannot write the output: {error.strerror}", USER_ERROR
    if _lacks_memory(error):
        what = "there is not enough memory; give fewer rows or columns, or use a larger machine"
        return what, USER_ERROR
    what = f"{type(error).__name__}: {error}"
    return f"a defect in metaod, please report it: {what}; --debug shows where", DEFECT


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether memory was short, also while a library was loaded."""
    if error is None or isinstance(error, MemoryError):
        return error is not None
    return "failed to map segment" in str(error) or _lacks_memory(error.__context__)


def _usage_line(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "metaod"
    what = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"{what.rstrip('.')}; see '{command} --help'"


def _fail(what: str, code: int, *, debug: bool) -> NoReturn:
    if debug:
        traceback.print_exc()
    message("metaod: error: " + " ".join(what.split()))
    sys.exit(code)
