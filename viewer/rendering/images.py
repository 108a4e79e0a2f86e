"""Images in a content: where each is held, in the shapes of OpenAI chat, Responses and Anthropic, and what is shown."""

from __future__ import annotations

import re
from typing import Any

# The picture formats that are shown, and only as data: URLs: nothing is loaded from elsewhere.
_DATA = re.compile(r"data:(image/(?:png|jpeg|jpg|gif|webp|avif|bmp));base64,([A-Za-z0-9+/=\s]+)")


def data_image(address: str) -> tuple[str, int] | None:
    """Type and bytes of an image that is a data URL of a picture format; None for any other address."""
    match = _DATA.fullmatch(address)
    return (match[1], len(match[2]) * 3 // 4) if match else None


def address_of(part: dict[str, Any]) -> str:
    """The address of an image part, a data URL or one elsewhere; "" where it has none."""
    held = part.get("image_url") or part.get("source") or part.get("url") or ""
    if isinstance(held, str):
        return held
    if not isinstance(held, dict):
        return ""
    if held.get("type") == "base64":
        return f"data:{held.get('media_type')};base64,{held.get('data')}"
    url = held.get("url")
    return url if isinstance(url, str) else ""
