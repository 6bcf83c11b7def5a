"""``metaod info``: versions, and what the learner was trained on, how, and with which figures."""

from typing import TYPE_CHECKING, Any

from metaod.cli.picking import Learner, picking
from metaod.cli.screen import Json, console, grid, print_json, visible

if TYPE_CHECKING:
    from metaod.artifacts import Artifact

__all__ = ["info"]


_WORDS = {
    "n_datasets": "datasets",
    "n_origins": "origins",
    "mean_difference": "mean performance of the picks less that of PyOD's default iForest",
    "beats_reference": "share of picks better than it by over .005",
    "loses_to_reference": "share of picks worse than it by over .005",
    "loses_much": "share of picks worse than it by over .05",
    "interval_level": "share that the interval promises to hold",
    "interval_coverage": "share that it held",
    "interval_width": "its mean width",
    "predicted_r2": "what predictions explain of the differences (R²)",
    "regret_distance_correlation": "rank correlation of distance to the database and regret",
    "regret_distance_p": "its p-value",
    "regret_near": "mean regret of the nearest nine tenths",
    "regret_far": "mean regret of the farthest tenth",
}
"""What the figures of a calibration are, for people."""


def info(learner: Learner = "default", *, json: Json = False) -> None:
    """Show the versions in use and the learner: trained on what, how, with which figures.

    Examples:  metaod info  ·  metaod info --learner mine.metaod --json
    """
    from metaod.artifacts import library_versions
    from metaod.history import find_artifact

    with picking("metaod info", learner):
        artifact = find_artifact(learner)
    versions = library_versions()
    if json:
        print_json({"versions": versions, "learner": _as_data(artifact)})
    else:
        _print(artifact, versions)


def _as_data(artifact: "Artifact") -> dict[str, Any]:
    manifest, calibration = artifact.manifest, artifact.calibration
    return {
        "name": manifest.learner,
        "title": artifact.learner.title,
        "parameters": dict(manifest.parameters),
        "measure": manifest.measure,
        "datasets": len(manifest.datasets),
        "origins": manifest.n_origins,
        "models": len(manifest.models),
        "schemas": {part.name: part.version for part in manifest.schemas},
        "features": len(manifest.features),
        "versions": dict(manifest.versions),
        # how picks did on tables of origins that the learner had not seen
        "figures": {} if calibration is None else calibration.figures,
    }


def _print(artifact: "Artifact", versions: dict[str, str]) -> None:
    out = console()
    data = _as_data(artifact)
    out.print(f"{data['title']} ({data['name']})", style="bold")
    out.print(visible(artifact.learner.summary))
    listing = grid("trained", "")
    listing.add_row("on", f"{data['datasets']} labelled datasets of {data['origins']} origins")
    listing.add_row("models", str(data["models"]))
    schemas = ", ".join(f"{name} (version {number})" for name, number in data["schemas"].items())
    listing.add_row("meta-features", f"{data['features']}: {schemas or 'of no schema'}")
    listing.add_row("measure", str(data["measure"] or "-"))
    given = ", ".join(f"{name}={value}" for name, value in data["parameters"].items())
    listing.add_row("parameters", visible(given) or "-")
    out.print(listing)
    if data["figures"]:
        figures = grid("on datasets of origins that it had not seen", "", right=("",))
        found = data["figures"]
        for name, words in _WORDS.items():
            if name in found:
                figures.add_row(words, f"{found[name]:.4g}")
        out.print(figures)
    table = grid("versions", "here", "when trained")
    for name, here in versions.items():
        table.add_row(name, here, data["versions"].get(name, "-"))
    out.print(table)
