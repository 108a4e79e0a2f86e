"""Kinds whose sessions are files parsed whole: the one that docs/store-kinds.md writes as an example."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.json_file import example_kind
from tests.listed import newest_ids
from viewer.stores import registry
from viewer.stores.base import Store
from viewer.stores.recorded import Recorded
from viewer.stores.registry import agent_of, open_store, remarks, version_of

STAMP = "2026-11-26T10:00:{:02}Z"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(registry, "KINDS", [*registry.KINDS, example_kind("NotesStores")])
    (tmp_path / "chats").mkdir()
    said = [{"role": "user" if at % 2 == 0 else "assistant", "text": f"said {at}", "timestamp": STAMP.format(at)}
            for at in range(6)]  # fmt: skip
    lines = [*map(json.dumps, said[:4]), '{"undo": 2}', "no JSON", *map(json.dumps, said[4:]), '{"role": "note"}']
    (tmp_path / "chats" / "a.jsonl").write_text("".join(f"{each}\n" for each in lines))
    return Store("notes", f"notes://{tmp_path}", "configured")


def test_the_example_of_the_guide_reads_lists_and_searches(store: Store) -> None:
    with open_store(store) as reader:
        assert [row.content for row in reader.live("a")] == ["said 0", "said 1", "said 4", "said 5"]
        index = reader.index("a", Recorded(), reader.change_token("a"))
        assert index.messages == 4 and len(reader.raw("a", before=None, limit=99)) == 9
        (branch,) = reader.abandoned("a")
        assert [row.content for row in reader.messages("a", branch.ids).values()] == ["said 2", "said 3"]
        found = reader.searchable("a", "")
        assert found is not None and len(found.messages) == 6
        assert (reader.session("a").name, reader.capabilities().sessions) == ("said 0", 1)
        assert str(reader.refusal(None)).startswith("Sessions of Notes can be read")
    assert agent_of(store).resume_command("a") == "notes --resume a" and remarks(store) == []


def test_a_version_of_the_store_differs_when_it_was_written(store: Store) -> None:
    before = version_of(store)
    assert version_of(store) == before
    with (store.path / "chats" / "a.jsonl").open("a") as file:
        file.write('{"role": "user", "text": "more"}\n')
    assert version_of(store) != before


def test_a_link_that_leads_elsewhere_is_not_read(store: Store, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.jsonl"
    secret.write_text('{"role": "user", "text": "secret"}\n')
    (store.path / "chats" / "b.jsonl").symlink_to(secret)
    with open_store(store) as reader:
        assert newest_ids(reader) == ["a"]
    assert "is not read" in str(remarks(store))
