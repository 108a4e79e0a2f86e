"""No text, however it is written, keeps any of our functions busy: the test walks all that take text."""

from __future__ import annotations

import gc
import importlib
import inspect
import math
import pkgutil
import re
import signal
import sqlite3
import time
from collections import Counter, abc, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]  # what takes expressions apart
from types import FrameType
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import pytest
from django.apps import apps
from django.db.models import Model
from django.http import HttpRequest, QueryDict
from django.utils.safestring import SafeString, mark_safe

import compaction
import viewer
from compaction import Plan, Policy, pruning, sentences, strategy, tokens
from compaction.llm import digest, prompt
from compaction.strategy import Strategy
from tests import filling
from tests.cost import slowness
from viewer.pages.parts.losses import Lost
from viewer.runs.providers import PROVIDERS
from viewer.runs.providers.provider import ModelAccess, Provider
from viewer.runs.providers.summarizers import ProgressCallback
from viewer.stores.base import Store
from viewer.stores.claude_code.kind import ClaudeCode
from viewer.stores.claude_code.reader import ClaudeReader
from viewer.stores.claude_code.writer import ClaudeWriter
from viewer.stores.codex.kind import Codex
from viewer.stores.codex.reader import CodexReader
from viewer.stores.codex.writer import CodexWriter
from viewer.stores.errors import StoreError
from viewer.stores.hermes import dialect
from viewer.stores.hermes.kind import HermesAgent
from viewer.stores.hermes.reader import HermesReader
from viewer.stores.hermes.writer import HermesWriter
from viewer.stores.home import HomeStores
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.kind import Agent, StoreKind
from viewer.stores.openclaw.kind import OpenClaw
from viewer.stores.openclaw.reader import OpenClawReader
from viewer.stores.openclaw.writer import OpenClawWriter
from viewer.stores.opencode.kind import OpenCode
from viewer.stores.opencode.reader import OpenCodeReader
from viewer.stores.opencode.writer import OpenCodeWriter
from viewer.stores.pi.kind import Pi
from viewer.stores.pi.reader import PiReader
from viewer.stores.pi.writer import PiWriter
from viewer.stores.reader import Reader
from viewer.stores.search.query import Query, parse
from viewer.stores.sqlite.tables import Queries
from viewer.stores.transcript import Boundary, TranscriptIndex
from viewer.stores.trees.codec import EntrySource
from viewer.stores.trees.kind import TreeStores
from viewer.stores.trees.reader import TreeReader
from viewer.stores.trees.writer import TreeFile, TreeWriter
from viewer.stores.writer import Writer
from viewer.web.session_urls import SessionUrls

LONG, SHORT = 100_000, 5_000  # characters
SECONDS = 1.0  # of processor time for each LONG characters that a function is given; most take a hundredth
# What takes no longer for SHORT needs no second look: 0.2 s for LONG if its time grows with the square.
QUICK = 0.0005
COSTLY = 0.001
STRIDE, COSTLY_STRIDE = 14, 40  # of the pieces a function is given every so many
WORDS = "Please look at /srv/app/a.py: it must not fail. It says 12 errors, see https://a.example/b.\n" * 20

