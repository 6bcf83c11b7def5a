"""The user's text as a page can show it: control characters visible, long texts cut."""

import re

# C0 and C1 controls, marks that change the direction of text, surrogates and non-characters: a
# page would drop them, or let them change the text around them
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffc\ufffe\uffff]"
)


def shown(text: str, most: int, *, keep_end: bool = False) -> str:
    r"""Return text with invisible characters written out, at most so many characters.

    With `keep_end` a long text is cut in its middle: names of survey questions begin alike and
    differ at their ends.

    Examples
    --------
    >>> print(shown("a\x00b", 10), shown("a very long cell", 8))
    a\x00b a very …
    >>> shown("how satisfied are you with: price", 20, keep_end=True)
    'how satisfied… price'
    """
    if keep_end and len(text) > most:
        n_end = most // 3
        return shown(text, most - n_end) + shown(text[-n_end:], 10 * n_end)[-n_end:]
    clean = _INVISIBLE.sub(lambda found: repr(found[0])[1:-1], text[: most + 1])
    return clean if len(clean) <= most and len(text) <= most else f"{clean[: most - 1]}…"
