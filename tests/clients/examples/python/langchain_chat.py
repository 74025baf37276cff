"""The same through LangChain."""

import os

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

chat = ChatOpenAI(
    model="koboldcpp/Qwen3-8B",
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=SecretStr(os.environ.get("HORDE_API_KEY", "0000000000")),
    extra_body={"horde": {"include_reasoning": False}},
)
for chunk in chat.stream("What is 17 × 4?"):
    print(chunk.content, end="", flush=True)
print()
