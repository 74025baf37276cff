"""What a simulated worker counts as tokens: words, single signs, and runs of space with them."""

import re

# A word longer than this (a link, a line of Thai) is several tokens, as in any real tokenizer.
_PIECE = re.compile(r"\s*(?:\w{1,8}|[^\w\s])|\s+")


def pieces(text: str) -> list[str]:
    """The tokens of a text; joined together they are the text again."""
    return _PIECE.findall(text)


def count(text: str) -> int:
    """How many tokens a text has."""
    return len(_PIECE.findall(text))


def cut(text: str, limit: int) -> str:
    """The first `limit` tokens of a text."""
    if limit <= 0:
        return ""
    end = 0
    for number, match in enumerate(_PIECE.finditer(text), start=1):
        if number > limit:
            return text[:end]
        end = match.end()
    return text
