"""The site as the Dockerfile installs it: from a wheel, into an environment with nothing else, run from anywhere."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from django.conf import settings

from tests.docker_steps import DockerSteps
from tests.processes import StartedSite, free_port, until

ROOT: Path = settings.BASE_DIR

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> DockerSteps:
    """Every step of the Dockerfile was taken."""
    image = DockerSteps(ROOT, tmp_path_factory.mktemp("image"))
    image.take()
    return image


@pytest.fixture(scope="module")
def site(image: DockerSteps, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedSite]:
    """Started by the image's own command, in an empty directory."""
    empty = tmp_path_factory.mktemp("empty")
    own = {name: image.environment[name] for name in ("PATH", "HOME", "PYTHONUNBUFFERED")}
    command = ["sh", "-c", f'cd {empty} && exec "$0" "$@"', *image.command]
    site = StartedSite(Path(image.environment["PALIMPSEST_DATA_DIR"]), command, **own)
    try:
        yield site.ready()
        assert not list(empty.iterdir())
    finally:
        site.cut_down()


def test_the_image_is_run_by_a_user_who_owns_the_data(image: DockerSteps) -> None:
    assert image.user == "{0}:{0}".format(image.environment["OWNER"])
    assert Path(image.environment["PALIMPSEST_DATA_DIR"]).stat().st_mode & 0o777 == 0o700
    assert image.environment["HOST"] == "0.0.0.0"


def test_the_wheel_says_all_it_needs_and_brings_all_of_ours(image: DockerSteps) -> None:
    """`pip check` fails where something that the wheel requires is missing or of another version."""
    image.run("pip", "check")
    needed = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    asked = f"from importlib.metadata import requires; assert len(requires('palimpsest-agents')) == {len(needed)}"
    image.run("python", "-c", asked)
    package = next(Path(image.environment["VIRTUAL_ENV"]).glob("lib/python3*/site-packages/viewer"))
    for name in ("templates", "static"):
        assert files(package / "assets" / name) == files(ROOT / name)
    assert not {"tests", "docs"} & {path.name for path in package.parent.iterdir()}


def files(place: Path) -> set[Path]:
    return {path.relative_to(place) for path in place.rglob("*") if path.is_file()}


def test_a_page_its_style_and_its_commands(image: DockerSteps, site: StartedSite) -> None:
    address = f"http://127.0.0.1:{site.port}"
    with httpx2.Client(follow_redirects=True) as browser:
        asked = browser.get(site.link)
        token = {"csrfmiddlewaretoken": browser.cookies[f"palimpsest_csrf_{site.port}"]}
        page = browser.post(site.link, data=token, headers={"Origin": address})
        assert (asked.status_code, page.status_code, page.url.path) == (200, 200, "/")
        assert "demo" in page.text
        style = page.text.partition('<link rel="stylesheet" href="')[2].partition('"')[0]
        assert browser.get(address + style).status_code == 200
        # The worker, another process, keeps the list of sessions; the page has them once it ran.
        until(lambda: "/stores/demo/sessions/" in browser.get(address).text, "the demo's sessions")
        assert "<pre>palimpsest signin</pre>" in httpx2.get(f"{address}/sign-in/").text
    command = [image.command[0], "stores"]
    listed = subprocess.run(command, cwd="/", env=site.environment, capture_output=True, text=True, check=True)
    assert "30 sessions, can compact" in listed.stdout


def test_the_health_check_tells_a_site_from_none(image: DockerSteps, site: StartedSite) -> None:
    image.environment["PORT"] = str(site.port)
    image.run(*image.healthcheck)
    image.environment["PORT"] = str(free_port())
    with pytest.raises(AssertionError, match="refused"):
        image.run(*image.healthcheck)
