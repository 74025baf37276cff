"""Let the model call functions, several at once, until it answers with text."""

import json
import os

from openai import OpenAI
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam

client = OpenAI(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
)


def get_weather(city: str) -> str:
    """What a real weather service would be asked for."""
    return json.dumps({"city": city, "degrees": {"Paris": 18, "Oslo": -4}[city]})


tool: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city, now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
messages: list[ChatCompletionMessageParam] = [
    {"role": "user", "content": "What is the weather in Paris and in Oslo?"}
]
while True:
    reply = client.chat.completions.create(
        model="koboldcpp/Qwen3-8B", messages=messages, tools=[tool]
    )
    message = reply.choices[0].message
    if not message.tool_calls:
        break
    # The front drops what the SDK adds to the returned message, so it can go back as it is.
    messages.append(message.to_dict())  # type: ignore[arg-type]
    for call in message.tool_calls:
        if call.type == "function":
            print(f"{call.function.name}({call.function.arguments})")
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
print(message.content)
