"""Show a reply, and the thoughts before it, while the model writes."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
)

stream = client.chat.completions.create(
    model="koboldcpp/Qwen3-8B",
    messages=[{"role": "user", "content": "What is 17 × 4?"}],
    stream=True,
    stream_options={"include_usage": True},
)
for chunk in stream:
    extra = chunk.model_extra or {}
    if "x_horde" in extra:
        print(f"\nanswered by {extra['x_horde']['worker_name']}")
    if chunk.usage is not None:
        print(f"{chunk.usage.completion_tokens} tokens")
    if not chunk.choices:
        continue
    delta = chunk.choices[0].delta
    thought = (delta.model_extra or {}).get("reasoning_content")
    if thought:
        print(f"({thought})")
    if delta.content:
        print(delta.content, end="", flush=True)
