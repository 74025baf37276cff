"""Image parts: data URLs, public addresses, and every spelling of one that isn't public."""

import base64
from typing import Any

import pytest

from core.chat_bodies import BAD, UNSUPPORTED, accepted, chat, refused
from horde_core.chat import ImagePart
from horde_core.images import is_public

PATH = "messages[0].content[0].image_url"
DATA = base64.b64encode(b"image bytes").decode()
HEAD = (
    f"Invalid image URL: '{PATH}.url'. Expected a base64-encoded data URL with an image MIME type "
    "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got "
)
ADDRESS = f"Invalid image URL: '{PATH}.url'. Expected a public http(s) URL, but got "
NO_PREFIX = HEAD + "a value without the 'data:' prefix."
NO_BASE64 = HEAD + "a value without the ';base64' separator."
UNDECODABLE = HEAD + "an invalid base64-encoded value."
PRIVATE = ADDRESS + "a private, loopback or link-local address."


def image(image_url: Any) -> dict[str, Any]:
    part = {"type": "image_url", "image_url": image_url}
    return {"messages": [{"role": "user", "content": [part]}]}


@pytest.mark.parametrize(
    "image_url, code, place, message",
    [
        (
            "https://a.example/x.png",
            BAD,
            "",
            f"Invalid type for '{PATH}': expected an object, but got a string instead.",
        ),
        (
            None,
            BAD,
            "",
            f"Invalid type for '{PATH}': expected an object, but got null instead.",
        ),
        ({}, BAD, ".url", f"Missing required parameter: '{PATH}.url'."),
        (
            {"url": 1},
            BAD,
            ".url",
            f"Invalid type for '{PATH}.url': expected a string, but got an integer instead.",
        ),
        (
            {"url": "http://a.example/\0"},
            BAD,
            ".url",
            f"Invalid '{PATH}.url': string contains a NUL character.",
        ),
        (
            {"url": "https://a.example/", "detail": "original"},
            UNSUPPORTED,
            ".detail",
            "Invalid value: 'original'. Supported values are: 'auto', 'low', and 'high'.",
        ),
        (
            {"url": "https://a.example/", "detail": 1},
            BAD,
            ".detail",
            (
                f"Invalid type for '{PATH}.detail': expected one of 'auto', 'low', or 'high', but "
                "got an integer instead."
            ),
        ),
        ({"url": ""}, BAD, ".url", NO_PREFIX),
        ({"url": "x.png"}, BAD, ".url", NO_PREFIX),
        ({"url": "ftp://a.example/x.png"}, BAD, ".url", NO_PREFIX),
        ({"url": "file:///etc/passwd"}, BAD, ".url", NO_PREFIX),
        ({"url": "//a.example/x.png"}, BAD, ".url", NO_PREFIX),
        ({"url": " https://a.example/x.png"}, BAD, ".url", NO_PREFIX),
        ({"url": DATA}, BAD, ".url", NO_PREFIX),
        ({"url": "data:"}, BAD, ".url", NO_BASE64),
        ({"url": f"data:image/png,{DATA}"}, BAD, ".url", NO_BASE64),
        ({"url": f"data:image/png;base64{DATA}"}, BAD, ".url", NO_BASE64),
        ({"url": f"data:image/png;name=x;base64,{DATA}"}, BAD, ".url", NO_BASE64),
        (
            {"url": f"data:application/pdf;base64,{DATA}"},
            BAD,
            ".url",
            HEAD + "unsupported MIME type 'application/pdf'.",
        ),
        (
            {"url": f"data:;base64,{DATA}"},
            BAD,
            ".url",
            HEAD + "unsupported MIME type ''.",
        ),
        *[
            (
                {"url": f"data:image/{kind};base64,{DATA}"},
                BAD,
                ".url",
                HEAD + f"unsupported MIME type 'image/{kind}'.",
            )
            for kind in ("svg+xml", "bmp", "tiff", "heic", "jpg", "pngx")
        ],
        *[
            ({"url": f"data:image/png;base64,{data}"}, BAD, ".url", UNDECODABLE)
            for data in ("!!!!", "aW1n=", "aW1", "aW1nI", "aW 1n", "aW1n\n", "aW1ué===", "%61W1n")
        ],
        (
            {"url": "data:image/png;base64,"},
            BAD,
            ".url",
            HEAD + "empty base64-encoded bytes.",
        ),
        *[
            ({"url": url}, BAD, ".url", ADDRESS + "one without a host.")
            for url in ("http://", "https:///x.png", "http://:80/", "http://.../")
        ],
        *[
            ({"url": url}, BAD, ".url", ADDRESS + "one whose host or port can't be read.")
            for url in ("http://[::1/", "http://a.example:x/", "http://a.example:99999/")
        ],
        *[
            (
                {"url": url},
                BAD,
                ".url",
                ADDRESS + "one with spaces, control characters or backslashes.",
            )
            for url in ("http://a .example/", "http://a.example\\@10.0.0.1/", "http://a\t.example/")
        ],
        *[
            ({"url": url}, BAD, ".url", PRIVATE)
            for url in (
                "http://127.0.0.1/x.png",
                "https://user:pass@10.1.2.3:8080/x.png",
                "HTTP://LOCALHOST/x.png",
                "http://2130706433/",
                "http://0177.0.0.1/",
                "http://[::ffff:169.254.169.254]/latest/meta-data/",
                "http://%31%32%37.0.0.1/",
                "http://１２７.0.0.1/",
            )
        ],
    ],
)
def test_a_bad_image_is_refused_at_its_member(
    image_url: Any, code: str, place: str, message: str
) -> None:
    assert refused(chat(**image(image_url))) == (400, code, PATH + place, message)


