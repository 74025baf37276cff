"""What a planned fault does to a call of the Horde: before its work, or to its answer."""

from typing import Any, Final

import attrs
import orjson

from horde_simulator.call import Answer
from horde_simulator.faults import option
from horde_simulator.scenario import FaultSpec

_JSON: Final = (("content-type", "application/json"),)
_HTML: Final = (("content-type", "text/html"),)
_PAGE: Final = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    b"<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
)
# Kinds whose call does its work in spite of the fault; of the others only with `effect`.
_WORKING: Final = frozenset({"truncated_json", "wrong_json", "slow", "cut_after"})


def kind_of(fault: FaultSpec) -> str:
    """The kind of a call's fault: what follows the call's name."""
    return fault.where.partition(".")[2]


def works(fault: FaultSpec) -> bool:
    """Whether the call does its work all the same."""
    kind = kind_of(fault)
    return kind in _WORKING or (kind in ("error_500", "html_502") and bool(option(fault, "effect")))


def delivered(fault: FaultSpec) -> bool:
    """Whether the caller learns what the call did."""
    return kind_of(fault) == "slow"


def distorted(fault: FaultSpec, answer: Answer) -> Answer:
    """The answer that the caller gets; `answer` is what the call's work came to, if it worked."""
    kind = kind_of(fault)
    if kind == "slow":
        return attrs.evolve(answer, delay=float(option(fault, "seconds")))
    if kind in ("cut_before", "cut_after"):
        return attrs.evolve(answer, cut=int(option(fault, "bytes")))
    if kind == "truncated_json":
        left = option(fault, "bytes")
        body = answer.body[: len(answer.body) // 2 if left is None else int(left)]
        return attrs.evolve(answer, body=body)
    if kind == "wrong_json":
        return attrs.evolve(answer, body=b'["this", "is", "not", "what", "you", "expect"]')
    if kind == "html_502":
        return Answer(502, _HTML, _PAGE)
    if kind == "error_500":
        return _error(500, "Internal Server Error", None)
    if kind == "maintenance":
        return _error(400, "The Horde is in maintenance mode.", "MaintenanceMode")
    if kind == "key_revoked":
        return _error(401, "No user matching sent API Key.", "InvalidAPIKey")
    rc = str(option(fault, "rc")) if kind == "rate_limited_with_rc" else None
    answer = _error(429, "2 per 1 second" if rc is None else "Slow down.", rc)
    retry = ("retry-after", f"{float(option(fault, 'seconds')):g}")
    return attrs.evolve(answer, headers=(*answer.headers, retry))


def _error(status: int, message: str, rc: str | None) -> Answer:
    body = {"message": message} if rc is None else {"message": message, "rc": rc}
    return Answer(status, _JSON, orjson.dumps(body))


def age(fault: FaultSpec) -> float:
    """How many seconds old a stale answer is."""
    return float(option(fault, "seconds"))


def without_fields(fault: FaultSpec, body: dict[str, Any]) -> dict[str, Any]:
    """A status body without the fields that the fault names."""
    gone = option(fault, "fields")
    return {name: value for name, value in body.items() if name not in gone}
