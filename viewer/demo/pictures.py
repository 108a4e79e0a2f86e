"""Small PNG pictures, drawn here so that the demo store needs no file and no image library."""

import base64
import math
import struct
import zlib
from collections.abc import Callable
from typing import Any

WIDTH, HEIGHT = 240, 150
Colour = tuple[int, int, int]
PAPER, INK, RUST, MOSS, SKY = (247, 243, 234), (60, 56, 50), (176, 84, 48), (108, 128, 84), (120, 150, 170)


def part(name: str) -> dict[str, Any]:
    """The picture of this name as a content part in OpenAI chat shape, its data in the URL. Raises KeyError."""
    return {"type": "image_url", "image_url": {"url": data_url(name)}}


def data_url(name: str) -> str:
    """The picture of this name as a `data:` URL. Raises KeyError."""
    return "data:image/png;base64," + base64.b64encode(_png(_PICTURES[name])).decode("ascii")


def _png(colour_at: Callable[[int, int], Colour]) -> bytes:
    lines = (b"\0" + b"".join(bytes(colour_at(x, y)) for x in range(WIDTH)) for y in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)  # 8 bits a channel, RGB
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"".join(lines), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _kiln(x: int, y: int) -> Colour:
    """A firing curve: temperature over hours, with a dip where the door was opened."""
    if x in (20, 21) or y in (130, 131):
        return INK
    hours = (x - 20) / 220
    height = 105 * (1 - (1 - hours) ** 3) - 30 * math.exp(-((hours - 0.62) ** 2) / 0.002)
    return RUST if x > 21 and abs(130 - height - y) < 2.5 else PAPER


def _bowl(x: int, y: int) -> Colour:
    """A glazed bowl seen from above, with a crack in the rim."""
    distance = math.hypot(x - 120, y - 75)
    angle = math.atan2(y - 75, x - 120)
    if distance > 66 or (distance > 56 and abs(angle + 0.9) < 0.03):
        return PAPER
    ring = 0.5 + 0.5 * math.cos(distance / 5 + math.sin(3 * angle))
    return (int(70 + 60 * ring), int(110 + 40 * ring), int(130 + 50 * ring)) if distance < 60 else INK


def _garden(x: int, y: int) -> Colour:
    """A plan: four beds, a path and a pond."""
    if math.hypot((x - 190) / 1.4, y - 110) < 24:
        return SKY
    in_bed = 15 < y % 75 < 62 and 12 < x % 80 < 66 and x < 160
    return MOSS if in_bed else PAPER


_PICTURES = {"kiln": _kiln, "bowl": _bowl, "garden": _garden}
