"""Ask a question, and see who answered it."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
    default_headers={"X-Title": "my-app"},
)

for card in client.models.list():
    print(card.id)

reply = client.chat.completions.create(
    model="koboldcpp/Qwen3-8B",
    messages=[{"role": "user", "content": "What is 17 × 4?"}],
)
print(reply.choices[0].message.content)

horde = (reply.model_extra or {})["x_horde"]
print(f"answered by {horde['worker_name']} for {horde['kudos']} kudos")
