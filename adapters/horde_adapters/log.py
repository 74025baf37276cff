"""What an operator reads on stderr: one line a request, and faults of the front.

Never a key, a prompt or a reply: a fault is logged as its type and where it arose, since an
exception's own text may quote any of them.
"""

import logging
import sys
import traceback

LOGGER = logging.getLogger("horde_front")


def log_to_stderr(level: int = logging.INFO) -> None:
    """Sends the front's log lines, and nothing of other libraries, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(level)
    LOGGER.propagate = False


def line(what: str, **fields: object) -> None:
    """Logs `what key=value …`; fields that are None are left out."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info("%s", " ".join([what, *_pairs(fields)]))


def fault(where: str, error: BaseException, **fields: object) -> None:
    """Logs a fault of the front itself."""
    places = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    LOGGER.error(
        "%s",
        " ".join([where, type(error).__name__, *_pairs(fields), "at", " < ".join(places[::-1])]),
    )


def _pairs(fields: dict[str, object]) -> list[str]:
    return [f"{name}={_shown(value)}" for name, value in fields.items() if value is not None]


def _shown(value: object) -> str:
    """A worker's name is a stranger's text: it can't forge a field or a line."""
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value)
    return text if text.isprintable() and " " not in text and '"' not in text else ascii(text)
