"""What a start checks and creates: the port, own database, demo store, static files. A second start changes nothing."""

import errno
import hashlib
import os
import socket

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import DatabaseError

from viewer.demo import ensure_demo
from viewer.stores.registry import all_stores, is_named_rightly, is_of_a_kind
from viewer.web.own_database import newer_migrations

BACKLOG = 1024  # connections that wait while the server is started again
NOT_SERVED = ["redoc*", "htm*-4*"]  # django-ninja's other API page, and the htmx that is still a beta


class CannotStart(Exception):
    """One sentence that says why, and what to do."""


def listening(host: str, port: int) -> socket.socket:
    """A listening socket for the servers. Raises CannotStart."""
    try:
        family, _, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise CannotStart(f"HOST {host} is not known: set it to an address of this machine.") from None
    listener = socket.socket(family, socket.SOCK_STREAM)
    # A port that was closed a moment ago is free; one that somebody listens on is not.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(target)
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        raise CannotStart(_port_problem(problem.errno, host, port)) from None
    return listener


def _port_problem(number: int | None, host: str, port: int) -> str:
    if number == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use: set PORT to another one."
    if number == errno.EACCES:
        return f"Port {port} on {host} needs more rights than this user has: set PORT to 1024 or above."
    return f"HOST {host} is not an address of this machine: set it to one that is, such as 127.0.0.1."


def check_stores() -> None:
    """Check that every configured store is of a known kind and has its file. Raises CannotStart."""
    for store in all_stores():
        if not is_of_a_kind(store):
            raise CannotStart(f"PALIMPSEST_STORES: no kind of store has addresses like {store.url}.")
        if store.origin == "configured" and not is_named_rightly(store):
            raise CannotStart(f"Store {store.name}: there is no file {store.place}. Correct PALIMPSEST_STORES.")


def own_database() -> None:
    """Migrate the site's own tables, encrypt keys with the present secret key, and write the site's address for agents.

    Raises CannotStart.
    """
    from viewer.inside import doors  # models, which need Django to be set up
    from viewer.runs.providers import connections

    try:
        if newer := newer_migrations():
            raise CannotStart(
                "The site's own database (PALIMPSEST_DATABASE_URL) was brought up to date by a newer version of "
                f"Palimpsest ({', '.join(newer)}): start that version, or set PALIMPSEST_DATA_DIR to another directory."
            )
        call_command("migrate", verbosity=0, interactive=False)
        connections.reencrypt_keys()
        doors.refresh()
    except DatabaseError as problem:
        first = str(problem).strip().partition("\n")[0]
        raise CannotStart(f"The site's own database (PALIMPSEST_DATABASE_URL) cannot be opened: {first}") from None


def demo_store() -> bool:
    """Create the demo store if it is missing; returns whether it was created."""
    return ensure_demo(settings.DEMO_STORE)


def static_files() -> bool:
    """Collect and compress the static files if one of them changed since the last time; returns whether it did."""
    stamp = settings.DATA_DIR / "static.stamp"
    fingerprint = _static_fingerprint()
    if stamp.is_file() and stamp.read_text() == fingerprint:
        return False
    call_command("collectstatic", verbosity=0, interactive=False, ignore_patterns=NOT_SERVED)
    stamp.write_text(fingerprint)
    return True


def _static_fingerprint() -> str:
    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    files = {storage.path(name) for finder in get_finders() for name, storage in finder.list([])}
    for path in sorted(files):
        status = os.stat(path)
        digest.update(f"\n{path} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()
