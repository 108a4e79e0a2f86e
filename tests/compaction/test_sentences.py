"""Lines that report trouble, and sentences that bind."""

from __future__ import annotations

import pytest

from compaction.sentences import error_line, is_binding


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("running\nKeyError: 'a'\nmore", "KeyError: 'a'"),
        ("Error: payment method not found", "Error: payment method not found"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("E   ModuleNotFoundError: No module named 'x'", "E   ModuleNotFoundError: No module named 'x'"),
        ("错误：找不到文件", "错误：找不到文件"),  # noqa: RUF001  (what a Chinese tool prints)
        ("def fail(): raise ValueError('error')", ""),
        ("1508:     default_error_messages = {}", ""),
        ("3 passed, 0 failed, 0 errors", ""),
        ('{"output": "ok", "error": null}', ""),
        ('{"errors": [], "is_error": false, "failed": 0}', ""),
        ("timeout = 30", ""),
        ("src/errors.py", ""),
        ("Error: 404", "Error: 404"),
        ("a" * 200 + " error", ""),
        ("all fine", ""),
    ],
)
def test_error_lines(output: str, line: str) -> None:
    assert error_line(output) == line


@pytest.mark.parametrize(
    ("sentence", "binds"),
    [
        ("You must keep the API stable.", True),
        ("Never push to main.", True),
        ("please don’t touch the users table", True),
        ("Only use the 7447 card?", True),
        ("Bitte niemals löschen.", True),
        ("No borres nunca la base.", True),
        ("Никогда не удаляй.", True),
        ("不要推送到主分支。", True),
        ("必ず確認してください。", True),
        ("절대 배포하지 마세요.", True),
        ("I don't have the number.", False),
        ("The mustard is on the shelf.", False),
        ("It works.", False),
        ("self.only = only", False),
        ("1403:        \"format\": 'it cannot be a date',", False),
        ("cat: /srv/x: cannot open", False),
        ("12: Never push.", True),
    ],
)
def test_sentences_that_bind(sentence: str, binds: bool) -> None:
    assert is_binding(sentence) is binds
