"""Doors: installed into the agent of a store, kept in step with the site's address, and removed."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from viewer.inside.agents import NAMES, agent_named
from viewer.inside.agents.agent import PROGRAMS, DoorOptions, InstalledAgent, Way
from viewer.inside.models import Door
from viewer.models import ApiToken
from viewer.settings import BASE_DIR
from viewer.stores.base import Store
from viewer.stores.registry import all_stores
from viewer.web import auth, own_database
from viewer.web.own_database import OwnDatabaseUnavailable

from . import writing
from .changes import NotInstallable
from .writing import PlannedFile

CONNECTION = "connection.json"
# Of the site's environment, what a command of ours that an agent starts needs: where sessions and our own database are.
# No key goes into a file.
SETTINGS = (
    "PALIMPSEST_STORES", "PALIMPSEST_DATABASE_URL", "PALIMPSEST_MACHINE", "PALIMPSEST_WORKSPACES",
    "PALIMPSEST_RULE_SECTIONS", "HERMES_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_STATE_DIR",
    "PI_CODING_AGENT_DIR", "TZ",
)  # fmt: skip
SEEN_EVERY = timedelta(seconds=20)  # often enough for "has called"


@dataclass(frozen=True, slots=True)
class Installation:
    """What an installation writes: `files`, and then what a person has to do, `next_steps`, as sentences."""

    files: list[PlannedFile]
    next_steps: list[str]


def installable() -> list[tuple[InstalledAgent, Store]]:
    """The stores on this machine whose agent can have a door, in the order of the agents."""
    found = [(agent, store) for store in all_stores() if (agent := agent_in(store)) is not None]
    return sorted(found, key=lambda each: NAMES.index(each[0].name))


def agent_in(store: Store) -> InstalledAgent | None:
    """The agent of a store, if it can have a door."""
    if store.is_managed or store.is_on_server:
        return None
    return next((agent for agent in map(agent_named, NAMES) if agent.owns(store)), None)


def choose(name: str, store_name: str = "", profile: str = "") -> tuple[InstalledAgent, Store]:
    """The agent of this name and its store, which has to be named where there are several. Raises NotInstallable."""
    if name not in NAMES:
        raise NotInstallable(f"There is no agent {name!r}: one of {', '.join(NAMES)}.")
    stores = [(agent, store) for agent, store in installable() if agent.name == name]
    if profile:
        stores = [each for each in stores if each[1].path.parent.parts[-2:] == ("profiles", profile)]
    if store_name:
        stores = [each for each in stores if each[1].name == store_name]
        if not stores:
            raise NotInstallable(f"There is no store {store_name!r} of {agent_named(name).label} on this machine.")
    if not stores:
        raise NotInstallable(f"No sessions of {agent_named(name).label} were found on this machine.")
    if len(stores) > 1:
        named = ", ".join(store.name for _, store in stores)
        raise NotInstallable(f"There are several stores of {agent_named(name).label}: name one with --store ({named}).")
    return stores[0]


def plan(agent: InstalledAgent, store: Store, options: DoorOptions) -> Installation:
    """What would be written, as if an earlier installation were removed. Raises NotInstallable."""
    home, own = agent.home_of(store.path), _own(store.name)
    door = door_of(store)
    files = writing.planned(agent.changes(home, own, way_of(store), options), door.written if door else ())
    return Installation(files, agent.next_steps(home, options))


def install(agent: InstalledAgent, store: Store, options: DoorOptions) -> Installation:
    """Write what `plan` shows, after an earlier installation is removed. Raises NotInstallable; if it is
    refused before, an earlier installation stays.
    """
    plan(agent, store, options)  # what is refused removes nothing
    remove(store)
    installation = plan(agent, store, options)
    token = _token(store.name)
    try:
        _save(connection_file(store), {**_site(store.name), "token": token})
        written = writing.write(installation.files, _own(store.name) / "before")
    except BaseException:
        _tokens(store.name).delete()
        shutil.rmtree(_own(store.name), ignore_errors=True)
        raise
    Door.objects.create(
        agent=agent.name, store=store.name, token=_tokens(store.name).get(), options=asdict(options), written=written
    )
    return installation


def remove(store: Store) -> list[str]:
    """Take everything out of the agent again; returns remarks about files that others had changed."""
    door = door_of(store)
    if door is None:
        return []
    remarks = writing.take_back(door.written)
    with transaction.atomic():
        door.delete()
        if door.token is not None:
            door.token.delete()
    shutil.rmtree(_own(store.name), ignore_errors=True)
    with suppress(OSError):  # the doors of other stores are in it
        _own(store.name).parent.rmdir()
    return remarks


def door_of(store: Store) -> Door | None:
    """The door in the agent of a store."""
    return Door.objects.select_related("token").filter(store=store.name).first()


def door_with(token: ApiToken) -> Door | None:
    """The door that calls with this token."""
    return Door.objects.filter(token=token).first()


def options_of(door: Door) -> DoorOptions:
    """What was wanted."""
    return DoorOptions(**door.options)


def recalls(store: Store) -> bool:
    """Whether the agent of a store has the tools of recall, and was seen to use them."""
    door = Door.objects.filter(store=store.name, recalled_at__isnull=False).first()
    return door is not None and options_of(door).recall


def way_of(store: Store) -> Way:
    """How the agent of a store reaches us."""
    door = (sys.executable, str(PROGRAMS / "door.py"), str(connection_file(store)))
    return Way(door, (*door, "mcp"))


def connection_file(store: Store) -> Path:
    """The file that a door reads: where the site is, and its token."""
    return _own(store.name) / CONNECTION


def site_address() -> str:
    """The address under which programs of this machine reach the site, without a slash at its end."""
    return f"{settings.SITE_ADDRESS}{settings.BASE_PATH}"


def refresh() -> None:
    """Write the site's present address and settings into the connections of all doors, as each start does."""
    for name in Door.objects.values_list("store", flat=True):
        path = _own(name) / CONNECTION
        with suppress(OSError, ValueError):
            connection = json.loads(path.read_text())
            if connection != (now := {**connection, **_site(name)}):
                _save(path, now)


