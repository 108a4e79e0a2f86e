"""The request that is being worked on, repeated in a summary where the message itself cannot stay before it."""

from __future__ import annotations

HEADING = "## Request being worked on, word for word"


def with_request(body: str, text: str) -> str:
    """The body of a summary with this request behind it, each of its lines marked as quoted; "" for none."""
    quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return "\n\n".join(piece for piece in (body, f"{HEADING}\n{quoted}" if quoted else "") if piece)
