"""Tokens of stored messages, each text counted once per process, and the context window of a model."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from threading import Lock

import genai_prices.data
from cachetools import LRUCache

from compaction import tokens
from compaction.tokens import Counter

REMEMBERED = 100_000  # texts; about 20 MB of hashes and numbers
SHORT = 64  # characters; counting a shorter text costs less than hashing it
LONGEST_NAME = 200  # characters of a model's name that are looked at: it is compared with those of all models
USUAL_WINDOW = 200_000  # tokens, for models that the price list does not have

_counted: LRUCache[bytes, int] = LRUCache(REMEMBERED)
_lock = Lock()


def counter_for(model: str) -> Counter:
    """The engine's token counter for this model, with the counts of longer texts remembered by their hash."""
    count, encoding = tokens.counter_for(model), tokens.encoding_for(model)[0].encode()

    def remembered(text: str) -> int:
        if len(text) < SHORT:
            return count(text)
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=encoding).digest()
        with _lock:
            tokens_of_text = _counted.get(key)
        if tokens_of_text is None:
            tokens_of_text = count(text)
            with _lock:
                _counted[key] = tokens_of_text
        return tokens_of_text

    return remembered


@lru_cache(maxsize=256)
def context_window(model: str, reported: int = 0) -> int:
    """Tokens a model can take: the number its agent `reported`, else the price list of public models; 200,000 for a
    model that the list does not have.
    """
    if reported > 0:
        return reported
    name = model[-LONGEST_NAME:].rpartition("/")[2].lower()
    windows = {
        entry.id: entry.context_window
        for provider in genai_prices.data.providers
        for entry in provider.models
        if entry.context_window and (entry.id == name or entry.is_match(name))
    }
    return windows.get(name) or next(iter(windows.values()), USUAL_WINDOW)
