"""Examples of every command, shown at the end of its help: each option occurs in one."""

from collections.abc import Iterable, Iterator
from typing import Any

import typer

# of the groups of options that several commands share
_READING = (
    "metaod {} export.csv --delimiter ';' --decimal , --encoding latin-1",
    "metaod {} numbers.txt --no-header --na unknown --na -999 --text code",
    "metaod {} export.csv --dayfirst --bad-values missing",
    "metaod {} report.csv --skip-rows 3 --skip-footer 1",
    "metaod {} book.xlsx --sheet 2024 --header --max-bytes 1000000000",
    "metaod {} arrays.mat --variable X --label y",
)
_COLUMNS = (
    "metaod {} orders.csv --id order --ignore comment --category zone",
    "metaod {} orders.csv --only price --only weight",
    "metaod {} people.csv --date 'last visit' --time born",
)
_PICKING = (
    "metaod {} table.csv --exclude KNN --exclude PCA --max-seconds 10",
    "metaod {} table.csv --space extended --pick learned-single --seed 1",
    "metaod {} table.csv --learner mine.metaod",
)

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "metaod detect table.csv -o scored.csv",
        "metaod review table.csv",
        "metaod select table.csv",
        "metaod compare table.csv --label fault",
        "metaod train --help",
        "metaod detect table.csv --debug",
        "metaod --version",
        "metaod --install-completion",
        "metaod --show-completion",
    ),
    "detect": (
        "metaod detect table.csv -o scored.csv",
        "metaod detect --example --top 5 --verbose --report report.html",
        "metaod detect table.csv --contamination 5% --label fault --json",
        "metaod detect table.csv --top-n 20 --flagged-only --sort --why -o top.xlsx",
        "metaod detect export.csv --no-formulas -o for-a-spreadsheet.csv",
        "metaod detect jan.csv --marks jan.marks.csv -o scored.csv --save pick.mod",
        "metaod detect feb.csv --apply pick.mod -o feb.parquet",
        "metaod detect jan.csv feb.csv -o scored/",
        "metaod detect big.parquet --stream --jobs 2 -o scored.parquet",
        "cat table.tsv | metaod detect - -o - | head",
        *_PICKING,
        *_COLUMNS,
        *_READING,
    ),
    "mcp": (
        "metaod mcp --allow tables/",
        "metaod mcp --allow jan.csv --allow feb.csv --allow-write scored/",
        "metaod mcp --allow tables/ --max-bytes 1000000000 --max-seconds 600",
    ),
    "review": (
        "metaod review table.csv",
        "metaod review table.csv --id order --marks march.marks.csv",
        "metaod review table.csv --batch 10",
        "printf 'y\\nn\\n?\\n' | metaod review table.csv",
        "metaod review table.csv --label fault --answers 20 --strategy learn",
        "metaod review --example --answers 10",
        *_PICKING,
        *_COLUMNS,
        *_READING,
    ),
    "serve": (
        "metaod serve --open",
        "metaod serve --port 0 --token a-long-secret-word",
        "metaod serve --host 0.0.0.0 --port 8000",
        "metaod serve --max-mb 1000 --max-rows 5000000 --max-columns 5000",
        "metaod serve --max-minutes 120",
        "metaod serve --max-jobs 1 --max-tables 3 --keep-minutes 10",
    ),
    "select": (
        "metaod select table.csv",
        "metaod select --example --top 3 --verbose --json",
        "metaod select table.csv --pick committee",
        *_PICKING,
        *_COLUMNS,
        *_READING,
    ),
    "compare": (
        "metaod compare table.csv --label fault",
        "metaod compare --example --trials 5",
        "metaod compare jan.csv feb.csv --label fault --json",
        *_PICKING,
        *_COLUMNS,
        *_READING,
    ),
    "inspect": (
        "metaod inspect table.csv",
        "metaod inspect --example --all --json",
        *_COLUMNS,
        *_READING,
    ),
    "describe": (
        "metaod describe table.csv",
        "metaod describe --example --schema paper --schema scores --csv",
        "metaod describe table.csv --seed 1 --json",
        *_COLUMNS,
        *_READING,
    ),
    "models": (
        "metaod models",
        "metaod models --family LOF --family KNN",
        "metaod models --space paper --random --limit 5",
        "metaod models --rows 40 --columns 3 --all",
        "metaod models --learner mine.metaod --json",
    ),
    "info": (
        "metaod info",
        "metaod info --learner mine.metaod --json",
    ),
    "learners": (
        "metaod learners",
        "metaod learners --json",
    ),
    "train": (
        "metaod train --store mine.db -o mine.metaod",
        "metaod train --store mine.db --learner metaod --space paper --out m.metaod",
        "metaod train --store mine.db --learner fixed --set 'model=KDE()' -o k.metaod",
        (
            "metaod train --store mine.db --no-averages --schema paper --schema scores \\\n"
            "    --measure roc_auc --exclude-origin wine --seed 1 --calibrate 10 -o r.metaod"
        ),
    ),
    "build": (
        "metaod build --store my.db --data tables/ --label fault --jobs 2",
        "metaod build --store my.db --data tables/ --space extended --averages",
        "metaod build --store my.db --data tables/ --only wine --family LOF --trials 1",
        "metaod build --store my.db --data tables/ --max-seconds 10 --max-memory 1",
        "metaod build --store my.db --data tables/ --retry failed --executor serial",
        "metaod build --store my.db --data tables/ --scheduler tcp://host:8786",
        "metaod build --store postgresql://me@host/metaod --data tables/ --jobs -1",
        "metaod build --store my.db --data tables/ --mode exact --no-references",
        "metaod build --store my.db --data tables/ --schema paper --keep-scores 'LOF()'",
    ),
    "db init": (
        "metaod db init --store my.db",
        "metaod db init --store my.db --shipped",
        "metaod db init --store postgresql://server/metaod",
    ),
    "db info": ("metaod db info --store my.db --json",),
    "db add": ("metaod db add --store my.db --data tables/ --label fault",),
    "db relatives": (
        "metaod db relatives --store my.db --json",
        "metaod db relatives --store my.db --join --also pairs.csv",
    ),
    "db list": (
        "metaod db list --store my.db",
        "metaod db list models --store my.db --json",
    ),
    "db show": ("metaod db show odds/wine --store my.db --top 3 --json",),
    "db export": (
        "metaod db export out/ --store my.db",
        "metaod db export out/ --store my.db --decimals 6 --evaluations",
    ),
    "db import": ("metaod db import out/ --store my.db --prefer source",),
    "db merge": ("metaod db merge theirs.db --store mine.db --prefer target",),
    "db verify": (
        "metaod db verify --store my.db --data tables/ --label fault",
        "metaod db verify --store my.db --data tables/ --sample 10 --seed 1",
        (
            "metaod db verify --store my.db --data tables/ --mode exact --max-seconds 10 \\\n"
            "    --max-memory 1"
        ),
    ),
}
"""Command lines by the name of the command; the empty name is `metaod` itself."""


def add_examples(app: typer.Typer) -> None:
    """Show the examples of every command at the end of its help."""
    app.info.epilog = _listing("", EXAMPLES[""])
    for name, command in _commands(app):
        command.epilog = _listing(name, EXAMPLES.get(name, ()))


def _commands(app: typer.Typer, group: str = "") -> Iterator[tuple[str, Any]]:
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        yield f"{group}{name}", command
    for inner in app.registered_groups:
        if inner.typer_instance is not None:
            yield from _commands(inner.typer_instance, f"{inner.name} ")


def _listing(name: str, examples: Iterable[str]) -> str:
    return "\n".join(["Examples:", *(f"  {example.format(name)}" for example in examples)])
