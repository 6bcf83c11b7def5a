"""``metaod db``: show, export, import, merge and check a store."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.build import CellLimits, Folders, LabelOption, StoreOption, list_folders, option
from metaod.cli.options import with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_facts, print_json, size_of, visible
from metaod.errors import BadParameter, UserError, counted

if TYPE_CHECKING:
    from metaod.store import Store

app = typer.Typer(
    help="Create, show, export, import, merge and verify stores of evaluations.",
    no_args_is_help=True,
)

_LISTED = {  # what JSON has of each
    "datasets": ("name", "n_rows", "n_columns", "n_outliers", "origin", "fingerprint"),
    "models": ("id", "is_reference"),
}

Preferred = Annotated[
    str, option("WHO", "Which value is kept in a conflict: target (this store) or source.")
]


@app.command()
def init(
    *,
    store: StoreOption,
    shipped: Annotated[
        bool, option(None, "Start from the matrix that ships with MetaOD.", None, "--shipped")
    ] = False,
) -> None:
    """Create a store: empty, or with the shipped performance matrix."""
    from metaod.history import shipped_folder
    from metaod.store import import_parquet

    with _opened(store, create=True) as opened:
        if opened.datasets():
            raise UserError("exists already", where=str(opened), remedy="name another store")
        if not shipped:
            console().print(f"{opened}: an empty store", soft_wrap=True)
            return
        # in one transaction: a command that is interrupted leaves an empty store
        with ProgressLine("reading the shipped matrix") as line:
            report = import_parquet(opened, shipped_folder(), progress=line.count)
    _print_merge(report)


@app.command()
def info(*, store: StoreOption, json: Json = False) -> None:
    """Count what a store holds: datasets, models, cells by state."""
    with ProgressLine("counting"), _opened(store, read_only=True) as opened:
        facts = opened.summary()
        facts["inconsistencies"] = opened.inconsistencies()
    if json:
        print_json(facts)
        return
    _print_facts(facts)
    if facts["inconsistencies"]:
        warning = f"warning: the store {_inconsistent(facts['inconsistencies'])}"
        console().print(warning, soft_wrap=True)


@app.command()
def add(*, store: StoreOption, data: Folders, label: LabelOption = "y") -> None:
    """Add datasets to a store without evaluating models on them."""
    from metaod.store import record_of

    entries = list_folders(data, label)
    with ProgressLine("reading datasets") as line, _opened(store) as opened, opened.writer_lock():
        records = []
        for entry in entries:
            records.append(record_of(entry))
            line.count("reading datasets", len(records), len(entries))
        new = opened.add_datasets(records)
    known = len(entries) - new
    console().print(f"{counted(new, 'dataset')} added, {known} were in the store already")


@app.command("list")
def list_(
    *,
    store: StoreOption,
    what: Annotated[str, typer.Argument(help="datasets or models", metavar="WHAT")] = "datasets",
    json: Json = False,
) -> None:
    """List a store's datasets, or its models."""
    if what not in _LISTED:
        raise BadParameter("metaod db list", "WHAT", tuple(_LISTED), what)
    with _opened(store, read_only=True) as opened:
        records: list[Any] = opened.models() if what == "models" else opened.datasets()
    if json:
        print_json([{name: getattr(own, name) for name in _LISTED[what]} for own in records])
    elif what == "models":
        rows = [(item.id, "reference" if item.is_reference else "") for item in records]
        console().print(grid("model", "note", rows=rows))
    else:
        numbers = ("rows", "columns", "outliers")
        table = grid("name", *numbers, "origin", right=numbers)
        for record in records:
            counts = (str(record.n_rows), str(record.n_columns), f"{record.outlier_share:.2%}")
            table.add_row(visible(record.name), *counts, visible(record.origin))
        console().print(table)
    if not json:
        console().print(counted(len(records), what[:-1]))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A dataset's name or fingerprint.")],
    *,
    store: StoreOption,
    top: Annotated[int, option(None, "Best models to show.", min=1)] = 10,
    json: Json = False,
) -> None:
    """Show the performance of the models on one dataset, the best first."""
    from metaod.models import CellState

    with _opened(store, read_only=True) as opened:
        record = _find_dataset(opened.datasets(), name, str(opened))
        cells = opened.cells(record.fingerprint)
    done = [cell for cell in cells if cell.state == CellState.OK]
    done.sort(key=lambda cell: (-cell.ap, cell.model))
    rest = [cell for cell in cells if cell.state != CellState.OK]
    rest.sort(key=lambda cell: (cell.state, cell.model))
    if json:
        print_json([_cell_data(cell) for cell in (*done, *rest)])
        return
    out = console()
    size = size_of(record.name, record.n_rows, record.n_columns)
    outliers = counted(record.n_outliers, "outlier")
    out.print(f"{size}, {outliers}, origin {visible(record.origin)}")
    numbers = ("AP", "ROC AUC", "P@n", "seconds")
    table = grid("model", *numbers, right=numbers)
    for cell in done[:top]:
        spread = "" if cell.n_trials == 1 else f" ± {cell.ap_std:.3f}"
        others = (f"{cell.roc_auc:.3f}", f"{cell.precision_at_n:.3f}", f"{cell.seconds:.3g}")
        table.add_row(cell.model, f"{cell.ap:.3f}{spread}", *others)
    out.print(table)
    out.print(f"{counted(len(done), 'cell')} ok, {len(rest)} not")
    for cell in rest[:top]:
        out.print(f"  {cell.model}: {cell.state.value}: {visible(cell.reason)}")


