"""A line for who waits: long silences look like a program that hangs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

__all__ = ["not_silent", "tell"]

_PATIENCE = 3.0
"""Seconds without a word after which one is said."""


def tell(text: str) -> None:
    """Write a line to standard error, which is for people and not for pipes."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - what it is for


@contextmanager
def not_silent(text: str) -> Iterator[None]:
    """Say what is going on where it takes longer than a few seconds; on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(_PATIENCE, tell, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
