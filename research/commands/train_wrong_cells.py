"""Train the score of cells, and write it into the package.

    python -m research train-wrong-cells WORK --jobs 2

Errors are planted into the tables of the part *fit* of the protocol (docs/wrong-cells.md). WORK
keeps what is finished: a run that was stopped goes on where it was. Use a new folder if the code
has changed. With --without KIND the kind is not planted, and the score is written to WORK alone.
Needs the extra ``research`` and ``../shared``.
"""

import argparse
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from research.wrong_cells.planting import KINDS
from research.wrong_cells.tables import Source, sources
from research.wrong_cells.training import Sample, read_samples, train

SHIPPED = Path(__file__).parents[2] / "src" / "metaod" / "wrong_cells" / "shipped.cells"


def main() -> None:
    """Plant errors, gather evidence, and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--draws", type=int, default=2, help="tables planted from each table")
    parser.add_argument("--most", type=int, help="use so many tables")
    parser.add_argument("--part", default="fit")
    parser.add_argument("--without", help="a kind of errors that is not planted")
    parser.add_argument("--only-gather", action="store_true")
    given = parser.parse_args()
    folder = given.work / (f"without {given.without}" if given.without else given.part)
    folder.mkdir(parents=True, exist_ok=True)
    kinds = [kind for kind in KINDS if kind != given.without]
    with threadpool_limits(1):
        Parallel(given.jobs)(
            delayed(_make)(source, draw, kinds, folder)
            for draw in range(given.draws)
            for source in sources(given.part)[: given.most]
        )
    if given.only_gather:
        return
    with threadpool_limits(given.jobs):
        scorer = train(list(read_samples(folder)))
    path = given.work / f"{folder.name}.cells" if given.without else SHIPPED
    scorer.write(path)
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


def _make(source: Source, draw: int, kinds: list[str], folder: Path) -> None:
    path = folder / f"{source.name.replace('/', '-')}-{draw}.npz"
    if not path.exists():
        sample = Sample.make(source, draw, kinds)
        if sample is not None:
            sample.write(path)


if __name__ == "__main__":
    main()
