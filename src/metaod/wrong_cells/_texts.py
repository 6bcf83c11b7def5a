"""Evidence on texts: how rare a value, its spelling, its pattern and its words are."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from metaod.wrong_cells._columns import Column, Values

_LONGEST = 40  # characters of a text that is compared with texts one edit away
_MOST_COMPARED = 20_000  # distinct texts
_SHORTEST_WORD = 4
_SIMILAR = 0.5  # of the count of the most frequent text: others may as well be meant
LOOKALIKES = str.maketrans({"O": "0", "o": "0", "l": "1", "I": "1", "S": "5", "B": "8"})
"""Letters that are taken for digits."""

_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d")
_FREQUENT = 0.02  # share of a value whose letters are usual
_CHARACTERS = 64  # of a text whose letters are examined


def spellings(column: Column) -> tuple[dict[str, Values], dict[int, str]]:
    """Return evidence on the distinct texts of a column, and better spellings of some.

    A better spelling is empty if several texts may be meant.
    """
    texts: list[str] = column.distinct.tolist()
    counts = column.counts.astype(np.float64)
    total = max(counts.sum(), 1.0)
    better: dict[int, str] = {}
    near = _near_frequent(texts, counts, better)
    words, word_near = _words(texts, counts, better)
    folded = _folded(texts, counts, better)
    exact, coarse = _patterns(texts, counts)
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    usual = (lengths * counts).sum() / total
    spread = np.sqrt(((lengths - usual) ** 2 * counts).sum() / total)
    stripped = np.array([text != text.strip() or "  " in text for text in texts], dtype=np.float64)
    foreign = np.array([not text.isascii() for text in texts], dtype=np.float64)
    foreign *= 1 - (foreign @ counts) / total
    evidence = {
        "count": np.log(counts),
        "share": np.log(counts / total),
        "near frequent": near,
        "same folded": folded,
        "pattern": exact,
        "coarse pattern": coarse,
        "length": np.abs(lengths - usual) / max(spread, 0.5),
        "letters": _letters(texts, counts),
        "word": words,
        "near word": word_near,
        "blanks": stripped,
        "foreign": foreign,
    }
    return evidence, better


def _deletions(text: str) -> set[str]:
    """Return the text, and what is left if a letter is dropped: texts one edit apart share one."""
    return {text, *(text[:i] + text[i + 1 :] for i in range(len(text)))}


def is_one_edit(first: str, second: str) -> bool:
    """Whether one letter is dropped, added or replaced, or two neighbours are exchanged."""
    if first == second or abs(len(first) - len(second)) > 1:
        return False
    start = 0
    shortest = min(len(first), len(second))
    while start < shortest and first[start] == second[start]:
        start += 1
    a, b = first[start:], second[start:]
    return (
        a[1:] == b[1:]  # replaced
        or a[1:] == b
        or a == b[1:]
        or (len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:])
    )


def is_misspelling(first: str, second: str) -> bool:
    """Whether texts are one edit apart, and not by digits alone as numbered names are."""
    return is_one_edit(first, second) and _DIGITS.sub("", first) != _DIGITS.sub("", second)


def _look_alike(first: str, second: str) -> bool:
    return first.translate(LOOKALIKES) == second.translate(LOOKALIKES)


def near_frequent(
    texts: Sequence[str], counts: Values, places: Iterable[int]
) -> dict[int, list[int]]:
    """Return for some texts those that are probably meant: one edit away, and more frequent.

    The first one is the most frequent; the others are nearly as frequent. Texts that look alike
    come before all others.
    """
    chosen = list(places)
    fewest = min((counts[place] for place in chosen), default=0.0)
    index: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        if counts[place] > fewest and counts[place] > 1 and len(text) <= _LONGEST:
            for part in _deletions(text):
                index[part].append(place)
    found = {}
    for place in chosen:
        text = texts[place]
        near = {
            other
            for part in _deletions(text)
            for other in index.get(part, ())
            if counts[other] > counts[place] and is_misspelling(text, texts[other])
        }
        if near:
            alike = {other for other in near if _look_alike(text, texts[other])}
            meant = sorted(alike or near, key=lambda own: (counts[own], texts[own]), reverse=True)
            found[place] = [own for own in meant if counts[own] > _SIMILAR * counts[meant[0]]]
    return found


def _near_frequent(texts: list[str], counts: Values, better: dict[int, str]) -> Values:
    """Return how much more frequent a text one edit away is, as a logarithm."""
    ratio = np.zeros(len(texts))
    rare = counts <= max(3.0, 0.02 * counts.max(initial=0.0))
    places = [
        place
        for place in np.flatnonzero(rare).tolist()
        if 3 <= len(texts[place]) <= _LONGEST and not texts[place].isdigit()
    ]
    for place, others in near_frequent(texts, counts, places[:_MOST_COMPARED]).items():
        ratio[place] = np.log(counts[others[0]] / counts[place])
        better[place] = texts[others[0]] if len(others) == 1 else ""
    return ratio


def _words(texts: list[str], counts: Values, better: dict[int, str]) -> tuple[Values, Values]:
    """Return how rare the rarest word of a text is, and whether a frequent word is one edit away.

    The first is the logarithm of the other rows that have the word: those with other texts too.
    """
    rarest = np.full(len(texts), 9.0)
    near = np.zeros(len(texts))
    if len(texts) > _MOST_COMPARED:
        return rarest, near
    split = [list(dict.fromkeys(_WORD.findall(text.lower()))) for text in texts]
    uses: Counter[str] = Counter()
    for own, count in zip(split, counts.tolist(), strict=True):
        for word in own:
            uses[word] += count
    words = list(uses)
    n_uses = np.array([uses[word] for word in words])
    rare = [
        place
        for place, word in enumerate(words)
        if n_uses[place] <= 2 and len(word) >= _SHORTEST_WORD and not word.isdigit()
    ]
    corrected = near_frequent(words, n_uses, rare)
    fixes = {words[place]: [words[own] for own in others] for place, others in corrected.items()}
    for place, own in enumerate(split):
        fixed = texts[place]
        for word in own:
            rarest[place] = min(rarest[place], np.log(uses[word] - counts[place] + 1.0))
            if word in fixes and uses[word] <= 2 * counts[place]:
                near[place] = max(near[place], np.log(uses[fixes[word][0]] / uses[word]))
                fixed = _replaced(fixed, word, fixes[word][0]) if len(fixes[word]) == 1 else ""
        if fixed != texts[place]:
            better.setdefault(place, fixed)
    return rarest, near


def _replaced(text: str, word: str, by: str) -> str:
    """Replace a word, in the case that it has."""

    def own_case(match: "re.Match[str]") -> str:
        own = match.group()
        if own.isupper():
            return by.upper()
        return by.capitalize() if own[:1].isupper() else by

    pattern = rf"(?<![^\W_]){re.escape(word)}(?![^\W_])"
    return re.sub(pattern, own_case, text, count=1, flags=re.IGNORECASE)


def _folded(texts: list[str], counts: Values, better: dict[int, str]) -> Values:
    """Return how much more frequent the same text with other case, blanks or marks is."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        groups["".join(_WORD.findall(text.casefold()))].append(place)
    ratio = np.zeros(len(texts))
    for folded, places in groups.items():
        if len(places) < 2 or not folded:
            continue
        best = max(places, key=lambda place: (counts[place], texts[place]))
        for place in places:
            if counts[place] < counts[best]:
                ratio[place] = np.log(counts[best] / counts[place])
                better[place] = texts[best]
    return ratio


