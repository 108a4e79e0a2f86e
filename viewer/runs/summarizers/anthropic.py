"""Summaries by a model behind the Messages interface of Anthropic."""

from __future__ import annotations

import compaction

from .base import Listener, Summarizer
from .connections import Connection


def summarizer(connection: Connection) -> Summarizer:
    """The summariser that asks this model."""

    def ask(request: compaction.SummaryRequest, listener: Listener) -> str:
        raise NotImplementedError

    return Summarizer("anthropic", f"{connection.model}", ask, model=connection.model, window=connection.window)
