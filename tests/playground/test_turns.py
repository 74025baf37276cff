"""Turns on the page, in Chromium, over a real front and a simulated Horde."""

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright isn't installed: the extra `browser`")

from playwright.sync_api import FilePayload, Route, expect

from playground.chat_page import ChatPage
from playground.site import OFFLINE, PLAIN, QUEUED, QWEN, VISION, running_site, scripted

SCHEMA = {
    "type": "object",
    "properties": {"sky": {"enum": ["grey", "blue"]}, "celsius": {"type": "integer"}},
    "required": ["sky", "celsius"],
    "additionalProperties": False,
}


def red_png() -> bytes:
    """A PNG of 4 × 2 red pixels, made by hand (PNG specification, sections 5 and 11)."""

    def part(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    rows = (b"\0" + b"\xff\0\0" * 4) * 2
    header = struct.pack(">IIBBBBB", 4, 2, 8, 2, 0, 0, 0)
    parts = part(b"IHDR", header) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_stream_is_shown_while_it_comes(chat: ChatPage) -> None:
    """Text grows on the page while the worker still writes."""
    words = " ".join(f"word{number}" for number in range(400))
    with running_site(workers=[scripted({"match": ".", "text": words})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.fill("max_tokens", "1024")
        chat.ask("Go")
        text = chat.page.locator(".reply .markdown")
        expect(text).to_contain_text("word0")
        assert chat.page.locator(".reply").get_attribute("aria-busy") == "true"
        assert "word399" not in text.inner_text()
        chat.answered()
        assert " ".join(chat.text.split()) == words


def test_reasoning_is_folded(chat: ChatPage) -> None:
    """What the model thinks is there to be unfolded, apart from what it says."""
    rule = {"match": ".", "text": "Four.", "reasoning": "Two and two."}
    with running_site(workers=[scripted(rule)]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        reply = chat.say("2 + 2?")
        thoughts = reply.locator(".reasoning")
        assert chat.text == "Four."
        assert not thoughts.locator("div").is_visible()
        thoughts.locator("summary").click()
        assert thoughts.locator("div").inner_text() == "Two and two."
        chat.check("horde.include_reasoning")
        reply = chat.say("Again?")
        assert chat.sent[1]["horde"] == {"include_reasoning": False}
        assert not reply.locator(".reasoning").is_visible()


def test_image_from_a_file(chat: ChatPage) -> None:
    """An image of the user's is sent, shown and described."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(VISION)
        file: FilePayload = {"name": "red.png", "mimeType": "image/png", "buffer": red_png()}
        chat.page.locator("#image-file").set_input_files([file])
        expect(chat.page.locator("#attached img")).to_be_visible()
        chat.say("What is this?")
        assert "4 × 2" in chat.text
        assert "red" in chat.text
        assert chat.page.locator(".user img").count() == 1
        (_, image) = chat.sent[0]["messages"][0]["content"]
        assert image["image_url"]["url"].startswith("data:image/png;base64,")


def test_image_from_the_clipboard_and_by_url(chat: ChatPage) -> None:
    """Images may be pasted and named; one that no worker takes is told of before sending."""
    paste = """bytes => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], "a.png", { type: "image/png" }));
        const event = new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true });
        document.querySelector("#draft").dispatchEvent(event);
    }"""
    with running_site() as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.page.evaluate(paste, list(red_png()))
        expect(chat.page.locator("#attached img")).to_be_visible()
        chat.page.locator("#attach-url").click()
        chat.page.locator("#image-url").fill("https://example.org/cat.png")
        chat.page.locator("#add-image-url").click()
        expect(chat.page.locator("#attached a")).to_have_text(
            "Image 2: https://example.org/cat.png"
        )
        expect(chat.page.locator("#hints")).to_have_text(
            "None of this model's workers takes images."
        )
        chat.page.get_by_label("Remove image 1").click()
        assert chat.page.locator("#attached img").count() == 0
        assert chat.page.locator("#attached a").count() == 1


def test_structured_reply(chat: ChatPage) -> None:
    """A reply by a schema is shown as JSON that fits it."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(QWEN)
        chat.fill("format", "json_schema")
        chat.fill("schema", json.dumps(SCHEMA))
        chat.say("What is the weather?")
        document = json.loads(chat.page.locator(".reply .markdown code").inner_text())
        assert document["sky"] in ("grey", "blue")
        assert isinstance(document["celsius"], int)
        assert chat.sent[0]["response_format"]["json_schema"]["strict"] is True


def test_settings_that_cannot_be_read_are_not_sent(chat: ChatPage) -> None:
    """A schema that is no JSON is told of, and nothing is sent."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.fill("format", "json_schema")
        chat.fill("schema", "{oops")
        chat.ask("Hi")
        expect(chat.page.locator("#hints")).to_contain_text("The JSON schema can't be read")
        assert chat.page.locator("#draft").input_value() == "Hi"
        assert chat.sent == []


def test_queue_is_told_and_stop_cancels_the_job(chat: ChatPage) -> None:
    """While a request waits, its position and time are shown; Stop has the front cancel it."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.choose(QUEUED)
        chat.fill("horde.availability_mode", "wait")
        chat.ask("Hi")
        expect(chat.page.locator(".state")).to_contain_text("In the queue at position")
        expect(chat.page.locator(".state")).to_contain_text("to wait")
        chat.page.locator("#stop").click()
        chat.answered()
        assert any("Stopped" in notice for notice in chat.notices())
        chat.until(lambda: site.calls("DELETE", "/chat/status/"))
        assert len(site.calls("DELETE", "/chat/status/")) == 1