def test_an_image_part_needs_an_image() -> None:
    body = chat(messages=[{"role": "user", "content": [{"type": "image_url"}]}])
    assert refused(body) == (400, BAD, PATH, f"Missing required parameter: '{PATH}'.")


@pytest.mark.parametrize(
    "url",
    [
        f"data:image/png;base64,{DATA}",
        f"data:image/jpeg;base64,{DATA}",
        f"data:image/webp;base64,{DATA}",
        f"data:image/gif;base64,{DATA}",
        f"DATA:Image/PNG;Base64,{DATA}",
        "https://a.example/x.png",
        "http://a.example:8080/x.png?q=%20#f",
        "https://1.1.1.1/x.png",
        "https://[2606:4700:4700::1111]/x.png",
        "https://bücher.example/x.png",
    ],
)
@pytest.mark.parametrize("detail", [None, "auto", "low", "high"])
def test_a_good_image_is_kept_as_it_came(url: str, detail: str | None) -> None:
    request = accepted(**image({"url": url, "detail": detail, "bogus": 1}))
    assert request.messages[0].content == (ImagePart(url, detail),)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "0",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7f.0.0.0x1",
        "0177.0.0.1",
        "017700000001",
        "0300.0250.1.1",
        "3232235777",
        "0x",
        "::",
        "::1",
        "0:0:0:0:0:0:0:1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::10.0.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "localhost",
        "a.localhost",
        "localhost.localdomain",
        "ip6-localhost",
    ],
)
def test_a_literal_address_that_is_not_public_is_found_in_any_spelling(host: str) -> None:
    assert not is_public(host)


@pytest.mark.parametrize(
    "host",
    [
        "1.1.1.1",
        "8.8.8.8",
        "172.32.0.1",
        "0x08080808",
        "134744072",
        "8.8",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2606:4700:4700::1111",
        "a.example",
        "localhost.example",
        "notlocalhost",
        # No address in these, though they look like one
        "256.256.256.256",
        "1.2.3.4.5",
        "08.8.8.8",
        "1.2.3.",
        "10.0.0.1.example",
        "0xzz",
        "4294967296",
    ],
)
def test_a_public_address_or_a_name_passes(host: str) -> None:
    assert is_public(host)
