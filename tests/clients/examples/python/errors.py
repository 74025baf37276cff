"""Tell what to change from what to wait for."""

import os

import openai

client = openai.OpenAI(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
)


def ask(model: str, temperature: float) -> str | None:
    """A whole reply's text."""
    reply = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "Say hello, briefly."}],
        temperature=temperature,
    )
    return reply.choices[0].message.content


try:
    ask("koboldcpp/Qwen3-8B", temperature=2.5)
except openai.BadRequestError as error:
    # Nothing was queued: correct the request and send it again.
    print(f"change {error.param}: {error.message}")

try:
    ask("koboldcpp/Gemma-3-4B-it", temperature=1.0)
except openai.APIStatusError as error:
    # `x-should-retry: false`: the SDK hasn't asked again, and neither should a loop of yours.
    print(f"{error.status_code} {error.code}: {error.message}")
