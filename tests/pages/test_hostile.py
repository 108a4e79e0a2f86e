"""A session that would break a page: every view of it is calm, runs nothing, and stays within bounds."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from tests.factories.stores import EmptyStore, create_empty
from tests.pages import hostile
from tests.slow import slow
from viewer.catalog import sync_worker
from viewer.labels.models import SessionLabel
from viewer.pages.urls import urlpatterns
from viewer.runs import service
from viewer.runs.planning import Options
from viewer.stores.registry import get_store

FRAGMENT = {"HX-Request": "true"}
SHARE = 0.01  # of the length of each hostile text, where length is not the point
WINDOW = 4_000_000  # bytes of one window in which every message is as large as it may be
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s>"']+)"""
TAG = re.compile(rf"""<([a-z][^\s/>]*)((?:[\s/]+[^\s=>"'/]+(?:\s*=\s*{_VALUE})?)*)[\s/]*>""", re.IGNORECASE)
ATTRIBUTE = re.compile(rf"""([^\s=>"'/]+)(?:\s*=\s*({_VALUE}))?""")
FOREIGN = {"iframe", "object", "embed", "style", "base", "frame", "applet"}
LEADING = re.compile(r"[\"']?\s*(?:javascript|vbscript|data:(?!image/))", re.IGNORECASE)
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module", params=[SHARE, *slow(1.0)], ids=["short", "long"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EmptyStore:

    path = tmp_path_factory.mktemp("hostile") / "own.db"
    create_empty(path)
    empty_store = EmptyStore(path)
    hostile.build(empty_store, share=request.param)
    return empty_store


@pytest.fixture
def session(built: EmptyStore, settings: Settings) -> str:
    settings.STORES = {"own": f"sqlite:///{built.path}"}
    return "/stores/own/sessions/hostile"


def calm(answer: Any, limit: int = WINDOW) -> str:
    """The answer's text, if it is an answer of status 200 within the limit that runs nothing."""
    assert answer.status_code == 200
    text: str = answer.content.decode()
    assert len(answer.content) < limit
    assert not TURNING.search(text)
    tags = TAG.findall(text)
    assert len(tags) == len(re.findall(r"<[a-z]", text, re.IGNORECASE))  # nothing that begins a tag is something else
    is_card = "style-src 'sha256-" in answer.headers.get("Content-Security-Policy", "")  # only that style counts
    for name, attributes in set(tags):
        if not (is_card and name == "style"):
            check(name.lower(), ATTRIBUTE.findall(attributes))
    return text


def check(tag: str, attributes: list[tuple[str, str]]) -> None:
    """One tag with its attributes: none that runs or loads anything but the site's own."""
    names = {name.lower() for name, _ in attributes}
    assert tag not in FOREIGN or ("sandbox", "") in attributes, "a frame runs nothing"
    assert tag != "script" or "src" in names
    assert not {name for name in names if name.startswith("on") or name == "style"}, attributes
    for name, value in attributes:
        if name.lower() in ("href", "src", "action", "formaction", "xlink:href"):
            assert not LEADING.match(value), value
        if name.lower() == "src":
            assert value.strip("\"'").startswith(("/", "data:image/")), value


def windows(client: Client, href: str) -> Iterator[str]:
    """The newest window of the session, then each earlier one as a reader's page loads it."""
    text = calm(client.get(href))
    yield text
    while found := re.search(r'class="neighbour earlier"[^>]*hx-get="([^"]+)"', text):
        text = calm(client.get(found[1].replace("&amp;", "&"), headers=FRAGMENT))
        yield text


def test_every_window_of_history_is_calm(signed_in: Client, session: str) -> None:
    texts = list(windows(signed_in, session))
    assert len(texts) > 2
    assert "the end" in texts[0]
    assert "⟨RLO⟩" in "".join(texts)


def test_thousands_of_calls_in_one_row_are_counted_not_shown(signed_in: Client, empty_store: EmptyStore) -> None:
    href = hostile.build_many_calls(empty_store)
    text = calm(signed_in.get(f"{href}?around=1"), 200_000)
    assert f"{hostile.CALLS_IN_ONE_ROW - 60:,} more calls" in text
    assert "of the last" in text
    calm(signed_in.get(f"{href}/messages/1?part=calls"), 1_000_000)