PIECES = [
    *"()[]{}<>\"'`\\/ \n\t\r01aAé中のก,.:;-_=+*#@!?&%$|~^\x1b\x00\u200b\u2028\u00a0\U0001f600。「—…•",
    *("()", "[]", "(a", "a b ", " a\n", " \n", "\n\n ", "a. ", "1. ", "1,", "12:", "- a\n", "a-", "/a", "../", "a@"),
    *("a.b ", "a@b.c ", "http://", "http://a ", "<<", "<<a\n", "[](", "![](", "[a](b", "](", "\x1b[", "\x1b[1;"),
    *("\x1b[31ma", "\x1b]", "@@", "@@ -1 +1 @@\n", "---\n", "--- a\n+++ b\n", "-a\n+b\n", "```\n", "```a\n"),
    *("~~~\n", "`a ", "**a ", "> ", "|a", "|a|\n", "&& ", "||", "$(", "`a`", "${a", "\\\n", "\\'", '"a" ', '"a'),
    *('{"a":', "[1,", "export A=1 ", "cat a; ", "sed -n 1,2p a ", "cd a && ", "> a ", "2>&1 ", "--a ", "<a>"),
    *("</a>", "<a ", "<!--", "<command-name>", "&lt;", "Ab Cd ", "a, b ", "2026-01-01 ", "12:00 ", "1.5 "),
    *("$1 ", "+1 ", "a: ", "a:\n", "# a\n", "1) ", "a? ", "must ", "not ", "No ", "Error: ", "exit 1\n", "/tmp/a "),
    *("/tmp/a/", "a.py ", "a.py:1 ", "v1.2.3 ", "0x1", "deadbeef", "a1", "\r\n", "a\r", "sk-", "Bearer ", "password="),
    *("key: ", "*** ", "[CONTEXT", "##A##", "--- END", "data:image/png;base64,", "%20", "\\n", '\\"', "\\u00", '"\\'),
    *("e.g. ", "“a” ", "a。", "中 ", "1中", "- [ ] a\n", "a\tb\n", "    a\n", "\n  - "),
]  # fmt: skip


class Outside(filling.Unknown):
    """It comes with a store, a request or a row of our own database; what it holds goes to functions walked here."""


def _none(text: str) -> Any:
    raise Outside


POLICY = Policy(context_window=3_000, protect_first_n=1, protect_last_n=2)


def _rows(text: str) -> list[dict[str, Any]]:
    """A conversation that is long enough to be compacted, with the text in its middle."""
    newest = [{"role": "assistant", "content": "ok " * 400}, {"role": "user", "content": "And?"}]
    return [{"role": "user", "content": "Go on."}, *filling.talk(text), *filling.talk(WORDS), *newest]


def _planned(text: str) -> Plan:
    return compaction.plan(_rows(text), POLICY, len)


