"""Whose rules a session follows: its workspace, the sections of the context file there, the files those name.

The workspace is the session's working directory, which an agent wrote and which may be on another machine or in a
container, else the one set for the store. Only files inside `settings.WORKSPACES` are read, after links are resolved.
Nothing here raises because of the contents of a disk: each refusal is a sentence that says what is wrong.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from pathlib import PureWindowsPath
from typing import Any, Literal

from django.conf import settings
from django.utils import timezone

from viewer.stores import clean_text
from viewer.stores.base import Session, Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.kind import Agent, OwnRules
from viewer.stores.registry import agent_of, all_stores
from viewer.workspaces.models import StoreRules

from . import paths
from .context_files import CONTEXT_FILES, SHOWN, ContextFile, NotRead, is_inside, read_context_file
from .sections import EVENT_CHARS, MOST_REQUIRED, RULE_SECTIONS, carried, dated, named_files, sections_of


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory that exists here and may be read: its path as named by the session or the store, and
    its real path.
    """

    path: str
    origin: Literal["session", "store"]
    real: str


@dataclass(frozen=True, slots=True)
class Rules:
    """What is carried over a compaction: `text`, made from the `sections` (each cut to the size of a note) of the file
    `source`, whose path begins at `workspace`. `named` are the startup files in it, undated. `reason` says why nothing
    is carried, "" if something is, and `advice` what can be done on the settings page ("Set one for the store"), "" if
    nothing there helps. `own` says what the agent does itself, if rules are carried.
    """

    workspace: str = ""
    source: str = ""
    sections: tuple[str, ...] = ()
    text: str = ""
    named: tuple[str, ...] = ()
    reason: str = ""
    advice: str = ""
    own: str = ""


def reason_in(rules: Mapping[str, Any]) -> str:
    """Why nothing is carried, with the advice as a sentence; `rules` is `Rules` as an object."""
    reason, advice = rules.get("reason", ""), rules.get("advice", "")
    return f"{reason} {advice} in Settings." if advice else reason


def rules_of(store: Store, session: Session) -> Rules:
    """The rules of this session, read now; the context file is read once."""
    return rules_with(store, session.cwd, kept_rules(store))


def kept_rules(store: Store) -> StoreRules:
    """The stored settings of this store, else an unsaved row with the usual ones."""
    return StoreRules.objects.filter(store=store.name).first() or StoreRules(store=store.name)


def rules_with(store: Store, cwd: str, typed: StoreRules) -> Rules:
    """What a session with this working directory, "" for none, carries with these settings of its store."""
    agent = agent_of(store)
    own = agent.own_rules()
    titles = _titles(typed, own)
    reads_anew = bool(own.reads) and not _are_named(typed)
    if not titles and not reads_anew:
        return _switched_off()
    workspace = None
    try:
        workspace = workspace_of(cwd, typed.workspace)
        file = _context_file(store, workspace)
        if reads_anew and not agent.passes_over(file.directory, file.name):
            return _left_to(agent)
        rules = _carried(workspace, file, titles)
        return replace(rules, own=own.repeats if rules.text else "")
    except NotRead as problem:
        if reads_anew:
            return _left_to(agent)
        return Rules(workspace.path if workspace else "", reason=str(problem), advice=problem.advice)


def existing(workspace: str, named: Sequence[str], day: date) -> list[str]:
    """The named files that are regular files inside the workspace now: their paths below it, dated, with "/".

    In order, once each, at most `MOST_REQUIRED`.
    """
    real = _real(workspace)
    result: dict[str, None] = {}
    for name in named if real else ():
        below = _below(workspace, real, dated(name, day))
        if below and len(result) < MOST_REQUIRED and _is_file_in(real, below):
            result[below] = None
    return list(result)


def zone_of(store: Store) -> tzinfo:
    """The time zone in which the agent of this store tells the date; the site's own if it names none."""
    return agent_of(store).zone() or timezone.get_current_timezone()


# -- which workspace ---------------------------------------------------------------------------------------------------


def workspace_of(cwd: str, typed: str) -> Workspace:
    """A session's working directory, else the one typed for its store; `~` is this user's home.

    Raises NotRead, also for a working directory that exists here but may not be read: the store's would be a different
    one.
    """
    if cwd.strip() and _is_here(cwd):
        return _allowed(cwd, "session")
    if typed.strip():
        path = os.path.expanduser(typed.strip())
        if not _is_here(path):
            raise NotRead(f"The workspace set for this store, {_shown(path)}, does not exist on this machine.")
        return _allowed(path, "store")
    if cwd.strip():
        raise NotRead(
            f"This session's working directory, {_shown(cwd)}, does not exist on this machine.",
            "Set a workspace for the store",
        )
    raise NotRead("No workspace is known: this session has no working directory.", "Set one for the store")


