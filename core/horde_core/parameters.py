"""Readers of the request's own keys whose values are more than one plain scalar (section 3)."""

from typing import Any, Final

from horde_core import faults
from horde_core.legal_text import require_text
from horde_core.scalars import Hook, full_text, full_texts, optional_boolean, whole_number

LEAST_TOKENS: Final = 16
MOST_TOKENS: Final = 16_384
MOST_MODELS: Final = 5
MOST_STOPS: Final = 4
MOST_REPLIES: Final = 20
EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")


def token_limit(path: str) -> Hook:
    """OpenAI refuses what is below 1; the Horde's own floor is 16 (first seed, "Deviations")."""

    def read(value: Any, _: Any) -> int:
        number = whole_number(value, path)
        if number < LEAST_TOKENS:
            least = 1 if number < 1 else LEAST_TOKENS
            raise faults.out_of_range(path, "integer", number, least=least, most=None)
        if number > MOST_TOKENS:
            raise faults.above_model_limit(path, number, MOST_TOKENS)
        return number

    return read


def read_model(value: Any, _: Any) -> str | None:
    """An empty id is as good as none, for clients that can't leave `model` out beside `models`."""
    if not isinstance(value, str):
        raise faults.wrong_type("model", "a string", value)
    return require_text(value, "model") or None


def read_models(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise faults.wrong_type("models", "an array of strings", value)
    if not value:
        raise faults.empty_array("models")
    if len(value) > MOST_MODELS:
        raise faults.long_array("models", value, MOST_MODELS)
    models = full_texts(value, "models")
    if len(set(models)) < len(models):
        raise faults.repeated("models", next(m for m in models if models.count(m) > 1))
    return models


def read_stop(value: Any, _: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (full_text(value, "stop"),)
    if not isinstance(value, list):
        raise faults.wrong_type("stop", "one of a string or array of strings", value)
    if len(value) > MOST_STOPS:
        raise faults.long_array("stop", value, MOST_STOPS)
    return full_texts(value, "stop")


def read_user(value: Any, _: Any) -> None:
    """Dropped, so only its type is looked at."""
    if not isinstance(value, str):
        raise faults.wrong_type("user", "a string", value)


def read_effort(value: Any, _: Any) -> str:
    path = "reasoning_effort"
    if not isinstance(value, str):
        raise faults.wrong_type(path, f"one of {faults.listed(EFFORTS, 'or')}", value)
    if value not in EFFORTS:
        raise faults.unsupported_value(path, value, EFFORTS, code=faults.BAD_REQUEST)
    return value


def read_stream_options(value: Any, _: Any) -> bool:
    """Whether usage is asked for; OpenAI's other member pads chunks, which the front doesn't."""
    path = "stream_options"
    if not isinstance(value, dict):
        raise faults.wrong_type(path, "an object", value)
    for key in value:
        if key not in ("include_usage", "include_obfuscation"):
            raise faults.unknown(key, ("include_usage",), value, path)
    padding = value.get("include_obfuscation")
    if not (padding is None or padding is False):
        raise faults.unsupported_parameter(
            f"{path}.include_obfuscation", "Leave it out or send false."
        )
    return optional_boolean(value, "include_usage", path) is True
