"""Trained state that the package ships: a dataclass of forests and names, in a file of its own."""

from functools import cache
from importlib.resources import as_file, files
from os import PathLike
from typing import ClassVar, Self

from metaod._state import decode, encode
from metaod.artifacts._container import BadArtifact, read_container, write_container


class Trained:
    """Base of dataclasses that are trained by research and shipped in a room of the package.

    Parameters
    ----------
    kind : str
        What the file holds, as `KINDS` names it, and the ending of the shipped file.
    room : str
        The package with the shipped file.
    """

    kind: ClassVar[str]
    room: ClassVar[str]

    def write(self, path: "str | PathLike[str]") -> None:
        """Write to a file, or replace it."""
        write_container(path, self.kind, encode(self))

    @classmethod
    def read(cls, path: "str | PathLike[str]") -> Self:
        """Read a file; BadArtifact if it is damaged or of another version."""
        content = read_container(path, cls.kind)
        try:
            found: Self = decode(cls, content, cls.kind)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise BadArtifact(path, f"is damaged ({error})", remedy="train it again") from error
        return found

    @classmethod
    @cache
    def shipped(cls) -> Self:
        """Read the one that is part of the package."""
        with as_file(files(cls.room).joinpath(f"shipped.{cls.kind}")) as path:
            return cls.read(path)
