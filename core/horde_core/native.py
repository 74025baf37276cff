"""The Horde's native chat API: its paths, its words, and the values read from its answers.

This is the one place that knows native names (a port: another dialect is a change in this file).
Readers are tolerant, as the contract asks: unknown fields are ignored, missing ones have defaults,
and only an answer that isn't the object it should be is an `UnreadableAnswer`.
"""

from typing import Final

BASE: Final = "/api/v2"
SUBMIT: Final = f"{BASE}/generate/chat/async"
STATUS: Final = f"{BASE}/generate/chat/status"
POP: Final = f"{BASE}/generate/chat/pop"
PROGRESS: Final = f"{BASE}/generate/chat/progress"
WORKER_SUBMIT: Final = f"{BASE}/generate/chat/submit"
IMAGE: Final = f"{BASE}/generate/chat/image"
WORKERS: Final = f"{BASE}/workers"
MODELS: Final = f"{BASE}/status/models"
FIND_USER: Final = f"{BASE}/find_user"
HEARTBEAT: Final = f"{BASE}/status/heartbeat"
PERFORMANCE: Final = f"{BASE}/status/performance"

ANONYMOUS_KEY: Final = "0000000000"

FEATURES: Final = (
    "tools",
    "parallel_tool_calls",
    "response_format.json_object",
    "response_format.json_schema",
    "tools_with_response_format",
    "reasoning_effort",
    "image_input",
    "progress",
)
GUARANTEES: Final = ("tool_choice", "json_schema_strict", "no_prompt_trim")
LIMITS: Final = ("max_temperature_with_tools",)
