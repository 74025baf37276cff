"""What a value is likely to be, from the name it goes by and from what was said."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import attrs


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PLACE: Final = re.compile(
    r"\b(?P<how>[Ii]n|[Aa]t|[Ff]or|[Tt]o|[Ff]rom|[Nn]ear|[Oo]f|and|or|,)\s+"
    r"(?P<place>[A-ZÀ-ÖØ-Þ][\w'’.-]*(?:\s+[A-ZÀ-ÖØ-Þ][\w'’-]*)*)"
)
_LETTERS: Final = re.compile(r"[^\W_]+")
_NUMBER: Final = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
_QUOTED: Final = re.compile(r"[\"“«]([^\"”»]{1,200})[\"”»]|(?<!\w)'([^']{1,200})'(?!\w)")
_PERSON: Final = re.compile(
    r"\b(?:name is|named|called|I am|I'm|by)\s+([A-Z][\w'-]*(?:\s+[A-Z][\w'-]*)*)"
    r"|\b([A-Z][a-z]+\s+[A-Z][a-z]+)\b|^([A-Z][a-z]+)(?=\s+(?:is|was|has)\b)"
)
_SUM: Final = re.compile(r"[-+(]?\s*\d[\d\s.+*/^()×÷-]*[\d)]")
_FOUND_AS: Final = (
    (
        ("email", "mail", "to", "recipient", "cc", "address"),
        re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ),
    (("uri", "url", "link", "website"), re.compile(r"https?://[^\s\"'<>]+")),
    (("date", "day", "start", "end", "when"), re.compile(r"\b\d{4}-\d{2}-\d{2}\b")),
    (("time", "hour"), re.compile(r"\b\d{1,2}:\d{2}\b")),
    (("path", "file", "filename"), re.compile(r"(?<!\S)[~.]?[\w/-]*[/.][\w./-]*\w")),
)
_SAID_WHOLE: Final = _set_of(
    "query question q search text message prompt input content body request sentence"
)
_PLACE_NAMES: Final = _set_of(
    "city location place town where region country address area destination origin to from "
    "departure arrival"
)
_PERSON_NAMES: Final = _set_of("name person author user customer recipient owner who")
_INVENTED: Final[dict[str, Sequence[str]]] = {
    "city": ("Lisbon", "Hamburg", "Kyoto", "Valparaíso", "Tartu"),
    "country": ("Portugal", "Germany", "Japan", "Chile", "Estonia"),
    "name": ("Ada Okafor", "Jonas Lindqvist", "Mei Tanaka", "Rosa Delgado", "Ilja Petrov"),
    "email": ("ada@example.org", "jonas@example.com", "mei@example.net"),
    "url": ("https://example.org/harbour", "https://example.com/garden"),
    "phone": ("+49 40 5550123", "+351 21 5550147"),
    "date": ("2025-03-14", "2025-09-01", "2026-01-20"),
    "time": ("08:30", "12:00", "19:45"),
    "language": ("English", "Portuguese", "Japanese", "Finnish"),
    "currency": ("EUR", "USD", "JPY"),
    "colour": ("teal", "amber", "crimson", "olive"),
    "color": ("teal", "amber", "crimson", "olive"),
    "title": ("The Lighthouse Log", "Bread and Patience", "A Map of Lake Meadow"),
    "description": ("A quiet place by the water.", "Made by hand, in small numbers."),
    "summary": ("It went well, slowly at first.", "Three points, and one of them is new."),
    "reason": ("It fits what was asked for.", "The other choices were further away."),
    "tag": ("quiet", "handmade", "coastal", "early"),
    "id": ("a7f3", "k2m9", "x51c"),
    "status": ("open", "done", "waiting"),
    "key": ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"),
}
_THINGS: Final = ("lantern", "harbour", "orchard", "compass", "meadow", "teapot", "ferry", "clock")
_RANGES: Final[dict[str, tuple[float, float]]] = {
    "age": (18, 80),
    "year": (1990, 2026),
    "month": (1, 12),
    "day": (1, 28),
    "days": (1, 7),
    "hour": (0, 23),
    "minutes": (5, 90),
    "price": (5, 200),
    "cost": (5, 200),
    "amount": (5, 200),
    "count": (1, 10),
    "quantity": (1, 10),
    "limit": (1, 10),
    "temperature": (-5, 35),
    "percent": (0, 100),
    "rating": (1, 5),
    "score": (0, 10),
    "confidence": (0, 1),
    "probability": (0, 1),
    "latitude": (-60, 70),
    "longitude": (-180, 180),
}


def words_of(name: str) -> list[str]:
    """The lower-case words of a name: `maxResults`, `max_results` and `max-results` alike."""
    return (
        re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
        .replace("_", " ")
        .replace("-", " ")
        .lower()
        .split()
    )


@attrs.define(eq=False)
class Plausible:
    """Values suggested by a conversation. Numbers and places said are used up in their order."""

    said: str
    _numbers: list[float] = attrs.field(init=False)
    _places: list[tuple[str, str]] = attrs.field(init=False)
    _quotes: list[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        heard = self.said[:4000]
        self._numbers = [float(found) for found in _NUMBER.findall(heard)]
        self._places = [
            (found["how"].lower(), found["place"].rstrip(".")) for found in _PLACE.finditer(heard)
        ]
        self._quotes = [first or second for first, second in _QUOTED.findall(heard)]

    def mentioned(self, values: Sequence[Any]) -> Any:
        """The first of the values whose words were said; None when none was."""
        heard = f" {' '.join(_LETTERS.findall(self.said.lower()))} "
        for value in values:
            if isinstance(value, str) and value and f" {' '.join(words_of(value))} " in heard:
                return value
        return None

    def of_format(self, kind: str) -> str | None:
        """What was said in the form of a JSON schema's `format`, such as a date; None without."""
        return next(
            (
                found[0]
                for names, pattern in _FOUND_AS
                if kind == names[0] and (found := pattern.search(self.said))
            ),
            None,
        )

    def text(self, name: str, description: str, random: Random) -> str:
        """A text for what goes by this name: what was said about it, else something invented."""
        words = words_of(name)
        said = self._said_about(words)
        if said is not None:
            return said
        for word in reversed(words):
            for key in (word, word.removesuffix("s")):
                if key in _INVENTED:
                    return random.choice(_INVENTED[key])
        told = set(re.findall(r"[a-z]+", description.lower()))
        if told & {"city", "location", "place"}:
            return self._place(words) or random.choice(_INVENTED["city"])
        if self._quotes:
            return self._quotes.pop(0)
        if told & {"query", "question", "search"} and self.said:
            return self.said.strip()
        return random.choice(_THINGS)

    def number(self, name: str, description: str, random: Random) -> float:
        """A number for what goes by this name: the next one said, else one that suits the name."""
        if self._numbers:
            return self._numbers.pop(0)
        for word in (*reversed(words_of(name)), *words_of(description)):
            if word in _RANGES:
                low, high = _RANGES[word]
                return (
                    random.uniform(low, high)
                    if high <= 1
                    else float(random.randint(int(low), int(high)))
                )
        return float(random.randint(1, 100))

    def _said_about(self, words: Sequence[str]) -> str | None:
        for names, pattern in _FOUND_AS:
            if not set(words).isdisjoint(names) and (found := pattern.search(self.said)):
                return found[0]
        if not _PLACE_NAMES.isdisjoint(words):
            return self._place(words)
        if not _PERSON_NAMES.isdisjoint(words) and (found := _PERSON.search(self.said)):
            return str(next(filter(None, found.groups())))
        if "expression" in words or "formula" in words:
            found = _SUM.search(self.said)
            return found[0].strip() if found else None
        if not _SAID_WHOLE.isdisjoint(words) and self.said.strip():
            return self._quotes.pop(0) if self._quotes else self.said.strip()[:500]
        return None

    def _place(self, words: Sequence[str]) -> str | None:
        """The next place said; `from` and `to` find theirs wherever it stands."""
        for how, names in (
            ("from", ("from", "origin", "departure")),
            ("to", ("to", "destination", "arrival")),
        ):
            if not set(words).isdisjoint(names):
                for place in self._places:
                    if place[0] == how:
                        self._places.remove(place)
                        return place[1]
        return self._places.pop(0)[1] if self._places else None
