"""CORS: any web page may use the front with its user's key (contract section 1).

No cookie is ever looked at, so `*` gives no page more than any other client has.
"""

import re

from horde_adapters.asgi import Headers, Scope, all_headers

_EXPOSED = (b"Retry-After", b"x-should-retry", b"x-request-id")
_PLAIN = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b", ".join(_EXPOSED)),
)
_LIMIT = b"x-ratelimit-"

# What may be echoed: a list of header names (RFC 9110 5.6.2), nothing that could be more.
_NAMES = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,4096}")
_USUAL = b"Authorization, Content-Type, X-Title, HTTP-Referer"
_MAX_AGE = b"7200"
"""Seconds: what Chromium caps it at."""


def with_cors(headers: Headers) -> Headers:
    """The headers of any answer, readable for any page, the rate-limit ones included."""
    limits = [name for name, _ in headers if name.startswith(_LIMIT)]
    if not limits:
        return (*headers, *_PLAIN)
    exposed = b", ".join((*_EXPOSED, *limits))
    return (*headers, _PLAIN[0], (b"access-control-expose-headers", exposed))


def preflight_headers(scope: Scope) -> Headers:
    """What a preflight is told: the requested headers by name, as `*` leaves Authorization out."""
    asked = b", ".join(all_headers(scope, b"access-control-request-headers"))
    allowed = asked if _NAMES.fullmatch(asked) else _USUAL
    headers: Headers = (
        (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
        (b"access-control-allow-headers", allowed),
        (b"access-control-max-age", _MAX_AGE),
        (b"vary", b"Access-Control-Request-Headers, Access-Control-Request-Private-Network"),
    )
    if all_headers(scope, b"access-control-request-private-network") == [b"true"]:
        headers += ((b"access-control-allow-private-network", b"true"),)
    return headers
