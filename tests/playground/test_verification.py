"""Each verification line of "Add chat completions to a web frontend" as a test, in Chromium."""

import json
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright isn't installed: the extra `browser`")

from playwright.sync_api import Page, expect

from playground.chat_page import ChatPage
from playground.site import OFFLINE, PLAIN, QWEN, running_site, scripted, static_site
from playground.vendored import VENDOR


def network_panel(page: Page) -> dict[str, dict[str, Any]]:
    """What the network panel shows by request, filled as answers come."""
    found: dict[str, dict[str, Any]] = {}
    panel = page.context.new_cdp_session(page)
    panel.send("Network.enable")

    def answered(event: dict[str, Any]) -> None:
        response = event["response"]
        found.setdefault(event["requestId"], {}).update(
            kind=event["type"],
            url=response["url"],
            status=response["status"],
            headers={name.lower(): value for name, value in response["headers"].items()},
        )

    panel.on("Network.responseReceived", answered)
    return found


def test_preflight_returns_200_and_both_answers_allow_every_origin(chat: ChatPage) -> None:
    """In the browser's network panel, the OPTIONS preflight returns 200 with
    access-control-allow-origin: *, and the POST that follows includes the same header."""
    with running_site(pace=4.0) as site, static_site(VENDOR.parent) as elsewhere:
        chat.open(f"{elsewhere}/", base_url=site.base_url)
        chat.choose(PLAIN)
        panel = network_panel(chat.page)
        chat.say("Hi")
        asked = [answer for answer in panel.values() if answer["url"].endswith("/chat/completions")]
        preflights = [answer for answer in asked if answer["kind"] == "Preflight"]
        posts = [answer for answer in asked if answer["kind"] == "Fetch"]
        assert [answer["status"] for answer in preflights] == [200]
        assert [answer["status"] for answer in posts] == [200]
        for answer in (*preflights, *posts):
            assert answer["headers"]["access-control-allow-origin"] == "*"
        assert chat.text


def test_default_settings_return_200(chat: ChatPage) -> None:
    """A request built from the default settings returns 200."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        with chat.page.expect_response("**/chat/completions") as answer:
            chat.ask("Hi")
        assert answer.value.status == 200
        chat.answered()
        assert set(chat.sent[0]) == {"model", "messages", "max_tokens", "stream", "stream_options"}


@pytest.mark.parametrize("key", ["rep_pen", "top_k", "min_p"])
def test_sampler_extra_returns_400_with_its_key(key: str, chat: ChatPage) -> None:
    """Turning on a sampler extra returns 400 with that key in error.param."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.fill("extra", json.dumps({key: 1}))
        with chat.page.expect_response("**/chat/completions") as answer:
            chat.ask("Hi")
        assert answer.value.status == 400
        assert answer.value.json()["error"]["param"] == key
        chat.answered()
        assert f"at {key}" in chat.error
        assert "Safe to correct and send again" in chat.error
        assert site.calls("POST", "/chat/async") == []


def test_plain_turn_returns_text_without_tool_calls(chat: ChatPage) -> None:
    """A plain turn returns text without tool calls."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.say("Why is the sky blue?")
        assert len(chat.text) > 20
        assert chat.page.locator(".call").count() == 0
        assert site.horde.verdict() == {"ok": True, "findings": []}


def test_tool_turn_yields_one_call_and_a_text_that_uses_its_result(chat: ChatPage) -> None:
    """A turn that needs a tool yields one call with a name and JSON arguments. The follow-up
    request returns 200 and a reply with text using the tool result, without further calls."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(QWEN)
        chat.offer_tool("roll_dice")
        statuses: list[int] = []
        chat.page.on(
            "response",
            lambda answer: statuses.append(answer.status) if "/chat/" in answer.url else None,
        )
        chat.say("Roll dice for me, please.")
        call = chat.page.locator(".call")
        assert call.count() == 1
        assert call.locator("code").inner_text() == "roll_dice"
        arguments, result = map(json.loads, call.locator("pre").all_inner_texts())
        assert isinstance(arguments, dict)
        assert result["total"] == sum(result["rolls"])
        assert chat.page.locator(".reply").count() == 2
        assert "roll_dice" in chat.text
        assert str(result["total"]) in chat.text
        history = chat.sent[1]["messages"]
        assert [message["role"] for message in history] == ["user", "assistant", "tool"]
        assert history[2]["tool_call_id"] == history[1]["tool_calls"][0]["id"]
        assert chat.sent[1]["tools"] == chat.sent[0]["tools"]
        assert [status for status in statuses if status] == [200, 200]


def test_model_without_worker_shows_the_error(chat: ChatPage) -> None:
    """A request for a model with no online worker shows the error message."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.say("Hi")
        assert OFFLINE in chat.error
        assert "no_eligible_worker · status 503" in chat.error
        assert "Not safe to repeat" in chat.error
        assert chat.page.locator("[role=alert]").count() == 1


def test_max_tokens_above_the_card_is_lowered_with_a_notice_and_served(chat: ChatPage) -> None:
    """With the output length set above the card's maximum, the frontend sends the card's maximum
    and shows the notice. The request is served."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.fill("api_key", "rich-key")
        chat.choose(PLAIN)
        chat.fill("max_tokens", "4000")
        hints = chat.page.locator("#hints")
        expect(hints).to_have_text("This model's workers serve at most 1024 tokens per reply.")
        chat.say("Hi")
        assert chat.sent[0]["max_tokens"] == 1024
        assert chat.text
        assert "Attic Llama" in chat.served


def test_status_line_shows_the_served_model_and_the_worker(chat: ChatPage) -> None:
    """The status line shows the response's model and the worker name."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        # Any of two is asked for, so that the served one isn't the one in the picker.
        chat.fill("extra", json.dumps({"model": None, "models": [OFFLINE, QWEN]}))
        chat.say("Hi")
        assert chat.served.startswith(f"{QWEN} · by ")
        assert "Qwen ·" in chat.served.removeprefix(QWEN)
        assert "kudos" in chat.served


def test_empty_reply_shows_the_notice(chat: ChatPage) -> None:
    """A reply the worker left empty shows the notice text."""
    with running_site() as site:
        site.horde.fail("empty_reply", model=PLAIN)
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.say("Hi")
        assert chat.text == ""
        (notice,) = chat.notices()
        assert len(notice) > 20
        assert "Attic Llama" in chat.served


def test_error_inside_the_stream_shows_its_message(chat: ChatPage) -> None:
    """After the stream opens, failures are SSE events under status 200. Both paths must display
    the error."""
    with running_site(workers=[scripted({"match": ".", "text": "Once. " * 400})]) as site:
        site.horde.fail("diverges", model=OFFLINE)
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        with chat.page.expect_response("**/chat/completions") as answer:
            chat.ask("Tell me.")
        assert answer.value.status == 200
        chat.answered()
        assert "ChatStreamDiverged" in chat.error
        assert "Not safe to repeat" in chat.error
        assert "Once." in chat.text
        assert chat.notices() == ["What came before the error is not part of the conversation."]
        chat.say("Again, please.")
        roles = [message["role"] for message in chat.sent[1]["messages"]]
        assert roles == ["user", "user"]
