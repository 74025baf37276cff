"""A known service's users each have the limits of their own address."""

import attrs

from horde_simulator.world import World
from simulator.horde import Caller, scenario

KNOWN = "Bearer front-secret"


def service() -> Caller:
    """A caller at a Horde that knows one service."""
    known = attrs.evolve(scenario(limits="service"), service_authorization=KNOWN)
    return Caller(World(known))


def passed(caller: Caller, count: int, **headers: str) -> int:
    """How many of so many listings at one instant are let through."""
    statuses = []
    for _ in range(count):
        caller.send("GET", "/workers", **{k.replace("_", "-"): v for k, v in headers.items()})
        statuses.append(caller.status)
    return statuses.count(200)


def test_each_address_has_limits_of_its_own() -> None:
    """Ninety listings a minute and address, through one service with two users."""
    caller = service()
    for user in ("203.0.113.1", "2001:db8::1"):
        assert passed(caller, 100, proxy_authorization=KNOWN, proxied_for=user) == 90
    assert passed(caller, 100) == 90


def test_a_stranger_cannot_choose_its_address() -> None:
    """Without the service's own authorization `Proxied-For` is no more than a word."""
    caller = service()
    assert passed(caller, 90, proxied_for="203.0.113.1") == 90
    assert passed(caller, 10, proxied_for="203.0.113.2") == 0
    assert passed(caller, 10, proxied_for="203.0.113.3", proxy_authorization="Bearer guess") == 0


def test_no_service_is_known_unless_the_scenario_says_so() -> None:
    """An empty authorization authorizes nobody."""
    caller = Caller(World(scenario(limits="service")))
    assert passed(caller, 90, proxy_authorization="", proxied_for="203.0.113.1") == 90
    assert passed(caller, 10, proxy_authorization="", proxied_for="203.0.113.2") == 0
