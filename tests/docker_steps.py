"""The steps of our Dockerfile, taken without Docker: in a virtual environment, with its directories below another."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CACHE = shutil.ignore_patterns("__pycache__")


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Each instruction and what it is given, without comments and line ends."""
    lines = "\n".join(line for line in dockerfile.splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", lines).splitlines():
        if line.strip():
            name, _, given = line.partition(" ")
            yield name, given.strip()


def settings_of(dockerfile: str) -> dict[str, str]:
    """What its ENV says."""
    return {
        name: value
        for instruction, given in instructions(dockerfile)
        if instruction == "ENV"
        for name, value in re.findall(r"(\w+)=(\S+)", given)
    }


@dataclass
class DockerSteps:
    """`/data` and `/palimpsest` of the image are below `place`; `environment` is what its commands get."""

    context: Path
    place: Path
    environment: dict[str, str] = field(default_factory=dict)
    directory: Path = Path()
    user: str = ""
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        python = self.place / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", python], check=True)
        # The pip of these tests installs into it: making one is most of what an environment takes.
        path = os.pathsep.join([str(python / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(python), "PIP_PYTHON": str(python)}

    def take(self) -> None:
        """Each step, in order. An instruction that is not known here fails."""
        for name, given in instructions((self.context / "Dockerfile").read_text()):
            getattr(self, f"_{name.lower()}")(given)

    def run(self, *command: str) -> None:
        """One that has to succeed."""
        done = subprocess.run(command, cwd=self.directory, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def _here(self, text: str) -> str:
        return re.sub(r"(?<![\w./:])/(?=data\b|palimpsest\b)", f"{self.place}/", text)

    def _from(self, given: str) -> None:
        assert re.fullmatch(r"python:3\.1[1-9]-slim", given)

    def _arg(self, given: str) -> None:
        self.environment[given.partition("=")[0]] = str(os.getuid())  # as `--build-arg` says

    def _env(self, given: str) -> None:
        self.environment |= dict(re.findall(r"(\w+)=(\S+)", self._here(given)))
        del self.environment["PIP_NO_CACHE_DIR"]  # it makes the image smaller, and these tests slow
        self.environment["PIP_NO_COMPILE"] = "no"  # as pip reads it: nothing is compiled before it is run

    def _run(self, given: str) -> None:
        self.run("sh", "-c", self._here(given))

    def _workdir(self, given: str) -> None:
        self.directory = Path(self._here(given))
        self.directory.mkdir(exist_ok=True)

    def _copy(self, given: str) -> None:
        source, target = given.split()
        assert target == "."
        if source != ".":
            shutil.copy(self.context / source, self.directory)
            return
        ignored = (self.context / ".dockerignore").read_text().split()
        for path in self.context.iterdir():
            if not any(fnmatch.fnmatch(path.name, each) for each in ignored):
                into = self.directory / path.name
                shutil.copytree(path, into, ignore=CACHE) if path.is_dir() else shutil.copy(path, into)

    def _user(self, given: str) -> None:
        self.user = re.sub(r"\$(\w+)", lambda name: self.environment[name[1]], given)

    def _volume(self, given: str) -> None:
        assert Path(self._here(given)).is_dir()

    def _expose(self, given: str) -> None:
        assert given == self.environment["PORT"]

    def _healthcheck(self, given: str) -> None:
        self.healthcheck = json.loads(given.partition("CMD ")[2])

    def _cmd(self, given: str) -> None:
        self.command = json.loads(given)