def _is_here(path: str) -> bool:
    """Whether this absolute path exists on this machine. Raises NotRead if it is not such a path."""
    if PureWindowsPath(path).drive and not os.path.isabs(path):
        return False
    if not os.path.isabs(path):
        raise NotRead(f"The workspace {_shown(path)} is no absolute path, so it is not known where it is.")
    try:
        path.encode()
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except ValueError:  # NUL or half a character, as a row may have them
        raise NotRead(f"The workspace {_shown(path)} is no path that can be looked up.") from None
    except OSError as problem:
        raise NotRead(_not_looked_at(path, problem)) from None
    return True


def _allowed(path: str, origin: Literal["session", "store"]) -> Workspace:
    try:
        real = os.path.realpath(path, strict=True)
        if not stat.S_ISDIR(os.stat(real).st_mode):
            raise NotRead(f"The workspace {_shown(path)} is no directory.")
    except OSError as problem:
        raise NotRead(_not_looked_at(path, problem)) from None
    if not _is_allowed(real):
        allowed = os.pathsep.join(map(str, settings.WORKSPACES))
        raise NotRead(
            f"The workspace {_shown(path)} is outside of the directories that rules are read from "
            f"(PALIMPSEST_WORKSPACES: {_shown(allowed)})."
        )
    return Workspace(path.rstrip("/") or "/", origin, real)


def _is_allowed(real: str) -> bool:
    return any(is_inside(real, root) for root in _roots())


def _roots() -> list[str]:
    return [os.path.realpath(root) for root in settings.WORKSPACES]


def _not_looked_at(path: str, problem: OSError) -> str:
    return f"The workspace {_shown(path)} cannot be looked at: {(problem.strerror or 'unknown error').lower()}."


def _shown(path: str) -> str:
    return clean_text.line(path, SHOWN)


# -- carried text ------------------------------------------------------------------------------------------------------


def _titles(typed: StoreRules, own: OwnRules) -> tuple[str, ...]:
    """The titles from the environment, else from the store's settings, else from the agent's own settings, else the
    usual ones; () for none.
    """
    for titles in (settings.RULE_SECTIONS, typed.sections):
        if titles is not None:
            return tuple(titles)
    return own.sections or RULE_SECTIONS


def _are_named(typed: StoreRules) -> bool:
    """Whether somebody chose the sections."""
    return settings.RULE_SECTIONS is not None or typed.sections is not None


def _left_to(agent: Agent) -> Rules:
    reason = f"{agent.name} reads {agent.own_rules().reads} anew after each compaction."
    return Rules(reason=reason, advice="To have sections carried all the same, name them")


def _switched_off() -> Rules:
    if settings.RULE_SECTIONS is not None:
        return Rules(reason="Carrying rules is switched off: no section is named in PALIMPSEST_RULE_SECTIONS.")
    return Rules(reason="Carrying rules is switched off: no section is named.", advice="Name some")


def _context_file(store: Store, workspace: Workspace) -> ContextFile:
    """The context file of the workspace. Raises NotRead."""
    context_file = read_context_file(workspace.real, _roots(), _databases(store))
    if context_file is None:
        names = ", ".join(CONTEXT_FILES)
        raise NotRead(f"There is no context file with anything in it in {_shown(workspace.path)} (one of {names}).")
    return context_file


def _databases(store: Store) -> list[os.stat_result]:
    stats = []
    for each in (store, *all_stores()):
        with suppress(OSError, ValueError, StoreUnavailable):
            stats.append(os.stat(each.path))
    return stats


def _carried(workspace: Workspace, file: ContextFile, titles: tuple[str, ...]) -> Rules:
    source = os.path.relpath(os.path.join(file.directory, file.name), workspace.real)
    sections = tuple(sections_of(file.text, titles))
    if not sections:
        reason = f"{source} in {_shown(workspace.path)} has no section called {_shown(' or '.join(titles))}."
        advice = "Give one that heading, or name the sections to carry"
        return Rules(workspace.path, source, reason=reason, advice=advice)
    named = named_files(sections)
    short = tuple(carried([section], EVENT_CHARS) for section in sections)
    return Rules(workspace.path, source, short, carried(sections), named)


# -- files that are named ----------------------------------------------------------------------------------------------


def _real(workspace: str) -> str:
    """The real path of a workspace that was found earlier; "" if it may not be read now."""
    with suppress(OSError, ValueError):
        real = os.path.realpath(workspace)
        if os.path.isabs(workspace) and _is_allowed(real):
            return real
    return ""


def _below(workspace: str, real: str, name: str) -> str:
    """The path of a named file below its workspace; "" if it is elsewhere."""
    path = paths.normal(name, workspace, os.path.expanduser("~"))
    for base in (paths.normal(workspace, workspace), paths.normal(real, real)):
        if path and paths.inside(path, base):
            return os.path.relpath(path, base)
    return ""


def _is_file_in(real: str, below: str) -> bool:
    path = os.path.join(real, below)
    try:
        resolved = os.path.realpath(path, strict=True)
        return is_inside(resolved, real) and stat.S_ISREG(os.stat(resolved).st_mode)
    except (OSError, ValueError):
        return False
