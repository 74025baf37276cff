"""Texts that match a regular expression, for a schema's `pattern` (JSON Schema's common dialect).

Literals, classes, escapes, groups, alternatives and quantifiers; anchors are where they must be.
What goes beyond (look-arounds, back-references) raises, and whoever asks checks the text anyway.
"""

import string
from random import Random
from typing import Final

import attrs

_DIGITS: Final = string.digits
_WORD: Final = string.ascii_lowercase + string.digits
_ANY: Final = string.ascii_lowercase
_PRINTABLE: Final = "".join(map(chr, range(32, 127)))
_CLASSES: Final = {
    "d": _DIGITS,
    "w": _WORD,
    "s": " ",
    "D": _ANY,
    "W": "-. ",
    "S": _WORD,
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_MOST_REPEATS: Final = 6
"""How often an open-ended quantifier repeats beyond its minimum, at most."""
_DEEPEST: Final = 40
_MOST_ATOMS: Final = 20_000
"""Bounds on what one pattern may cost, such as `((a{999}){999}){999}`."""


class UnsupportedPattern(ValueError):  # noqa: N818 - says what the pattern is
    """The pattern has a construct that this writer doesn't know."""


@attrs.define
class _Writer:
    pattern: str
    random: Random
    more: int
    at: int = 0
    depth: int = 0
    written: int = 0

    def alternatives(self) -> str:
        """One branch of `a|b|c` up to a closing parenthesis or the end."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnsupportedPattern("groups nested too deep")
        branches = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.sequence())
        self.depth -= 1
        return self.random.choice(branches)

    def sequence(self) -> str:
        out: list[str] = []
        while (sign := self.peek()) and sign not in "|)":
            start = self.at
            first = self.atom()
            low, high = self.quantifier()
            repeats = self.random.randint(low, high)
            if repeats == 0:
                continue
            out.append(first)
            end = self.at
            for _ in range(repeats - 1):
                self.at = start
                out.append(self.atom())
            self.at = end
        return "".join(out)

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        sign = self.peek()
        if not sign:
            raise UnsupportedPattern("the pattern ends too early")
        self.at += 1
        return sign

    def atom(self) -> str:
        self.written += 1
        if self.written > _MOST_ATOMS:
            raise UnsupportedPattern("a text too long")
        sign = self.take()
        if sign in "^$":
            return ""
        if sign == ".":
            return self.random.choice(_ANY)
        if sign == "(":
            return self.group()
        if sign == "[":
            return self.random.choice(self.char_class())
        if sign == "\\":
            return self.escape()
        return sign

    def group(self) -> str:
        if self.peek() == "?":
            self.at += 1
            kind = self.take()
            if kind in "P<":
                self.name(kind)
            elif kind != ":":
                raise UnsupportedPattern("look-arounds and flags")
        text = self.alternatives()
        if self.take() != ")":
            raise UnsupportedPattern("a group isn't closed")
        return text

    def name(self, kind: str) -> None:
        if kind == "P" and self.take() != "<":
            raise UnsupportedPattern("back-references")
        if self.peek() in ("=", "!"):
            raise UnsupportedPattern("look-arounds")
        while self.take() != ">":
            pass

    def escape(self) -> str:
        sign = self.take()
        if sign in "bBAZz":
            return ""
        if sign in _CLASSES:
            return self.random.choice(_CLASSES[sign])
        if sign in "ux":
            return self.code_point(sign)
        if sign in "pPk" or (sign.isdigit() and sign != "0"):
            raise UnsupportedPattern("properties and back-references")
        return _ESCAPES.get(sign, sign)

    def code_point(self, kind: str) -> str:
        size = 4 if kind == "u" else 2
        digits = self.pattern[self.at : self.at + size]
        self.at += size
        try:
            return chr(int(digits, 16))
        except ValueError:
            raise UnsupportedPattern("an escape without its hex digits") from None

    def char_class(self) -> str:
        """The characters of `[…]`, those of a negated one out of printable ASCII."""
        negated = self.peek() == "^"
        self.at += negated
        signs: set[str] = set()
        first = True
        while (sign := self.take()) != "]" or first:
            first = False
            low = self.class_item(sign)
            if (
                len(low) == 1
                and self.peek() == "-"
                and self.pattern[self.at + 1 : self.at + 2] != "]"
            ):
                self.at += 1
                high = self.class_item(self.take())
                # A wide range is sampled at its start: one character is all that is needed.
                stop = min(ord(high), ord(low) + 400)
                signs.update(map(chr, range(ord(low), stop + 1)))
            else:
                signs.update(low)
        chosen = sorted(set(_PRINTABLE) - signs if negated else signs)
        if not chosen:
            raise UnsupportedPattern("a class without printable characters")
        readable = [sign for sign in chosen if sign in _WORD] if negated else chosen
        return "".join(readable or chosen)

    def class_item(self, sign: str) -> str:
        if sign != "\\":
            return sign
        sign = self.peek()
        if sign in _CLASSES and sign:
            self.at += 1
            return _CLASSES[sign] + (string.ascii_uppercase if sign in "wS" else "")
        if sign == "b":
            self.at += 1
            return "\b"
        return self.escape()

    def quantifier(self) -> tuple[int, int]:
        sign = self.peek()
        if sign == "{":
            low, high = self.bounds()
        elif sign in ("?", "*", "+"):
            self.at += 1
            low = 1 if sign == "+" else 0
            high = low + self.more if sign != "?" else min(1, self.more)
        else:
            return 1, 1
        if self.peek() == "?":
            self.at += 1
        return low, high

    def bounds(self) -> tuple[int, int]:
        """`{n}`, `{n,}` or `{n,m}`."""
        close = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at + 1 : close].partition(",")
        if close < 0 or not low.isdecimal() or not (high.isdecimal() or high == ""):
            raise UnsupportedPattern("a literal brace")
        self.at = close + 1
        least = int(low)
        if not comma:
            return least, least
        most = int(high) if high else least + self.more
        return least, max(least, min(most, least + self.more))


def text_matching(pattern: str, random: Random, more: int = _MOST_REPEATS) -> str:
    """A text that the pattern matches as a whole.

    Args:
        more: how often a quantifier may repeat beyond its minimum: 0 gives the shortest texts.

    Raises:
        UnsupportedPattern: see the module.
    """
    writer = _Writer(pattern, random, more)
    text = writer.alternatives()
    if writer.at != len(pattern):
        raise UnsupportedPattern("an unbalanced parenthesis")
    return text
