"""How ARFF writes values: quoted or bare, between commas or blanks, or by index."""

import re

__all__ = ["QUOTED", "split_sparse", "split_values", "unquoted"]

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# each: a quoted value, or a bare one, and what ends it
_BY_COMMAS = re.compile(rf"[ \t]*(?:({QUOTED})[ \t]*|((?:[^,'\"][^,]*)?))(,|$)")
_BY_BLANKS = re.compile(rf"(?:({QUOTED})|([^ \t'\"][^ \t]*))([ \t]+|$)")
_BY_INDEX = re.compile(rf"[ \t]*([0-9]{{1,9}})[ \t]+(?:({QUOTED})[ \t]*|([^ \t,'\"][^,]*))(,|$)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def split_values(text: str) -> list[tuple[str, bool]] | None:
    r"""Split values at commas, or at blanks where there is no comma.

    Returns each value and whether it was quoted; None where a quote is left open.

    Examples
    --------
    >>> split_values(r"1, 'it\'s', ?")
    [('1', False), ("it's", True), ('?', False)]
    """
    pattern = _BY_COMMAS if "," in text else _BY_BLANKS
    text = text.strip()
    values = []
    position, ended = 0, False
    while not ended:
        found = pattern.match(text, position)
        if found is None:
            return None
        quoted, bare, end = found.groups()
        values.append((bare.strip(), False) if quoted is None else (unquoted(quoted), True))
        position, ended = found.end(), not end
    return values


def split_sparse(text: str) -> list[tuple[int, str, bool]] | None:
    """Split a sparse row into indices, values and whether they were quoted; None if it is none.

    Examples
    --------
    >>> split_sparse("1 2.5, 3 'a, b'")
    [(1, '2.5', False), (3, 'a, b', True)]
    """
    entries = []
    position, ended = 0, not text.strip()
    while not ended:
        found = _BY_INDEX.match(text, position)
        if found is None:
            return None
        index, quoted, bare, end = found.groups()
        value, is_quoted = (bare.strip(), False) if quoted is None else (unquoted(quoted), True)
        entries.append((int(index), value, is_quoted))
        position, ended = found.end(), not end
    return entries


def unquoted(token: str) -> str:
    """Return what stands between quotes, or the token itself where there are none."""
    if len(token) < 2 or token[0] not in "'\"" or token[-1] != token[0]:
        return token
    return _ESCAPE.sub(_unescaped, token[1:-1])


def _unescaped(escape: re.Match[str]) -> str:
    letter = escape[1]
    if len(letter) > 1:
        code = int(letter[1:], 16)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)  # half of a pair is no text
    return _ESCAPED.get(letter, letter)
