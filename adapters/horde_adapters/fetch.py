"""Fetching the pictures of a chat request for the simulated Horde, as the real one would.

A stranger chose the URL, so only public addresses are connected to: the name is resolved here,
every address of it is looked at, and the connection goes to an address that was looked at (a name
looked up twice may answer twice differently).  Each redirect starts over (contract/horde,
section 2).
"""

import ipaddress
import socket
import ssl
from collections.abc import Sequence

import httpx
import trio

from horde_simulator.call import FetchedImage

CONNECT_TIME = 2.0
READ_TIME = 2.0
WHOLE_TIME = 8.0
MOST_REDIRECTS = 3
LARGEST_IMAGE = 5 * 1024 * 1024


class FetchFailed(Exception):  # noqa: N818 - what happened, and no fault of ours
    """Why there is no picture, in a word or two."""


async def fetch_images(urls: Sequence[str]) -> list[FetchedImage]:
    """Fetches each URL, all at once; the results are in the order of the URLs."""
    images: dict[int, FetchedImage] = {}

    async def fetch_one(index: int, url: str) -> None:
        try:
            with trio.fail_after(WHOLE_TIME):
                images[index] = FetchedImage(await _fetch(url))
        except FetchFailed as failed:
            images[index] = FetchedImage(None, str(failed))
        except trio.TooSlowError:
            images[index] = FetchedImage(None, "timed out")

    async with trio.open_nursery() as nursery:
        for index, url in enumerate(urls):
            nursery.start_soon(fetch_one, index, url)
    return [images[index] for index in range(len(urls))]


async def _fetch(url: str) -> bytes:
    target = _parse(url)
    timeout = httpx.Timeout(READ_TIME, connect=CONNECT_TIME)
    async with httpx.AsyncClient(timeout=timeout, trust_env=False, verify=_context()) as client:
        for _ in range(MOST_REDIRECTS + 1):
            address = await _public_address(target)
            request = client.build_request(
                "GET",
                target.copy_with(host=address),
                headers={"host": target.netloc.decode("ascii")},
                extensions={"sni_hostname": target.host},
            )
            try:
                response = await client.send(request, stream=True)
                try:
                    if response.is_redirect:
                        target = _parse(str(target.join(response.headers.get("location", ""))))
                        continue
                    if response.status_code != 200:
                        raise FetchFailed(f"status {response.status_code}")
                    return await _read(response)
                finally:
                    await response.aclose()
            except httpx.TimeoutException as error:
                raise FetchFailed("timed out") from error
            except httpx.HTTPError as error:
                raise FetchFailed("unreachable") from error
    raise FetchFailed("too many redirects")


def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _parse(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise FetchFailed("invalid URL") from error
    if target.scheme not in ("http", "https") or not target.host:
        raise FetchFailed("invalid URL")
    return target


async def _public_address(target: httpx.URL) -> str:
    port = target.port or {"http": 80, "https": 443}[target.scheme]
    try:
        found = await trio.socket.getaddrinfo(target.host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise FetchFailed("unknown host") from error
    addresses = [str(entry[4][0]) for entry in found]
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


async def _read(response: httpx.Response) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > LARGEST_IMAGE:
            raise FetchFailed("larger than 5 MiB")
        chunks.append(chunk)
    return b"".join(chunks)
