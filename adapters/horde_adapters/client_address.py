"""Whose address a request comes from, when proxies stand before the front.

Each proxy adds the address that it was called from at the end of the list, so the list is read
backwards, through proxies that are trusted, up to the first address that isn't: what stands before
that is a stranger's claim.  Of the two headers only the one that the deployment names is read, as
most proxies pass the other on as the client sent it.
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from horde_adapters.asgi import Scope, all_headers

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

X_FORWARDED_FOR = "x-forwarded-for"
FORWARDED = "forwarded"

_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*(?:"([^"]*)"|([^;,\s"]*))', re.IGNORECASE)


def client_address(scope: Scope, trusted: Sequence[Network], header: str) -> str | None:
    """The client's address, printed anew so that nothing else can be in it; None without one.

    `header` is `X_FORWARDED_FOR` or `FORWARDED` (RFC 7239).
    """
    peer = scope.get("client")
    address = _read(peer[0]) if peer else None
    if address is None:
        return None
    for claim in _claims(scope, header):
        if not any(address in network for network in trusted):
            break
        claimed = _read(claim)
        if claimed is None:
            break
        address = claimed
    return str(address)


def _claims(scope: Scope, header: str) -> Iterator[str]:
    """What the proxies say, the nearest first."""
    values = b",".join(all_headers(scope, header.encode())).decode("latin-1")
    for element in reversed(values.split(",")):
        if header == FORWARDED:
            found = _FOR.search(element)
            yield (found[1] or found[2] or "") if found else ""
        else:
            yield element.strip()


def _read(text: str) -> Address | None:
    """An address with or without a port, a zone and brackets."""
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::\d+)?", text)
    if bracketed:
        text = bracketed[1]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
