"""Counting tokens offline, exactly as tiktoken does, on whatever text there is."""

from __future__ import annotations

import threading
from importlib import resources
from typing import Any

import pytest
import tiktoken_ext.openai_public as published  # type: ignore[import-untyped]  # a plugin module without types

from compaction import counter_for, encoding_for, message_tokens, protocol, tokens
from tests.compaction.transcripts import call, image, reply, user

count = counter_for("gpt-5")
count_old = counter_for("gpt-4")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_definitions_are_tiktokens_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, str] = {}

    def no_download(url: str, expected_hash: str) -> dict[bytes, int]:
        asked["hash"] = expected_hash
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", no_download)
    theirs = getattr(published, name)()
    ours = tokens.SPECS[name]
    assert (ours.pattern, ours.special_tokens, ours.sha256) == (
        theirs["pat_str"],
        theirs["special_tokens"],
        asked["hash"],
    )


@pytest.mark.parametrize(
    ("text", "new", "old"),
    [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),  # OpenAI cookbook, "How to count tokens with tiktoken"
        ("お誕生日おめでとう", 8, 9),  # the same: 9 with cl100k_base
    ],
)
def test_known_counts(text: str, new: int, old: int) -> None:
    assert (count(text), count_old(text)) == (new, old)


def test_special_tokens_in_text_are_text() -> None:
    assert count("<|endoftext|>") > 1
    assert count_old("<|endoftext|><|fim_prefix|>") > 2


@pytest.mark.parametrize("text", [" " * 1_100_000, "\u3000" * 1_100_000 + "x"])
def test_very_long_white_space_does_not_panic(text: str) -> None:
    assert count(text) > 0  # in one piece tiktoken raises a BaseException here
    assert count_old(text) > 0


def test_lone_surrogates_and_nul_bytes_count() -> None:
    assert count("\ud800 and \x00") > 0


def test_pieces_are_the_text_cut_behind_newlines() -> None:
    text = ("x" * 99_999 + "\n") * 12 + "y" * 700_000
    pieces = list(tokens.pieces(text))
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= tokens.PIECE
    assert all(piece.endswith("\n") for piece in pieces[:2])


def test_long_prose_counts_as_in_one_piece() -> None:
    text = "The cut falls behind a newline, so nothing changes.\n" * 20_000
    assert count(text) == len(tokens.load("o200k_base").encode_ordinary(text))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-5", ("o200k_base", False)),
        ("openai/gpt-4o-mini", ("o200k_base", False)),
        ("gpt-oss-120b", ("o200k_base", False)),
        ("gpt-4", ("cl100k_base", False)),
        ("text-davinci-003", ("cl100k_base", True)),
        ("claude-opus-4-6", ("o200k_base", True)),
        ("gpt-6-preview", ("o200k_base", True)),
        ("", ("o200k_base", True)),
        (None, ("o200k_base", True)),
    ],
)
def test_the_encoding_of_a_model(model: str | None, expected: tuple[str, bool]) -> None:
    assert encoding_for(model) == expected


def test_a_damaged_rank_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tokens.SPECS["cl100k_base"]
    monkeypatch.setitem(tokens.SPECS, "cl100k_base", spec._replace(sha256="0" * 64))
    monkeypatch.setattr(tokens, "_loaded", {})
    with pytest.raises(ValueError, match="damaged"):
        tokens.load("cl100k_base")


def test_it_is_loaded_once_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_loaded", {})
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(tokens.load("cl100k_base"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(encoding is found[0] for encoding in found)


def test_the_licence_lies_beside_the_files() -> None:
    licence = resources.files("compaction").joinpath("data", "LICENSE").read_text()
    assert "MIT License" in licence and "Bazyli" in licence


def test_a_message_costs_its_text_its_calls_and_its_images() -> None:
    def by_letters(text: str) -> int:
        return len(text)

    assert message_tokens(user("four"), by_letters) == 4 + protocol.MESSAGE_TOKENS
    assert message_tokens(user(None), by_letters) == protocol.MESSAGE_TOKENS
    assert message_tokens(user([image(), image()]), by_letters) == 2 * protocol.IMAGE_TOKENS + protocol.MESSAGE_TOKENS
    made = {"role": "assistant", "content": None, "tool_calls": [call("c1", "ls", "{}")]}
    assert message_tokens(made, by_letters) == len("ls {}") + protocol.MESSAGE_TOKENS
    thinking = reply(
        [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    )
    assert message_tokens(thinking, by_letters) == len("hm\nf {}") + protocol.MESSAGE_TOKENS
    unknown = user([{"type": "video", "url": "x"}])
    assert message_tokens(unknown, by_letters) == len('{"type":"video","url":"x"}') + protocol.MESSAGE_TOKENS
