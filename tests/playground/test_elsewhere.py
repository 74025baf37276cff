"""What leaves the page: the client on another site, requests as curl and Python, keys, exports."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright isn't installed: the extra `browser`")

from playwright.sync_api import expect

from playground.chat_page import ChatPage
from playground.site import OFFLINE, PLAIN, QWEN, Site, running_site, scripted, static_site

STRANGER = """<!doctype html>
<meta charset="utf-8">
<title>A frontend of someone else's</title>
<p id="answer"></p>
<script type="module">
  import { ChatClient } from "%(front)schat-client.js";
  const client = new ChatClient({ baseUrl: "%(front)sv1", title: "someone-elses" });
  const answer = document.querySelector("#answer");
  const payload = { model: "%(model)s", messages: [{ role: "user", content: "Hi" }] };
  const reply = await client.chat(payload, { onContent: (text) => answer.append(text) });
  const refused = await client.chat({ ...payload, top_k: 1 }).catch((error) => error);
  window.found = {
    models: (await client.listModels()).length,
    served: [reply.model, reply.horde.worker_name, reply.finishReason],
    refused: [refused.code, refused.param, refused.isRetrySafe],
    noWorker: await client
      .chat({ ...payload, model: "koboldcpp/Qwen3-8B:free" })
      .catch(({ code, isRetrySafe }) => [code, isRetrySafe]),
  };
</script>
"""


def test_chat_client_on_a_page_of_another_origin(chromium: Any, tmp_path: Path) -> None:
    """A frontend author imports the file as it is, or takes it; CORS lets it do everything."""
    workers = [scripted({"match": ".", "text": "Hello, stranger."})]
    with running_site(workers=workers) as site, static_site(tmp_path) as elsewhere:
        page_text = STRANGER % {"front": site.page_url, "model": OFFLINE}
        (tmp_path / "index.html").write_text(page_text)
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{elsewhere}/")
        page.wait_for_function("window.found")
        found = page.evaluate("window.found")
        assert page.locator("#answer").inner_text() == "Hello, stranger."
        assert found == {
            "models": 6,
            "served": [OFFLINE, "Scribe", "stop"],
            "refused": ["UnsupportedChatParameter", "top_k", True],
            "noWorker": ["model_not_found", True],
        }
        (submit,) = site.calls("POST", "/chat/async")
        assert submit["status"] == 202
        context.close()


def shown_request(chat: ChatPage, site: Site) -> tuple[str, str]:
    """The request of a turn with most settings set, as curl and as Python."""
    chat.open(site.page_url)
    chat.choose(QWEN)
    chat.fill("api_key", "rich-key")
    chat.fill("max_tokens", "64")
    chat.fill("temperature", "0.5")
    chat.fill("system", 'It\'s "brief", $HOME and `all`.')
    chat.check("horde.trusted_workers")
    chat.offer_tool("roll_dice")
    chat.say("Why's the sky blue?")
    chat.page.locator(".reply").last.get_by_role("button", name="Request").click()
    return chat.page.locator("#as-curl").inner_text(), chat.page.locator("#as-python").inner_text()


def test_request_as_curl_and_python_run(chat: ChatPage) -> None:
    """Both snippets make the very request again; the key isn't in them."""
    with running_site(pace=4.0) as site:
        curl, python = shown_request(chat, site)
        assert "rich-key" not in curl + python
        environment = {**os.environ, "HORDE_API_KEY": "rich-key"}
        ran = subprocess.run(
            ["bash", "-c", curl], capture_output=True, text=True, check=True, env=environment
        )
        assert ran.stdout.rstrip().endswith("data: [DONE]")
        assert '"error"' not in ran.stdout
        ran = subprocess.run(
            [sys.executable, "-c", python],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert len(site.calls("POST", "/chat/async")) == 3
        expect(chat.page.locator("#request")).to_be_visible()
        chat.page.keyboard.press("Escape")
        expect(chat.page.locator("#request")).to_be_hidden()


def test_request_can_be_seen_before_it_is_sent(chat: ChatPage) -> None:
    """What sending would send is shown for a message not sent yet."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.page.locator("#draft").fill("Not yet sent")
        chat.page.locator("#show-request").click()
        assert "Not yet sent" in chat.page.locator("#as-curl").inner_text()
        assert "Authorization" not in chat.page.locator("#as-curl").inner_text()
        assert chat.sent == []


@pytest.mark.parametrize("kept", [False, True])
def test_key_is_kept_only_when_the_user_says_so(kept: bool, chat: ChatPage) -> None:
    """A key lives in memory; ticked, it is there again after the page is loaded anew."""
    stored = "() => JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie"
    with running_site() as site:
        chat.open(site.page_url)
        chat.fill("api_key", "rich-key")
        if kept:
            chat.check("remember_key")
        assert ("rich-key" in chat.page.evaluate(stored)) is kept
        chat.open(site.page_url)
        assert chat.page.locator("[name=api_key]").input_value() == ("rich-key" if kept else "")
        if kept:
            chat.page.locator("[name=remember_key]").uncheck()
            assert "rich-key" not in chat.page.evaluate(stored)


def test_settings_are_there_again(chat: ChatPage) -> None:
    """Model and settings are kept in the browser."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.fill("temperature", "0.7")
        chat.open(site.page_url)
        expect(chat.page.locator("#model")).to_have_value(PLAIN)
        assert chat.page.locator("[name=temperature]").input_value() == "0.7"


def test_front_that_cannot_be_reached(chat: ChatPage) -> None:
    """A wrong base URL is told of, and the page stays usable."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.fill("base_url", "http://127.0.0.1:9/v1")
        expect(chat.page.locator("#chosen")).to_contain_text("could not be reached")
        chat.fill("base_url", site.base_url)
        expect(chat.page.locator("#chosen")).not_to_contain_text("reached")
