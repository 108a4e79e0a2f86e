"""What becomes of a message's content: Markdown, code, diffs, images, calls with their results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from django.test import Client

from tests.factories.stores import EmptyStore
from tests.html import read
from tests.slow import slow
from viewer.rendering import blocks, calls, formats, markdown, outcomes, texts
from viewer.stores.message import StoredMessage

PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](/sign-out/)",
    "![a](javascript:alert(1))",
    '![a](https://evil.example/x.png "t")',
    "![a](data:image/svg+xml;base64,PHN2Zz4=)",
    "<svg onload=alert(1)>",
    "<iframe src='//evil.example'></iframe>",
    "<a href='x' onclick='alert(1)'>x</a>",
    "<style>*{display:none}</style>",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "| a |\n|---|\n| <b onmouseover=x>y</b> |",
    "<div></main></body>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "[![a](https://e.example/a.png)](javascript:alert(1))",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_markdown_runs_or_loads(text: str) -> None:
    made = str(markdown.markdown(text))
    for bad in ("<script", "<iframe", "<style", "<svg", "</main", "<img", 'href="/', 'href="javascript', 'href="data'):
        assert bad not in made.lower()
    assert not re.search(r"<[^>]*\son\w+=", made)


def test_markdown_is_rendered() -> None:
    made = markdown.markdown(
        "# Title\n\n- [x] **done**\n\n| a |\n|--:|\n| 1 |\n\nline\nbreak\n\n"
        f"![dot]({PIXEL})\n\n```python\nprint(1)\n```"
    )
    assert '<p class="h h1">Title</p>' in made
    assert "☑ <strong>done</strong>" in made
    assert '<td class="short" align="right">1</td>' in made
    assert "line<br>\nbreak" in made
    assert f'<img src="{PIXEL}" alt="dot">' in made
    assert '<span class="nb">print</span>' in made
    assert 'style="' not in made


def test_ids_and_numbers_in_a_table_are_not_broken() -> None:
    made = markdown.markdown("| bin | what |\n|---|---|\n| 7-05 | two words |\n| `a-1` | <b>x</b> |")
    assert (
        '<td class="short">7-05</td>\n<td>two words</td>' in made and '<td class="short"><code>a-1</code></td>' in made
    )


def test_links_lead_out_without_telling_from_where() -> None:
    assert 'rel="noopener noreferrer nofollow"' in markdown.markdown("https://example.org")


def test_text_that_no_page_can_show_is_made_visible() -> None:
    assert texts.clean("a\x00b\ud800c\x1b[31mred\x1b[0m\x07\r\nend\ttab") == "a␀b\ufffdcred␇\nend\ttab"


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "text", "text": "hello"}, blocks.Markdown),
        ("bare text", blocks.Markdown),
        ({"type": "image_url", "image_url": {"url": PIXEL}}, blocks.Image),
        ({"type": "input_image", "image_url": PIXEL}, blocks.Image),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}, blocks.Image),
        ({"type": "image_url", "image_url": {"url": "https://e.example/x.png"}}, blocks.Remote),
        ({"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,AAAA"}}, blocks.Remote),
        ({"type": "image_url", "image_url": 7}, blocks.Remote),
        ({"type": "thinking", "thinking": "hm"}, blocks.Thinking),
        ({"type": "redacted_thinking", "data": "xx"}, blocks.Opaque),
        ({"type": "hologram", "beam": 1}, blocks.Unknown),
        ({"no": "type"}, blocks.Unknown),
        (7, blocks.Unknown),
        (None, blocks.Unknown),
    ],
)
def test_each_part_has_its_block(part: object, kind: type[blocks.Block]) -> None:
    (made,) = blocks.of_content([part], "/whole")
    assert type(made) is kind


def test_outputs_are_laid_out_by_what_they_are() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-old\n+new\n+more\n"
    (made,) = blocks.of_output(diff, "/whole")
    assert isinstance(made, blocks.Diff)
    assert (made.added, made.removed) == (2, 1)
    assert made.html.startswith('<span class="file">x\n</span><span class="del" data-line="1">-old\n</span>')
    (made,) = blocks.of_output('{"a": [1, 2]}', "/whole")
    assert isinstance(made, blocks.Code)
    assert made.waits
    (made,) = blocks.of_output('{"a": [1, 2]}', "/whole", colours=True)
    assert isinstance(made, blocks.Code)
    assert '<span class="nt">"a"</span>' in made.html
    assert not made.waits
    short, long = blocks.of_output('{"exit_code": 0, "diff": ' + json.dumps(diff) + "}", "/whole")
    assert isinstance(short, blocks.Code)
    assert isinstance(long, blocks.Diff)
    assert long.label == "diff"
    (made,) = blocks.of_output("{broken", "/whole")
    assert isinstance(made, blocks.Plain)
    (made,) = blocks.of_output("x" * 50_000, "/whole")
    assert isinstance(made, blocks.Plain)
    assert made.rest == blocks.Rest("/whole", 50_000)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("fine", ""),
        ("Error: reservation not found", "failed"),
        ("Traceback (most recent call last):\n", "failed"),
        ("ValueError: no", "failed"),
        ('{"exit_code": 1, "output": ""}', "failed, exit 1"),
        ('{"exit_code": 0, "error": null}', ""),
        ('{"error": "no such file"}', "failed"),
        ('{"success": false}', "failed"),
        ("No errors found", ""),
        (None, ""),
    ],
)
def test_a_result_that_says_it_failed(content: object, found: str) -> None:
    assert outcomes.outcome(content).word == found


def row(row_id: int, role: str, call_ids: str = "", answers: str = "") -> StoredMessage:
    made = [{"id": call_id, "function": {"name": "f", "arguments": "{}"}} for call_id in call_ids.split()]
    return StoredMessage(row_id, "s", role, "", "live", 0.0, tool_calls=made, tool_call_id=answers)


def test_results_are_paired_by_adjacency_then_by_id() -> None:
    rows = [
        row(0, "assistant", "a b"),
        row(1, "tool", answers="b"),
        row(2, "tool", answers="a"),
        row(3, "assistant", "a"),
        row(4, "tool", answers="a"),
        row(5, "assistant", "c"),
        row(6, "user"),
        row(7, "tool", answers="c"),
        row(8, "tool", answers="nobody"),
    ]
    assert calls.pair(rows, [calls.calls_of(row) for row in rows]) == {(0, 1): 1, (0, 0): 2, (3, 0): 4, (5, 0): 7}


def test_parallel_calls_have_each_its_own_result(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    made = [
        empty_store.call("read_file", "1", path="a.py"),
        empty_store.call("edit", "2", path="b.py", old_string="x", new_string="y"),
    ]
    empty_store.say("s", "assistant", "", tool_calls=made)
    second = empty_store.say("s", "tool", "Error: no", tool_call_id="2", timestamp=1_790_000_003.0)
    first = empty_store.say("s", "tool", "text of a", tool_call_id="1", timestamp=1_790_000_001.5)
    folds = read(signed_in.get(href)).all("details", "tool")
    assert [fold.one("b").text for fold in folds] == ["Read", "Edit"]
    assert [fold.one("summary").one(cls="path-end").text for fold in folds] == ["a.py", "b.py"]
    assert folds[1].one("summary").one(cls="lines-changed").text == "+1 −1"
    assert folds[0].one(id=f"m{first}").one("pre").text == "text of a"
    assert "1.5 s" in folds[0].one("summary").text
    assert folds[1].one(id=f"m{second}")
    assert "failed" in folds[1].one("summary").text
    assert folds[1].one("pre", "diff").one("span", "add").text == "+y"
    marked = read(signed_in.get(f"{href}?around={first}"))
    assert "open" in marked.all("details", "tool")[0].attributes


def test_a_call_without_a_result_says_so(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("f", "1")])
    empty_store.say("s", "user", "hello?")
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("f", "2")])
    folds = read(signed_in.get(href)).all("details", "tool")
    assert ["no result yet" in fold.text for fold in folds] == [False, True]
    assert "no result" in folds[0].text


def test_rows_that_no_person_typed_are_labelled(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "a background notice", display_kind="hidden")
    empty_store.say("s", "user", "typed in between", display_kind="steer")
    empty_store.say("s", "session_meta", "{}")
    empty_store.say("s", "oracle", "speaks")
    articles = read(signed_in.get(href)).all("article")
    assert "not typed by a person (hidden)" in articles[0].text
    assert "not typed" not in articles[1].text
    assert "The agent's own record" in articles[2].text
    assert "Role “oracle”" in articles[3].text
    assert "speaks" in articles[3].one("details").text


def test_a_provider_checkpoint_is_one_line(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    items = '[{"type": "compaction", "encrypted_content": "' + "x" * 120_000 + '"}]'
    empty_store.say("s", "assistant", "hello", codex_reasoning_items=items)
    answer = signed_in.get(href)
    assert "Checkpoint of the model's provider, 120 kB" in read(answer).one("article").text
    assert len(answer.content) < 40_000


@pytest.mark.slow
@pytest.mark.parametrize("step", [6, *slow(1)])
def test_the_demo_stores_sessions_all_open(signed_in: Client, demo: Callable[[str], str], step: int) -> None:
    demo("A name for the boat")
    page = read(signed_in.get("/"))
    hrefs = [line.one(cls="title").one("a").attributes["href"] for line in page.all("li", "session")]
    assert len(hrefs) > 25
    for href in hrefs[::step]:
        for view in ("", "/context"):
            read(signed_in.get(href + view))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (31_204, "31.2k"), (1_048_576, "1M"), (2_500_000, "2.5M")],
)
def test_thin_numbers(value: int, text: str) -> None:
    assert formats.thin(value) == text


def test_times_no_calendar_holds() -> None:
    for epoch in (0.0, -5.0, 1e18, float("inf")):
        assert "no time" in formats.moment(epoch)
        assert "no time" in formats.ago(epoch)
