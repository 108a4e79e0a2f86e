"""Ways to make a context smaller, the engine's and others', all asked in the same manner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.quality.engine import POLICY, Engine, is_enough, pruned, tokens
from tests.bench.quality.messages import Message, blocks, calls, results, shown

Way = Callable[[list[Message], int], list[Message]]  # messages, and the tokens that the engine left of them
CACHE = Path(os.environ.get("PALIMPSEST_CACHE_DIR") or Path.home() / ".cache" / "palimpsest")
OWN = "engine"


def newest(messages: list[Message], size: int) -> list[Message]:
    """The newest messages that fit into what the engine left, and no summary."""
    start, taken = len(messages), 0
    while start and (taken := taken + tokens(messages[start - 1 : start])) <= size:
        start -= 1
    while start < len(messages) and results(messages[start]):
        start += 1
    return messages[start:]


@contextmanager
def all_ways(engine: Engine, others: bool) -> Iterator[dict[str, Callable[[], Way]]]:
    """The engine, and `others` by name, each made anew for a transcript; Hermes' only where Hermes is in the cache.

    "prune, then engine" compacts what is left of a context only if an agent would still do so by itself, "prune, always
    engine" in any case.
    """
    found: dict[str, Callable[[], Way]] = {OWN: lambda: lambda messages, _: engine.compact(messages).left}
    if not others:
        yield found
        return

    def pruned_then_engine(messages: list[Message], _: int) -> list[Message]:
        left = pruned(messages)
        return left if is_enough(left) else engine.compact(left).left

    found |= {
        "newest messages": lambda: newest,
        "prune": lambda: lambda messages, _: pruned(messages),
        "prune, then engine": lambda: pruned_then_engine,
        "prune, always engine": lambda: lambda messages, _: engine.compact(pruned(messages)).left,
    }
    python = next(iter(sorted(CACHE.glob("hermes-*/bin/python"), reverse=True)), None)
    if python is None:
        print("Hermes is not in the cache (make test-all fetches it): its own fallback is left out", file=sys.stderr)
        yield found
        return
    with TemporaryDirectory(prefix="palimpsest-quality-") as home, _hermes(python, home) as ask:
        yield found | {"Hermes' fallback": lambda: _HermesWay(ask)}


class _HermesWay:
    """Hermes' own compaction where no model answers, by one of its agents that lives as long as this."""

    def __init__(self, ask: Callable[[object], list[Message]]) -> None:
        self._ask = ask
        self._begins = True

    def __call__(self, messages: list[Message], _: int) -> list[Message]:
        begins, self._begins = self._begins, False
        return self._ask({"begins": begins, "window": POLICY.context_window, "messages": as_openai(messages)})


@contextmanager
def _hermes(python: Path, home: str) -> Iterator[Callable[[object], list[Message]]]:
    program = Path(__file__).with_name("hermes_fallback.py")
    environment = {"HERMES_HOME": home, "HOME": home, "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        [python, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment,
    ) as process:  # fmt: skip
        stdin, stdout = process.stdin, process.stdout
        assert stdin and stdout

        def ask(question: object) -> list[Message]:
            stdin.write(json.dumps(question) + "\n")
            stdin.flush()
            found: list[Message] = json.loads(stdout.readline())
            return found

        yield ask
        stdin.close()


def as_openai(messages: Sequence[Message]) -> list[Message]:
    """The messages in the shape that Hermes keeps: calls beside the text, a result a message of its own."""
    found: list[Message] = []
    for message in messages:
        if message["role"] == "tool":
            found.append(message)
            continue
        found += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text, _ in results(message)]
        text = shown(message)
        made = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls(message)
        ]
        if text or made or not blocks(message):
            found.append({"role": message["role"], "content": text} | ({"tool_calls": made} if made else {}))
    return found
