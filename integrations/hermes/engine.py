"""The context engine `palimpsest`: Hermes' own compressor, whose summaries Palimpsest's engine makes without a model.

When it compacts, with which threshold and how often, is Hermes' own. Where Palimpsest does not answer, or finds nothing
to compact, Hermes' compressor does it as ever.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agent import context_compressor  # type: ignore[import-not-found]  # of Hermes, as all below
from agent.context_compressor import ContextCompressor  # type: ignore[import-not-found]
from hermes_cli.config import load_config  # type: ignore[import-not-found]

logger = logging.getLogger(__name__)
SECONDS = 120.0
INDEX = "_palimpsest_index"  # the key by which a message that was kept is recognised
TAIL = getattr(context_compressor, "_COMPACTION_TAIL_MARKER", "")  # 0.22: an unchanged message behind the summary
ANY_WINDOW = 200_000  # until `update_model`, which Hermes calls next
# Parameters of the compressor by their names in the section `compression` of config.yaml, as Hermes reads them.
NAMES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "threshold_percent": ("threshold", float),
    "protect_first_n": ("protect_first_n", int),
    "protect_last_n": ("protect_last_n", int),
    "summary_target_ratio": ("target_ratio", float),
    "abort_on_summary_failure": ("abort_on_summary_failure", lambda value: str(value).lower() in ("true", "1", "yes")),
    "threshold_tokens_cap": ("threshold_tokens", int),
    "proactive_prune_tokens": ("proactive_prune_tokens", int),
    "proactive_prune_min_result_chars": ("proactive_prune_min_result_chars", int),
    "proactive_prune_min_reclaim_tokens": ("proactive_prune_min_reclaim_tokens", int),
    "min_tail_user_messages": ("min_tail_user_messages", int),
    "tail_mode": ("tail_mode", str),
    "model_thresholds": ("model_thresholds", dict),
}


class Palimpsest(ContextCompressor):  # type: ignore[misc]  # Hermes' own
    """Hermes' compressor with Palimpsest's `compress`."""

    def __init__(self, door: Any) -> None:
        super().__init__(model="", quiet_mode=True, config_context_length=ANY_WINDOW, **_configured())
        self._door = door

    @property
    def name(self) -> str:
        return "palimpsest"

    def clone_for_agent(self) -> Palimpsest:
        """Each agent has one of its own (0.22)."""
        return Palimpsest(self._door)

    def __deepcopy__(self, _: Any) -> Palimpsest:
        return Palimpsest(self._door)

    def compress(
        self, messages: list[dict[str, Any]], current_tokens: int | None = None, focus_topic: str | None = None,
        force: bool = False, **more: Any,
    ) -> list[dict[str, Any]]:  # fmt: skip
        try:
            compacted = self._compacted(messages, focus_topic)
            self._begun(current_tokens, force)
            self._previous_summary = None  # theirs reads it out of the messages
            self._last_compression_made_progress = True
            self.compression_count += 1
            return compacted
        except Exception:
            logger.debug("Palimpsest did not compact: Hermes does", exc_info=True)
        given = {"current_tokens": current_tokens, "focus_topic": focus_topic, "force": force, **more}
        return list(super().compress(messages, **given))

    def _begun(self, current_tokens: int | None, force: bool) -> None:
        """What Hermes' own compress() resets first, and reports afterwards."""
        begin = getattr(self, "_begin_compress_attempt", None)  # 0.22
        if begin is not None:
            begin(current_tokens, force)
        self._last_compress_aborted = self._last_summary_fallback_used = False
        self._last_summary_error = self._last_aux_model_failure_model = None
        if force:
            self._summary_failure_cooldown_until = 0.0

    def _compacted(self, messages: list[dict[str, Any]], focus: str | None) -> list[dict[str, Any]]:
        """The messages as Palimpsest compacts them. Raises if it does not."""
        given = {
            "messages": [{**message, INDEX: at} for at, message in enumerate(messages)],
            "strategy": "automatic", "handoff": "hermes", "window": self.context_length, "model": self.model,
            "focus": focus or "", "session_id": getattr(self, "_session_id", ""),
        }  # fmt: skip
        sent = json.loads(json.dumps(given["messages"], default=str))
        answered = json.loads(self._door.ask("compact", given, SECONDS))["messages"]
        compacted = [_restored(each, sent, messages) for each in answered]
        tail = len(answered)
        while tail and INDEX in answered[tail - 1]:
            tail -= 1
        for message in compacted[tail:] if TAIL else ():
            message[TAIL] = True
        return compacted


def _restored(answered: dict[str, Any], sent: list[dict[str, Any]], messages: list[dict[str, Any]]) -> dict[str, Any]:
    """A copy of the message that was kept, with what was changed in it; a new message as it is."""
    if INDEX not in answered:
        return answered
    at = answered.pop(INDEX)
    changed = {name: value for name, value in answered.items() if sent[at].get(name) != value}
    kept = {name: value for name, value in messages[at].items() if name in answered and name != "_db_persisted"}
    return {**kept, **changed}


def _configured() -> dict[str, Any]:
    """What the section `compression` sets, for the parameters that this Hermes has."""
    config = load_config() or {}
    section, known = config.get("compression") or {}, inspect.signature(ContextCompressor.__init__).parameters
    values: dict[str, Any] = {}
    for parameter, (name, kind) in NAMES.items():
        if parameter in known and section.get(name) is not None:
            with suppress(TypeError, ValueError):
                values[parameter] = kind(section[name])
    model = config.get("model")
    if isinstance(model, dict) and isinstance(model.get("max_tokens"), int):
        values["max_tokens"] = model["max_tokens"]
    return values