_UPPER, _LOWER = re.compile(r"[^\W\d_a-z]"), re.compile(r"[a-z]")
_UPPERS, _LOWERS, _NUMBERS = (re.compile(own) for own in (r"[^\W\d_a-z]+", r"[a-z]+", r"\d+"))
_RUNS = re.compile(r"(.)\1+")


def form_of(text: str) -> str:
    """Return the kinds of characters of a text, without their numbers.

    >>> form_of("AB-1234")
    'A-9'
    """
    return _LOWERS.sub("a", _UPPERS.sub("A", _NUMBERS.sub("9", text)))


def _patterns(texts: list[str], counts: Values) -> tuple[Values, Values]:
    """Return how rare the pattern of each text is: −log of the rows that share it.

    Letters and digits are replaced by their class; the coarse pattern has no lengths.
    """
    exact, coarse = [], []
    for text in texts:
        own = _DIGITS.sub("9", _LOWER.sub("a", _UPPER.sub("A", text[:_CHARACTERS])))
        exact.append(own)
        coarse.append(_RUNS.sub(r"\1", own.replace("A", "a")))
    return _rarity(exact, counts), _rarity(coarse, counts)


def _rarity(keys: list[str], counts: Values) -> Values:
    """Return −log of the share of other rows with the same key, next to how many keys there are."""
    codes, _ = pd.factorize(np.array(keys, dtype=object))
    weights = np.bincount(codes, weights=counts)
    total = weights.sum()
    entropy = float(-(weights / total * np.log(weights / total)).sum())
    return np.asarray(-np.log(weights[codes] / total) - entropy)


def _letters(texts: list[str], counts: Values) -> Values:
    """Return how rare the rarest three letters in a row are, in texts of other rows."""
    if not texts:
        return np.zeros(0)
    padded = [f"\x02{text[:_CHARACTERS].casefold()}\x03" for text in texts]
    lengths = np.array([len(text) for text in padded])
    letters = np.frombuffer("".join(padded).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    owner = np.repeat(np.arange(len(texts)), lengths)
    key = letters[:-2] * np.uint64(2**42) + letters[1:-1] * np.uint64(2**21) + letters[2:]
    inside = owner[:-2] == owner[2:]
    key, owner = key[inside], owner[:-2][inside]
    found = np.full(len(texts), 9.0)
    _, codes = np.unique(key, return_inverse=True)
    uses = np.bincount(codes, weights=counts[owner])
    others = np.maximum(uses[codes] - counts[owner], 0.0)
    np.minimum.at(found, owner, np.log1p(others))
    return np.where(counts > _FREQUENT * counts.sum(), 9.0, found)