@app.command("export")
def export_(
    folder: Annotated[Path, typer.Argument(help="Folder to write to.")],
    *,
    store: StoreOption,
    decimals: Annotated[int, option(None, "Digits kept of each measure.", min=4, max=12)] = 4,
    evaluations: Annotated[
        bool, option(None, "Write every trial, not only the cells.", None, "--evaluations")
    ] = False,
    sign: Annotated[
        Path | None, option("KEYFILE", "Sign them with the key in this file (HMAC-SHA256).")
    ] = None,
) -> None:
    """Write a store's content as Parquet files."""
    from metaod.store import export_parquet

    with ProgressLine("exporting"), _opened(store, read_only=True) as opened:
        _refuse_inconsistent(opened)
        written = export_parquet(
            opened, folder, decimals=decimals, evaluations=evaluations, sign=sign
        )
    size = sum(file.stat().st_size for file in written.iterdir() if file.is_file())
    console().print(f"{written}: {size / 1e6:.2f} MB")


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="Folder that an export made.")],
    *,
    store: StoreOption,
    prefer: Preferred = "target",
) -> None:
    """Merge exported Parquet files into a store, which is created if it does not exist."""
    from metaod.store import import_parquet

    with _opened(store, create=True) as opened, ProgressLine("importing") as line:
        report = import_parquet(opened, folder, prefer=prefer, progress=line.count)
    _print_merge(report)


@app.command()
def merge(
    source: Annotated[str, typer.Argument(help="The store to take from.")],
    *,
    store: StoreOption,
    prefer: Preferred = "target",
) -> None:
    """Add what another store has and this one lacks, and report conflicts."""
    from metaod.store import merge as merge_stores

    with (
        ProgressLine("merging") as line,
        _opened(source, read_only=True) as other,
        _opened(store) as opened,
    ):
        report = merge_stores(opened, other, prefer=prefer, progress=line.count)
    _print_merge(report)


@app.command()
@with_options
def verify(
    *,
    store: StoreOption,
    data: Folders,
    label: LabelOption = "y",
    sample: Annotated[int, option(None, "Cells to recompute.", min=1)] = 50,
    seed: Annotated[int, option(None, "Seed of the draw.")] = 0,
    limits: CellLimits,
) -> None:
    """Recompute a random sample of cells and compare; exit with code 2 if any differs."""
    from metaod.store import verify as recompute

    entries = list_folders(data, label)
    options: dict[str, Any] = {"sample": sample, "seed": seed, "budget": limits.budget()}
    with ProgressLine("checking the store") as line, _opened(store, read_only=True) as opened:
        _refuse_inconsistent(opened)
        found = recompute(opened, entries, **options, progress=line.count)
    for difference in found.differences:
        console().print(visible(str(difference)), soft_wrap=True)
    datasets = counted(found.n_datasets, "dataset")
    checked = f"{counted(found.n_cells, 'cell')} of {datasets} recomputed"
    if found.differences:
        what = f"{checked}, {len(found.differences)} differ"
        remedy = "build them again, or ask who made the store"
        raise UserError(what, where=str(opened), remedy=remedy)
    console().print(f"{checked}, all agree")


def _opened(store: str, **how: bool) -> "Store":
    from metaod.store import Store

    return Store(store, **how)


def _refuse_inconsistent(opened: "Store") -> None:
    problems = opened.inconsistencies()
    if problems:
        remedy = "restore an older copy, or build it again"
        raise UserError(_inconsistent(problems), where=str(opened), remedy=remedy)


def _inconsistent(problems: list[str]) -> str:
    return f"is inconsistent in {counted(len(problems), 'place')}, the first: {problems[0]}"


def _find_dataset(records: list[Any], name: str, store: str) -> Any:
    found = [
        record
        for record in records
        if name in (record.fingerprint, record.name, record.name.rpartition("/")[2])
    ]
    if not found:
        remedy = "`metaod db list` lists them"
        raise UserError(f"no dataset is called {name!r}", where=store, remedy=remedy)
    if len(found) > 1:
        names = (f"{record.name} ({record.fingerprint})" for record in found)
        remedy = "name one, or its fingerprint: " + ", ".join(names)
        raise UserError(f"{name!r} is the name of several datasets", where=store, remedy=remedy)
    return found[0]


def _cell_data(cell: Any) -> dict[str, Any]:
    # JSON has no NaN
    return {
        name: None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN
        for name, value in asdict(cell).items()
        if name != "imported"
    }


def _print_facts(facts: dict[str, Any]) -> None:
    size = "" if facts["size_bytes"] is None else f" ({facts['size_bytes'] / 1e6:.1f} MB)"
    states = facts["cells"]
    total = sum(states.values())
    print_facts(
        ("store", facts["store"] + size),
        ("made", f"{facts['created']} by metaod {facts['package_version']}"),
        ("datasets", f"{facts['datasets']} of {counted(facts['origins'], 'origin')}"),
        *(
            ("", f"{n} {name or 'without a collection'}")
            for name, n in facts["collections"].items()
        ),
        ("models", f"{facts['models']} and {counted(facts['references'], 'reference model')}"),
        ("cells", f"{total}"),
        *(("", f"{count} {state} ({count / total:.2%})") for state, count in states.items()),
        ("evaluations", str(facts["evaluations"])),
        *(
            ("meta-features", "{schema} version {version}: {datasets}".format(**item))
            for item in facts["metafeatures"]
        ),
    )


def _print_merge(report: Any) -> None:
    added = ", ".join(f"{count} {name}" for name, count in report.added.items() if count)
    console().print(f"added: {added or 'nothing'}")
    for conflict in report.conflicts[:20]:
        console().print(visible(f"conflict: {conflict}"), soft_wrap=True)
    if report.n_conflicts:
        console().print(counted(report.n_conflicts, "conflict"))
