"""The pictures of a request: reading data URLs, judging what was fetched, keeping the bytes."""

import base64
import binascii
from collections.abc import Sequence
from io import BytesIO
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from horde_simulator.call import FetchedImage
from horde_simulator.refusals import HordeError, refuse

MOST_BYTES: Final = 5 * 1024 * 1024
MOST_PIXELS: Final = 50_000_000
"""A small file can unpack to a picture that no machine holds."""
_CONTENT_TYPES: Final = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "GIF": "image/gif",
}

# Why a fetch brought nothing (a fetcher's word), as the Horde names it.
FETCH_REFUSALS: Final = {
    "address": "SourceImageUrlInvalid",
    "scheme": "SourceImageUrlInvalid",
    "redirects": "SourceImageUrlInvalid",
    "size": "SourceImageSizeExceeded",
}


def is_inline(url: str) -> bool:
    """Whether the picture is in the URL itself."""
    return url[:5].lower() == "data:"


def check_url(url: str) -> None:
    """Refuses what isn't worth a fetch: another scheme, no host, a literal private address.

    Raises:
        HordeError: `SourceImageUrlInvalid`.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise _invalid("is malformed") from None
    if parts.scheme.lower() not in ("http", "https") or not host:
        raise _invalid("is neither a data URL nor an http(s) URL")
    try:
        public = ip_address(host).is_global
    except ValueError:
        public = host.rstrip(".").lower() != "localhost"
    if not public:
        raise _invalid("has no public address")


def inline_bytes(url: str) -> bytes:
    """The bytes of a base64 data URL.

    Raises:
        HordeError: `SourceImageUrlInvalid` for another form, `SourceImageSizeExceeded`.
    """
    head, comma, data = url.partition(",")
    if not comma or not head.lower().endswith(";base64") or not head[5:11].lower() == "image/":
        raise _invalid("is no base64 image data URL")
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise _invalid("holds no base64") from None
    return decoded


def fetched_bytes(image: FetchedImage) -> bytes:
    """The bytes that a fetch brought.

    Raises:
        HordeError: the refusal that fits the fetcher's reason.
    """
    if image.data is None:
        reason = image.reason or "unreachable"
        rc = FETCH_REFUSALS.get(reason, "SourceImageUnreadable")
        raise refuse(rc, f"The source image could not be fetched: {reason}.")
    return image.data


def check_image(data: bytes) -> None:
    """Refuses what is too large or doesn't decode.

    Raises:
        HordeError: `SourceImageSizeExceeded` or `SourceImageUnreadable`.
    """
    if len(data) > MOST_BYTES:
        raise refuse("SourceImageSizeExceeded", f"The image has more than {MOST_BYTES} bytes.")
    from PIL import Image, UnidentifiedImageError  # costs 50 ms that few simulations need

    try:
        with Image.open(BytesIO(data), formats=tuple(_CONTENT_TYPES)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise refuse("SourceImageSizeExceeded", f"The image is {image.size} pixels.")
            image.load()
    except (
        UnidentifiedImageError,
        Image.DecompressionBombError,
        OSError,
        ValueError,
        SyntaxError,  # Pillow's word for a broken PNG
    ):
        # Not Pillow's own words: they have addresses in memory, which differ from run to run.
        raise refuse("SourceImageUnreadable", "The image doesn't decode.") from None


def content_type(data: bytes) -> str:
    """The media type of a checked picture, by its first bytes."""
    if data.startswith(b"\x89PNG"):
        return _CONTENT_TYPES["PNG"]
    if data.startswith(b"\xff\xd8"):
        return _CONTENT_TYPES["JPEG"]
    if data.startswith(b"GIF8"):
        return _CONTENT_TYPES["GIF"]
    return _CONTENT_TYPES["WEBP"]


def _invalid(why: str) -> HordeError:
    return refuse("SourceImageUrlInvalid", f"The source image URL {why}.")


class ImageStore:
    """Pictures by the token that their URL ends in; a request's go when it ends."""

    def __init__(self) -> None:
        self._images: dict[str, bytes] = {}

    def keep(self, tokens: Sequence[str], images: Sequence[bytes]) -> None:
        """Stores pictures under fresh tokens."""
        self._images.update(zip(tokens, images, strict=True))

    def get(self, token: str) -> bytes:
        """A stored picture.

        Raises:
            HordeError: `ImageNotFound`.
        """
        try:
            return self._images[token]
        except KeyError:
            raise refuse("ImageNotFound", "No such image, or its request has ended.") from None

    def drop(self, tokens: Sequence[str]) -> None:
        """Forgets pictures."""
        for token in tokens:
            self._images.pop(token, None)

    def __len__(self) -> int:
        return len(self._images)
