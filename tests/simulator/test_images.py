"""Pictures: inline and fetched, their refusals, their storage and hand-out."""

import base64
from io import BytesIO
from typing import Any

import orjson
import pytest
from PIL import Image

from horde_simulator.call import FetchedImage
from horde_simulator.images import MOST_BYTES
from horde_simulator.world import World
from simulator.horde import Caller, Program, empty_world, profile, scenario


def picture(kind: str = "PNG", size: tuple[int, int] = (3, 2)) -> bytes:
    out = BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, kind)
    return out.getvalue()


def data_url(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def asking(*urls: str, **fields: Any) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": "What is this?"}]
    parts += [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in urls]
    return {
        "messages": [{"role": "user", "content": parts}],
        "models": ["koboldcpp/Qwen3-8B"],
    } | fields


def horde() -> Caller:
    return Caller(World(scenario(profile(background_seconds=1e6))))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_an_inline_picture_is_handed_out_by_a_url_of_the_horde(kind: str) -> None:
    world = empty_world()
    caller, worker = Caller(world), Program(world)
    data = picture(kind)
    answer = caller.submit(asking(data_url(data, kind.lower())))
    assert caller.status == 202
    body = worker.pop()
    payload = body["payload"]
    (url,) = payload["images"]
    assert payload["messages"][0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": url, "detail": "low"},
    }
    path = url.removeprefix("/api/v2")
    assert worker.send("GET", path) == data
    assert worker.headers["content-type"] == f"image/{kind.lower()}"
    caller.cancel(answer["id"])
    assert worker.send("GET", path)["rc"] == "ImageNotFound"
    assert worker.status == 404
    assert len(world.state.images) == 0


def test_urls_are_absolute_when_the_worker_names_the_host() -> None:
    """Of the pictures only: text that looks like such a URL stays as it was."""
    world = empty_world()
    caller, worker = Caller(world), Program(world)
    body = asking(data_url(picture()))
    trap = '"/api/v2/generate/chat/image/x"'
    body["messages"][0]["content"][0]["text"] = trap
    caller.submit(body)
    declared = orjson.loads(
        b'{"name":"w1","models":["koboldcpp/Qwen3-8B"],"max_length":2048,'
        b'"max_context_length":16384,"chat":{"features":["image_input"],'
        b'"guarantees":["no_prompt_trim"]}}'
    )
    job = worker.send("POST", "/generate/chat/pop", declared, host="horde.test:80")
    (url,) = job["payload"]["images"]
    assert url.startswith("http://horde.test:80/api/v2/generate/chat/image/")
    content = job["payload"]["messages"][0]["content"]
    assert content[0]["text"] == trap
    assert content[1]["image_url"]["url"] == url


def test_the_same_picture_twice_is_two_pictures() -> None:
    caller = horde()
    url = data_url(picture())
    answer = caller.submit(asking(url, url, params={"max_length": 16}))
    # 16 x 8 x 6.04 / 100 = 7.7312, + 2 + 10
    assert answer["kudos"] == 20
    assert caller.read(answer["id"])["kudos"] == 11.0


@pytest.mark.parametrize(
    "url, rc",
    [
        ("data:image/png;base64,!!!", "SourceImageUrlInvalid"),
        ("data:image/png,abc", "SourceImageUrlInvalid"),
        ("data:text/plain;base64,aGk=", "SourceImageUrlInvalid"),
        ("data:", "SourceImageUrlInvalid"),
        ("ftp://example.com/x.png", "SourceImageUrlInvalid"),
        ("x.png", "SourceImageUrlInvalid"),
        ("http://", "SourceImageUrlInvalid"),
        ("http://[::1", "SourceImageUrlInvalid"),
        ("http://127.0.0.1/x.png", "SourceImageUrlInvalid"),
        ("http://10.1.2.3/x.png", "SourceImageUrlInvalid"),
        ("http://169.254.169.254/latest", "SourceImageUrlInvalid"),
        ("http://[::1]/x.png", "SourceImageUrlInvalid"),
        ("http://localhost:8000/x.png", "SourceImageUrlInvalid"),
        (data_url(b"hello"), "SourceImageUnreadable"),
        (data_url(b""), "SourceImageUnreadable"),
        (data_url(picture()[:40]), "SourceImageUnreadable"),
        (data_url(picture("JPEG", (64, 64))[:300], "jpeg"), "SourceImageUnreadable"),
        (data_url(bytes(MOST_BYTES + 1)), "SourceImageSizeExceeded"),
        (data_url(picture(size=(10_000, 8_000))), "SourceImageSizeExceeded"),
    ],
    ids=range(19),
)
def test_refused_pictures_cost_nothing(url: str, rc: str) -> None:
    caller = horde()
    answer = caller.submit(asking(url))
    assert (caller.status, answer["rc"]) == (400, rc)
    assert caller.world.state.ledger.totals()["debited"] == 0
    assert len(caller.world.state.images) == 0


def test_a_url_is_fetched_by_whoever_carries_the_call() -> None:
    world = empty_world()
    caller, worker = Caller(world), Program(world)
    worker.pop()
    data = picture()
    inline = data_url(picture("GIF"), "gif")
    fetch = caller.submit_for_images(asking("https://example.com/a.png", inline))
    assert fetch.urls == ("https://example.com/a.png",)
    assert not world.state.requests
    answer = caller.keep(world.resume(fetch.ticket, [FetchedImage(data)]))
    assert caller.status == 202
    urls = worker.pop()["payload"]["images"]
    kinds = []
    for url in urls:
        worker.send("GET", url.removeprefix("/api/v2"))
        kinds.append(worker.headers["content-type"])
    assert kinds == ["image/png", "image/gif"]
    assert answer["id"] in world.state.requests


@pytest.mark.parametrize(
    "reason, rc",
    [
        ("address", "SourceImageUrlInvalid"),
        ("scheme", "SourceImageUrlInvalid"),
        ("redirects", "SourceImageUrlInvalid"),
        ("size", "SourceImageSizeExceeded"),
        ("timeout", "SourceImageUnreadable"),
        ("status 404", "SourceImageUnreadable"),
        (None, "SourceImageUnreadable"),
    ],
)
def test_a_fetch_that_brought_nothing(reason: str | None, rc: str) -> None:
    caller = horde()
    fetch = caller.submit_for_images(asking("https://example.com/a.png"))
    answer = caller.keep(caller.world.resume(fetch.ticket, [FetchedImage(None, reason)]))
    assert (caller.status, answer["rc"]) == (400, rc)
    assert not caller.world.state.requests


def test_a_ticket_is_good_once() -> None:
    caller = horde()
    fetch = caller.submit_for_images(asking("https://example.com/a.png"))
    caller.world.resume(fetch.ticket, [FetchedImage(picture())])
    with pytest.raises(KeyError):
        caller.world.resume(fetch.ticket, [FetchedImage(picture())])


def test_two_submits_of_one_operation_while_the_picture_is_fetched() -> None:
    caller = horde()
    body = asking("https://example.com/a.png", operation_key="once")
    fetches = [caller.submit_for_images(body) for _ in range(2)]
    answers = [
        caller.keep(caller.world.resume(fetch.ticket, [FetchedImage(picture())]))
        for fetch in fetches
    ]
    assert [answer["existing"] for answer in answers] == [False, True]
    assert len(caller.world.state.requests) == 1


def test_what_the_account_may_is_looked_at_again_after_the_fetch() -> None:
    caller = Caller(World(scenario(profile(background_seconds=1e6))), "fair-key")
    fetch = caller.submit_for_images(asking("https://example.com/a.png"))
    caller.submit(params={"n": 20, "max_length": 16})
    caller.submit(params={"n": 10, "max_length": 16})
    answer = caller.keep(caller.world.resume(fetch.ticket, [FetchedImage(picture())]))
    assert answer["rc"] == "TooManyPrompts"


def test_a_dry_run_fetches_nothing() -> None:
    caller = horde()
    answer = caller.submit(asking("https://example.com/a.png", dry_run=True))
    assert caller.status == 200
    assert answer["kudos"] > 0


def test_a_built_in_worker_sees_the_pictures() -> None:
    world = World(scenario(profile(brain="vision")))
    caller = Caller(world)
    answer = caller.submit(asking(data_url(picture(size=(31, 17)))))
    text = caller.follow(answer["id"])["generations"][0]["message"]["content"]
    assert "31" in text
    assert "17" in text
