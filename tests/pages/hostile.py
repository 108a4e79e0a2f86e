"""A session that would break a page: markup in every field, content of every size and shape that hurts a renderer."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from compaction.handoff import END_MARKER, LEGACY_HEADER
from tests.factories.stores import EmptyStore

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>"
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
RTL = "abc \u202e gnp.exe \u2066\u200b\u200d\ufeff שלום \u061c"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x1b[31;1;4mred\x1b[0m\x9b31m\x1b[999999999A\x1bP1$r\x1b\\ \x1b["
CALLS_IN_ONE_ROW = 3_000


def deep(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


def diff(lines: int) -> str:
    changes = "".join(f"-old {at} <b>\n+new {at} {SCRIPT}\n" for at in range(lines // 2))
    return f"--- a/{SCRIPT}\n+++ b/x\n@@ -1,{lines} +1,{lines} @@\n{changes}"


def _part(share: float, count: int) -> int:
    return max(20, int(count * share))


def markdown_bombs(share: float = 1.0) -> dict[str, str]:
    """Texts that are short and grow, or that take a renderer's time or stack."""
    n = partial(_part, share)
    return {
        "quotes": ">" * n(40_000),
        "spaced quotes": "> " * n(20_000) + "x",
        "lists": "- " * n(20_000) + "x",
        "lists in quotes": "> - " * n(10_000) + "x",
        "indented lists": "\n".join("  " * depth + "- x" for depth in range(n(2_000))),
        "columns": "|a" * n(10_000) + "|\n" + "|-" * n(10_000) + "|\n" + "|a" * n(10_000) + "|",
        "short rows": "|" + "a|" * n(2_000) + "\n|" + "-|" * n(2_000) + "\n" + "|x\n" * n(2_600),
        "one line": "word " * n(200_000),
        "one word": "a" * n(1_000_000),
        "references": "[a]: http://e.example/" + "x" * n(4_000) + "\n\n" + "[a] " * n(3_000),
        "definitions": "".join(f"[{at}]: x\n" for at in range(n(2_000))),
        "brackets": "[" * n(16_000),
        "links": "[a](b" * n(3_000),
        "images": "![" * n(8_000),
        "emphasis": "*a_ " * n(4_000),
        "stars": "*" * n(16_000) + "a",
        "backticks": "".join("`" * length + "a" for length in range(n(170))),
        "fences": "```\n" * n(4_000),
        "languages": "".join(f"```{at}\nx\n```\n" for at in range(n(1_200))),
        "addresses": "a@b.c " * n(2_600),
        "entities": "&#x3c;script&#x3e;" * n(800),
        "headings": "# " * n(8_000) + "\n" + "a\n===\n" * n(2_000),
    }


def outputs(share: float = 1.0) -> dict[str, str]:
    """Results of tools that are long, deep or meant for a terminal."""
    n = partial(_part, share)
    return {
        "ten megabytes": "0123456789abcde\n" * n(655_360),
        "diff": diff(n(5_000)),
        "deep list": deep(n(20_000)),
        "deep object": '{"a":' * n(20_000) + "1" + "}" * n(20_000),
        "nearly too deep": deep(n(900)),
        "many fields": json.dumps({f"{at} {SCRIPT}": "a\nb" for at in range(n(5_000))}),
        "styles": "\x1b[31mx\x1b[32my" * n(20_000),
        "progress": "".join(f"\r{at}%\x1b[K" for at in range(n(30_000))),
        "cursor": "line\n" * n(2_000) + "\x1b[9999A\x1b[2Kx" * n(5_000),
        "unfinished": "\x1b]8;;" + "x" * n(100_000),
        "codes": "\x1b[" + "38;5;" * n(30_000) + "m text",
        "escapes": ESCAPES,
        "carriage returns": "\r" * n(100_000),
        "nul": "a\x00b\x00" * n(1_000),
        "directions": RTL * n(500),
        "persisted": f"<persisted-output>\n{SCRIPT}\n</persisted-output>",
    }


