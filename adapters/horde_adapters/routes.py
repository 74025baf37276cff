"""Paths and methods: which route a request means, or why there is none (contract section 1)."""

from enum import Enum
from urllib.parse import urlsplit

from horde_core.errors import Refusal, refuse


class Route(Enum):
    """What the front serves."""

    ROOT = "/"
    HEALTH = "/healthz"
    READY = "/readyz"
    METRICS = "/metrics"
    CHAT = "/chat/completions"
    MODELS = "/models"
    MODEL = "/models/{id}"


_BY_PATH = {route.value: route for route in Route if route is not Route.MODEL}
_UNVERSIONED = (Route.ROOT, Route.HEALTH, Route.READY, Route.METRICS)
_READABLE = ("GET", "HEAD")


def find_route(method: str, path: str, *, metrics: bool = True) -> tuple[Route, str | None]:
    """The route, and the model's id for `MODEL`. `path` is percent-decoded.

    Without `metrics` there is no such route. Raises `not_found`, or `method_not_allowed` with
    `Allow`.
    """
    route, model = _locate(path)
    if route is Route.METRICS and not metrics:
        raise _not_found(path)
    allowed = ("POST",) if route is Route.CHAT else _READABLE
    if method not in allowed:
        names = ", ".join((*allowed, "OPTIONS"))
        raise refuse(
            "method_not_allowed",
            f"Not allowed to {method[:20]} on {_shown(path)}: it takes {names}.",
            headers=((b"allow", names.encode()),),
        )
    return route, model


def _locate(path: str) -> tuple[Route, str | None]:
    place = path
    if place.startswith(("http://", "https://")):  # the absolute form, RFC 9112 3.2.2
        place = urlsplit(place).path
    if len(place) > 1:
        place = place.removesuffix("/") or "/"
    versioned = place.startswith("/v1/")
    if versioned:
        place = place.removeprefix("/v1")
    route = _BY_PATH.get(place)
    if route is not None and not (versioned and route in _UNVERSIONED):
        return route, None
    model = place.removeprefix("/models/")
    if model and model != place:
        return Route.MODEL, model
    raise _not_found(path)


def _not_found(path: str) -> Refusal:
    return refuse("not_found", f"Unknown path {_shown(path)}: try /v1/chat/completions.")


def _shown(path: str) -> str:
    return path if len(path) <= 100 else f"{path[:100]}…"
