"""Images that are no longer looked at."""

from __future__ import annotations

from typing import Any

from . import protocol
from .messages import is_image


def without_old_images(content: Any) -> Any:
    """The content with a text stub for each image, those inside tool results included; the input is not changed."""
    if isinstance(content, list):
        return [_stubbed(block) for block in content]
    return [_stubbed(content)] if is_image(content) else _stubbed(content)


def _stubbed(block: Any) -> Any:
    if is_image(block):
        return {"type": "input_text" if block["type"] == "input_image" else "text", "text": protocol.MEDIA_STUB}
    if isinstance(block, dict) and block.get("type") == "tool_result":
        return {**block, "content": without_old_images(block.get("content"))}
    return block
