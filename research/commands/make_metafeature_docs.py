"""Write the reference of all meta-features from their declarations in the code.

python -m research make-metafeature-docs            writes docs/metafeatures.md
python -m research make-metafeature-docs --check    exits with 1 if that file is not up to date
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from metaod.metafeatures import SCHEMAS, Feature, schema
from metaod.metafeatures._column_features import MAX_PAIRED_COLUMNS
from metaod.metafeatures._landmarkers import MAX_ROWS, MAX_VALUES, N_COMPONENTS
from metaod.metafeatures._schema import SUMMARIES

REFERENCE = Path(__file__).parents[2] / "docs/metafeatures.md"
ADJECTIVES = {
    "min": "smallest",
    "max": "largest",
    "mean": "mean",
    "std": "standard deviation of the",
    "skewness": "skewness of the",
    "kurtosis": "kurtosis of the",
}
"""How definitions name the summaries."""
PUBLISHED = Path(__file__).parents[1] / "published_metafeatures.csv"

HEAD = f"""\
# Meta-features

Meta-features describe a table by a named vector. This page is generated from the
declarations in the code, by `python -m research make-metafeature-docs`.

Statistics are of the prepared, unscaled columns: `X` has n rows and p columns, x is a column (or,
in the group *sample*, all values), mu its mean and sigma its standard deviation, divided by n.
Landmarkers run with PyOD's default parameters on the z-scored columns `Z`, without constant
columns. Columns in fixed units, such as the surprisal of text, are z-scored too, unlike in models.
Above {MAX_ROWS:,} rows or {MAX_VALUES:,} values landmarkers run on a seeded sample of the
rows. PCA scores are squared reconstruction errors from the first {N_COMPONENTS} components (from
all but one where there are no more). Random landmarkers are averaged over three seeds. Above
{MAX_PAIRED_COLUMNS:,} columns, only pairs of {MAX_PAIRED_COLUMNS:,} evenly spaced columns are used.

An undefined value is NaN, and so is a value beyond the range of floating-point numbers; no value is
infinite. A summary over columns, pairs, trees or projections leaves out those for which the
statistic is undefined. Spread that is no more than rounding counts as none: standard deviations are
then 0, and skewness and kurtosis are undefined. Kurtosis is mu_4 / sigma^4, 3 for a normal
distribution.

The last column marks features. A *scale-free* feature stays the same when all values are multiplied
by one positive number. A *constant* feature is the same for every table of the same size, by its
definition, and is not used for learning. A feature marked *ours* is not in the paper's list. A
later version of a schema has all features of the earlier ones, with the same values, and those
marked *since version* with its number; learners trained with an earlier version can be used.
`NAME_{{{",".join(SUMMARIES)}}}` stands for six features.
"""


PUBLISHED_HEAD = """
## The published extractor's features

The authors' released code (`metaod/models/gen_meta_features.py` in the repository yzhao062/MetaOD)
computes {count} features of the unscaled table. Of these, {same} are the same in ours, {differs}
differ and {absent} are absent; {ours} of ours have no counterpart there. *The same* means equal up
to rounding on tables without constant columns on which both are defined;
`tests/metafeatures/test_published_features.py` checks it. The list is in
`research/published_metafeatures.csv`.

| there | what it computes there | ours | | how and why |
|---|---|---|---|---|
"""


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--output", type=Path, default=REFERENCE, help="the file to write")
    arguments = parser.parse_args()
    text = reference()
    if not arguments.check:
        arguments.output.write_text(text, encoding="utf-8")
    elif arguments.output.read_text(encoding="utf-8") != text:
        sys.exit(f"{arguments.output.name} is not up to date; run this without --check")


def reference() -> str:
    """Return the whole page."""
    schemas = "".join(line for name in SCHEMAS for line in schema_part(schema(name)))
    return HEAD + schemas + "".join(published_part())


def schema_part(one: Any) -> Iterator[str]:
    """Return the part on one schema."""
    yield f"\n## Schema `{one.name}`\n\n"
    yield f"Version {one.version}, {len(one.features)} features"
    yield f", of which {len(one.learned)} for learning.\n"
    for group, features in one.groups.items():
        yield f"\n### {group.capitalize() if group.islower() else group}\n\n"
        yield "| feature | what it is | formula | |\n|---|---|---|---|\n"
        for names, feature in rows(features):
            cells = (names, feature.definition, f"`{feature.formula}`", ", ".join(marks(feature)))
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def published_part() -> Iterator[str]:
    """Return the part that compares the published extractor's features with ours."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    counts = Counter(row["status"] for row in published)
    since = {feature.name: feature.since for feature in schema("paper").features}
    ours_only = len(since.keys() - {row["ours"] for row in published})
    yield PUBLISHED_HEAD.format(count=len(published), ours=ours_only, **counts)
    for row in published:
        ours = f"`{row['ours']}`" if row["ours"] else ""
        if since.get(row["ours"], 1) > 1:
            ours += f" (since version {since[row['ours']]})"
        cells = (f"`{row['published']}`", row["definition"], ours, row["status"], row["note"])
        yield "| " + " | ".join(cells) + " |\n"


def marks(feature: Feature) -> list[str]:
    """Return the marks of a feature."""
    marked = {
        "scale-free": feature.scale_free,
        "constant": feature.constant,
        "ours": not feature.in_paper,
        f"since version {feature.since}": feature.since > 1,
    }
    return [mark for mark, holds in marked.items() if holds]


def rows(features: tuple[Feature, ...]) -> Iterator[tuple[str, Feature]]:
    """Return names with features; summaries of one statistic with the same marks are one row."""
    parts: dict[tuple[str, ...], dict[str, Feature]] = {}
    for feature in features:
        statistic, summary = feature.parts or (feature.name, "")
        parts.setdefault((statistic, *marks(feature)), {})[summary] = feature
    for (stem, *_), summaries in parts.items():
        summary, feature = next(iter(summaries.items()))
        if len(summaries) == 1:
            yield f"`{feature.name}`", feature
            continue
        yield (
            f"`{stem}_{{{','.join(summaries)}}}`",
            replace(
                feature,
                definition=feature.definition.removeprefix(f"{ADJECTIVES[summary]} "),
                formula=feature.formula.removeprefix(f"{summary} of "),
            ),
        )
