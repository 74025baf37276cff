"""The playground's files as the front serves them."""

import re
from pathlib import Path

import pytest
import trio

import horde_adapters
from adapters.stack import running
from horde_adapters.settings import Settings
from horde_adapters.web import page_files

WEB = Path(horde_adapters.__file__).parent / "web"
WITH_PAGE = Settings(playground=True)


async def test_page_when_on(autojump_clock: trio.testing.MockClock) -> None:
    """`/` is the page, in HTML, with a policy that keeps a reply from running."""
    async with running(settings=WITH_PAGE) as stack:
        answer = await stack.client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.content == (WEB / "index.html").read_bytes()
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert policy["img-src"] == "'self' data: blob:"
    assert policy["require-trusted-types-for"] == "'script'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_pointer_when_off(autojump_clock: trio.testing.MockClock) -> None:
    """Without the page `/` is JSON, and the page's files are unknown paths."""
    async with running() as stack:
        root = await stack.client.get("/")
        file = await stack.client.get("/chat-client.js")
    assert root.headers["content-type"] == "application/json"
    assert set(root.json()) == {"name", "version", "docs"}
    assert file.status_code == 404
    assert file.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    "path,content_type",
    [
        ("/chat-client.js", "text/javascript; charset=utf-8"),
        ("/vendor/purify.es.mjs", "text/javascript; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/vendor/marked.LICENSE.txt", "text/plain; charset=utf-8"),
    ],
)
async def test_files(path: str, content_type: str, autojump_clock: trio.testing.MockClock) -> None:
    """Each file has its own type, and HEAD is GET without the body."""
    async with running(settings=WITH_PAGE) as stack:
        got = await stack.client.get(path)
        head = await stack.client.head(path)
    assert got.content == (WEB / path.removeprefix("/")).read_bytes()
    assert got.headers["content-type"] == content_type
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(got.content))
    assert head.headers["etag"] == got.headers["etag"]


@pytest.mark.parametrize(
    "given,status",
    [
        ("{etag}", 304),
        ("W/{etag}", 304),
        ('"other", {etag}', 304),
        ("*", 304),
        ('"other"', 200),
    ],
)
async def test_if_none_match(
    given: str, status: int, autojump_clock: trio.testing.MockClock
) -> None:
    """A browser that has a file is told so, after asking (RFC 9110 13.1.2)."""
    async with running(settings=WITH_PAGE) as stack:
        first = await stack.client.get("/style.css")
        asked = given.format(etag=first.headers["etag"])
        again = await stack.client.get("/style.css", headers={"if-none-match": asked})
    assert first.headers["cache-control"] == "no-cache"
    assert again.status_code == status
    assert again.headers["etag"] == first.headers["etag"]
    assert again.content == (b"" if status == 304 else first.content)


async def test_other_methods(autojump_clock: trio.testing.MockClock) -> None:
    """A file can't be posted to, and its preflight is answered as any other."""
    async with running(settings=WITH_PAGE) as stack:
        posted = await stack.client.post("/chat-client.js", json={})
        preflight = await stack.client.options("/chat-client.js")
    assert posted.status_code == 405
    assert posted.headers["allow"] == "GET, HEAD, OPTIONS"
    assert posted.json()["error"]["code"] == "method_not_allowed"
    assert preflight.status_code == 200


@pytest.mark.parametrize(
    "path", ["/package.json", "/vendor/marked.esm.d.ts", "/vendor", "/../web.py", "/index.html"]
)
async def test_nothing_else_is_served(path: str, autojump_clock: trio.testing.MockClock) -> None:
    """Only what the page needs has a path."""
    async with running(settings=WITH_PAGE) as stack:
        answer = await stack.client.get(path)
    assert answer.status_code == 404


def test_page_names_only_what_is_served() -> None:
    """Each address in the page and each import is a file of the page: it works offline."""
    served = page_files()
    html = (WEB / "index.html").read_text()
    for address in re.findall(r'(?:href|src)="([^"#]+)"', html):
        assert f"/{address}" in served
    for module in WEB.glob("*.js"):
        for address in re.findall(r'from "([^"]+)"', module.read_text()):
            assert f"/{address.removeprefix('./')}" in served
