"""The tool history: answers follow the calls they answer, each call once (OpenAI's rule).

State and every change of it are here: `open` are the calls of the last assistant message that wait
for their tool message, `answered` those that have one, with its index. A message of any other role
closes the round.
"""

from collections.abc import Iterable

import attrs

from horde_core import faults
from horde_core.errors import Refusal, refuse


@attrs.define(eq=False, repr=False)
class ToolHistory:
    """Takes the messages of one request in order; each `see_…` may raise a `Refusal`."""

    _open: dict[str, None] = attrs.field(factory=dict)
    _answered: dict[str, int] = attrs.field(factory=dict)

    def see_other(self, index: int) -> None:
        """A message that is no tool message."""
        if self._open:
            raise self._unanswered(f"messages[{index}].role")
        self._answered.clear()

    def see_calls(self, ids: Iterable[str]) -> None:
        """The calls of the assistant message that `see_other` has just let pass."""
        self._open = dict.fromkeys(ids)

    def see_answer(self, index: int, call_id: str) -> None:
        """A tool message. What its refusals are about is in the first seed, "A tool round"."""
        if call_id in self._open:
            del self._open[call_id]
            self._answered[call_id] = index
            return
        name = faults.shown(call_id)
        if call_id in self._answered:
            raise refuse(
                faults.UNSUPPORTED,
                f"Invalid parameter: Duplicate value for 'tool_call_id' of '{name}', "
                f"in messages[{self._answered[call_id]}] and messages[{index}].",
                f"messages[{index}].role",
            )
        if not self._open:
            raise refuse(
                faults.UNSUPPORTED,
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                "message with 'tool_calls'.",
                f"messages[{index}].role",
            )
        raise refuse(
            faults.UNSUPPORTED,
            f"Invalid parameter: 'tool_call_id' of '{name}' not found in 'tool_calls' of previous "
            "message.",
            f"messages[{index}].tool_call_id",
        )

    def end(self) -> None:
        """The history is over: no call may be open."""
        if self._open:
            raise self._unanswered("messages")

    def _unanswered(self, param: str) -> Refusal:
        ids = faults.shown(", ".join(self._open))
        return refuse(
            faults.UNSUPPORTED,
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{ids}",
            param,
        )