def test_what_the_model_sees_is_calm(signed_in: Client, session: str) -> None:
    text = calm(signed_in.get(f"{session}/context"))
    while found := re.search(r'class="neighbour later"[^>]*hx-get="([^"]+)"', text):
        text = calm(signed_in.get(found[1].replace("&amp;", "&"), headers=FRAGMENT))
    assert "the end" in text
    calm(signed_in.get(f"{session}/context/prompt"))


def test_raw_rows_are_calm(signed_in: Client, session: str) -> None:
    text = calm(signed_in.get(f"{session}/rows"))
    while found := re.search(r'class="neighbour earlier"[^>]*hx-get="([^"]+)"', text):
        text = calm(signed_in.get(found[1].replace("&amp;", "&"), headers=FRAGMENT))


@pytest.mark.parametrize("view", ["", "/timeline", "/plan", "/rows", "/find?q=alert", "/find?q=%3Cscript%3E"])
def test_other_views_are_calm(signed_in: Client, session: str, view: str) -> None:
    calm(signed_in.get(session + view))


@pytest.mark.slow
def test_each_row_is_calm_uncut_in_colours_and_as_text(signed_in: Client, session: str) -> None:
    """All addresses that any window leads to."""
    texts = windows(signed_in, session)
    found = {address for text in texts for address in re.findall(r'"([^"]*/messages/[^"]*)"', text)}
    assert len(found) > 100
    for address in sorted(found):
        answer = signed_in.get(address.replace("&amp;", "&"), headers=FRAGMENT)
        if "as=text" in address:
            assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
            assert answer["X-Content-Type-Options"] == "nosniff"
        elif "image=" in address:
            assert answer["Content-Type"] in ("image/png", "image/gif")
            assert "sandbox" in answer["Content-Security-Policy"]
        else:
            calm(answer)


@pytest.mark.slow
@pytest.mark.parametrize("built", [1.0], indirect=True)
def test_memory_stays_flat(signed_in: Client, session: str) -> None:
    list(windows(signed_in, session))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    list(windows(signed_in, session))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # kB


def pages_of(handoff: int, run: int) -> dict[str, str]:
    """The address of each page that names what is there, by the name of its view."""
    there = {"store": "own", "session_id": "compacted", "row_id": handoff + 1, "handoff_id": handoff, "run_id": run}
    names = {each.name: each.pattern.converters.keys() for each in urlpatterns}
    return {
        str(name): reverse(f"pages:{name}", kwargs={each: there[each] for each in needs})
        for name, needs in names.items()
        if needs <= there.keys()
    }


@pytest.mark.usefixtures("at_once")
def test_every_page_of_the_site_is_calm(signed_in: Client, tmp_path: Path, settings: Settings) -> None:
    """Over all addresses; the queries are what a person may type there."""
    path = tmp_path / "state.db"  # its name in a home of Hermes, in which something can be installed
    create_empty(path)
    settings.STORES = {"own": f"sqlite:///{path}"}
    handoff = hostile.build_compacted(EmptyStore(path))
    run = service.start(get_store("own"), "compacted", Options(focus=hostile.SCRIPT), apply=False)
    SessionLabel.objects.create(store="own", session_id="compacted", tags=[hostile.SCRIPT], note=hostile.SCRIPT)
    sync_worker.sync_all()
    typed = dict.fromkeys(("q", "focus", "name", "at"), hostile.SCRIPT)
    seen = set()
    for name, address in pages_of(handoff, run.pk).items():
        for answer in (signed_in.get(address, typed), signed_in.get(address, headers=FRAGMENT)):
            if answer.status_code not in (302, 405) and "alert(1)" in calm(answer):
                seen.add(name)
    assert seen >= {
        "sessions", "search", "palette", "compactions", "run", "goes", "stays", "session", "rename", "context",
        "contents", "find", "rows", "whole", "colours", "export", "plan", "summarised", "details", "update",
        "before_after", "undo",
    }  # fmt: skip
