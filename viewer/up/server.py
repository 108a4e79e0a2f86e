"""The web server as a child of `manage.py up`: `python -m viewer.up.server ADDRESS PORT`."""

import sys

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

from viewer.up import leash

BLOCKING_THREADS = 64  # an open event stream holds one thread; with 16, forty open pages starve the site (measured)
STOP_SECONDS = 5  # for answers under way; an event stream would go on for ever


def main(address: str, port: int) -> None:
    """Serve until asked to end through the leash."""
    leash.hold()
    Server(
        "viewer.wsgi:application",
        address=address,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        respawn_failed_workers=True,
        blocking_threads=BLOCKING_THREADS,
        websockets=False,
        log_level=LogLevels.error,  # at warning it advises against its own thread setting
        workers_kill_timeout=STOP_SECONDS,
    ).serve()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
