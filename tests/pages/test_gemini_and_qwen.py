"""Sessions of Gemini CLI and Qwen Code on pages, as the clients wrote them: they are read, and say why nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from tests.agents.gemini.by_hand import RECORDED as GEMINI
from tests.agents.qwen.by_hand import RECORDED as QWEN
from tests.html import read
from tests.listed import newest_ids
from viewer.stores.recorded import Recorded
from viewer.stores.registry import get_store, open_store

HOMES = {
    f"{kind}-{scenario}": f"{kind}://{home / scenario}"
    for kind, home in (("gemini", GEMINI), ("qwen", QWEN))
    for scenario in ("plain", "compressed", "rewound")
}


@pytest.fixture(autouse=True)
def stores(settings: Settings, tmp_path: Path) -> None:
    settings.STORES, settings.DEMO_STORE = HOMES, tmp_path / "no-demo.db"


def sessions(store: str) -> list[str]:
    with open_store(get_store(store)) as reader:
        return newest_ids(reader)


@pytest.mark.parametrize("store", HOMES)
def test_every_view_of_a_session_opens(signed_in: Client, store: str) -> None:
    for session_id in sessions(store):
        for view in ("", "/context", "/rows", "/timeline", "/find?q=price", "/plan", "/export"):
            answer = signed_in.get(_at(store, session_id) + view, follow=True)
            assert answer.status_code == 200, (session_id, view)


@pytest.mark.parametrize("kind", ["gemini", "qwen"])
def test_calls_read_as_sentences_and_sub_agents_are_linked(signed_in: Client, kind: str) -> None:
    by_length = sorted(sessions(f"{kind}-plain"), key=len)
    session_id = next(each for each in by_length if "What is the price" in _text(signed_in, f"{kind}-plain", each))
    text = _text(signed_in, f"{kind}-plain", session_id)
    assert "Read prices.txt" in text and "Ran grep quince prices.txt" in text
    assert "failed, exit 1" in text and "Edited prices.txt" in text and "I will read the price list first." in text
    page = signed_in.get(_at(f"{kind}-plain", session_id)).content.decode()
    (sub_agent,) = (each for each in by_length if each != session_id)
    assert f'href="{_at(f"{kind}-plain", sub_agent)}"' in page


def _at(store: str, session_id: str) -> str:
    return reverse("pages:session", args=[store, session_id])


def _text(client: Client, store: str, session_id: str) -> str:
    return read(client.get(_at(store, session_id), follow=True)).text


@pytest.mark.parametrize("kind", ["gemini", "qwen"])
def test_a_compression_is_shown_and_there_is_no_button(signed_in: Client, kind: str) -> None:
    (session_id,) = sessions(f"{kind}-compressed")
    page = read(signed_in.get(f"/stores/{kind}-compressed/sessions/{session_id}"))
    assert "Keep the shop's price list right." in page.text
    plan = read(signed_in.get(f"/stores/{kind}-compressed/sessions/{session_id}/plan"))
    assert "can be read, but not be changed here" in plan.text
    assert not plan.all("form", action=f"/stores/{kind}-compressed/sessions/{session_id}/compact")


@pytest.mark.parametrize("kind", ["gemini", "qwen"])
def test_what_was_rewound_is_left_by_going_back(signed_in: Client, kind: str) -> None:
    (session_id,) = sessions(f"{kind}-rewound")
    text = _text(signed_in, f"{kind}-rewound", session_id)
    assert "going back" in text and "Sum of all prices, please." in text


@pytest.mark.parametrize("kind", ["gemini", "qwen"])
def test_what_a_compression_did_is_shown(signed_in: Client, kind: str) -> None:
    (session_id,) = sessions(f"{kind}-compressed")
    with open_store(get_store(f"{kind}-compressed")) as reader:
        (boundary,) = reader.index(session_id, Recorded(), reader.change_token(session_id)).boundaries
    for view in ("before_after", "summarised", "kept", "details", "share"):
        answer = signed_in.get(reverse(f"pages:{view}", args=[f"{kind}-compressed", session_id, boundary.handoff_id]))
        assert answer.status_code == 200, view
    summarised = signed_in.get(
        reverse("pages:summarised", args=[f"{kind}-compressed", session_id, boundary.handoff_id])
    )
    assert "A pear costs 4." in read(summarised).text


def test_lists_and_search_have_them(signed_in: Client) -> None:
    listed = read(signed_in.get("/")).text
    assert "What is the price of a pear?" in listed and "Prices of fruit" in listed
    assert "There are no quinces" in read(signed_in.get("/search?q=quinces")).text
    assert "Gemini CLI" in read(signed_in.get("/stores")).text
