"""``python -m research``: a command for each file of ``research/commands``."""

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import typer

from metaod.cli.main import run
from metaod.cli.train import learners, train
from research.commands.datasets import app as datasets
from research.commands.evaluate import evaluate
from research.commands.relatives import relatives
from research.commands.testbed import app as testbed

COMMANDS = Path(__file__).parent / "commands"

app = typer.Typer(
    help="Testbeds, evaluations, measurements and figures behind MetaOD. Run it in the clone.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(testbed, name="testbed")
app.command()(evaluate)
app.command()(relatives)
app.add_typer(datasets, name="datasets")
# the product's own commands, which know the learners of research here
for _command in (learners, train):
    app.command()(_command)


def scripts() -> dict[str, Path]:
    """Return the files that parse their own arguments, by the name of their command."""
    found = sorted(COMMANDS.glob("[a-z]*.py"))
    own = {"testbed", "evaluate", "datasets", "relatives"}
    return {path.stem.replace("_", "-"): path for path in found if path.stem not in own}


def _summary(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _run_script(context: typer.Context) -> None:
    name = str(context.info_name)
    sys.argv = [f"python -m research {name}", *context.args]
    import_module(f"research.commands.{name.replace('-', '_')}").main()


for _name, _path in scripts().items():
    app.command(
        name=_name,
        help=_summary(_path),
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_run_script)


def main(argv: list[str] | None = None) -> NoReturn:
    """Run a command; a mistake of the caller is one line and exit code 2."""
    run(lambda _: app, "python -m research", argv)


if __name__ == "__main__":
    main()
