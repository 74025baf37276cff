"""`vision`: says format, size and main colour of each image of the job."""

import io
import warnings
from random import Random
from typing import TYPE_CHECKING, Final

from horde_simulator.brains import Job, Reply

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# The names that people use for colours, each with where it sits in sRGB.
_COLOURS: Final = {
    "black": (0, 0, 0),
    "grey": (128, 128, 128),
    "white": (255, 255, 255),
    "red": (220, 30, 30),
    "orange": (255, 140, 0),
    "yellow": (250, 230, 40),
    "green": (40, 160, 60),
    "turquoise": (40, 200, 190),
    "blue": (40, 80, 220),
    "purple": (128, 0, 160),
    "pink": (255, 150, 190),
    "brown": (120, 72, 30),
    "beige": (225, 205, 165),
}
_MOST_PIXELS: Final = 40_000_000
"""Above this an image's pixels are not decoded (memory: 4 bytes each); its header is enough."""


def vision(job: Job, _random: Random) -> Reply:
    """Describes the job's images in their order, one sentence each."""
    if not job.images:
        return Reply("I see no image in this conversation.")
    many = len(job.images) > 1
    sentences = [
        f"{f'Image {number}' if many else 'The image'} {_described(data)}."
        for number, data in enumerate(job.images, start=1)
    ]
    return Reply(" ".join(sentences))


def _described(data: bytes) -> str:
    # Imported only here: most worlds never see an image, and Pillow takes its time.
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data))
            size = f"a {image.format} of {image.width} × {image.height} pixels"
            if image.width * image.height > _MOST_PIXELS:
                return f"is {size}, too large for a closer look"
            # Frame 1 of an animation, alpha over white, and few enough pixels to count.
            flat = Image.new("RGBA", image.size, "white")
            flat.alpha_composite(image.convert("RGBA"))
            return f"is {size}, mostly {_main_colour(flat.convert('RGB'))}"
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return "can't be read"


def _main_colour(image: "Picture") -> str:
    image.thumbnail((48, 48))
    counted: dict[str, int] = {}
    pixels = image.tobytes()
    for at in range(0, len(pixels), 3):
        name = _name(pixels[at], pixels[at + 1], pixels[at + 2])
        counted[name] = counted.get(name, 0) + 1
    return max(sorted(counted), key=lambda name: counted[name])


def _name(red: int, green: int, blue: int) -> str:
    """The nearest colour name, by a distance weighted as the eye weighs the channels."""

    def distance(name: str) -> float:
        r, g, b = _COLOURS[name]
        return 0.30 * (red - r) ** 2 + 0.59 * (green - g) ** 2 + 0.11 * (blue - b) ** 2

    return min(_COLOURS, key=distance)
