"""The switch that redacts what looks like a secret, and what it hides on the pages."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client

from compaction.handoff import END_MARKER, LEGACY_HEADER
from tests.factories.stores import EmptyStore
from tests.html import read
from tests.slow import one_in
from viewer import exports
from viewer.pages.redaction import COOKIE

KEY = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"
MASK = "[redacted: GitHub token]"


@pytest.fixture
def told(empty_store: EmptyStore) -> tuple[str, int]:
    """A session with a key in each place that may hold text; its address and the row."""
    href = empty_store.session("s", system_prompt=f"Use {KEY}.")
    row = empty_store.say(
        "s",
        "assistant",
        [{"type": "text", "text": f"The key is {KEY}."}],
        tool_calls=[empty_store.call("sh", "c1", command=f"curl -H 'X: {KEY}'", password="correct horse")],
        reasoning=f"I know {KEY}.",
        reasoning_details=json.dumps([{"text": KEY}]),
    )
    return href, row


def test_pages_show_text_as_it_is_until_the_switch_is_on(signed_in: Client, told: tuple[str, int]) -> None:
    href, row = told
    pages = [f"{href}/rows", f"{href}/context/prompt"]
    pages += [f"{href}/messages/{row}?part={part}" for part in ("content", "calls", "reasoning")]
    for page in pages:
        text = read(signed_in.get(page)).one("main").text
        assert KEY in text and MASK not in text
    signed_in.post("/redact", {"redact": "1", "next": href})
    for page in pages:
        text = read(signed_in.get(page)).one("main").text
        assert KEY not in text and MASK in text
    assert "correct horse" not in read(signed_in.get(f"{href}/rows")).one("main").text
    signed_in.post("/redact", {"redact": "0", "next": href})
    assert KEY in read(signed_in.get(pages[0])).one("main").text


def test_a_session_says_that_secrets_are_redacted(signed_in: Client, told: tuple[str, int]) -> None:
    href = told[0]
    assert "secrets redacted" not in read(signed_in.get(href)).one("header", "about").text
    signed_in.post("/redact", {"redact": "1", "next": href})
    for page in (href, f"{href}/context", f"{href}/rows"):
        assert "secrets redacted" in read(signed_in.get(page)).one("header", "about").text


def test_the_switch_leads_back_to_its_page_and_nowhere_else(signed_in: Client) -> None:
    answer = signed_in.post("/redact", {"redact": "1", "next": "/stores/a/sessions/b?around=3"})
    assert answer.status_code == 302 and answer.headers["Location"] == "/stores/a/sessions/b?around=3"
    assert answer.cookies[COOKIE].value == "1" and answer.cookies[COOKIE]["httponly"]
    for elsewhere in ("https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example", "", "x"):
        assert signed_in.post("/redact", {"redact": "1", "next": elsewhere}).headers["Location"] == "/"
    assert signed_in.post("/redact", {"next": "/"}).cookies[COOKIE].value == ""
    assert signed_in.get("/redact").status_code == 405


def test_only_the_owner_and_the_sites_own_forms_may_switch(client: Client, signed_in: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert strict.post("/redact", {"redact": "1", "next": "/"}).status_code == 403
    assert COOKIE not in Client().post("/redact", {"redact": "1", "next": "/"}).cookies


# -- everywhere --------------------------------------------------------------------------------------------------------

HANDOFF = f"{LEGACY_HEADER}\n\n## Goal\nTo use {KEY}.\n\n{END_MARKER}"
SECRETS = (KEY[4:], "correct horse")


@pytest.fixture
def full(empty_store: EmptyStore) -> str:
    """A session with a key in every column, with a compaction and a branch, and one without a title; its address."""
    href = empty_store.session(
        "s", title=f"t {KEY}", model=f"m {KEY}", cwd=f"/c/{KEY}", system_prompt=f"p {KEY}", display_name=f"d {KEY}",
        ended_at=1_790_000_001.0, end_reason=f"e {KEY}",
    )  # fmt: skip
    empty_store.session("u")
    empty_store.say("u", "user", f"first {KEY}")
    empty_store.session(
        "kid", title=f"k {KEY}", parent_session_id="s", model_config=json.dumps({"_branched_from": "s"})
    )
    empty_store.say("kid", "user", "x")
    for at in range(3):
        call = empty_store.call(f"n {KEY}", f"i{at} {KEY}", password="correct horse", command=f"echo {KEY}")
        empty_store.say("s", "user", f"c {KEY}", active=0, compacted=1)
        empty_store.say(
            "s", "assistant", f"a {KEY}", tool_calls=[call], reasoning=f"r {KEY}", finish_reason=f"f {KEY}",
            reasoning_details=json.dumps([{"text": KEY}]), display_kind=f"y {KEY}",
            display_metadata=json.dumps({"key": KEY, "password": "correct horse"}),
        )  # fmt: skip
        empty_store.say("s", "tool", f"o {KEY}", tool_call_id=f"i{at} {KEY}", tool_name=f"n {KEY}")
    empty_store.say("s", f"role {KEY}", f"o {KEY}")
    empty_store.say("s", "user", HANDOFF, _compressed_summary=1)
    empty_store.say("s", "user", f"after {KEY}")
    return href


def _addresses(client: Client, pages: list[str]) -> list[str]:
    """These pages, and what they link to or fetch of the sessions of the store `own`."""
    found = dict.fromkeys(pages)
    for page in pages:
        for element in read(client.get(page)).walk():
            for name in ("href", "hx-get", "src"):
                address = element.attributes.get(name, "").partition("#")[0]
                if address.startswith("/stores/own/sessions/") and "/export?" not in address:
                    found[address] = None
    return list(found)


def test_nothing_that_looks_like_a_secret_is_on_any_page_while_the_switch_is_on(signed_in: Client, full: str) -> None:
    signed_in.post("/redact", {"redact": "1", "next": "/"})
    own = [f"{full}{view}" for view in ("", "/rows", "/context", "/context/prompt", "/find?q=echo", "/find?q=after")]
    pages = _addresses(signed_in, ["/", "/search?q=correct", "/search?q=after", "/compactions", *own])
    pages += [f"/stores/own/sessions/{name}" for name in ("u", "kid", "u/context", "kid/rows", "u/plan", "u/export")]
    assert len(pages) > 40
    for page in pages:
        for headers in ({}, {"HX-Request": "true"}):
            answer = signed_in.get(page, headers=headers)
            assert answer.status_code in (200, 204, 302), page
            text = answer.content.decode()
            if "/rename" in page:  # its field holds the title that is edited
                text = text.replace(f'value="t {KEY}"', "").replace(f'value="k {KEY}"', "")
            text = re.sub(
                r'<a [^>]*href="\?(?:store=own&amp;)?model=.*?</a>', "", text, flags=re.DOTALL
            )  # filters, by program names
            assert not [secret for secret in SECRETS if secret in text], page
    offered = read(signed_in.get("/stores/own/sessions/none"), 404).one("section", "projects").text
    assert MASK in offered and not [secret for secret in SECRETS if secret in offered]


@pytest.mark.parametrize("length", one_in(4, range(45, 320, 25)))
def test_a_secret_that_is_cut_off_in_a_name_is_not_shown_in_part(
    signed_in: Client, empty_store: EmptyStore, length: int
) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3" * 30
    words = ("word " * 100)[:length]
    empty_store.session("s")
    empty_store.say("s", "user", f"{words} postgres://app:hunter{'r' * 240}@db {KEY} {token}")
    empty_store.say("s", "assistant", "yes")
    signed_in.post("/redact", {"redact": "1", "next": "/"})
    made = exports.export("own", "s", "md")
    shown = [
        read(signed_in.get(page)).text for page in ("/", "/stores/own/sessions/s", "/search?q=yes", "/search?q=word")
    ]
    for text in (*shown, made.filename):
        assert not re.search(r"hunter|ghp_|eyJ", text)
