"""Train the score of cells, and write it into the package.

    python -m research train-wrong-cells WORK --jobs 2

Errors are planted into the tables of all parts of the protocol (docs/wrong-cells.md). With --parts
some parts are used, with --tables the first tables of each part, with --without KIND the kind is
not planted; the score is then written to WORK, for `evaluate-wrong-cells --model`. WORK keeps what
is finished: a run that was stopped goes on where it was. Use a new folder if the code has changed.
Needs the extra ``research`` and ``../shared``.
"""

import argparse
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from research.wrong_cells.planting import KINDS
from research.wrong_cells.tables import PARTS, Source, sources
from research.wrong_cells.training import Sample, read_samples, train

SHIPPED = Path(__file__).parents[2] / "src" / "metaod" / "wrong_cells" / "shipped.cells"


def main() -> None:
    """Plant errors, gather evidence, and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--draws", type=int, default=3, help="tables planted from each table")
    parser.add_argument("--tables", type=int, help="tables of each part; all by default")
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--without", help="a kind of errors that is not planted")
    given = parser.parse_args()
    without = f" without {given.without}" if given.without else ""
    folders = [given.work / f"{part}{without}" for part in given.parts]
    kinds = [kind for kind in KINDS if kind != given.without]
    with threadpool_limits(1):
        Parallel(given.jobs)(
            delayed(_make)(source, draw, kinds, folder)
            for folder, part in zip(folders, given.parts, strict=True)
            for draw in range(given.draws)
            for source in sources(part)[: given.tables]
        )
    with threadpool_limits(given.jobs):
        scorer = train([sample for folder in folders for sample in read_samples(folder)])
    is_whole = tuple(given.parts) == PARTS and not without and given.tables is None
    path = SHIPPED if is_whole else given.work / f"{' '.join(given.parts)}{without}.cells"
    scorer.write(path)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


def _make(source: Source, draw: int, kinds: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source.name.replace('/', '-')}-{draw}.npz"
    if not path.exists():
        sample = Sample.make(source, draw, kinds)
        if sample is not None:
            sample.write(path)


if __name__ == "__main__":
    main()
