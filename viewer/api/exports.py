"""A session as a file."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from viewer import exports
from viewer.exports import CONTENT_TYPES, Format, View

from .answers import PROBLEMS
from .schemas import ProblemOut
from .scopes import READ
from .sessions import SESSION

router = Router(tags=["sessions"])
_FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The file",
            "content": {
                kind.partition(";")[0]: {"schema": {"type": "object" if kind == "application/json" else "string"}}
                for kind in CONTENT_TYPES.values()
            },
        }
    }
}


@router.get(
    f"{SESSION}/export", auth=READ, response={PROBLEMS: ProblemOut}, summary="A session as a file", openapi_extra=_FILE
)
def export(
    request: HttpRequest,
    store: str,
    session_id: str,
    format: Format = "json",
    view: View = "history",
    redact: bool = True,
    mask: bool = True,
) -> StreamingHttpResponse:
    """Markdown, HTML, JSON or JSON lines, as described in `docs/export.md`.

    What looks like a secret is redacted unless `redact=0` (or `mask=0`, until December 2027). The file ends with a note
    if rows disappeared meanwhile.
    """
    return exports.download(exports.export(store, session_id, format, view, redact=redact and mask))
