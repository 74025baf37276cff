"""Ids that workers make up."""

import string
from random import Random
from typing import Final

_LETTERS: Final = string.ascii_letters + string.digits


def call_id(random: Random) -> str:
    """A tool call's id in OpenAI's form: `call_` and 24 letters or digits."""
    return "call_" + "".join(random.choices(_LETTERS, k=24))