def contents(share: float = 1.0) -> dict[str, Any]:
    """Contents that are no text: lists, objects, images that are none, values of every kind."""
    n = partial(_part, share)
    huge = "data:image/png;base64," + "A" * n(4_000_000)
    parts: list[Any] = [
        {"type": "image_url", "image_url": {"url": huge}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,####not base64####"}},
        {"type": "image_url", "image_url": {"url": f"data:text/html;base64,{SCRIPT}"}},
        {"type": "image_url", "image_url": {"url": f"https://evil.example/{SCRIPT}"}},
        {"type": "image_url", "image_url": {"url": "javascript:alert(1)"}},
        {"type": "image", "source": {"type": "base64", "media_type": f"image/png{SCRIPT}", "data": "AAAA"}},
        {"type": SCRIPT, SCRIPT: SCRIPT},
        {"type": "thinking", "thinking": SCRIPT},
        {"type": "redacted_thinking", "data": SCRIPT},
        {"type": "compaction", "encrypted_content": "x" * n(120_000)},
        {"type": "tool_result", "content": [{"type": "tool_result", "content": SCRIPT}, {"type": "text", "text": RTL}]},
        None, 7, True, [SCRIPT], {}, {"type": None}, {"type": ["text"]}, {"type": "text", "text": {"a": 1}},
    ]  # fmt: skip
    return {
        "parts": parts,
        "many parts": [{"type": "text", "text": f"{at} {SCRIPT}"} for at in range(n(5_000))],
        "object": {SCRIPT: SCRIPT},
        "deep": "\x00json:" + deep(n(20_000)),
        "broken": "\x00json:{broken",
        "number": "7",
    }


def arguments(share: float = 1.0) -> list[tuple[str, str]]:
    """Names and arguments of calls: markup, patches, edits, what is no JSON, what is no object."""
    n = partial(_part, share)
    edit = {"file_path": SCRIPT, "old_string": "a\n" * n(5_000) + SCRIPT, "new_string": "b\n" * n(5_000) + SCRIPT}
    return [
        (SCRIPT, json.dumps({SCRIPT: SCRIPT})),
        ("terminal", json.dumps({"command": f"echo {SCRIPT}\n{ESCAPES}"})),
        ("Edit", json.dumps(edit)),
        ("MultiEdit", json.dumps({"file_path": "x", "edits": [edit] * 60})),
        (
            "apply_patch",
            "*** Begin Patch\n*** Update File: " + SCRIPT + "\n" + "@@\n-a\n+b\n" * n(2_000) + "*** End Patch",
        ),
        ("patch", json.dumps({"mode": "patch", "patch": diff(n(5_000))})),
        ("todo", json.dumps({"todos": [{"content": SCRIPT, "status": SCRIPT}] * n(1_000)})),
        ("read_file", json.dumps({"path": RTL, "offset": 10**30, "limit": -5})),
        ("delegate_task", json.dumps({"goal": RTL, "tasks": [7, None]})),
        ("shell", json.dumps({"command": [SCRIPT, 7, None]})),
        ("search_files", json.dumps({"pattern": {"a": 1}, "path": 7})),
        ("web_extract", json.dumps({"urls": ["javascript:alert(1)", SCRIPT]})),
        ("bash", deep(n(20_000))),
        ("bash", "not json " + SCRIPT),
        ("", ""),
        ("x" * n(100_000), "y" * n(1_000_000)),
        ("write_file", json.dumps({"path": f"{SCRIPT}.py", "content": "import os\n" * n(50_000)})),
    ]


def build(empty_store: EmptyStore, session_id: str = "hostile", share: float = 1.0) -> str:
    """The session, over several windows; returns the address of its page. Its sessions row is hostile too.

    With a `share` below 1 each text repeats its trick so many times less often.
    """
    href = empty_store.session(
        session_id, title=SCRIPT + RTL, model=SCRIPT, source=SCRIPT, system_prompt=SCRIPT + RTL + "x" * 100_000,
        cwd=SCRIPT, end_reason=SCRIPT, display_name=SCRIPT,
    )  # fmt: skip
    _talk(empty_store, session_id, share)
    _work(empty_store, session_id, share)
    return href


def build_compacted(empty_store: EmptyStore, session_id: str = "compacted") -> int:
    """A session of hostile texts that was compacted twice; returns the row of its newest summary."""
    empty_store.session(session_id, title=f"{SCRIPT} again", model=SCRIPT, source=SCRIPT, cwd=f"/{SCRIPT}")
    for number in range(2):
        for at in range(6):
            text = f"{number} {at}: never lose R{number}{at}123, {SCRIPT} {RTL}"
            empty_store.say(session_id, ("user", "assistant")[at % 2], text, active=0, compacted=1)
        in_context = {"active": number, "compacted": 1 - number}
        handoff = f"{LEGACY_HEADER}\n\n## Goal {SCRIPT}\n- {SCRIPT} {number}\n\n{END_MARKER}"
        row = empty_store.say(session_id, "user", handoff, _compressed_summary=1, **in_context)
    for at in range(20):
        empty_store.say(session_id, ("user", "assistant")[at % 2], f"{at}: flight HAT{at:03d} {SCRIPT} {RTL}")
    return row


def build_many_calls(empty_store: EmptyStore, session_id: str = "many-calls") -> str:
    """A session with one row that makes thousands of calls; returns the address of its page."""
    href = empty_store.session(session_id)
    many = [empty_store.call("terminal", f"m{at}", command=SCRIPT) for at in range(CALLS_IN_ONE_ROW)]
    empty_store.say(session_id, "assistant", "", tool_calls=many)
    empty_store.say(session_id, "tool", "of the last", tool_call_id=f"m{CALLS_IN_ONE_ROW - 1}")
    return href


def _talk(empty_store: EmptyStore, session_id: str, share: float) -> None:
    for role in ("user", "assistant", "system", "session_meta", SCRIPT, "", RTL):
        empty_store.say(session_id, role, SCRIPT, reasoning=SCRIPT, finish_reason=SCRIPT, display_kind=SCRIPT)
    for text in markdown_bombs(share).values():
        empty_store.say(session_id, "user", text)
        empty_store.say(session_id, "assistant", "thought about", reasoning=text)
    for content in contents(share).values():
        empty_store.say(session_id, "user", content)
        empty_store.say(
            session_id, "assistant", content, reasoning_details=SCRIPT, codex_reasoning_items=deep(_part(share, 20_000))
        )
    empty_store.say(session_id, "user", RTL + ESCAPES, timestamp=1e300)
    empty_store.say(session_id, "assistant", "a time before time", timestamp=-1e300)


def _work(empty_store: EmptyStore, session_id: str, share: float) -> None:
    for at, (name, text) in enumerate(arguments(share)):
        call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": text}}
        empty_store.say(session_id, "assistant", "", tool_calls=[call])
        empty_store.say(session_id, "tool", SCRIPT + ESCAPES, tool_call_id=f"c{at}", tool_name=SCRIPT)
    for at, text in enumerate(outputs(share).values()):
        empty_store.say(session_id, "assistant", "", tool_calls=[empty_store.call("terminal", f"o{at}", command="x")])
        empty_store.say(session_id, "tool", text, tool_call_id=f"o{at}", tool_name="terminal")
    for content in contents(share).values():
        empty_store.say(session_id, "tool", content, tool_call_id=SCRIPT)
    empty_store.say(session_id, "assistant", "", tool_calls="{broken")
    empty_store.say(session_id, "assistant", "the end")
