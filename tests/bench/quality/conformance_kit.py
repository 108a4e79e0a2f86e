"""compaction-conformance-kit 0.8: canaries by type and stale values after five rounds, the summary's body alone.

Rounds, sessions, canaries and probes are the kit's; each round summarises the text that the one before left. The room
is 20 % or 40 % of the session's characters. The kit's randomized and semantic sessions are for tuning; other seeds of
the randomized ones, the semantic ones it holds out itself and its generated ones are held out.
"""

from __future__ import annotations

import importlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.bench.quality.engine import Engine
from tests.bench.quality.figures import Figure, total
from tests.bench.quality.messages import Message
from tests.bench.quality.transcripts import Half

ROUNDS, SHARES = 5, (0.2, 0.4)


def figures(half: Half, engine: Engine) -> Iterator[Figure]:
    """For each room: each suite's canaries after the last round, by type, and the stale values in the text."""
    try:
        runner: Any = importlib.import_module("compaction_kit.runner")
    except ImportError:
        print("compaction-conformance-kit is not installed: make bench-quality installs it", file=sys.stderr)
        return
    for share in SHARES:
        kept: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for suite, session, canaries in _sessions(half):
            run = runner.run_conformance(session, _Compactor(engine), ROUNDS, canaries, budget_fraction=share)
            last = run.rounds[-1]
            text = last.context.text.lower()
            for canary in canaries:
                found = (int(last.survived[canary.id]), 1)
                kept[f"  {canary.type.value}"].append(found)
                kept[suite].append(found)
                if canary.superseded_tokens:
                    stale = any(token.lower() in text for token in canary.superseded_tokens)
                    kept["  stale values (fewer is better)"].append((stale, 1))
        for name, counted in sorted(kept.items(), key=lambda each: each[0].startswith(" ")):
            yield total(f"{name}, room {share:.0%}", counted)


def _sessions(half: Half) -> Iterator[tuple[str, Any, Any]]:
    corpus: Any = importlib.import_module("compaction_kit.corpus")
    semantic: Any = importlib.import_module("compaction_kit.semantic_corpus")
    generated: Any = importlib.import_module("compaction_kit.generated")
    first = 1 if half == "tuning" else 5
    for seed in range(first, first + 4):
        yield "random sessions", *corpus.build_random_session(seed)
        if half == "tuning":
            yield "semantic sessions", *semantic.build_semantic_session(seed)[:2]
        else:
            yield "semantic sessions", *semantic.build_semantic_heldout_session(seed)[:2]
            yield "generated sessions", *generated.build_generated_session(seed)


class _Compactor:
    """The engine as a compactor of the kit."""

    name = "palimpsest"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def compact(self, turns: list[Any], round_num: int = 1, budget_chars: int = 0) -> Any:
        """Round 1 gets the session, later rounds the text that the one before left, as a turn of the system."""
        compacted: Any = importlib.import_module("compaction_kit.compacted")
        earlier = "\n".join(turn.text for turn in turns if turn.role == "system") if round_num > 1 else ""
        rows: list[Message] = [
            {"role": turn.role, "content": turn.text} for turn in turns if round_num == 1 or turn.role != "system"
        ]
        return compacted.CompactedContext(self._engine.summary_of(rows, earlier, budget_chars), self.name, round_num)