def called(door: Door, *, recall: bool = False) -> None:
    """Note that the agent called, at most every `SEEN_EVERY`."""
    name, now = "recalled_at" if recall else "called_at", timezone.now()
    before = getattr(door, name)
    if before is None or before < now - SEEN_EVERY:
        with suppress(OwnDatabaseUnavailable), own_database.noting():
            Door.objects.filter(pk=door.pk).update(**{name: now})


def recalled(store: str) -> None:
    """Note that the agent of the store with this name used a tool of recall, if one is installed in it."""
    if door := Door.objects.filter(store=store).first():
        called(door, recall=True)


def _own(store: str) -> Path:
    return Path(settings.DATA_DIR, "inside", store)


def _site(store: str) -> dict[str, Any]:
    """The site as a door needs it: its address, its code, and how to start the MCP server."""
    manage = BASE_DIR / "manage.py"
    command = [sys.executable, str(manage)] if manage.is_file() else [sys.executable, "-m", "viewer"]
    return {
        "site": site_address(),
        "code": str(BASE_DIR),
        "mcp": [*command, "mcp", "--store", store],
        "environment": {
            **{name: os.environ[name] for name in SETTINGS if name in os.environ},
            "PALIMPSEST_DATA_DIR": str(settings.DATA_DIR),
        },
    }


def _token(store: str) -> str:
    """A new token for the door of a store. Raises NotInstallable."""
    _tokens(store).delete()
    try:
        return auth.new_token(_token_name(store), [auth.INSIDE])
    except ValueError as problem:  # somebody has one of this name
        raise NotInstallable(str(problem)) from None


def _tokens(store: str) -> QuerySet[ApiToken]:
    """The token of a store's door, and of one whose installation was cut off."""
    return ApiToken.objects.filter(name=_token_name(store), scopes=[auth.INSIDE])


def _token_name(store: str) -> str:
    return f"inside {store}"[: auth.NAME_LIMIT]


def _save(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(".new")
    with open(new, "w", opener=_private) as file:
        json.dump(value, file, indent=2)
    os.replace(new, path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
