"""``metaod models``, the models that may be picked, and ``metaod info``, the learner that picks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.detect import load_pick
from metaod.cli.detection import print_pick
from metaod.cli.options import Learner, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_facts, print_json, visible
from metaod.cli.update import history_document, print_history
from metaod.errors import BadParameter, counted
from metaod.options import Names, Options, Picking, option

if TYPE_CHECKING:
    from metaod.artifacts import Artifact
    from metaod.models import ModelSpec

_COMMAND = "metaod models"
SavedPick = Annotated[str | None, typer.Argument(help="A saved pick, instead of the learner.")]

_FIGURE_TITLES = {
    "n_datasets": "datasets",
    "n_origins": "origins",
    "mean_difference": "mean gain of the picks over PyOD's default iForest",
    "beats_reference": "share of picks better than iForest by over .005",
    "loses_to_reference": "share of picks worse than iForest by over .005",
    "loses_much": "share of picks worse than iForest by over .05",
    "interval_level": "nominal coverage of the interval",
    "interval_coverage": "measured coverage of the interval",
    "interval_width": "mean width of the interval",
    "predicted_r2": "R² of the predicted performance",
    "regret_distance_correlation": "rank correlation of distance and loss to the best model",
    "regret_distance_p": "p-value of that correlation",
    "regret_near": "mean loss to the best model, nearest nine tenths",
    "regret_far": "mean loss to the best model, farthest tenth",
}


@dataclass(frozen=True, kw_only=True)
class Listed(Options):
    """Which models are listed."""

    space: str | None = option(
        None,
        "A model space instead: paper (the paper's 302), extended (more families and scalings), "
        "or all.",
        metavar="NAME",
    )
    learner: str = option("default", Picking.declared()["learner"].help, metavar="NAME")
    family: Names = option((), "Only this family.", metavar="NAME")
    random: bool | None = option(
        None,
        "Only models that need a seed, or only those that need none.",
        flags=("--random", "--deterministic"),
    )
    rows: int | None = option(
        None, "Show which models do not apply to a table of N rows.", metavar="N", minimum=0
    )
    columns: int = option(1, "Columns of that table.", metavar="P", minimum=0)
    limit: int | None = option(None, "Show at most N models.", metavar="N", minimum=1)
    all_models: bool = option(False, "List every model, not only the families.", flags=("--all",))

    def models(self) -> "list[ModelSpec]":
        """Return the models of the space or of the learner."""
        from metaod.history import find_artifact
        from metaod.models import ModelSpec, model_space, registered_families

        if self.space is None:
            with ProgressLine("reading the learner"):
                artifact = find_artifact(self.learner)
            # families in their usual order, averages last
            ordered = {name: place for place, name in enumerate(registered_families())}
            specs = map(ModelSpec.parse, artifact.learner.models_)
            return sorted(specs, key=lambda spec: ordered.get(spec.detector, len(ordered)))
        if self.learner != "default":
            raise BadParameter(_COMMAND, "--learner", "left out with --space", self.learner)
        return list(model_space(self.space))

    def chosen(self) -> "list[ModelSpec]":
        """Return those of the named families, in any spelling, that are random or not."""
        listed = self.models()
        known = {spec.detector.lower(): spec.detector for spec in listed}
        wanted = {name.lower(): name for name in self.family or known}
        for lower, name in wanted.items():
            if lower not in known:
                remedy = "--space all has the families of every space"
                raise BadParameter(_COMMAND, "--family", list(known.values()), name, remedy=remedy)
        return [
            spec
            for spec in listed
            if spec.detector.lower() in wanted and self.random in (None, spec.is_random)
        ]

    def why_not(self, spec: "ModelSpec") -> str | None:
        """Return why a model does not apply to the table, if one is described."""
        return None if self.rows is None else spec.why_not(self.rows, self.columns)


@with_options
def models(*, asked: Listed, json: Json = False) -> None:
    """List the models that the default learner picks from, or those of a model space.

    Without options: one line per family. With a filter, --all or --limit: the models.
    ZAverage is the mean of two or more models' scores.
    """
    chosen = asked.chosen()
    shown = chosen[: asked.limit]
    if json:
        print_json([_as_data(spec, asked) for spec in shown])
    elif asked.given().keys() - {"space", "learner", "columns"}:
        _print_models(shown, len(chosen), asked)
    else:
        _print_families(chosen)


def _as_data(spec: "ModelSpec", asked: Listed) -> dict[str, Any]:
    flags = {"random": spec.is_random, "equivalence": spec.equivalence.id}
    reason = {} if asked.rows is None else {"why_not": asked.why_not(spec)}
    return {"id": spec.id, **spec.to_dict(), **flags, **reason}


def _print_models(shown: "list[ModelSpec]", total: int, asked: Listed) -> None:
    from metaod.models import member_ids

    table = grid("model", "random", "note")
    for spec in shown:
        same, reason = spec.equivalence, asked.why_not(spec)
        note = "" if same == spec else f"same as {same}"
        note = note if reason is None else f"does not apply: {reason}"
        table.add_row(" +\n".join(member_ids(spec.id)), "yes" if spec.is_random else "no", note)
    console().print(table)
    of = f"{len(shown)} of " if len(shown) < total else ""
    console().print(of + counted(total, "model"))


def _print_families(chosen: "list[ModelSpec]") -> None:
    table = grid("family", "models", "random", "hyperparameters", right=("models",))
    for name in dict.fromkeys(spec.detector for spec in chosen):
        alike = [spec for spec in chosen if spec.detector == name]
        random = {spec.is_random for spec in alike}
        is_random = "some" if len(random) > 1 else "yes" if random == {True} else "no"
        described = _members_in(alike) if alike[0].is_average else _values_in(alike)
        table.add_row(name, str(len(alike)), is_random, described or "-")
    console().print(table)
    count = _counted(sum(spec.is_average for spec in chosen), len(chosen))
    console().print(f"{count}; --family NAME lists one family, --all lists every model")


def _counted(n_averages: int, n_models: int) -> str:
    averages = f" and {counted(n_averages, 'average')} of them" if n_averages else ""
    return counted(n_models - n_averages, "model") + averages


def _members_in(averages: "list[ModelSpec]") -> str:
    """Describe averages by how many members they have."""
    sizes = sorted({len(average.members) for average in averages})
    members = {member for average in averages for member in average.members}
    several = ", ".join(map(str, sizes[:-1])) + " or " if len(sizes) > 1 else ""
    return f"the mean of {several}{sizes[-1]} of {len(members)} models"


def _values_in(specs: "list[ModelSpec]") -> str:
    """List the values of each hyperparameter in a family, one hyperparameter a line."""
    values: dict[str, dict[Any, None]] = {name: {} for name in specs[0].family.grid}
    for spec in specs:
        for name, value in (*spec.params, ("scaling", spec.scaling)):
            values.setdefault(name, {})[value] = None
    if list(values["scaling"]) == ["zscore"]:
        del values["scaling"]  # the default is not part of a model's id
    lines = []
    for name, found in values.items():
        is_number = all(isinstance(value, int | float) for value in found)
        lines.append(f"{name}: {', '.join(map(str, sorted(found) if is_number else found))}")
    return "\n".join(lines)


def info(pick: SavedPick = None, *, learner: Learner = "default", json: Json = False) -> None:
    """Show the learner, its training data and measured quality, and library versions.

    Of a saved pick: its models, and what it has learned from.
    """
    from metaod.artifacts import library_versions
    from metaod.history import find_artifact

    if pick is not None:
        if learner != "default":
            raise BadParameter("metaod info", "--learner", "left out with a saved pick", learner)
        _print_pick(pick, json=json)
        return
    with ProgressLine("reading the learner"):
        artifact = find_artifact(learner)
    data, versions = _learner_as_data(artifact), library_versions()
    if json:
        print_json({"versions": versions, "learner": data})
        return
    out = console()
    out.print(visible(artifact.learner.summary))
    given = (f"{name}={visible(str(value))}" for name, value in data["parameters"].items())
    print_facts(*training_facts(artifact).items(), ("parameters", "\n".join(given) or "-"))
    found = data["figures"]
    figures = [(t, f"{found[name]:.4g}") for name, t in _FIGURE_TITLES.items() if name in found]
    if figures:
        out.print(grid("measured on datasets of unseen origins", "", right=("",), rows=figures))
    rows = ((name, here, data["versions"].get(name, "-")) for name, here in versions.items())
    out.print(grid("versions", "here", "when trained", rows=rows))


def _print_pick(path: str, *, json: bool) -> None:
    model = load_pick(path)
    own = {"models": model.fitted_.weights, "threshold": model.threshold_}
    if json:
        print_json({"pick": path, **own, "history": history_document(model.history_)})
        return
    print_pick(console(), tuple(model.fitted_.weights), "saved pick", verbose=True)
    print_history(model.history_)


def training_facts(artifact: "Artifact") -> dict[str, str]:
    """Say what a learner has learned from, and what it picks from."""
    from metaod.models import member_ids

    learner = artifact.learner
    schemas = ", ".join(f"{name} (version {number})" for name, number in artifact.schemas.items())
    datasets = counted(len(artifact.datasets), "labelled dataset")
    models = [len(member_ids(name)) for name in learner.models_]
    return {
        "learner": f"{learner.name} ({learner.title})",
        "trained on": f"{datasets} of {counted(artifact.n_origins, 'origin')}",
        "picks from": _counted(sum(n > 1 for n in models), len(models)),
        "measure": artifact.measure or "-",
        "meta-features": f"{len(learner.features_)}: {schemas or 'no schema'}",
    }


def _learner_as_data(artifact: "Artifact") -> dict[str, Any]:
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
