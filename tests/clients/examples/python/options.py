"""Take any of several models, hide the thoughts, and set a price that must not be exceeded."""

import os
from typing import Any

import openai

client = openai.OpenAI(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
)
options: dict[str, Any] = {
    "models": ["koboldcpp/Gemma-3-4B-it", "koboldcpp/Qwen3-8B"],
    "horde": {"include_reasoning": False, "max_kudos": 500},
}
# The SDK insists on a model; `omit` leaves it out, for the front takes one or several, not both.
asked: dict[str, Any] = {"model": openai.omit, "extra_body": options}
reply = client.chat.completions.create(
    messages=[{"role": "user", "content": "What is 17 × 4?"}], **asked
)
print(reply.model, "says:", reply.choices[0].message.content)
