"""``metaod info``: the learner, its training data and measured quality, and library versions."""

from typing import TYPE_CHECKING, Any

from metaod.cli.options import Learner, picking_progress
from metaod.cli.screen import Json, console, grid, print_json, visible
from metaod.errors import counted

if TYPE_CHECKING:
    from metaod.artifacts import Artifact

_FIGURE_TITLES = {
    "n_datasets": "datasets",
    "n_origins": "origins",
    "mean_difference": "mean gain of the picks over PyOD's default iForest",
    "beats_reference": "share of picks better than it by over .005",
    "loses_to_reference": "share of picks worse than it by over .005",
    "loses_much": "share of picks worse than it by over .05",
    "interval_level": "nominal coverage of the interval",
    "interval_coverage": "measured coverage of the interval",
    "interval_width": "mean width of the interval",
    "predicted_r2": "R² of the predicted performance",
    "regret_distance_correlation": "rank correlation of distance and regret",
    "regret_distance_p": "p-value of that correlation",
    "regret_near": "mean regret of the nearest nine tenths",
    "regret_far": "mean regret of the farthest tenth",
}


def info(learner: Learner = "default", *, json: Json = False) -> None:
    """Show the learner, its training data and measured quality, and library versions."""
    from metaod.artifacts import library_versions
    from metaod.history import find_artifact

    with picking_progress(learner):
        artifact = find_artifact(learner)
    versions = library_versions()
    if json:
        print_json({"versions": versions, "learner": _as_data(artifact)})
    else:
        _print(artifact, versions)


def _as_data(artifact: "Artifact") -> dict[str, Any]:
    learner, calibration = artifact.learner, artifact.calibration
    return {
        "name": learner.name,
        "title": learner.title,
        "parameters": learner.params(),
        "measure": artifact.measure,
        "datasets": len(artifact.datasets),
        "origins": artifact.n_origins,
        "models": len(learner.models_),
        "schemas": artifact.schemas,
        "features": len(learner.features_),
        "versions": artifact.versions,
        # how picks did on tables of origins that the learner had not seen
        "figures": {} if calibration is None else calibration.figures,
    }


def _print(artifact: "Artifact", versions: dict[str, str]) -> None:
    out = console()
    data = _as_data(artifact)
    out.print(f"{data['title']} ({data['name']})", style="bold")
    out.print(visible(artifact.learner.summary))
    listing = grid("trained", "")
    listing.add_row(
        "on",
        f"{counted(data['datasets'], 'labelled dataset')} of {counted(data['origins'], 'origin')}",
    )
    listing.add_row("models", str(data["models"]))
    schemas = ", ".join(f"{name} (version {number})" for name, number in data["schemas"].items())
    listing.add_row("meta-features", f"{data['features']}: {schemas or 'no schema'}")
    listing.add_row("measure", str(data["measure"] or "-"))
    given = "\n".join(f"{name}={visible(str(value))}" for name, value in data["parameters"].items())
    listing.add_row("parameters", given or "-")
    out.print(listing)
    if data["figures"]:
        figures = grid("measured on datasets of unseen origins", "", right=("",))
        found = data["figures"]
        for name, title in _FIGURE_TITLES.items():
            if name in found:
                figures.add_row(title, f"{found[name]:.4g}")
        out.print(figures)
    table = grid("versions", "here", "when trained")
    for name, here in versions.items():
        table.add_row(name, here, data["versions"].get(name, "-"))
    out.print(table)
