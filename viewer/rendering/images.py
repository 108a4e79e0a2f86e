"""Images in a content: where each is stored, in the shapes of OpenAI chat, Responses and Anthropic, and which are
shown.
"""

from __future__ import annotations

import re
from typing import Any

# The picture formats that are shown, and only as data: URLs: nothing is loaded from elsewhere.
_DATA = re.compile(r"data:(image/(?:png|jpeg|jpg|gif|webp|avif|bmp));base64,([A-Za-z0-9+/=\s]+)")


def data_image(address: str) -> tuple[str, int] | None:
    """Type and size in bytes of an image in a data: URL of a picture format; None for any other URL."""
    match = _DATA.fullmatch(address)
    return (match[1], len(match[2]) * 3 // 4) if match else None


def address_of(part: dict[str, Any]) -> str:
    """The URL of an image part, a data: URL or one elsewhere; "" if it has none."""
    image = part.get("image_url") or part.get("source") or part.get("url") or ""
    if isinstance(image, str):
        return image
    if not isinstance(image, dict):
        return ""
    if image.get("type") == "base64":
        return f"data:{image.get('media_type')};base64,{image.get('data')}"
    url = image.get("url")
    return url if isinstance(url, str) else ""
