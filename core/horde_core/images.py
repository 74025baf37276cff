"""Image parts: which addresses the Horde may be sent to fetch, and what a data URL must hold.

The Horde checks what a name resolves to when it fetches; here, without a look-up, literal
addresses that aren't public are refused, in every spelling that a URL parser takes for an address.
"""

import binascii
import ipaddress
import re
import unicodedata
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from horde_core import faults
from horde_core.chat import ImagePart
from horde_core.errors import Refusal, refuse
from horde_core.scalars import required_object, required_text, required_word

IMAGE_TYPES: Final = ("png", "jpeg", "webp", "gif")
DETAILS: Final = ("auto", "low", "high")

_IMAGE_MIME = re.compile(rf"image/(?:{'|'.join(IMAGE_TYPES)})", re.IGNORECASE)
_DATA_URL = (
    "Expected a base64-encoded data URL with an image MIME type "
    "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got"
)
_PUBLIC_URL = "Expected a public http(s) URL, but got"
_LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are the IPv4 address that is reached."""


def read_image(part: dict[str, Any], path: str) -> ImagePart:
    """The `image_url` part at `path`. Raises a `Refusal` at the member that is at fault."""
    image = required_object(part, "image_url", path)
    path = f"{path}.image_url"
    url = required_text(image, "url", path)
    _check_url(url, f"{path}.url")
    detail = image.get("detail")
    if detail is not None:
        detail = required_word(image, "detail", DETAILS, path)
    return ImagePart(url, detail)


def _check_url(url: str, path: str) -> None:
    scheme = url[:8].lower()
    if scheme.startswith("data:"):
        _check_data_url(url, path)
    elif scheme.startswith(("http://", "https://")):
        _check_address(url, path)
    else:
        raise _invalid(path, f"{_DATA_URL} a value without the 'data:' prefix.")


def _check_data_url(url: str, path: str) -> None:
    head, comma, data = url[len("data:") :].partition(",")
    mime, separator, encoding = head.partition(";")
    if not comma or not separator or encoding.lower() != "base64":
        raise _invalid(path, f"{_DATA_URL} a value without the ';base64' separator.")
    if not _IMAGE_MIME.fullmatch(mime):
        what = f"unsupported MIME type '{faults.shown(mime)}'."
        raise _invalid(path, f"{_DATA_URL} {what}")
    try:
        image = binascii.a2b_base64(data, strict_mode=True)
    except ValueError:  # binascii.Error for bad base64, ValueError for non-ASCII.
        image = None
    if image is None or len(data) % 4:  # Strict mode itself lets padding after whole groups pass.
        raise _invalid(path, f"{_DATA_URL} an invalid base64-encoded value.")
    if not image:
        raise _invalid(path, f"{_DATA_URL} empty base64-encoded bytes.")


def _check_address(url: str, path: str) -> None:
    # urlsplit drops tabs and newlines, and browsers read a backslash as a slash.
    if any(char <= " " or char in "\\\x7f" for char in url):
        raise _invalid(path, f"{_PUBLIC_URL} one with spaces, control characters or backslashes.")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise _invalid(path, f"{_PUBLIC_URL} one whose host or port can't be read.") from None
    host = unicodedata.normalize("NFKC", unquote(host)).lower().rstrip(".")
    if not host:
        raise _invalid(path, f"{_PUBLIC_URL} one without a host.")
    if not is_public(host):
        raise _invalid(path, f"{_PUBLIC_URL} a private, loopback or link-local address.")


def is_public(host: str) -> bool:
    """False for a literal address that isn't public, and for a name of the machine itself."""
    if host in _LOCAL_NAMES or host.endswith(".localhost"):
        return False
    address = _literal(host)
    if address is None:
        return True
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host spells, an IPv4 address inside an IPv6 one taken out; else None."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return _old_ipv4(host)
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return inner or address
    return address


def _old_ipv4(host: str) -> ipaddress.IPv4Address | None:
    """The spellings of inet_aton: one to four parts, decimal, octal (0…) or hexadecimal (0x…).

    The last part fills the bytes that are left: `http://2130706433/` and `http://0177.1/` both
    reach 127.0.0.1 (WHATWG URL, "IPv4 parser").
    """
    words = host.split(".")
    numbers = [number for number in map(_part, words) if number is not None]
    if len(numbers) != len(words) or len(numbers) > 4:
        return None
    *leading, last = numbers
    if any(number > 255 for number in leading) or last >= 256 ** (5 - len(numbers)):
        return None
    value = last
    for place, number in enumerate(leading):
        value += number * 256 ** (3 - place)
    return ipaddress.IPv4Address(value)


def _part(word: str) -> int | None:
    if re.fullmatch(r"0x[0-9a-f]*", word):
        return int(word[2:] or "0", 16)
    if re.fullmatch(r"0[0-7]*", word):
        return int(word, 8)
    return int(word) if re.fullmatch(r"[1-9][0-9]{0,20}", word) else None


def _invalid(path: str, rest: str) -> Refusal:
    return refuse(faults.BAD_REQUEST, f"Invalid image URL: '{path}'. {rest}", path)
