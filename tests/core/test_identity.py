"""Keys and `Client-Agent`, from headers as hostile as they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_core.errors import Refusal
from horde_core.identity import client_agent, read_key

VERSION = "1.2.3"


@pytest.mark.parametrize(
    "headers, key",
    [
        ([], "0000000000"),
        ([b"Bearer 0000000000"], "0000000000"),
        ([b"Bearer abc-DEF_123"], "abc-DEF_123"),
        ([b"bearer abc"], "abc"),
        ([b"BEARER abc"], "abc"),
        ([b"  Bearer   abc  "], "abc"),
        ([b"Bearer Bearer"], "Bearer"),
        ([b"Bearer Bear"], "Bear"),
        ([b"Bearer Bearer-of-news"], "Bearer-of-news"),
        ([b"Bearer sk-~!@#$%^&*()"], "sk-~!@#$%^&*()"),
    ],
)
def test_the_key_is_what_follows_bearer(headers: list[bytes], key: str) -> None:
    assert read_key(headers) == key


@pytest.mark.parametrize(
    "headers",
    [
        [b""],
        [b" "],
        [b"Bearer"],
        [b"Bearer "],
        [b"Bearer\t"],
        [b"Bear abc"],
        [b"Bearerabc"],
        [b"Bearers abc"],
        [b"abc"],
        [b"Basic YTpi"],
        [b"Token abc"],
        [b"Bearer a b"],
        [b"Bearer a, Bearer b"],
        [b"Bearer\tabc"],
        [b"Bearer a\tb"],
        [b"Bearer a\0b"],
        [b"Bearer a\x7fb"],
        [b"Bearer a\r\nX-Evil: 1"],
        ["Bearer é".encode()],
        [b"Bearer \xe9"],
        [b"Bearer a", b"Bearer a"],
        [b"", b""],
    ],
)
def test_anything_else_is_401_and_tells_the_way_out(headers: list[bytes]) -> None:
    with pytest.raises(Refusal) as caught:
        read_key(headers)
    refusal = caught.value
    assert (refusal.status, refusal.code, refusal.type, refusal.param) == (
        401,
        "InvalidAuthorizationHeader",
        "authentication_error",
        None,
    )
    assert "leave the header away or send 'Bearer 0000000000'" in refusal.message
    assert not refusal.held


def test_the_message_never_has_the_key() -> None:
    with pytest.raises(Refusal) as caught:
        read_key([b"Bearer s3cret and more"])
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    "headers, agent",
    [
        ([], f"unknown:{VERSION}:unknown via horde-oai-front"),
        (
            [(b"X-Title", b"My App"), (b"User-Agent", b"OpenAI/Python 3.57.0")],
            f"My App:{VERSION}:OpenAI/Python 3.57.0 via horde-oai-front",
        ),
        ([(b"x-openrouter-title", b"Router")], f"Router:{VERSION}:unknown via horde-oai-front"),
        (
            [(b"referer", b"https://chat.example:8443/x?y"), (b"user-agent", b"ua: 1")],
            f"chat.example:{VERSION}:ua: 1 via horde-oai-front",
        ),
        (
            [(b"origin", b"https://o.example"), (b"referer", b"https://r.example/")],
            f"r.example:{VERSION}:unknown via horde-oai-front",
        ),
        (
            [(b"referer", b"https://r.example/"), (b"http-referer", b"http://h.example")],
            f"h.example:{VERSION}:unknown via horde-oai-front",
        ),
        ([(b"origin", b"https://o.example")], f"o.example:{VERSION}:unknown via horde-oai-front"),
        ([(b"origin", b"null")], f"unknown:{VERSION}:unknown via horde-oai-front"),
        ([(b"referer", b"my app")], f"unknown:{VERSION}:unknown via horde-oai-front"),
        ([(b"referer", b"http://[bad/")], f"unknown:{VERSION}:unknown via horde-oai-front"),
        (
            [(b"referer", b"https://b\xfccher.example/")],
            f"unknown:{VERSION}:unknown via horde-oai-front",
        ),
        # An empty title is no title
        (
            [(b"x-title", b" :\t"), (b"x-openrouter-title", b"Next")],
            f"Next:{VERSION}:unknown via horde-oai-front",
        ),
        # The first of a repeated header
        (
            [(b"x-title", b"One"), (b"X-TITLE", b"Two")],
            f"One:{VERSION}:unknown via horde-oai-front",
        ),
        # UTF-8 and Latin-1 alike; what Latin-1 lacks is left out
        ([(b"x-title", "Café 漢 🐎".encode())], f"Café:{VERSION}:unknown via horde-oai-front"),
        ([(b"x-title", b"Caf\xe9")], f"Café:{VERSION}:unknown via horde-oai-front"),
        # Colons separate the fields, so the application has none
        ([(b"x-title", b"a:b:c")], f"abc:{VERSION}:unknown via horde-oai-front"),
        (
            [(b"x-title", b"a\r\nX-Evil: 1\0\x7f"), (b"user-agent", b"u\r\n\r\nGET /")],
            f"aX-Evil 1:{VERSION}:uGET / via horde-oai-front",
        ),
        (
            [(b"x-title", b"t" * 65), (b"user-agent", b"u" * 257)],
            f"{'t' * 64}:{VERSION}:{'u' * 256} via horde-oai-front",
        ),
        (
            [(b"x-title", b"t" * 63 + b" more")],
            f"{'t' * 63}:{VERSION}:unknown via horde-oai-front",
        ),
    ],
)
def test_the_client_agent_names_the_application(
    headers: list[tuple[bytes, bytes]], agent: str
) -> None:
    assert client_agent(headers, VERSION) == agent


NAMES = st.sampled_from(
    [b"x-title", b"X-OpenRouter-Title", b"http-referer", b"referer", b"origin", b"user-agent"]
)


@given(st.lists(st.tuples(NAMES, st.binary(max_size=400)), max_size=8))
def test_no_header_can_break_the_submit(headers: list[tuple[bytes, bytes]]) -> None:
    agent = client_agent(headers, VERSION)
    sent = agent.encode("latin-1")
    assert not any(byte < 0x20 or 0x7F <= byte < 0xA0 for byte in sent)
    application, version, rest = agent.split(":", 2)
    assert application
    assert len(application) <= 64
    assert version == VERSION
    assert rest.endswith(" via horde-oai-front")
    assert len(rest) <= 256 + len(" via horde-oai-front")


@given(st.lists(st.binary(max_size=60), max_size=2))
def test_any_authorization_is_a_safe_key_or_401(headers: list[bytes]) -> None:
    try:
        key = read_key(headers)
    except Refusal as refusal:
        key = f"refused-{refusal.status}"
        expected = "refused-401"
    else:
        expected = "".join(char for char in key if "!" <= char <= "~")
    assert key == expected
