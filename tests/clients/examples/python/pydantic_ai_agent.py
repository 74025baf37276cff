"""The same through pydantic-ai, which runs the tools by itself."""

import os
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
)


def get_weather(city: str) -> dict[str, Any]:
    """The weather in a city, now."""
    return {"city": city, "degrees": {"Paris": 18, "Oslo": -4}[city]}


agent = Agent(OpenAIChatModel("koboldcpp/Qwen3-8B", provider=provider), tools=[get_weather])
print(agent.run_sync("What is the weather in Paris and in Oslo?").output)
