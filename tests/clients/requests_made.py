"""What the Python tests and scripts ask: questions, a tool, a schema and a picture."""

import base64
import io
from typing import Any, Literal

from openai.types.chat import ChatCompletionFunctionToolParam
from PIL import Image
from pydantic import BaseModel

SUM = "What is 17 × 4?"
IN_TWO_CITIES = "What is the weather in Paris and in Oslo?"
BREAD = "A recipe for bread, please."
HUNDRED_WORDS = "Write 100 words."

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


def get_weather(city: str) -> dict[str, Any]:
    """The weather in a city, now."""
    return {"city": city, "degrees": DEGREES[city]}


class Ingredient(BaseModel):
    """One line of a recipe."""

    name: str
    grams: int


class Recipe(BaseModel):
    """What to bake: a schema with a reference, a list and an enum."""

    title: str
    difficulty: Literal["easy", "hard"]
    ingredients: list[Ingredient]


def blue_png(width: int = 12, height: int = 8) -> str:
    """A blue picture as a data URL."""
    file = io.BytesIO()
    Image.new("RGB", (width, height), (40, 80, 220)).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
