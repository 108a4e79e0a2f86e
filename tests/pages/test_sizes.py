"""What is sent for a page is compressed."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client, override_settings

from tests.factories.stores import EmptyStore


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files as they are served, by the names they have here."""
    root = tmp_path_factory.mktemp("static")
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": "viewer.static_files.MinifiedStaticFilesStorage"}}
    with override_settings(STATIC_ROOT=root, STORAGES=storages):
        call_command("collectstatic", verbosity=0, interactive=False)
    names = json.loads((root / "staticfiles.json").read_text())["paths"]
    return {name: root / hashed for name, hashed in names.items()}


@pytest.mark.slow
def test_scripts_and_styles_are_served_without_comments(collected: dict[str, Path]) -> None:
    for name in ("palimpsest.css", "palimpsest.js", "seek.js", "list.js", "palette.js"):
        found = finders.find(name)
        assert found
        before, after = Path(found).read_text(), collected[name].read_text()
        assert len(after) > len(before) / 2 and "// " in before + "// " and "\n  " not in after and "\n//" not in after
    whole = finders.find("django_htmx/htmx-2.min.js")
    assert whole and collected["django_htmx/htmx-2.min.js"].read_bytes() == Path(whole).read_bytes()


@pytest.mark.parametrize(
    ("accepted", "encoding", "unpack"),
    [
        ("gzip", "gzip", gzip.decompress),
        ("gzip, deflate, br", "br", brotli.decompress),
        ("br;q=1.0", "br", brotli.decompress),
    ],
)
def test_pages_and_fragments_are_sent_compressed(
    signed_in: Client, empty_store: EmptyStore, accepted: str, encoding: str, unpack: Callable[[Any], bytes]
) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 80)
    for address, headers in ((href, {}), (f"{href}?before={ids[70]}", {"HX-Request": "true"})):
        plain = signed_in.get(address, headers=headers)
        answer = signed_in.get(address, headers={"Accept-Encoding": accepted, **headers})
        assert answer["Content-Encoding"] == encoding and "Accept-Encoding" in answer["Vary"]
        assert int(answer["Content-Length"]) == len(answer.content) < len(plain.content) / 4
        assert abs(len(unpack(answer.content)) - len(plain.content)) < 100


@pytest.mark.parametrize("accepted", ["", "identity", "br;q=0", "deflate"])
def test_who_takes_no_compression_is_sent_none(signed_in: Client, empty_store: EmptyStore, accepted: str) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 8)
    answer = signed_in.get(href, headers={"Accept-Encoding": accepted})
    assert not answer.has_header("Content-Encoding") and b"</html>" in answer.content


def test_no_text_of_a_script_is_inside_another() -> None:
    """What makes scripts smaller takes the spaces out of a template literal that stands in one."""
    for script in sorted((settings.BASE_DIR / "static").glob("*.js")):
        assert not re.search(r"\$\{[^}`]*`", script.read_text()), script.name
