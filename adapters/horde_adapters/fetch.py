"""Fetching the pictures of a chat request for the simulated Horde, as the real one would.

A stranger chose the URL, so only public addresses are connected to: the name is resolved here,
every address of it is looked at, and the connection goes to an address that was looked at (a name
looked up twice may answer twice differently).  Each redirect starts over (contract/horde,
section 2).
"""

import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import cache

import attrs
import httpx
import trio

from horde_simulator.call import FetchedImage

TIMES = httpx.Timeout(2.0)
"""To connect, and for each read."""
WHOLE_TIME = 8.0
MOST_REDIRECTS = 3
LARGEST_IMAGE = 5 * 1024 * 1024


class FetchFailed(Exception):  # noqa: N818 - what happened, and no fault of ours
    """Why there is no picture, in a word or two."""


async def resolve(host: str, port: int) -> list[str]:
    """Every address of a name. Raises OSError."""
    found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@attrs.frozen
class ImageFetcher:
    """Fetches pictures; how names are resolved and requests carried can be another."""

    resolve: Callable[[str, int], Awaitable[list[str]]] = resolve
    transport: httpx.AsyncBaseTransport | None = None

    async def fetch(self, urls: Sequence[str]) -> list[FetchedImage]:
        """Fetches each URL, all at once; the results are in the order of the URLs."""
        images: dict[int, FetchedImage] = {}

        async def fetch_one(index: int, url: str) -> None:
            images[index] = await self._image(url)

        async with trio.open_nursery() as nursery:
            for index, url in enumerate(urls):
                nursery.start_soon(fetch_one, index, url)
        return [images[index] for index in range(len(urls))]

    async def _image(self, url: str) -> FetchedImage:
        try:
            with trio.fail_after(WHOLE_TIME):
                return FetchedImage(await self._follow(url))
        except FetchFailed as failed:
            return FetchedImage(None, str(failed))
        except (httpx.TimeoutException, trio.TooSlowError):
            return FetchedImage(None, "timed out")
        except httpx.HTTPError:
            return FetchedImage(None, "unreachable")

    async def _follow(self, url: str) -> bytes:
        target = _parse(url)
        async with httpx.AsyncClient(
            timeout=TIMES, trust_env=False, verify=_ssl_context(), transport=self.transport
        ) as client:
            for _ in range(MOST_REDIRECTS + 1):
                request = client.build_request(
                    "GET",
                    target.copy_with(host=await self._public_address(target)),
                    headers={"host": target.netloc.decode("ascii")},
                    extensions={"sni_hostname": target.host},
                )
                response = await client.send(request, stream=True)
                try:
                    if not response.has_redirect_location:
                        return await _read(response)
                    target = _parse(str(target.join(response.headers["location"])))
                finally:
                    await response.aclose()
        raise FetchFailed("too many redirects")

    async def _public_address(self, target: httpx.URL) -> str:
        port = target.port or {"http": 80, "https": 443}[target.scheme]
        try:
            addresses = await self.resolve(target.host, port)
        except OSError as error:
            raise FetchFailed("unknown host") from error
        if not addresses or not all(is_public(address) for address in addresses):
            raise FetchFailed("not a public address")
        return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public Internet, also when written within another."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or _nat64(parsed)
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address in a 64:ff9b::/96 one (RFC 6052)."""
    if address in ipaddress.IPv6Network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


@cache
def _ssl_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _parse(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise FetchFailed("invalid URL") from error
    if target.scheme not in ("http", "https") or not target.host:
        raise FetchFailed("invalid URL")
    return target


async def _read(response: httpx.Response) -> bytes:
    if response.status_code != 200:
        raise FetchFailed(f"status {response.status_code}")
    chunks: list[bytes] = []
    size = 0
    with trio.CancelScope() as bound:
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            chunks.append(chunk)
            if size > LARGEST_IMAGE:
                bound.cancel()  # ends httpcore's generators, which leaving the loop wouldn't
    if size > LARGEST_IMAGE:
        raise FetchFailed("larger than 5 MiB")
    return b"".join(chunks)
