"""Summarisers by name: each makes the text of a summary from a request of the engine."""

from __future__ import annotations

from compaction import offline
from viewer.runs.errors import ModelNotSetUp, UnknownChoice

from . import anthropic, calling, connections, openai
from .base import ProgressCallback, Summarizer, Usage
from .connections import KINDS, ModelAccess

__all__ = ["KINDS", "OFFLINE", "ProgressCallback", "Summarizer", "Usage", "get_summarizer", "summarizers"]

PIECES = {"openai": openai.pieces, "anthropic": anthropic.pieces}  # how each kind of model is asked
OFFLINE = Summarizer(
    "offline",
    "Extract, no model (nothing leaves this machine)",
    lambda request, listener: offline.summarize(request),
    local=True,
)


def summarizer_of(connection: ModelAccess) -> Summarizer:
    """The summariser that asks this model."""
    return calling.summarizer(connection, PIECES[connection.kind])


def summarizers() -> dict[str, Summarizer]:
    """Those that can be used now, by name: the one without a model, and each model that is set up."""
    found = map(summarizer_of, connections.all_connections())
    return {summarizer.name: summarizer for summarizer in [OFFLINE, *found]}


def get_summarizer(name: str) -> Summarizer:
    """The summariser of this name. Raises UnknownChoice, or ModelNotSetUp."""
    usable = summarizers()
    if name in usable:
        return usable[name]
    if name in KINDS:
        raise ModelNotSetUp(f"No {name} model is set up: name one on the settings page, or set {KINDS[name].variable}.")
    raise UnknownChoice(f"There is no summariser {name!r}. There is: {', '.join(usable)}.")
