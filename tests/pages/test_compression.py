"""What is sent for a page is compressed."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client, override_settings

from tests.factories.stores import EmptyStore


@pytest.mark.slow
def test_scripts_and_styles_are_collected_compressed_and_import_each_other_by_their_new_names(tmp_path: Path) -> None:
    backend = "viewer.web.static_files.StaticFiles"
    with override_settings(STATIC_ROOT=tmp_path, STORAGES={**settings.STORAGES, "staticfiles": {"BACKEND": backend}}):
        call_command("collectstatic", verbosity=0, interactive=False)
    names = json.loads((tmp_path / "staticfiles.json").read_text())["paths"]
    for name in ("palimpsest.css", "js/app.js", "django_htmx/htmx-2.min.js"):
        plain = tmp_path / names[name]
        assert gzip.decompress(Path(f"{plain}.gz").read_bytes()) == plain.read_bytes()
    imported = {
        f"js/{name}"
        for script in (tmp_path / "js").glob("*.js")
        for name in re.findall(r'import\b[^;]*?"\./([^"]+)"', script.read_text())
    }
    assert len(imported) > 15 and imported <= set(names.values())


def test_pages_and_fragments_are_sent_compressed_and_of_a_length_that_says_nothing(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    """The same answer has another length each time (BREACH)."""
    href = empty_store.session("s")
    ids = empty_store.chat("s", 80)
    for address, headers in ((href, {}), (f"{href}?before={ids[70]}", {"HX-Request": "true"})):
        plain = signed_in.get(address, headers=headers)
        lengths = set()
        for _ in range(5):
            answer = signed_in.get(address, headers={"Accept-Encoding": "gzip, deflate, br", **headers})
            assert answer["Content-Encoding"] == "gzip"
            assert answer["Vary"] == "*" or "Accept-Encoding" in answer["Vary"]
            assert int(answer["Content-Length"]) == len(answer.content) < len(plain.content) / 2
            assert abs(len(gzip.decompress(answer.content)) - len(plain.content)) < 100
            lengths.add(len(answer.content))
        assert len(lengths) > 1


def test_a_page_masks_its_csrf_token_anew(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    assert len({str(signed_in.get(href).context["csrf_token"]) for _ in range(3)}) == 3


@pytest.mark.parametrize("accepted", ["", "identity", "deflate", "br"])
def test_who_takes_no_compression_is_sent_none(signed_in: Client, empty_store: EmptyStore, accepted: str) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 8)
    answer = signed_in.get(href, headers={"Accept-Encoding": accepted})
    assert not answer.has_header("Content-Encoding") and b"</html>" in answer.content