def test_stopped_text_stays_in_the_conversation(chat: ChatPage) -> None:
    """What a stopped reply has said was paid for, and is part of what is sent next."""
    with running_site(workers=[scripted({"match": ".", "text": "Once. " * 300})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.ask("Go")
        expect(chat.page.locator(".markdown")).to_contain_text("Once.")
        chat.page.locator("#stop").click()
        chat.answered()
        chat.say("Go on")
        roles = [message["role"] for message in chat.sent[1]["messages"]]
        assert roles == ["user", "assistant", "user"]
        assert chat.sent[1]["messages"][1]["content"].startswith("Once. ")


def test_refusal_is_tried_again_when_that_is_safe(chat: ChatPage) -> None:
    """A refusal without `x-should-retry: false` is sent again after Retry-After, by itself."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        answers: list[Callable[[Route], None]] = [
            lambda route: route.fulfill(
                status=503,
                headers={"retry-after": "0", "access-control-expose-headers": "Retry-After"},
                json={"error": {"message": "Full.", "code": "overloaded", "metadata": {}}},
            ),
            lambda route: route.continue_(),
        ]
        chat.spoil(lambda route: answers.pop(0)(route))
        chat.say("Hi")
        assert len(chat.sent) == 2
        assert chat.text
        assert len(site.calls("POST", "/chat/async")) == 1


def test_try_again_and_edit(chat: ChatPage) -> None:
    """The last reply can be asked for anew, and an earlier message be changed."""
    with running_site(workers=[scripted({"match": ".", "text": "Yes."})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.say("One")
        chat.say("Two")
        chat.page.locator(".retry:visible").click()
        expect(chat.page.locator("#stop")).to_be_visible()
        chat.answered()
        assert [message["content"] for message in chat.sent[2]["messages"]] == [
            "One",
            "Yes.",
            "Two",
        ]
        chat.page.get_by_role("button", name="Edit").first.click()
        assert chat.page.locator("#draft").input_value() == "One"
        assert chat.page.locator(".turn").count() == 0


def test_whole_reply(chat: ChatPage) -> None:
    """A reply that isn't streamed shows the same."""
    with running_site(workers=[scripted({"match": ".", "text": "Yes."})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.check("whole")
        chat.say("Well?")
        assert chat.text == "Yes."
        assert "Scribe" in chat.served
        assert "stream" not in chat.sent[0]


def test_system_prompt_and_sampling_are_sent(chat: ChatPage) -> None:
    """Settings become OpenAI's keys; what isn't set isn't sent."""
    with running_site(workers=[scripted({"match": ".", "text": "Yes."})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.fill("system", "Be brief.")
        chat.fill("temperature", "0.5")
        chat.fill("seed", "7")
        chat.fill("stop", "END\n###")
        chat.fill("horde.context_fit", "grow")
        chat.say("Hi")
        sent = chat.sent[0]
        assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
        assert (sent["temperature"], sent["seed"]) == (0.5, 7)
        assert sent["stop"] == ["END", "###"]
        assert sent["horde"] == {"context_fit": "grow"}
        assert "top_p" not in sent


def test_every_turn_of_a_flaky_horde_has_one_end(chat: ChatPage) -> None:
    """On a bad day each turn ends with a served reply or with an error that says what to do."""
    with running_site("flaky") as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.fill("max_tokens", "32")
        for number in range(1, 9):
            chat.say(f"Hi {number}")
            served = bool(chat.served)
            failed = chat.page.locator(".reply").last.locator(".error").count() == 1
            assert served != failed
            if failed:
                assert "afe to " in chat.error
            assert chat.page.locator(".turn").count() == 2 * number
        assert site.horde.verdict()["ok"]


def test_export_and_import(chat: ChatPage, tmp_path: Path) -> None:
    """An exported conversation comes back as it was, tool round and failed reply included."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(QWEN)
        chat.fill("system", "Be brief.")
        chat.fill("api_key", "rich-key")
        chat.offer_tool("roll_dice")
        chat.say("Roll dice for me, please.")
        chat.choose(OFFLINE)
        chat.say("And now?")
        shown = chat.page.locator("#conversation").inner_text()
        with chat.page.expect_download() as download:
            chat.page.locator("#export").click()
        file = tmp_path / "conversation.json"
        download.value.save_as(file)
        kept = json.loads(file.read_text())
        assert [entry["role"] for entry in kept["messages"]] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
        ]
        assert "rich-key" not in file.read_text()
        chat.page.locator("#clear").click()
        assert chat.page.locator(".turn").count() == 0
        chat.fill("system", "")
        chat.page.locator("#import-file").set_input_files(file)
        expect(chat.page.locator(".turn")).to_have_count(5)
        assert chat.page.locator("[name=system]").input_value() == "Be brief."
        again = chat.page.locator("#conversation").inner_text()
        for line in shown.splitlines():
            if len(line) > 12 and "afe to" not in line and "status" not in line:
                assert line in again


def test_file_that_is_no_conversation_is_refused(chat: ChatPage, tmp_path: Path) -> None:
    """A wrong file is told of, and the conversation stays."""
    file = tmp_path / "other.json"
    file.write_text('{"a": 1}')
    with running_site(workers=[scripted({"match": ".", "text": "Yes."})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.say("Hi")
        chat.page.locator("#import-file").set_input_files(file)
        expect(chat.page.locator("#hints")).to_have_text(
            "Not imported. This is no exported conversation."
        )
        assert chat.page.locator(".turn").count() == 2