_FOREIGN = (
    Store, Reader, Writer, StoreKind, Agent, TranscriptIndex, Boundary, ModelAccess, Provider, HttpRequest,
    QueryDict, dialect.StoreConnection, dialect.Rows, ProgressCallback, Path, Strategy, HermesAgent, HermesReader,
    HermesWriter, ClaudeCode, ClaudeReader, ClaudeWriter, Codex, CodexReader, CodexWriter, FileReader, BinaryIO,
    EntrySource, OpenClaw, OpenClawReader, OpenClawWriter, Pi, PiReader, PiWriter, TreeReader,
    HomeStores, TreeFile, TreeStores, TreeWriter, OpenCode, OpenCodeReader, OpenCodeWriter, sqlite3.Connection, Queries,
)  # fmt: skip
MADE: filling.Makers = {
    SessionUrls: lambda text: SessionUrls("own", "s"),
    Query: parse,
    Policy: lambda text: Policy(focus=text, rules=text),
    Plan: _planned,
    SafeString: mark_safe,
    Lost: lambda text: Lost(text, text, False, text, text, text, text, text, False, ()),
    Counter: lambda text: Counter([text]),
    re.Pattern: lambda text: re.compile(r"\w+"),
    **dict.fromkeys((*_FOREIGN, *apps.get_models()), _none),
}
# What is called with more thought than by its annotations.
BY_HAND: dict[str, Callable[[str], object]] = {
    "compaction.planning.plan": _planned,
    "compaction.applying.apply": lambda text: compaction.apply(_planned(text), text[: len(text) // 10]),
    "compaction.pruning.plan": lambda text: pruning.plan(_rows(text), POLICY, len),
    "compaction.pruning.compact": lambda text: pruning.compact(_rows(text), POLICY, len),
    "compaction.pruning.would_win": lambda text: pruning.would_win(_rows(text), POLICY, len),
    "compaction.strategy.Prune.apply": lambda text: pruning.apply(pruning.plan(_rows(text), POLICY, len)),
    "compaction.strategy.Summary.plan": lambda text: strategy.STRATEGIES["summary"].plan(_rows(text), POLICY, len),
    "compaction.sentences.error_line": sentences.error_line,  # its signs are a few of ours
    "compaction.tokens.counter_for": lambda text: [tokens.counter_for(model)(text) for model in ("gpt-4o", "gpt-4")],
    "compaction.llm.prompt.check": lambda text: prompt.check(prompt.Reply(text), digest.request_of(_planned(WORDS))),
}
# Why a function, or all that a module or class has, is not walked. What is walked needs no mention.
ELSEWHERE = {
    "asks our own database, by names and numbers": """
        viewer.web.auth viewer.api.shapes.compaction viewer.catalog.sync_worker
        viewer.pages.settings.providers viewer.pages.settings.tokens
        viewer.enforcement.auditing.on_undone viewer.enforcement.auditing.on_applied
        viewer.enforcement.auditing.on_appended viewer.enforcement.early.settle
        viewer.runs.service.listed viewer.runs.planning.check_options
        viewer.enforcement.audit_statistics.asks_for_events viewer.runs.providers.summarizers.get_summarizer
        viewer.runs.providers.connections.connection viewer.runs.providers.connections.stored
        viewer.runs.providers.connections.draft viewer.runs.providers.connections.remove
        viewer.runs.providers.connections.kept_key viewer.history.records viewer.runs.workers viewer.runs.recovery
        viewer.catalog.search.index.add viewer.catalog.search.indexing
        viewer.catalog.search.index.unpacked viewer.labels.sessions.set_label viewer.pages.sessions.views.saved_views
        viewer.catalog.search.index.places""",
    "opens a store or a file by its name": """
        viewer.settings.environment
        viewer.exports.making.export viewer.exports.source.plan viewer.workspaces.context_files.read_context_file
        viewer.workspaces.rules.workspace_of viewer.stores.hermes.postgres viewer.stores.hermes.schema_postgres.create
        viewer.stores.sqlite.reading viewer.stores.registry.get_store viewer.stores.jsonl.files
        viewer.stores.jsonl.listing viewer.stores.codex.facts viewer.stores.parsed
        viewer.stores.jsonl.links.regular_file viewer.stores.claude_code.sidechains.in_file
        viewer.mcp.answers viewer.mcp.server viewer.mcp.tools.RecallTool viewer.inside.doors viewer.inside.agents
        viewer.inside.writing viewer.inside.yaml_text viewer.pages.settings.inside
        viewer.stores.settings_files.json5_of""",
    "its model refuses what is too long": "viewer.api.shapes.options",
    "talks to a model's server": " ".join(f"viewer.runs.providers.{name}.stream" for name in PROVIDERS)
    + """
        viewer.runs.providers.provider.sdk_options
        viewer.runs.providers.failures.failure_of viewer.runs.providers.exchange.Exchange""",
    "reads what we wrote: rows, numbers, names of ours": """
        compaction.offline.wording.sentence compaction.tokens.load compaction.offline.work.Work
        compaction.applying.Result.tokens_after compaction.applying.Rewrites compaction.planning.boundaries.by_tokens
        compaction.pruning.PrunePlan compaction.pruning.apply
        compaction.llm.digest.fold compaction.llm.digest.Fold.take compaction.loss.remaining.RemainingLines.below
        viewer.api.Api viewer.web.cursors.read viewer.api.errors.problem viewer.apps viewer.error_pages
        viewer.settings.logs viewer.enforcement.apps
        viewer.exports.making.download viewer.exports.making.written
        viewer.rendering.blocks.by_template viewer.rendering.cache.by_template
        viewer.rendering.templatetags.palimpsest.part viewer.rendering.templatetags.palimpsest.term
        viewer.rendering.lru.SizedCache
        viewer.pages.parts.losses.shown_lost viewer.pages.session.timeline.apart viewer.runs.candidate
        viewer.runs.detail_loss viewer.pages.search.hits.grouped viewer.pages.preferences.remembered
        viewer.runs.planning.Basis viewer.runs.planning.plan_of viewer.runs.planning.recorded viewer.stores.changes
        viewer.stores.hermes.plan viewer.stores.hermes.encode viewer.stores.hermes.commit viewer.stores.hermes.undo
        viewer.stores.hermes.repeats.with_repeats viewer.stores.hermes.codec.decode_row
        viewer.stores.hermes.change_tokens
        viewer.stores.transcript viewer.stores.packing viewer.stores.conversation viewer.stores.hermes.names.placing
        viewer.stores.claude_code.commit viewer.stores.claude_code.encode.compaction
        viewer.stores.claude_code.messages.SessionMessages viewer.stores.claude_code.messages.conversation_of
        viewer.stores.claude_code.messages.extended viewer.stores.claude_code.messages.summary_of
        viewer.stores.claude_code.plan.layout_of viewer.stores.claude_code.presence.context_refusal
        viewer.stores.claude_code.presence.session_refusal viewer.stores.claude_code.presence.unknown_form_refusal
        viewer.stores.claude_code.replay viewer.stores.claude_code.tree
        viewer.stores.codex.commit viewer.stores.codex.encode.last_payloads viewer.stores.codex.messages
        viewer.stores.codex.plan viewer.stores.codex.replay.Lineage viewer.stores.codex.replay.lineage_of
        viewer.stores.codex.undo
        viewer.stores.trees.commit viewer.stores.trees.plan viewer.stores.trees.replay.PathContext
        viewer.stores.trees.messages.cached_messages
        viewer.stores.google_contents.repeated viewer.stores.qwen.replay
        viewer.stores.opencode.commit viewer.stores.opencode.encode viewer.stores.opencode.undo""",
}
NAMES = {name for names in ELSEWHERE.values() for name in names.split()}


class Walked(NamedTuple):
    name: str
    function: Callable[..., Any]
    owner: type | None

    def call(self, text: str) -> Callable[[], object]:
        """The call, its arguments made."""
        if self.name in BY_HAND:
            return partial(BY_HAND[self.name], text)
        positional, named = filling.arguments(self.function, text, MADE, self.owner)
        return partial(self._done, positional, named)

    def _done(self, positional: list[Any], named: dict[str, Any]) -> None:
        result = self.function(*positional, **named)
        if isinstance(result, abc.Iterator):
            deque(result, 0)


def modules() -> list[str]:
    """All of ours but what starts, sets up or demonstrates the site."""
    found = [
        each.name for top in (compaction, viewer) for each in pkgutil.walk_packages(top.__path__, top.__name__ + ".")
    ]
    left_out = re.compile(r"\.(?:__main__|migrations|management|demo|serve|wsgi|urls)(?:\.|$)|^viewer\.settings$")
    return [name for name in found if not left_out.search(name)]


def functions(module: str) -> Iterator[Walked]:
    """The public functions of a module to which text may be given, methods and properties of its classes included."""
    for name, found in vars(importlib.import_module(module)).items():
        if name.startswith("_") or getattr(inspect.unwrap(found), "__module__", "") != module:
            continue
        if inspect.isfunction(inspect.unwrap(found)):
            given = inspect.signature(found, eval_str=True).parameters.values()
            if any(filling.takes_text(each.annotation) for each in given):
                yield Walked(f"{module}.{name}", found, None)
        elif inspect.isclass(found) and not issubclass(found, (BaseException, Model)):
            yield from _methods(f"{module}.{name}", found)


def _methods(name: str, owner: type) -> Iterator[Walked]:
    for own, found in vars(owner).items():
        function = getattr(found, "fget", None) or getattr(found, "func", None) or found
        if not own.startswith("_") and inspect.isfunction(function) and not getattr(owner, "_is_protocol", False):
            yield Walked(f"{name}.{own}", function, owner)


def _is_elsewhere(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in NAMES)


# -- what is looked for, as it is written ----------------------------------------------------------------------------


def pieces(module: str) -> list[str]:
    """What the module's own regular expressions look for, whole and without its end."""
    held = vars(importlib.import_module(module)).values()
    patterns = [each for each in held if isinstance(each, re.Pattern) and isinstance(each.pattern, str)]
    own = [_example(parser.parse(each.pattern, each.flags)) for each in patterns]
    return [each for each in dict.fromkeys([*own, *(each[:-1] for each in own)]) if each]


def _example(parsed: Any) -> str:
    """A text that a parsed expression matches, about; each repetition once."""
    made = ""
    for kind, value in parsed:
        match str(kind):
            case "LITERAL":
                made += chr(value)
            case "NOT_LITERAL":
                made += " "
            case "ANY":
                made += "a"
            case "IN":
                made += _member(value)
            case "BRANCH":
                made += max((_example(each) for each in value[1]), key=len)
            case "SUBPATTERN" | "ATOMIC_GROUP":
                made += _example(value[-1] if str(kind) == "SUBPATTERN" else value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                made += _example(value[2]) * max(1, value[0])
    return made


def _member(members: Any) -> str:
    kind, value = members[0]
    match str(kind):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
        case "CATEGORY":
            return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_NOT_SPACE": "a"}.get(str(value), "a")
    return "a"


# -- the walk --------------------------------------------------------------------------------------------------------


class Late(BaseException):
    pass


def seconds(call: Callable[[], object]) -> float:
    """Processor time of a call, which is ended where it takes several times what it may."""

    def late(number: int, frame: FrameType | None) -> None:
        raise Late

    before = signal.signal(signal.SIGVTALRM, late)
    started = time.process_time()
    gc.disable()  # it would look through all that these tests have loaded
    signal.setitimer(signal.ITIMER_VIRTUAL, 5 * SECONDS)
    try:
        with suppress(Exception, Late):  # what it makes of the text is for other tests
            call()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - started


def repeated(piece: str, length: int) -> str:
    """A text of that length which ends otherwise, so that what was matched until there is matched anew."""
    end = "!" if piece[-1].isalnum() else "x"
    return (piece * (length // len(piece) + 1))[: length - 1] + end


def sampled(walked: Walked, module: str) -> list[str]:
    """The pieces to try, each function others, with all that its own module looks for: a few for one that takes its
    time with any text, or whose arguments do. It calls many others, which are tried with more.
    """
    is_costly = seconds(lambda: walked.call(repeated(WORDS, SHORT))()) >= COSTLY
    stride, own = COSTLY_STRIDE if is_costly else STRIDE, [] if is_costly else pieces(module)
    chosen = PIECES[crc32(walked.name.encode()) % stride :: stride]
    return list(dict.fromkeys([*chosen, *own]))


def taken(walked: Walked, piece: str) -> float:
    """Seconds that a text of LONG characters takes; what a shorter one would make it, where time grows with length."""
    short = seconds(walked.call(repeated(piece, SHORT)))
    foreseen = short * LONG / SHORT
    if short < QUICK:
        return foreseen
    if foreseen < SECONDS / 2 and short < 10 * seconds(walked.call(repeated(piece, SHORT // 4))):
        return foreseen
    whole = math.inf
    for _ in range(3):  # a busy machine makes processor time longer, too
        now = seconds(walked.call(repeated(piece, LONG)))
        whole = min(whole, now / slowness() if now >= SECONDS else now)
        if not SECONDS / 2 < whole < 3 * SECONDS:
            break
    return whole


TAKEN: list[tuple[float, str, str]] = []


@pytest.mark.slow
@pytest.mark.parametrize("module", modules())
def test_no_text_keeps_a_function_busy(module: str) -> None:
    over = []
    for walked in functions(module):
        with suppress(Outside):
            for piece in sampled(walked, module) if not _is_elsewhere(walked.name) else ():
                TAKEN.append((taken(walked, piece), walked.name, piece))
                if TAKEN[-1][0] >= SECONDS:
                    over.append(TAKEN[-1])
                    break
    assert not over


@pytest.mark.slow
def test_which_take_longest() -> None:
    """For a reader, with -s."""
    assert TAKEN
    print("", *sorted(TAKEN, reverse=True)[:20], sep="\n")


def test_each_function_that_takes_text_is_walked_or_named() -> None:
    """Whoever adds one that cannot be called with words alone says here how it is called, or why it is not."""
    problems = []
    for walked in chain.from_iterable(map(functions, modules())):
        if not _is_elsewhere(walked.name):
            try:
                walked.call(WORDS)()
            except (Outside, compaction.CompactionError, StoreError):
                continue
            except Exception as problem:
                problems.append(f"{walked.name}: {type(problem).__name__} {problem}"[:200])
    assert not problems


def test_what_is_named_is_there() -> None:
    names = {walked.name for module in modules() for walked in functions(module)}
    assert names >= BY_HAND.keys()
    assert not [each for each in NAMES if not any(name == each or name.startswith(f"{each}.") for name in names)]
