"""Settings → Inside the agents: what is installed in each agent, whether it has called, and what would be written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from viewer.inside import doors
from viewer.inside.agents.agent import DoorOptions, InstalledAgent
from viewer.inside.changes import NotInstallable
from viewer.inside.models import Door
from viewer.pages.http import page, shows_refusals
from viewer.rendering.texts import visible
from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import get_store

NAMES = ("notes", "recall", "engine")
LABELS = {"notes": "Notes after a compaction", "recall": "Recall", "engine": "Our engine where the agent compacts"}


class OptionsForm(forms.Form):
    """What is wanted inside an agent."""

    def __init__(self, agent: InstalledAgent, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in NAMES:
            if explained := getattr(agent, name):
                self.fields[name] = forms.BooleanField(label=LABELS[name], help_text=explained, required=False)

    @property
    def options(self) -> DoorOptions:
        """What was chosen; nothing that the agent does not offer."""
        return DoorOptions(**{name: bool(self.cleaned_data.get(name)) for name in NAMES})


@dataclass(frozen=True, slots=True)
class ShownDoor:
    """An agent and its store; the `door` in it, None for none; what is installed, in words."""

    agent: InstalledAgent
    store: Store
    door: Door | None

    @property
    def parts(self) -> str:
        """What is installed, with commas between."""
        options = doors.options_of(self.door) if self.door else DoorOptions(False, False, False)
        return ", ".join(LABELS[name].lower() for name in NAMES if getattr(options, name))


def section() -> list[ShownDoor]:
    """All agents that can have a door, on this machine."""
    installed = {door.store: door for door in Door.objects.all()}
    return [ShownDoor(agent, store, installed.get(store.name)) for agent, store in doors.installable()]


@require_safe
@shows_refusals
def door(request: HttpRequest, store: str) -> HttpResponse:
    """What is installed in the agent of a store, and exactly what would be written."""
    agent, target = _agent_of(store)
    installed = doors.door_of(target)
    chosen = doors.options_of(installed) if installed else DoorOptions()
    data = request.GET if "show" in request.GET else {name: getattr(chosen, name) for name in NAMES}
    form = OptionsForm(agent, data)
    form.is_valid()
    files, refusal = [], ""
    try:
        files = doors.plan(agent, target, form.options).files
    except NotInstallable as problem:
        refusal = problem.message
    shown = {
        "shown": ShownDoor(agent, target, installed),
        "form": form,
        "files": [{"path": str(file.path), "is_new": file.before is None, **_diff(file.diff)} for file in files],
        "refusal": refusal,
        "is_same": installed is not None
        and form.options == doors.options_of(installed)
        and all(file.is_there for file in files),
        "news": request.GET.get("news", ""),
        "steps": agent.next_steps(agent.home_of(target.path), chosen) if installed else [],
    }
    return page(request, "settings/inside.html", shown)


@require_POST
@shows_refusals
def change(request: HttpRequest, store: str) -> HttpResponse:
    """Install what was shown, or take it out again, by the button of the form."""
    agent, target = _agent_of(store)
    address = reverse("pages:inside", args=[store])
    if request.POST.get("do") == "remove":
        doors.remove(target)
        return redirect(f"{address}?news=removed")
    form = OptionsForm(agent, request.POST)
    form.is_valid()
    doors.install(agent, target, form.options)
    return redirect(f"{address}?news=installed")


def _agent_of(store: str) -> tuple[InstalledAgent, Store]:
    """The agent of a store. Raises NotFound."""
    target = get_store(store)
    agent = doors.agent_in(target)
    if agent is None:
        raise NotFound(f"Nothing can be installed into the agent of store {store!r}.")
    return agent, target


def _diff(diff: str) -> dict[str, Any]:
    """The `lines` of a diff without its head, each with its class, and how many are `added` and `removed`."""
    classes = {"+": "add", "-": "del", "@": "hunk"}
    lines = [(classes.get(line[:1], ""), visible(line)) for line in diff.splitlines()[2:]]
    kinds = [kind for kind, _ in lines]
    return {"lines": lines, "added": kinds.count("add"), "removed": kinds.count("del")}
