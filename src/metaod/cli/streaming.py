"""How ``metaod detect`` scores a file that is read in chunks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaod.cli.options import picking_progress
from metaod.cli.progress import ProgressLine
from metaod.errors import UserError

if TYPE_CHECKING:
    from metaod.detection import Choice, Detection, MetaOD, StreamedDetection, Target


def is_streamed(
    file: str | None, stream: bool | None, marks: str | None, reading: Mapping[str, Any]
) -> bool:
    """Whether a file is read in chunks: if the user says so, or if it is large."""
    from metaod.tables import is_large

    if file is None or stream is False or not (stream or is_large(file)):
        return False
    for option, value in (("--marks", marks), ("--label", reading["label"])):
        if value is not None:
            what = f"{option} needs the whole table in memory, and the file is read in chunks"
            remedy = "leave it out, use a part of the file, or --no-stream if there is the memory"
            raise UserError(what, where=file, remedy=remedy)
    return True


@dataclass(frozen=True)
class ChunkedJob:
    """What to do with a file; `saved` is a pick to apply, `save` a file for a new one."""

    file: str
    reading: Mapping[str, Any]
    options: Mapping[str, Any]
    roles: Mapping[str, Any]
    share: Any
    top_n: int | None
    saved: "MetaOD | None"
    save: str | None

    def run(self, target: "Target", choice: "Choice") -> "tuple[Detection, tuple[str, ...]]":
        """Score the rows and write them; also return the names of the added columns."""
        from metaod.artifacts import check_target

        if self.save is not None:
            check_target(self.save)  # before anything that takes long
        found = self._score(target, choice)
        if self.save is not None and found.model is not None:
            found.model.save(self.save, reading=self.reading)
        return found, _write(found, target, choice)

    def _score(self, target: "Target", choice: "Choice") -> "StreamedDetection":
        from metaod.detection import check_stream_target, detect_stream, open_stream
        from metaod.tables import Roles

        given = {name: value for name, value in self.reading.items() if value is not None}
        with picking_progress(self.options["learner"]) as line:
            stream = open_stream(self.file, unused=Roles.of(self.roles).is_unused, **given)
            check_stream_target(target, stream.raw is not None, choice)
            if self.saved is not None:
                return detect_stream(stream, model=self.saved, top_n=self.top_n, progress=line.show)
            return detect_stream(
                stream,
                contamination=self.share,
                top_n=self.top_n,
                progress=line.show,
                **self.options,
            )


def _write(found: "StreamedDetection", target: "Target", choice: "Choice") -> tuple[str, ...]:
    from metaod.detection import write_streamed

    if not isinstance(target, Path):  # a line of progress would be among the rows on a terminal
        return () if target is None else write_streamed(found, target, choice)
    with ProgressLine("writing the table") as line:
        return write_streamed(found, target, choice, progress=line.show)
