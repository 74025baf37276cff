"""The Horde's routes: the paths and methods it knows, and what each call is named."""

from collections.abc import Mapping
from typing import Final

from horde_core import native
from horde_simulator.refusals import no_such_route, wrong_method

# Exact paths: by method the name of the call, by which limits, faults and handlers know it.
_PATHS: Final[Mapping[str, Mapping[str, str]]] = {
    native.SUBMIT: {"POST": "submit"},
    native.POP: {"POST": "pop"},
    native.PROGRESS: {"POST": "progress"},
    native.WORKER_SUBMIT: {"POST": "worker_submit"},
    native.WORKERS: {"GET": "workers"},
    native.MODELS: {"GET": "models"},
    native.FIND_USER: {"GET": "find_user"},
    native.HEARTBEAT: {"GET": "heartbeat"},
    native.PERFORMANCE: {"GET": "performance"},
}
# Paths whose last part is a subject; a model's name may have slashes.
_SUBJECTS: Final[tuple[tuple[str, Mapping[str, str]], ...]] = (
    (f"{native.STATUS}/", {"GET": "status", "DELETE": "cancel"}),
    (f"{native.IMAGE}/", {"GET": "image"}),
    (f"{native.MODELS}/", {"GET": "model"}),
)


def route(method: str, path: str) -> tuple[str, str]:
    """The name of a call and its subject ("" for a path without one).

    Raises:
        HordeError: 404 for an unknown path, 405 for another method.
    """
    methods = _PATHS.get(path)
    subject = ""
    if methods is None:
        for prefix, known in _SUBJECTS:
            if path.startswith(prefix) and len(path) > len(prefix):
                methods, subject = known, path[len(prefix) :]
                break
        else:
            raise no_such_route(path)
    name = methods.get(method)
    if name is None:
        raise wrong_method(tuple(methods))
    return name, subject
