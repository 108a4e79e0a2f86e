"""The systemd unit and the compose file of `docs/service`: what can be told of them without systemd and Docker."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from tests.docker_steps import settings_of

ROOT: Path = settings.BASE_DIR
PLACE = ROOT / "docs" / "service"


def test_the_compose_file_names_what_there_is() -> None:
    service = yaml.safe_load((PLACE / "compose.yaml").read_text())["services"]["palimpsest"]
    build = service["build"]
    context = (PLACE / build["context"]).resolve()
    assert context == ROOT
    dockerfile = (context / build.get("dockerfile", "Dockerfile")).read_text()
    assert set(build["args"]) == set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE))
    settings_module = (ROOT / "viewer" / "settings" / "__init__.py").read_text()
    known = re.findall(r"^\w+ = env\.\w+\(\"(\w+)\"", settings_module, re.MULTILINE)
    assert set(service["environment"]) <= set(known)
    assert {name for name in settings_of(dockerfile) if name.startswith("PALIMPSEST_")} <= set(known)
    inside = [volume.rpartition(":")[2] for volume in service["volumes"]]
    said = settings_of(dockerfile) | service["environment"]
    assert {said[name] for name in ("HERMES_HOME", "PALIMPSEST_DATA_DIR")} == set(inside)
    assert service["ports"] == [f"127.0.0.1:8000:{said['PORT']}"]


@pytest.mark.slow
def test_the_unit_is_valid(tmp_path: Path) -> None:
    text = (PLACE / "palimpsest.service").read_text()
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[method-assign,assignment]
    unit.read_string(text)
    assert unit["Service"]["ExecStart"].endswith("/.venv/bin/python manage.py up")
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here")
    here = tmp_path / "palimpsest.service"
    here.write_text(text.replace("%h/palimpsest", str(ROOT)))
    said = subprocess.run(["systemd-analyze", "verify", here], capture_output=True, text=True)
    assert "palimpsest" not in said.stderr, said.stderr  # it may have something to say about other units
