"""OpenAI's sentences about a bad request, each with the code that the front gives it.

OpenAI's typed validator builds its messages from a small grammar (measured against its API); one
function here is one template of it.  `path` is the fault's place as the client wrote it, such as
`messages[2].role`, and is also the refusal's `param`.
"""

from collections.abc import Iterable, Sequence

from horde_core.errors import Refusal, refuse

BAD_REQUEST = "BadRequest"
UNSUPPORTED = "UnsupportedChatParameter"
CONFLICT = "ChatRequestConflict"

_LONGEST_ECHO = 256
"""Characters of a client's own text that an error repeats: an answer must not grow with a key."""

_SUGGESTIONS = 2
_NEAR = 2
"""OpenAI suggests up to two keys within two edits (measured)."""


def shown(text: str) -> str:
    """A client's text as an error repeats it: long ones lose their middle, as at OpenAI."""
    if len(text) <= _LONGEST_ECHO:
        return text
    half = _LONGEST_ECHO // 2
    return f"{text[:half]}...{text[-half:]}"


def listed(words: Iterable[str], conjunction: str = "and") -> str:
    """Quoted alternatives: `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return f" {conjunction} ".join(quoted)
    return f"{', '.join(quoted[:-1])}, {conjunction} {quoted[-1]}"


def kind(value: object) -> str:
    """What JSON calls a value, with its article. A boolean is never a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, float):
        return "a decimal number"
    return "an array" if isinstance(value, list | tuple) else "an object"


def wrong_type(path: str, expected: str, value: object) -> Refusal:
    return refuse(
        BAD_REQUEST,
        f"Invalid type for '{path}': expected {expected}, but got {kind(value)} instead.",
        path,
    )


def missing(path: str) -> Refusal:
    return refuse(BAD_REQUEST, f"Missing required parameter: '{path}'.", path)


def unknown(key: str, known: Iterable[str], present: Iterable[str], parent: str = "") -> Refusal:
    """An unknown key of the object at `parent` (the body itself by default).

    Keys of `known` that are spelled alike are suggested, unless the object has them already.
    """
    path = shown(f"{parent}.{key}" if parent else key)
    taken = set(present)
    near = suggestions(key, (word for word in known if word not in taken))
    hint = f" Did you mean {listed(near, 'or')}?" if near else ""
    return refuse(UNSUPPORTED, f"Unknown parameter: '{path}'.{hint}", path)


def unsupported_parameter(key: str, instead: str = "") -> Refusal:
    """A key that OpenAI knows and the AI Horde has no equal to."""
    hint = f" {instead}" if instead else ""
    return refuse(
        UNSUPPORTED, f"Unsupported parameter: '{key}' is not supported by the AI Horde.{hint}", key
    )


def bad_value(path: str, value: str, supported: Sequence[str], param: str | None = None) -> Refusal:
    return refuse(
        UNSUPPORTED,
        f"Invalid value: '{shown(value)}'. Supported values are: {listed(supported)}.",
        path if param is None else param,
    )


def unsupported_value(
    path: str, value: str, supported: Sequence[str] = (), *, code: str = UNSUPPORTED
) -> Refusal:
    """OpenAI's sentence for a value that it knows, but not with this model."""
    choices = f" Supported values are: {listed(supported)}." if supported else ""
    return refuse(
        code,
        f"Unsupported value: '{path}' does not support '{shown(value)}' with this model.{choices}",
        path,
    )


def out_of_range(path: str, number: str, value: float, *, least: int, most: int | None) -> Refusal:
    """`number` is `integer` or `decimal`; `most` is None where there is no upper bound."""
    if most is None or value < least:
        which, bound = "below minimum", f">= {least}"
    else:
        which, bound = "above maximum", f"<= {most}"
    return refuse(
        UNSUPPORTED,
        f"Invalid '{path}': {number} {which} value. "
        f"Expected a value {bound}, but got {shown(repr(value))} instead.",
        path,
    )


def empty_string(path: str) -> Refusal:
    return refuse(
        UNSUPPORTED,
        f"Invalid '{path}': empty string. "
        "Expected a string with minimum length 1, but got an empty string instead.",
        path,
    )


def long_string(path: str, value: str, most: int) -> Refusal:
    return refuse(
        UNSUPPORTED,
        f"Invalid '{path}': string too long. Expected a string with maximum length {most}, "
        f"but got a string with length {len(value)} instead.",
        path,
    )


def off_pattern(path: str, pattern: str) -> Refusal:
    return refuse(
        UNSUPPORTED,
        f"Invalid '{path}': string does not match pattern. "
        f"Expected a string that matches the pattern '{pattern}'.",
        path,
    )


def empty_array(path: str, code: str = UNSUPPORTED) -> Refusal:
    return refuse(
        code,
        f"Invalid '{path}': empty array. "
        "Expected an array with minimum length 1, but got an empty array instead.",
        path,
    )


def long_array(path: str, value: Sequence[object], most: int) -> Refusal:
    return refuse(
        UNSUPPORTED,
        f"Invalid '{path}': array too long. Expected an array with maximum length {most}, "
        f"but got an array with length {len(value)} instead.",
        path,
    )


def suggestions(word: str, known: Iterable[str]) -> list[str]:
    """Up to two of `known` within two edits of `word`, nearest first.

    A word that would have to be replaced whole is no suggestion: `x` is not a misspelt `n`.
    """
    ranked = []
    for candidate in known:
        if abs(len(candidate) - len(word)) > _NEAR:
            continue
        distance = edit_distance(word, candidate)
        if distance <= _NEAR and distance < max(len(word), len(candidate)):
            ranked.append((distance, candidate))
    return [candidate for _, candidate in sorted(ranked)[:_SUGGESTIONS]]


def edit_distance(left: str, right: str) -> int:
    """Insertions, deletions and substitutions between two words (Levenshtein)."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def repeated(path: str, value: str) -> Refusal:
    """One value twice in an array of different ones."""
    return refuse(UNSUPPORTED, f"Invalid '{path}': '{shown(value)}' occurs more than once.", path)


def above_model_limit(path: str, value: int, most: int) -> Refusal:
    """OpenAI's sentence for a token limit above the model's (measured)."""
    asked = shown(repr(value))
    return refuse(
        UNSUPPORTED,
        f"{path} is too large: {asked}. This model supports at most {most} completion tokens, "
        f"whereas you provided {asked}.",
        path,
    )


def no_such_model(model: str, param: str) -> Refusal:
    """`param` is `model`, or the entry of `models`."""
    return refuse(
        "model_not_found",
        f"The model `{shown(model)}` does not exist or you do not have access to it.",
        param,
    )
