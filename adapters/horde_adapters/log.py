"""What an operator reads on stderr: one line a request, and faults of the front.

Never a key, a prompt or a reply: a fault is logged as its type and where it arose, since an
exception's own text may quote any of them.
"""

import logging
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

LOGGER = logging.getLogger("horde_front")


def log_to_stderr(form: str = "console", level: str = "info") -> None:
    """Sends the front's log lines, and nothing of other libraries, to stderr.

    `form` is `console` or `json`, `level` the least that is logged.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(form_of(form))
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False


def form_of(form: str) -> logging.Formatter:
    """How lines are written: `console` or `json`."""
    return _Json() if form == "json" else _Console()


def line(what: str, **fields: object) -> None:
    """Logs what happened with its fields; those that are None are left out."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info(what, extra={"fields": fields})


def fault(where: str, error: BaseException, **fields: object) -> None:
    """Logs a fault of the front itself."""
    places = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    found = {"error": type(error).__name__, **fields, "at": " < ".join(places[::-1])}
    LOGGER.error(where, extra={"fields": found})


class _Console(logging.Formatter):
    """`time LEVEL what key=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        pairs = [f"{name}={_shown(value)}" for name, value in _fields(record).items()]
        return " ".join([_time(record), record.levelname, record.getMessage(), *pairs])


class _Json(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        document = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **{name: _plain(value) for name, value in _fields(record).items()},
        }
        return orjson.dumps(document).decode()


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = getattr(record, "fields", {})
    return {name: value for name, value in fields.items() if value is not None}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _plain(value: object) -> object:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, bool | int):
        return value
    return str(value).encode("utf-8", "replace").decode()


def _shown(value: object) -> str:
    """A worker's name is a stranger's text: it can't forge a field or a line."""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if text.isprintable() and not set(text) & set(' "=') else ascii(text)
