"""The Horde's errors: each return code with its status, and the body it is answered with."""

from collections.abc import Mapping
from typing import Any, Final

# Contract, sections 1 to 4: the code and the status that goes with it.
STATUSES: Final[Mapping[str, int]] = {
    "InvalidAPIKey": 401,
    "MaintenanceMode": 400,
    "WorkerNotFound": 404,
    "UnknownModel": 404,
    "BadRequest": 400,
    "PromptExceedsContext": 400,
    "TooManyPrompts": 429,
    "KudosUpfront": 403,
    "SourceImageUrlInvalid": 400,
    "SourceImageSizeExceeded": 400,
    "SourceImageUnreadable": 400,
    "OperationKeyConflict": 409,
    "RequestNotFound": 404,
    "UserNotFound": 404,
    "ImageNotFound": 404,
    "NulByteInPayload": 400,
    "InvalidPromptEncoding": 400,
    "ChatProgressInvalid": 400,
    "ChatSubmitNonconformant": 400,
    "DuplicateGen": 400,
    "AbortedGen": 400,
    "InvalidJobID": 404,
    "WrongCredentials": 403,
}


class HordeError(Exception):
    """A refusal that a caller is answered with; nothing has changed.

    `body` is the whole answer: `{"message", "rc", …}`, without `rc` where the contract has none.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(body.get("message"))
        self.status = status
        self.body = dict(body)
        self.headers: tuple[tuple[str, str], ...] = ()


def refuse(rc: str, message: str, **figures: Any) -> HordeError:
    """The refusal of one return code; `figures` are further keys of its body."""
    return HordeError(STATUSES[rc], {"message": message, "rc": rc, **figures})


def invalid_payload(errors: Mapping[str, str]) -> HordeError:
    """What a body that breaks the schema is answered: a text for each path, and no `rc`."""
    return HordeError(400, {"message": "Input payload validation failed", "errors": dict(errors)})


def no_such_route(path: str) -> HordeError:
    """The answer to a path that the Horde doesn't have."""
    return HordeError(404, {"message": f"The requested URL {path} was not found on the server."})


def wrong_method(allowed: tuple[str, ...]) -> HordeError:
    """The answer to a known path with another method."""
    error = HordeError(405, {"message": "The method is not allowed for the requested URL."})
    error.headers = (("allow", ", ".join(allowed)),)
    return error
