"""Fetching pictures for strangers: public addresses only, checked anew at every redirect."""

import httpx
import pytest
import trio

from horde_adapters.fetch import LARGEST_IMAGE, ImageFetcher, is_public
from horde_simulator.call import FetchedImage

PUBLIC = "93.184.216.34"
ADDRESSES = {
    "pictures.example": [PUBLIC],
    "other.example": ["2606:2800:220:1:248:1893:25c8:1946"],
    "inside.example": ["10.0.0.1"],
    "half.example": [PUBLIC, "127.0.0.1"],
    "none.example": [],
    "127.0.0.1": ["127.0.0.1"],
}


async def resolve(host: str, port: int) -> list[str]:
    """A resolver that knows a few names."""
    await trio.lowlevel.checkpoint()
    if host not in ADDRESSES:
        raise OSError("no such name")
    return ADDRESSES[host]


async def answer(request: httpx.Request) -> httpx.Response:
    """What stands at those addresses; the paths say what is to happen."""
    path = request.url.path
    assert is_public(request.url.host), "a connection to an address that wasn't looked at"
    if path.startswith("/to/"):
        return httpx.Response(302, headers={"location": f"http://{path.removeprefix('/to/')}"})
    if path.startswith("/hops/"):
        left = int(path.removeprefix("/hops/"))
        where = f"/hops/{left - 1}" if left else "/picture"
        return httpx.Response(301, headers={"location": where})
    if path == "/picture":
        return httpx.Response(200, content=request.headers["host"].encode())
    if path == "/huge":
        return httpx.Response(200, content=b"x" * (LARGEST_IMAGE + 1))
    if path == "/silent":
        await trio.sleep_forever()
    if path == "/broken":
        raise httpx.ReadError("reset")
    return httpx.Response(404)


@pytest.mark.parametrize(
    "url, result",
    [
        ("http://pictures.example/picture", b"pictures.example"),
        ("http://pictures.example:8080/picture", b"pictures.example:8080"),
        ("https://other.example/picture", b"other.example"),
        ("http://pictures.example/to/other.example/picture", b"other.example"),
        ("http://pictures.example/hops/2", b"pictures.example"),
        ("http://pictures.example/hops/3", "too many redirects"),
        ("http://inside.example/picture", "not a public address"),
        ("http://half.example/picture", "not a public address"),
        ("http://none.example/picture", "not a public address"),
        ("http://127.0.0.1/picture", "not a public address"),
        ("http://pictures.example/to/inside.example/picture", "not a public address"),
        ("http://pictures.example/to/127.0.0.1/picture", "not a public address"),
        ("http://unknown.example/", "unknown host"),
        ("file:///etc/passwd", "invalid URL"),
        ("http://[::1", "invalid URL"),
        ("http://pictures.example/missing", "status 404"),
        ("http://pictures.example/huge", "larger than 5 MiB"),
        ("http://pictures.example/silent", "timed out"),
        ("http://pictures.example/broken", "unreachable"),
    ],
)
async def test_fetch(url: str, result: bytes | str, autojump_clock: trio.testing.MockClock) -> None:
    """The picture's bytes, or why there are none."""
    fetcher = ImageFetcher(resolve, httpx.MockTransport(answer))
    (image,) = await fetcher.fetch([url])
    expected = FetchedImage(result) if isinstance(result, bytes) else FetchedImage(None, result)
    assert image == expected


async def test_results_keep_the_order(autojump_clock: trio.testing.MockClock) -> None:
    """All are fetched at once; a slow one doesn't change places."""
    fetcher = ImageFetcher(resolve, httpx.MockTransport(answer))
    began = trio.current_time()
    images = await fetcher.fetch(
        ["http://pictures.example/silent", "http://pictures.example/picture"] * 2
    )
    assert [image.data is None for image in images] == [True, False, True, False]
    assert trio.current_time() - began == 8


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
    ],
)
def test_not_public(address: str) -> None:
    """Private, loopback, link-local, shared, reserved, multicast, also inside an IPv6 address."""
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700::1", "64:ff9b::808:808"])
def test_public(address: str) -> None:
    """Addresses that anyone may connect to."""
    assert is_public(address)
