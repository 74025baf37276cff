"""The tools, schemas and images that the Python tests ask with."""

import base64
import io
import json

from openai.types.chat import ChatCompletionFunctionToolParam
from PIL import Image

WEATHER_TOOL: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city, now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
DEGREES = {"Paris": 18, "Oslo": -4}
"""What the tests' own weather service knows."""


def weather(arguments: str) -> str:
    """The result of a call of the tool."""
    city = json.loads(arguments)["city"]
    return json.dumps({"city": city, "degrees": DEGREES[city]})


def blue_png(width: int = 12, height: int = 8) -> str:
    """A blue picture as a data URL."""
    file = io.BytesIO()
    Image.new("RGB", (width, height), (40, 80, 220)).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
