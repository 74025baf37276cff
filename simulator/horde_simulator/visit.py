"""One call on its way through the Horde, and what is known of it so far."""

from collections.abc import Mapping
from typing import Any

import attrs

from horde_simulator.call import Call
from horde_simulator.payload import read_object
from horde_simulator.refusals import HordeError
from horde_simulator.scenario import FaultSpec

Headers = tuple[tuple[str, str], ...]


@attrs.define(eq=False)
class Visit:
    """One call on its way: what is known of it so far."""

    call: Call
    headers: Mapping[str, str]
    key: str
    name: str = ""
    subject: str = ""
    limits: Headers = ()
    fault: FaultSpec | None = None
    request_id: str | None = None
    """The request that it turned out to be about."""
    done: bool = False
    """Whether its answer says that the request is over."""
    _body: dict[str, Any] | HordeError | None = None

    def body(self) -> dict[str, Any]:
        """The call's body, read once.

        Raises:
            HordeError: it is no JSON object of legal text.
        """
        if self._body is None:
            try:
                self._body = read_object(self.call.body)
            except HordeError as error:
                self._body = error
        if isinstance(self._body, HordeError):
            raise self._body
        return self._body

    def peek(self, name: str) -> object:
        """One key of the body; None when it can't be read."""
        try:
            return self.body().get(name)
        except HordeError:
            return None

    @property
    def graded_subject(self) -> str | None:
        """What the verdict knows the call by: a request's id, of a submit its operation key."""
        if self.name != "submit":
            return self.subject
        key = self.peek("operation_key")
        return key if isinstance(key, str) else None

    @property
    def asked_model(self) -> str | None:
        """The model that is asked for, of a submit the first."""
        asked = self.peek("models") if self.name == "submit" else None
        if isinstance(asked, list) and asked and isinstance(asked[0], str):
            return asked[0]
        return self.subject if self.name == "model" else None
