"""The simulated Horde's dashboard: three static files that watch the control API from a browser."""

from collections.abc import Mapping
from importlib import resources
from typing import Final

from horde_simulator.call import Answer

_FILES: Final[Mapping[str, tuple[str, str]]] = {
    "/": ("index.html", "text/html"),
    "/_sim/": ("index.html", "text/html"),
    "/_sim/dashboard.css": ("dashboard.css", "text/css"),
    "/_sim/dashboard.js": ("dashboard.js", "text/javascript"),
}
# Nothing but its own files and its own port: names on it come from whoever uses the Horde.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def dashboard_file(method: str, path: str) -> Answer | None:
    """The file that the dashboard has at a path; None where it has none."""
    known = _FILES.get(path)
    if known is None or method not in ("GET", "HEAD"):
        return None
    name, kind = known
    body = resources.files(__package__).joinpath(name).read_bytes()
    headers = (
        ("content-type", f"{kind}; charset=utf-8"),
        ("content-security-policy", _POLICY),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-cache"),
    )
    return Answer(200, headers, body)
