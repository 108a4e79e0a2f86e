"""Counting tokens offline, exactly as tiktoken does, on whatever text there is."""

from __future__ import annotations

import gzip
import socket
import threading
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import tiktoken_ext.openai_public as published  # type: ignore[import-untyped]  # a plugin module without types
from hypothesis import given
from hypothesis import strategies as st

from compaction import Message, counter_for, tokens
from compaction import messages as m
from compaction.policy import IMAGE_TOKENS, MESSAGE_TOKENS
from compaction.tokens import Counter, encoding_for, message_tokens
from tests.compaction.transcripts import call, image, reply, result, user
from tests.slow import slow

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


@pytest.mark.parametrize("token", sorted({t for spec in tokens.SPECS.values() for t in spec.special_tokens}))
def test_special_tokens_in_text_are_text(token: str) -> None:
    inner = token.removeprefix("<|").removesuffix("|>")
    for counter in (count, count_old):
        assert counter(token) >= counter("<|") + counter("|>")
        assert counter(f"{token} {inner}" * 30_000) > 30_000 * 4  # also beyond one piece


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counter", "text"),
    [(count, " " * 2_000_000), *slow((count_old, "\u3000" * 1_100_000 + "x"), (count, "x" + "\n" * 2_000_000))],
    ids=["spaces", "wide spaces", "newlines"],
)
def test_very_long_white_space_does_not_panic(counter: Counter, text: str) -> None:
    assert counter(text) > 0


def test_in_one_piece_such_white_space_would_panic() -> None:
    with pytest.raises(BaseException) as caught:
        tokens.load("o200k_base").encode_ordinary(" " * 2_000_000)
    assert not isinstance(caught.value, Exception), "no except clause for errors would catch it"


@pytest.mark.slow
def test_white_space_counts_in_a_thread_with_a_small_stack() -> None:
    found: list[int] = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(count(" " * 600_000 + "x")))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [count(" " * 600_000 + "x")]


@pytest.mark.parametrize(
    "text", ["\ud800 and \x00", "\udfff" * 9, "\ud83d\ude00", "a\ud800" * 255_000, "\x00" * 600_000]
)
def test_lone_surrogates_and_nul_bytes_count(text: str) -> None:
    assert 0 < count(text) <= 4 * len(text)
    assert 0 < count_old(text) <= 4 * len(text)


def test_pieces_are_the_text_cut_behind_newlines() -> None:
    text = ("x" * 99_999 + "\n") * 12 + "y" * 700_000
    pieces = list(tokens.pieces(text))
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= tokens.PIECE
    assert all(piece.endswith("\n") for piece in pieces[:2])


def test_long_prose_counts_as_in_one_piece() -> None:
    text = "The cut falls behind a newline, so nothing changes.\n" * 20_000
    assert count(text) == len(tokens.load("o200k_base").encode_ordinary(text))


LONG_TEXTS = {
    "prose on one line": "The quick brown fox jumps over the lazy dog, and nobody minds. " * 2_000,
    "words without sentences": " ".join(f"word{i}" for i in range(12_000)),
    "no spaces": "abcdefghij" * 12_000,
    "digits": "31415926535" * 10_000,
    "Japanese": "吾輩は猫である。名前はまだ無い。" * 7_000,
    "emoji": "👩‍💻🙂" * 26_000,
    "code": "    if value is None:\n        return []\n" * 3_000,
    "carriage returns": "a line of a file from elsewhere\r\n" * 3_500,
    "JSON": '{"path": "/srv/app/main.py", "line": 120, "ok": true}, ' * 2_000,
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_count_in_pieces_is_within_a_thousandth_of_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pieces of 20,000 characters: 25 times as many cuts as there are in a text of the same length."""
    monkeypatch.setattr(tokens, "PIECE", 20_000)
    text = LONG_TEXTS[name]
    assert len(list(tokens.pieces(text))) >= 5
    for counter, encoding in ((count, "o200k_base"), (count_old, "cl100k_base")):
        whole = len(tokens.load(encoding).encode_ordinary(text))
        assert abs(counter(text) - whole) <= whole / 1_000


@given(st.text(alphabet="a \n\r\t1é国\ud800", max_size=300), st.integers(1, 50))
def test_pieces_lose_nothing_and_are_never_too_long(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "PIECE", size)
        cut = list(tokens.pieces(text))
    assert "".join(cut) == text and all(0 < len(piece) <= size for piece in cut)


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
        ("gpt-4.1-mini", ("o200k_base", False)),
        ("o3", ("o200k_base", False)),
        ("gpt-3.5-turbo", ("cl100k_base", False)),
        ("google/gemini-3-pro", ("o200k_base", True)),
        ("deepseek-chat", ("o200k_base", True)),
        ("\x00 nonsense \ud800", ("o200k_base", True)),
        ("", ("o200k_base", True)),
        (None, ("o200k_base", True)),
    ],
)
def test_the_encoding_of_a_model(model: str | None, expected: tuple[str, bool]) -> None:
    assert encoding_for(model) == expected


def damaged(raw: bytes, how: str) -> bytes:
    if how == "another rank":
        return gzip.compress(gzip.decompress(raw).replace(b"IQ== 0\n", b"IQ== 1\n", 1))
    if how == "empty":
        return b""
    if how == "a byte of the stream":
        return raw[:50_000] + bytes([raw[50_000] ^ 0xFF]) + raw[50_001:]
    return raw[:-1_000]


@pytest.mark.parametrize("how", ["another rank", "empty", "a byte of the stream", "the end missing"])
def test_a_damaged_rank_file_is_refused(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = resources.files("compaction").joinpath("data", "cl100k_base.tiktoken.gz").read_bytes()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cl100k_base.tiktoken.gz").write_bytes(damaged(raw, how))
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    tokens.forget()
    with pytest.raises(ValueError, match="damaged"):
        counter_for("gpt-4")("text")


def test_nothing_is_asked_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the network was asked")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    tokens.forget()
    assert [counter_for(model)("hello world") for model in ("gpt-5", "gpt-4", "unknown")] == [2, 2, 2]


def test_it_is_loaded_once_by_many_threads() -> None:
    tokens.forget()
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

    assert message_tokens(user("four"), by_letters) == 4 + MESSAGE_TOKENS
    assert message_tokens(user(None), by_letters) == MESSAGE_TOKENS
    assert message_tokens(user([image(), image()]), by_letters) == 2 * IMAGE_TOKENS + MESSAGE_TOKENS
    made: Message = {"role": "assistant", "content": None, "tool_calls": [call("c1", "ls", "{}")]}
    sent = '{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}'
    assert message_tokens(made, by_letters) == len(sent) + MESSAGE_TOKENS
    assert message_tokens(result("c1", "found"), by_letters) == len("found\nc1") + MESSAGE_TOKENS
    thinking = reply(
        [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    )
    assert (
        message_tokens(thinking, by_letters)
        == len('hm\n{"type":"tool_use","id":"t","name":"f","input":{}}') + MESSAGE_TOKENS
    )
    for name in m.REPLAYED:
        assert message_tokens(reply("ok") | {name: "x" * 5_000}, by_letters) == 5_003 + MESSAGE_TOKENS
    twice = reply("ok") | {"reasoning": "hm", "reasoning_content": "hm", "reasoning_details": [{"type": "text"}]}
    assert message_tokens(twice, by_letters) == len('ok\nhm\n[{"type":"text"}]') + MESSAGE_TOKENS
    unknown = user([{"type": "video", "url": "x"}])
    assert message_tokens(unknown, by_letters) == len('{"type":"video","url":"x"}') + MESSAGE_TOKENS
