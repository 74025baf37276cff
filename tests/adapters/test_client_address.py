"""Whose address a request comes from: only trusted proxies' words count, read from the end."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_adapters.client_address import FORWARDED, X_FORWARDED_FOR, client_address

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("::1/128"))


def address(
    peer: str | None, *values: str, header: str = X_FORWARDED_FOR, sent_as: str = ""
) -> str | None:
    """The address found for a peer and what it sent."""
    name = (sent_as or header).encode()
    scope = {
        "client": None if peer is None else (peer, 4711),
        "headers": [(name, value.encode("latin-1")) for value in values],
    }
    return client_address(scope, TRUSTED, header)


@pytest.mark.parametrize(
    "peer, values, found",
    [
        ("203.0.113.9", (), "203.0.113.9"),  # nobody in between
        ("203.0.113.9", ("198.51.100.1",), "203.0.113.9"),  # a stranger claims
        ("10.0.0.2", ("198.51.100.1",), "198.51.100.1"),
        ("10.0.0.2", (), "10.0.0.2"),  # a proxy that asks by itself
        (
            "10.0.0.2",
            ("6.6.6.6, 198.51.100.1",),
            "198.51.100.1",
        ),  # the client's own claim stands first
        ("10.0.0.2", ("6.6.6.6", "198.51.100.1"), "198.51.100.1"),  # in a header of its own
        ("10.0.0.2", ("198.51.100.1, 10.0.0.3",), "198.51.100.1"),  # two proxies
        ("10.0.0.2", ("6.6.6.6, 198.51.100.1, 10.0.0.3",), "198.51.100.1"),
        ("10.0.0.2", ("10.0.0.4, 10.0.0.3",), "10.0.0.4"),  # a client from within
        ("10.0.0.2", ("nonsense",), "10.0.0.2"),
        ("10.0.0.2", ("198.51.100.1, unknown, 10.0.0.3",), "10.0.0.3"),
        ("10.0.0.2", ("198.51.100.1:5555",), "198.51.100.1"),
        ("10.0.0.2", ("[2001:db8::7]:5555",), "2001:db8::7"),
        ("10.0.0.2", ("2001:DB8:0::7",), "2001:db8::7"),  # printed anew
        ("10.0.0.2", ("fe80::1%eth0",), "fe80::1"),
        ("::ffff:10.0.0.2", ("198.51.100.1",), "198.51.100.1"),  # a dual-stack socket
        ("::1", ("::ffff:198.51.100.1",), "198.51.100.1"),
        (None, ("198.51.100.1",), None),  # a Unix socket has no address
    ],
)
def test_x_forwarded_for(peer: str | None, values: tuple[str, ...], found: str | None) -> None:
    assert address(peer, *values) == found


@pytest.mark.parametrize(
    "value, found",
    [
        ("for=198.51.100.1", "198.51.100.1"),
        ('for="[2001:db8::7]:4711";proto=https;by=10.0.0.2', "2001:db8::7"),
        ("proto=https;For=198.51.100.1;host=a.example", "198.51.100.1"),
        ("for=6.6.6.6, for=198.51.100.1;proto=https", "198.51.100.1"),
        ("for=198.51.100.1, for=10.0.0.3", "198.51.100.1"),
        ("for=_hidden", "10.0.0.2"),
        ("for=unknown", "10.0.0.2"),
        ("proto=https", "10.0.0.2"),
        ("", "10.0.0.2"),
    ],
)
def test_forwarded(value: str, found: str) -> None:
    """RFC 7239."""
    assert address("10.0.0.2", value, header=FORWARDED) == found


@pytest.mark.parametrize(
    "header, other", [(X_FORWARDED_FOR, FORWARDED), (FORWARDED, X_FORWARDED_FOR)]
)
def test_the_other_header_is_not_looked_at(header: str, other: str) -> None:
    """A proxy passes on what it doesn't know, so a client could choose its address there."""
    for value in ("for=6.6.6.6", "6.6.6.6"):
        assert address("10.0.0.2", value, header=header, sent_as=other) == "10.0.0.2"


@given(st.text(st.characters(max_codepoint=255), max_size=60), st.sampled_from((0, 1)))
def test_whatever_is_claimed_an_address_comes_out(value: str, which: int) -> None:
    """No other character than an address's can reach the Horde's header."""
    found = address("10.0.0.2", value, header=(X_FORWARDED_FOR, FORWARDED)[which])
    assert found is not None
    assert set(found) <= set("0123456789abcdef.:")
