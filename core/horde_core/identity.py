"""Who is asking: the Horde API key, and the `Client-Agent` that the Horde counts traffic by."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from horde_core.errors import Refusal, refuse
from horde_core.native import ANONYMOUS_KEY

UNKNOWN: Final = "unknown"
LONGEST_APPLICATION: Final = 64
LONGEST_USER_AGENT: Final = 256

_TITLES = (b"x-title", b"x-openrouter-title")
_ADDRESSES = (b"http-referer", b"referer", b"origin")


def read_key(authorization: Sequence[bytes]) -> str:
    """The Horde API key in a request's `Authorization` headers, of which there may be none.

    Raises `InvalidAuthorizationHeader` for anything but one `Bearer <key>`, the key being
    printable ASCII without spaces. The message never repeats the header.
    """
    if not authorization:
        return ANONYMOUS_KEY
    if len(authorization) > 1:
        raise _invalid("it was sent more than once")
    scheme, _, rest = authorization[0].strip(b" \t").partition(b" ")
    if scheme.lower() != b"bearer":
        raise _invalid("its scheme is not 'Bearer'")
    key = rest.strip(b" \t")
    if not key:
        raise _invalid("there is no key after 'Bearer'")
    if not all(0x21 <= byte <= 0x7E for byte in key):
        raise _invalid("the key has spaces, control characters or non-ASCII characters in it")
    return key.decode("ascii")


def _invalid(why: str) -> Refusal:
    return refuse(
        "InvalidAuthorizationHeader",
        f"The Authorization header has to be 'Bearer <AI Horde API key>', and {why}. To use the "
        f"AI Horde without a key, leave the header away or send 'Bearer {ANONYMOUS_KEY}'.",
    )


def client_agent(headers: Iterable[tuple[bytes, bytes]], version: str) -> str:
    """`<application>:<version>:<user agent> via horde-oai-front`, in printable Latin-1.

    `headers` are a request's as they came, in any case; of a repeated one the first counts.
    """
    first: dict[bytes, bytes] = {}
    for name, value in headers:
        first.setdefault(name.lower(), value)
    application = next((name for name in _names(first) if name), UNKNOWN)
    user_agent = _printable(first.get(b"user-agent", b""), LONGEST_USER_AGENT) or UNKNOWN
    return f"{application}:{version}:{user_agent} via horde-oai-front"


def _names(headers: dict[bytes, bytes]) -> Iterable[str]:
    """What the application may be called, best first; a candidate may turn out empty."""
    for title in _TITLES:
        yield _application(headers.get(title, b""))
    for address in _ADDRESSES:
        yield _application(_host(headers.get(address, b"")))


def _application(value: bytes) -> str:
    return _printable(value.replace(b":", b""), LONGEST_APPLICATION)


def _host(address: bytes) -> bytes:
    try:
        return (urlsplit(address).hostname or b"").strip(b"[]")
    except ValueError:  # Brackets that don't pair, or hold no IPv6 address.
        return b""


def _printable(value: bytes, longest: int) -> str:
    """Header bytes are UTF-8 from most clients and Latin-1 from the rest."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    kept = "".join(char for char in text if char <= "\xff" and char.isprintable())
    return kept.strip()[:longest].strip()
