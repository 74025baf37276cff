"""The playground's files over HTTP: read once at the start, the same bytes for everyone.

The page stands at `/` and its files beside it, under their own names, so that the folder `web`
works on any static server as well. A reply's text comes from strangers' workers: the policy below
lets nothing of it run, whatever the page's own sanitising may miss.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import attrs

from horde_adapters.asgi import Headers, Scope, Send, all_headers, send_answer
from horde_core.errors import refuse

_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".mjs": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
_PAGE = "index.html"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # Not the web's images: a reply could tell its reader's conversation by an image's address.
        "img-src 'self' data: blob:",
        "connect-src *",  # the base URL and tool servers are the user's choice
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify",
    )
)

_SAME_FOR_ALL: Headers = (
    (b"cache-control", b"no-cache"),  # kept, and asked for again: a new version shows at once
    (b"content-security-policy", POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


@attrs.frozen(eq=False, repr=False)
class PageFile:
    """One file of the page, as it is sent."""

    body: bytes
    etag: bytes
    content_type: bytes


def page_files() -> Mapping[str, PageFile]:
    """Every file of the page by its path; the page itself is at `/`."""
    found: dict[str, PageFile] = {}
    _collect(Path(__file__).with_name("web"), "/", found)
    found["/"] = found.pop(f"/{_PAGE}")
    return found


async def send_page_file(scope: Scope, send: Send, file: PageFile) -> None:
    """Answers a GET or HEAD for the file: 200, or 304 when the asker has it (RFC 9110 13.1.2).

    Raises `method_not_allowed`.
    """
    if scope["method"] not in ("GET", "HEAD"):
        raise refuse(
            "method_not_allowed",
            f"Not allowed to {scope['method'][:20]} a file of the page: it takes GET, HEAD.",
            headers=((b"allow", b"GET, HEAD, OPTIONS"),),
        )
    headers: Headers = (*_SAME_FOR_ALL, (b"etag", file.etag))
    if _has_it(scope, file.etag):
        await send({"type": "http.response.start", "status": 304, "headers": [*headers]})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return
    await send_answer(send, 200, (*headers, (b"content-type", file.content_type)), file.body)


def _collect(folder: Path, path: str, found: dict[str, PageFile]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _collect(entry, f"{path}{entry.name}/", found)
            continue
        content_type = _TYPES.get(f".{entry.name.rpartition('.')[2]}")
        if content_type is not None:
            body = entry.read_bytes()
            etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
            found[path + entry.name] = PageFile(body, etag, content_type)


def _has_it(scope: Scope, etag: bytes) -> bool:
    given = b",".join(all_headers(scope, b"if-none-match"))
    known = {tag.strip().removeprefix(b"W/") for tag in given.split(b",")}
    return etag in known or b"*" in known
