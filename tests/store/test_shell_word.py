"""Commands that people copy from a page and paste into a terminal."""

from __future__ import annotations

import subprocess

import pytest

from viewer.stores.clean_text import clean, shell_word

WORDS = [
    "/srv/a b", "it's", "/srv/a; touch pwned #\x1b[", "'\x1b'", "two\nlines", "\u202eturned", "back\\slash\x01",
    "é\x85", "\udcff", "$HOME `id` $(id) !!",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_the_same_for_the_shell_and_on_a_page(word: str) -> None:
    """A page changes control characters: what it shows must not lose a quote with them."""
    written = shell_word(word)
    assert clean(written) == written
    read = subprocess.run(["bash", "-c", f"printf %s {written}"], capture_output=True, check=True).stdout
    assert read == word.encode("utf-8", "surrogateescape")
