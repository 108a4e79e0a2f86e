"""No summary and no transcript for a model holds a directive for which a gateway sends a file."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compaction
from compaction import Policy, offline, plan, summarize
from compaction.handoff import NEUTRAL, defused, handoff_text
from compaction.llm.digest import request_of
from compaction.llm.prompt import prompt_of
from tests.compaction.transcripts import call, count, exchange, handoff, reply, result, user
from tests.cost import within
from tests.factories.messages import DIRECTIVES

# What Hermes 0.19 and 0.22 take for a directive (gateway/platforms/base.py: `MEDIA_TAG_CLEANUP_RE`,
# `MEDIA_EXTENSIONLESS_TAG_RE`), without their lists of suffixes: a path from "/", "~/" or a drive, or any quoted text,
# behind the word, in any case. It is looked for also where code, quotations and JSON were blanked before.
_GATEWAY = re.compile(r"(?i)media:\s*(?:[`\"'][^\n]|~?/|[a-z]:[/\\])")
_ADAPTER = re.compile(r"MEDIA:\s*\S")  # plugins/platforms/simplex/adapter.py, mcp_serve.py
_BLANKED = re.compile(r"(?m)```[^\n]*\n[\s\S]*?```|`[^`\n]+`|^>.*$|(?<=[:,{\[])\s*\"(?:[^\"\\\n]|\\.)*\"")
# And a bare path that is a file there, unless one of these stands before it (`extract_local_files`).
_BARE = re.compile(r"(?<![/:\w.])(?:/|[A-Za-z]:[/\\])(?:[\w.-]+[/\\])*[\w.-]+\.(?:png|csv|pdf)\b")
_WORD = re.compile(r"(?i)media:|\[media\]:?|\s")


def sent(text: str) -> list[str]:
    """What a gateway would find to send in a reply that repeats the text."""
    blank = _BLANKED.sub(lambda found: " " * len(found[0]), text)
    return [found[0] for look in (_GATEWAY, _ADAPTER) for each in (text, blank) for found in look.finditer(each)]


@pytest.mark.parametrize("text", DIRECTIVES)
def test_a_directive_keeps_its_path_and_sends_nothing(text: str) -> None:
    assert sent(text), "a gateway would send a file for it"
    plain = defused(text)
    assert not sent(plain) and defused(plain) == plain
    assert _WORD.sub("", plain) == _WORD.sub("", text), "nothing else changes"


@pytest.mark.parametrize(
    "text", ["MEDIA:/tmp/photo.png", "media: /tmp/a.pdf.", "**MEDIA:C:\\out\\a.csv**", "- Media:/a.png"]
)
def test_nor_is_its_path_sent_as_a_bare_one_where_all_of_it_is_repeated(text: str) -> None:
    assert not _BARE.search(defused(text))
    assert _BARE.search(re.sub("(?i)media:", "", text)), "without the mark before it, it would be"


@pytest.mark.parametrize("text", ["Social media: three posts.", "media: 3\nmultimedia: yes", "@media (x) {}", "MEDIA"])
def test_other_words_stay(text: str) -> None:
    assert defused(text) == text and not sent(text)


@given(st.lists(st.sampled_from(["MEDIA:", "media:", "MED", "IA:", "/a.png", "~/b", " ", "\n", "`", '"', "'", "> ",
                                 "```", "C:\\", *NEUTRAL]), max_size=12).map("".join))  # fmt: skip
def test_whatever_stands_around_it_nothing_is_sent(text: str) -> None:
    assert not sent(handoff_text(text))


@pytest.mark.parametrize("directive", DIRECTIVES[:5])
def test_neither_digest_nor_any_kind_of_summary_has_one(directive: str) -> None:
    """The transcript and request as a model reads them, the offline summary, a model's, an edited one, the rules."""
    spoken = [user(f"Send it as {directive}"), {**reply(directive), "tool_calls": [call("m", "send", directive)]}]
    messages = [*exchange(4), *spoken, result("m", directive), handoff(directive), *exchange(30)[1:]]
    made = plan(messages, Policy(context_window=4_000, focus=directive), count)
    request = replace(request_of(made), budget_tokens=2_000)
    assert "m" in request.digest and not sent(request.digest) and not sent(prompt_of(request).user)
    assert not sent(handoff_text(offline.summarize(request)))
    assert not sent(summarize(made, lambda _: f"## Goal\n{directive}"))
    assert not sent(compaction.apply(made, f"## Goal\n{directive}").handoff)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["MEDIA:", "media:", "media: ", "media:\n", "media: *", "[[as_document]]", " "])
def test_looking_for_directives_grows_with_the_text(piece: str) -> None:
    assert within(1, defused, piece * (100_000 // len(piece)))
