"""Show a picture to a model that sees: a data URL, or the address of a public one."""

import base64
import os
import sys
from pathlib import Path

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
)
png = base64.b64encode(Path(sys.argv[1]).read_bytes()).decode()
reply = client.chat.completions.create(
    model="aphrodite/Qwen/Qwen2.5-VL-7B-Instruct",
    messages=[
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
            ],
        }
    ],
)
print(reply.choices[0].message.content)
