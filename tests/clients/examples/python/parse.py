"""Get an object of a class of yours."""

import os
from typing import Literal

from openai import OpenAI
from pydantic import BaseModel


class Ingredient(BaseModel):
    """One line of a recipe."""

    name: str
    grams: int


class Recipe(BaseModel):
    """What to bake."""

    title: str
    difficulty: Literal["easy", "hard"]
    ingredients: list[Ingredient]


client = OpenAI(
    base_url=os.environ.get("OAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("HORDE_API_KEY", "0000000000"),
)
reply = client.chat.completions.parse(
    model="koboldcpp/Qwen3-8B",
    messages=[{"role": "user", "content": "A recipe for bread, please."}],
    response_format=Recipe,
)
recipe = reply.choices[0].message.parsed
if recipe is not None:
    print(f"{recipe.title} ({recipe.difficulty})")
    for ingredient in recipe.ingredients:
        print(f"- {ingredient.grams} g {ingredient.name}")
